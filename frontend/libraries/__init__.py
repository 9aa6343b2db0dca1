"""The meaning in IR of calls of Python's and NumPy's functions, methods and attributes."""
