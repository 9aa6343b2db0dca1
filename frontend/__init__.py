"""From Python functions to primal IR: an abstract interpreter of the AST."""

from adc.frontend.marker import prange

__all__ = ["prange"]
