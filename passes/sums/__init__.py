"""Sums over loops: what is the same in all iterations is moved out of them."""
