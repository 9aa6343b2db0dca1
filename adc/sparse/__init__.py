"""Sparse Jacobians and Hessians: patterns, colourings, and the computation of the matrices in few sweeps."""
