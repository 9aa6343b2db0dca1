"""Sparse Jacobians and Hessians: patterns, colourings, and the matrices from as few sweeps as these take."""
