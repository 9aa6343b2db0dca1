"""Subscripts: proved in range before loops run, so that the loops need no checks."""
