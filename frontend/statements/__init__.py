"""Statements: what they do to variables, and how control goes through blocks of them."""
