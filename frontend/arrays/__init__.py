"""Operators and subscripts of arrays, and reductions that those are made of."""
