"""Statements: their effects on variables, and how control passes through blocks of them."""
