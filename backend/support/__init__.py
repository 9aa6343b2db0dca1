"""The run-time support that compiled code calls, as LLVM IR without anything of Python: see ``contexts.py``."""
