"""The run-time library's parts as LLVM IR (``adc.backend.runtime``), and what they know of Python and NumPy."""
