"""From a Python function and the types of its arguments to code: the stages, and what is kept of them."""
