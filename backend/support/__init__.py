"""The run-time support that compiled code calls, as LLVM IR without any use of Python: see ``contexts.py``."""
