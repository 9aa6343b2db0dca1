"""The errors that adc raises. Each is an ``AdcError`` and also the built-in that one would expect there."""

from adc.ir.diagnostics import (
    AdcError,
    ArgumentError,
    BoundsError,
    CompileError,
    DifferentiationError,
    ShapeError,
)

__all__ = ["AdcError", "ArgumentError", "BoundsError", "CompileError", "DifferentiationError", "ShapeError"]
