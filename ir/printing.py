"""Printing from compiled code: by Python's own ``print``, when and where the program says.

Each ``print`` of a program is an ``adc.foreign`` with ordered effects. It calls a function of its own, which makes
objects from numbers and arrays and passes them to Python's ``print``. So they look as in Python and NumPy, and go to
the present ``sys.stdout``. The functions are named by what they do: the same program has the same names in every
process.
"""

from __future__ import annotations

import builtins
import ctypes
import hashlib
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from adc.ir.externals import Named, Provided, provide
from adc.ir.lazy_dataclass import dataclass
from adc.ir.raising import class_of, filled, kept
from adc.ir.types import MemRefType, Type, f64, i64

LIBRARY = "Python"


@dataclass(frozen=True)
class Printed:
    """One ``print``. An item is a template of ``adc.ir.raising`` with the number of its values, or the dtype of an
    array, which is shown as NumPy shows it. ``stream``: ``stdout`` or ``stderr``."""

    items: tuple[tuple[str, int] | str, ...]
    sep: str = " "
    end: str = "\n"
    stream: str = "stdout"
    flush: bool = False

    def __call__(self, *values: Any) -> int:
        """Print: numbers as they come, an array for each array. Zero, as there was no error."""
        rest, shown = iter(values), []
        for item in self.items:
            if isinstance(item, str):
                shown.append(next(rest))
            else:
                template, count = item
                shown.append(filled(template, [next(rest) for _ in range(count)]))
        builtins.print(*shown, sep=self.sep, end=self.end, file=getattr(sys, self.stream), flush=self.flush)
        return 0


@dataclass(frozen=True)
class Warned(Printed):
    """One ``warnings.warn``: ``items`` is its message. ``category``: the class (``adc.ir.raising.class_name``);
    ``place``: the file, line and module that it comes from."""

    category: str = "UserWarning"
    place: tuple[str, int, str] = ("", 0, "")

    def __call__(self, *values: Any) -> int:
        cls = class_of(self.category)
        assert cls is not None and issubclass(cls, Warning)
        file, line, module = self.place
        text = filled(str(self.items[0][0]), values)
        warnings.warn_explicit(text, cls, file, line, module, _shown.setdefault(file, {}))
        return 0


_shown: dict[str, dict[Any, Any]] = {}
"""What Python notes of the warnings of each file, some of which it shows once."""


def named(printed: Printed, types: Sequence[Type]) -> Named:
    """The function for a ``print`` with values of these types, which can be called from now on. It returns zero, or
    the number of what Python's ``print`` raised (``adc.ir.raising.kept``)."""
    symbol = f"print_{hashlib.sha256(repr((printed, [str(t) for t in types])).encode()).hexdigest()[:16]}"
    name = Named(LIBRARY, symbol, tuple(types), i64)
    if name not in _made:
        function = ctypes.CFUNCTYPE(ctypes.c_int64, *(c for t in types for c in _c_types(t)))(
            _Call(printed, tuple(types))
        )
        address = ctypes.cast(function, ctypes.c_void_p).value
        assert address is not None
        _made[name] = function
        provide(name, Provided(address, printed, linked=False, shown="print(), which is Python's"))
    return name


_made: dict[Named, Any] = {}  # callbacks live as long as code that may call them


def _c_types(t: Type) -> list[Any]:
    if isinstance(t, MemRefType):
        return [ctypes.c_void_p, *[ctypes.c_int64] * (t.rank if t.strides is None else 2 * t.rank)]
    return [ctypes.c_double if t == f64 else ctypes.c_int64]


class _Memory:
    """Memory of compiled code, for NumPy to view."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


@dataclass(frozen=True)
class _Call:
    """A function that compiled code calls: an array is passed as a pointer, its extents, and its strides in
    elements."""

    printed: Printed
    types: tuple[Type, ...]

    def __call__(self, *raw: Any) -> int:
        try:
            return self.printed(*self._values(raw))
        except BaseException as error:  # an interrupt, too: ctypes would print it and go on
            return kept(error)

    def _values(self, raw: Sequence[Any]) -> list[Any]:
        values: list[Any] = []
        rest = iter(raw)
        dtypes = (np.dtype(item) for item in self.printed.items if isinstance(item, str))
        for t in self.types:
            if not isinstance(t, MemRefType):
                values.append(next(rest))
                continue
            dtype, data = next(dtypes), next(rest)
            shape = tuple(next(rest) for _ in range(t.rank))
            strides = None if t.strides is None else tuple(next(rest) * dtype.itemsize for _ in range(t.rank))
            if data is None or 0 in shape:
                values.append(np.zeros(shape, dtype))
            else:
                held = {"data": (data, True), "shape": shape, "strides": strides, "typestr": dtype.str, "version": 3}
                values.append(np.asarray(_Memory(held)))
        return values
