"""The syntax tree of a function, and what is found out from it before tracing."""
