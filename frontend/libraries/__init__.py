"""What calls of Python's and NumPy's functions, methods and attributes mean in IR."""
