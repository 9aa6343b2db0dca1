"""Between Python's values and compiled code: arguments, containers and errors, without a compiler."""
