"""The syntax tree of a function, and its analysis before tracing."""
