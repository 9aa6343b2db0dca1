"""Sums over loops: what is loop-invariant is moved out of them."""
