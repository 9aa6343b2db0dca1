"""How C functions take numbers and arrays: the meaning of signatures, and what Python passes for each argument.

An array goes as a pointer to its first element, its extents, and, unless it is declared C-contiguous (``f64[::1]``,
``f64[:, ::1]``), its strides in elements: extents and strides as ``int64_t``, as in adc's own object files. ``const``
says that the function only reads it.
"""

from __future__ import annotations

import ctypes
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adc.frontend.abstract import Array, memref_type, numpy_dtype
from adc.frontend.annotations import parse_type
from adc.ir import kinds
from adc.ir.types import MemRefType, Type, f32, f64, i32, i64

NUMBERS: dict[str, tuple[Type, Any]] = {
    "f64": (f64, ctypes.c_double),
    "f32": (f32, ctypes.c_float),
    "i64": (i64, ctypes.c_int64),
    "i32": (i32, ctypes.c_int32),
}
VOID = "void"
_SIGNATURE = re.compile(r"\s*(\w+)\s*\(([\w\s,:\[\]]*)\)\s*")
_KNOWN = (
    f"for instance 'f64(f64, i32)' or 'void(const f64[:, ::1], f64[:])'; numbers are {', '.join(NUMBERS)}, arrays are "
    "of these, and void returns nothing"
)


@dataclass(frozen=True)
class Parameter:
    """A parameter as it was declared; ``written``: an array that the function may write to."""

    text: str
    type: Type
    written: bool = False

    def c_types(self) -> list[Any]:
        """The ``ctypes`` types of what is passed for it."""
        t = self.type
        if not isinstance(t, MemRefType):
            return [next(c for known, c in NUMBERS.values() if known == t)]
        return [ctypes.c_void_p, *[ctypes.c_int64] * (t.rank if t.strides is None else 2 * t.rank)]

    def passed(self, value: Any) -> list[Any]:
        """What is passed for a checked value."""
        t = self.type
        if not isinstance(t, MemRefType):
            return [value]
        strides = [] if t.strides is None else [s // value.itemsize for s in value.strides]
        return [value.__array_interface__["data"][0], *value.shape, *strides]

    def checked(self, value: Any, where: str) -> Any:
        """Check a value from Python. Raises ``TypeError`` or ``OverflowError`` for values that C would misinterpret."""
        t = self.type
        if isinstance(t, MemRefType):
            wrong = self._wrong(t, value)
            if wrong:
                raise TypeError(f"{where} is to be {self.text}: {wrong}")
        elif t.is_integer and hasattr(value, "__index__"):
            number, bits = operator.index(value), 64 if t == i64 else 32
            if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
                raise OverflowError(f"{where}: {number} does not fit into {bits} bits")
            return number
        return value

    def _wrong(self, t: MemRefType, value: Any) -> str:
        if not isinstance(value, np.ndarray):
            return f"{value!r} is no array"
        if value.dtype != numpy_dtype(t.element) or value.ndim != t.rank:
            return f"the array is of {value.dtype} with {value.ndim} dimensions"
        if not value.flags.aligned or any(s % value.itemsize for s in value.strides):
            return "the array is not aligned"
        if t.strides is None and not value.flags.c_contiguous:
            return "the array is not C-contiguous"
        return "the array is read-only" if self.written and not value.flags.writeable else ""


def signature_of(text: Any) -> tuple[str, tuple[Parameter, ...]]:
    """The result and the parameters of a signature. Raises ``ArgumentValueError``."""
    found = _SIGNATURE.fullmatch(text) if isinstance(text, str) else None
    if found is None or found[1] not in (*NUMBERS, VOID):
        raise _refused(text)
    parts = re.split(r",(?![^\[]*\])", found[2]) if found[2].strip() else []
    return found[1], tuple(_parameter(part.strip(), text) for part in parts)


def _parameter(part: str, text: str) -> Parameter:
    if part in NUMBERS:
        return Parameter(part, NUMBERS[part][0])
    constant = re.match(r"const\s+", part)
    name = part[constant.end() :] if constant else part
    if re.match(r"\w*", name)[0] not in NUMBERS:  # type: ignore[index]
        raise _refused(text)
    try:
        array = parse_type(name)
    except ValueError:
        raise _refused(text) from None
    if not isinstance(array, Array):
        raise _refused(text)
    return Parameter(part, memref_type(array), written=not constant)


def _refused(text: Any) -> Exception:
    return kinds.INVALID_OPTION(f"the signature of a C function cannot be {text!r}", help=_KNOWN)


def passed(parameters: Sequence[Parameter], values: Sequence[Any]) -> list[Any]:
    """The C arguments for all parameters."""
    return [x for parameter, value in zip(parameters, values, strict=True) for x in parameter.passed(value)]
