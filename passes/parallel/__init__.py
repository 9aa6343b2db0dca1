"""Loops: subscripts proved in range, iterations proved independent, adjoints of parallel loops."""
