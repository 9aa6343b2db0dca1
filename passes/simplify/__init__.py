"""Cleaning up code: folding, common subexpressions, invariant code, dead stores, freeing memory."""
