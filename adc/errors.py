"""The errors that adc raises. Each is an ``AdcError`` and also the built-in exception that one would expect.

``CompileError`` is the base of refusals of source code. ``error.kind`` says what is wrong by a short name that stays
the same between releases; docs/errors.md lists them. ``AdcWarning`` is for remarks on things that change no result.
"""

from adc.ir.diagnostics import (
    AdcError,
    ArgumentError,
    ArgumentValueError,
    BoundsError,
    CompileAttributeError,
    CompileError,
    CompileIndexError,
    CompileKeyError,
    CompileNameError,
    CompileRecursionError,
    CompileSyntaxError,
    CompileTypeError,
    CompileUnboundError,
    CompileValueError,
    ComputedValueError,
    DifferentiationError,
    DivisionError,
    FileError,
    InternalError,
    Note,
    NotFiniteError,
    OutOfMemoryError,
    RangeError,
    RankError,
    ShapeError,
    ToolError,
    UnsetError,
    WorkerError,
)
from adc.ir.notices import AdcWarning

__all__ = [
    "AdcError",
    "AdcWarning",
    "ArgumentError",
    "ArgumentValueError",
    "BoundsError",
    "CompileAttributeError",
    "CompileError",
    "CompileIndexError",
    "CompileKeyError",
    "CompileNameError",
    "CompileRecursionError",
    "CompileSyntaxError",
    "CompileTypeError",
    "CompileUnboundError",
    "CompileValueError",
    "ComputedValueError",
    "DifferentiationError",
    "DivisionError",
    "FileError",
    "InternalError",
    "NotFiniteError",
    "Note",
    "OutOfMemoryError",
    "RangeError",
    "RankError",
    "ShapeError",
    "ToolError",
    "UnsetError",
    "WorkerError",
]

for _name in __all__:
    globals()[_name].__module__ = __name__  # the module that users know, for tracebacks and pickles
