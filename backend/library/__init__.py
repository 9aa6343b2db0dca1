"""The parts of the run-time library (``adc.backend.runtime``) as LLVM IR, and the layouts of Python and NumPy
objects."""
