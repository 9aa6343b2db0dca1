"""C functions in compiled code."""

from __future__ import annotations

import ctypes
import inspect
import operator
import os
import re
from collections.abc import Sequence
from typing import Any

from adc.boundary import public
from adc.frontend.data.values import AbstractValue, Scalar
from adc.frontend.frame import Frame
from adc.frontend.libraries.table import LIBRARY
from adc.frontend.numeric.convert import as_scalar, convert, from_element, kind, to_element
from adc.frontend.numeric.rules import need_numbers, positional
from adc.ir import externals, kinds, ops
from adc.ir.builder import build, current_loc
from adc.ir.types import Type, f32, f64, i32, i64
from adc.pickling import reduced

_TYPES: dict[str, tuple[Type, Any]] = {
    "f64": (f64, ctypes.c_double),
    "f32": (f32, ctypes.c_float),
    "i64": (i64, ctypes.c_int64),
    "i32": (i32, ctypes.c_int32),
}
_SIGNATURE = re.compile(r"\s*(\w+)\s*\(([\w\s,]*)\)\s*")
_KNOWN = f"for instance 'f64(f64, i32)'; the types are {', '.join(_TYPES)}"


class External:
    """A C function of numbers: called by Python, by compiled code, and by name in object files."""

    def __init__(self, library: str, symbol: str, result: str, arguments: Sequence[str], call: Any) -> None:
        self.library = library
        self.symbol = self.__name__ = self.__qualname__ = symbol
        self.result, self.arguments = result, tuple(arguments)
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(f"x{k}", inspect.Parameter.POSITIONAL_ONLY) for k in range(len(self.arguments))]
        )
        self._call = call
        self.given: tuple[Any, ...] = ()  # to ``extern``

    def __call__(self, *args: Any) -> Any:
        given = [_in_range(self, arg, name) for arg, name in zip(args, self.arguments, strict=False)]
        try:
            return self._call(*given, *args[len(given) :])
        except ctypes.ArgumentError as error:
            raise TypeError(f"{self}: {error}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced(self, lambda: (_complete, self.given))

    def __copy__(self) -> External:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> External:
        return self

    def __repr__(self) -> str:
        return f"<C function {self.result} {self.symbol}({', '.join(self.arguments)})>"


def _in_range(function: External, value: Any, name: str) -> Any:
    """An integer for C, which would wrap it around."""
    if name not in ("i32", "i64") or not hasattr(value, "__index__"):
        return value
    number, bits = operator.index(value), int(name[1:])
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise OverflowError(f"{function}: {number} does not fit into {bits} bits")
    return number


@public
def extern(library: str | os.PathLike[str] | None, symbol: str, signature: str) -> External:
    """The C function ``symbol`` of a shared library, to be called in compiled code and outside.

    ``library`` is the name or the path of the library, None for what this process has loaded anyway, C's own functions
    among it. ``signature`` is as in ``"f64(f64, i32)"``: numbers in, one number out. The function must have no effects
    and depend on its arguments alone: it is called when and as often as suits the code around it, by several threads at
    once, or not at all. It is differentiated by a rule that it is given, see ``adc.scalar_rule`` and ``adc.rrule``.
    Object files refer to it by name.

    Raises ``ArgumentError`` for a library that cannot be loaded and a symbol that it does not have,
    ``ArgumentValueError`` for a signature that says nothing.
    """
    found = _SIGNATURE.fullmatch(signature) if isinstance(signature, str) else None
    names = [name.strip() for name in found[2].split(",")] if found and found[2].strip() else []
    if found is None or any(name not in _TYPES for name in (found[1], *names)):
        raise kinds.INVALID_OPTION(f"the signature of a C function cannot be {signature!r}", help=_KNOWN)
    path = "" if library is None else os.fsdecode(library)
    try:
        function = getattr(ctypes.CDLL(path or None), symbol)
    except OSError as error:
        raise kinds.NO_SUCH_FUNCTION(f"the library {path!r} cannot be loaded: {error}") from None
    except AttributeError:
        where = f"the library {path!r}" if path else "this process"
        raise kinds.NO_SUCH_FUNCTION(f"{where} has no symbol {symbol!r}") from None
    function.restype = _TYPES[found[1]][1]
    function.argtypes = [_TYPES[name][1] for name in names]
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    made = External(path, symbol, found[1], names, function)
    made.given = (library, symbol, signature)
    types = tuple(_TYPES[name][0] for name in names)
    named = externals.Named(path, symbol, types, _TYPES[found[1]][0])
    externals.provide(named, externals.Provided(address, function))
    LIBRARY[made] = positional(symbol, len(names), _Call(made))
    return made


def _complete(blank: External, *given: Any) -> External:
    """A C function that was sent; its rules may refer to it already."""
    made = extern(*given)
    vars(blank).update(vars(made))
    LIBRARY[blank] = LIBRARY[made]
    return blank


class _Call:
    """A call in compiled code."""

    def __init__(self, function: External) -> None:
        self._function = function

    def __call__(self, frame: Frame, *args: AbstractValue) -> AbstractValue:
        function = self._function
        need_numbers(function.symbol, args, "call it in a loop over the elements")
        values = []
        for name, arg in zip(function.arguments, args, strict=True):
            t, given = _TYPES[name][0], as_scalar(arg)
            if t.is_integer and kind(given.dtype) == 2:
                raise kinds.WRONG_TYPE(
                    f"{function.symbol}() takes an integer here, not a float",
                    current_loc(),
                    help="convert with int(...) first",
                )
            values.append(to_element(convert(given, t), t))
        t = _TYPES[function.result][0]
        attrs = {"library": function.library, "symbol": function.symbol, "type": t}
        return Scalar(from_element(build(ops.external, values, attrs).result), t, weak=t in (f64, i64))
