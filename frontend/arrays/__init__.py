"""Operators and subscripts of arrays, and the reductions that they are built on."""
