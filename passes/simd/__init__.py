"""Iterations that run side by side in the lanes of SIMD registers."""
