"""Code that moves to functions of its own."""
