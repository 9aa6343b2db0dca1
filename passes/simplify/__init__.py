"""Cleaning up code: common subexpressions, invariant and dead code, loops and powers in simpler forms."""
