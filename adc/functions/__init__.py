"""Compiled functions and their derivatives as Python objects."""
