"""From Python functions to primal IR: an abstract interpreter of the AST."""

from adc.frontend.marker import prange, stop_gradient

__all__ = ["prange", "stop_gradient"]
