"""Functions: signatures, derivatives, and functions that are mapped over arrays."""
