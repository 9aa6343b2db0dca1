"""Nests of loops in an order in which what is read again is still in cache: tiles, and blocks of time steps."""
