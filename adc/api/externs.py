"""C functions in compiled code."""

from __future__ import annotations

import ctypes
import inspect
import os
from collections.abc import Sequence
from typing import Any, Literal

from adc.api import foreign
from adc.api.foreign import NUMBERS, VOID, Parameter
from adc.border.boundary import public
from adc.border.pickling import made_of, reduced
from adc.frontend.arrays.arrays import check_writable, settled
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import NONE, AbstractValue, Array, Scalar
from adc.frontend.elements import from_element, to_element
from adc.frontend.errors import refuse
from adc.frontend.foreign_calls import call_foreign
from adc.frontend.frame import Frame
from adc.frontend.libraries.rules import need_numbers, positional
from adc.frontend.libraries.table import LIBRARY
from adc.frontend.numeric.convert import as_scalar, convert, kind
from adc.ir import externals, kinds, ops
from adc.ir.builder import build, current_loc
from adc.ir.core import Value
from adc.ir.types import MemRefType, Type, f64, i64


class External:
    """A C function: called by Python, by compiled code, and by name in object files."""

    def __init__(
        self, library: str, symbol: str, result: str, parameters: Sequence[Parameter], call: Any, *, ordered: bool
    ) -> None:
        self.library = library
        self.symbol = self.__name__ = self.__qualname__ = symbol
        self.result, self.parameters, self.ordered = result, tuple(parameters), ordered
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(f"x{k}", inspect.Parameter.POSITIONAL_ONLY) for k in range(len(self.parameters))]
        )
        self._call = call
        self.given: tuple[Any, ...] = ()  # the arguments of ``extern``

    @property
    def is_plain(self) -> bool:
        """Whether it takes only numbers, and has no effects."""
        return not self.ordered and self.result != VOID and not any(map(_is_array, self.parameters))

    @property
    def named(self) -> externals.Named:
        """Its name in the IR."""
        types = tuple(p.type for p in self.parameters)
        return externals.Named(self.library, self.symbol, types, _type(self.result))

    def call(self, *values: Any) -> Any:
        """Call it with values of the right types."""
        return self._call(*foreign.passed(self.parameters, values))

    def __call__(self, *args: Any) -> Any:
        if len(args) != len(self.parameters):
            raise TypeError(f"{self}: takes {len(self.parameters)} arguments, got {len(args)}")
        given = [p.checked(a, f"{self}: argument {k}") for k, (p, a) in enumerate(zip(self.parameters, args), 1)]
        try:
            return self.call(*given)
        except ctypes.ArgumentError as error:
            raise TypeError(f"{self}: {error}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced(self, lambda: (_complete, self.given))

    def __copy__(self) -> External:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> External:
        return self

    def __repr__(self) -> str:
        return f"<C function {self.result} {self.symbol}({', '.join(p.text for p in self.parameters)})>"


made_of(External, lambda function: function.given)


def _is_array(parameter: Parameter) -> bool:
    return isinstance(parameter.type, MemRefType)


@public
def extern(
    library: str | os.PathLike[str] | None,
    symbol: str,
    signature: str,
    *,
    effects: Literal["none", "ordered"] = "none",
) -> External:
    """The C function ``symbol`` of a shared library, callable from compiled code and from Python.

    ``library`` is a name, a path, or None for the libraries that this process has already loaded, such as C's own.
    ``signature`` is written like ``"f64(f64, i32)"`` or ``"void(const f64[:, ::1], f64[:])"``: numbers and arrays in,
    one number out, or nothing (``void``). An array is passed as a pointer, its extents, and, unless it is declared
    C-contiguous, its strides in elements (``int64_t``). The function may write to it unless it is ``const``.

    ``effects="none"``: the function depends on its arguments alone, and has no effects except on the arrays that it may
    write to. It may be called more or less often than in the program, by several threads at once, or not at all.
    ``effects="ordered"``: it is called exactly as often as in plain Python, in the same order, by one thread at a time.
    The forward sweep of a derivative calls it as the function does, and the reverse sweep never. Loops that call it run
    in order and have no schedules.

    Its derivative is given by a rule: see ``adc.scalar_rule`` and ``adc.rrule``. Object files refer to it by name.
    Raises ``ArgumentError`` if the library cannot be loaded or does not have the symbol, and ``ArgumentValueError`` for
    an invalid signature.
    """
    result, parameters = foreign.signature_of(signature)
    if effects not in ("none", "ordered"):
        raise kinds.INVALID_OPTION(f"effects cannot be {effects!r}", help="the effects are 'none' or 'ordered'")
    if result == VOID and effects == "none" and not any(p.written for p in parameters):
        raise kinds.INVALID_OPTION(
            f"{symbol} returns nothing and writes to no array: so without effects it would do nothing",
            help='declare effects="ordered", or the array that it writes to without const',
        )
    path = "" if library is None else os.fsdecode(library)
    try:
        function = getattr(ctypes.CDLL(path or None), symbol)
    except OSError as error:
        raise kinds.NO_SUCH_FUNCTION(f"the library {path!r} cannot be loaded: {error}") from None
    except AttributeError:
        where = f"the library {path!r}" if path else "this process"
        raise kinds.NO_SUCH_FUNCTION(f"{where} has no symbol {symbol!r}") from None
    function.restype = None if result == VOID else NUMBERS[result][1]
    function.argtypes = [t for p in parameters for t in p.c_types()]
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    made = External(path, symbol, result, parameters, function, ordered=effects == "ordered")
    made.given = (library, symbol, signature, effects)
    externals.provide(made.named, externals.Provided(address, made.call))
    LIBRARY[made] = positional(symbol, len(parameters), _Call(made))
    return made


def _complete(blank: External, library: Any, symbol: str, signature: str, effects: Any) -> External:
    """Complete a C function that another process sent; its rules may already refer to it."""
    made = extern(library, symbol, signature, effects=effects)
    vars(blank).update(vars(made))
    LIBRARY[blank] = LIBRARY[made]
    return blank


def _type(result: str) -> Type | None:
    return None if result == VOID else NUMBERS[result][0]


class _Call:
    """A call in compiled code."""

    def __init__(self, function: External) -> None:
        self._function = function

    def __call__(self, frame: Frame, *args: AbstractValue) -> AbstractValue:
        function = self._function
        if not any(map(_is_array, function.parameters)):
            need_numbers(function.symbol, args, "call it in a loop over the elements")
        given = [
            self._array(frame, settled(frame, arg), p) if _is_array(p) else self._number(settled(frame, arg), p.type)
            for p, arg in zip(function.parameters, args, strict=True)
        ]
        found = self._plain(given) if function.is_plain else self._foreign(frame, given)
        if found is None:
            return NONE
        return Scalar(from_element(found), found.type, weak=found.type in (f64, i64))

    def _number(self, arg: AbstractValue, t: Type) -> Value:
        if isinstance(arg, Array):
            need_numbers(self._function.symbol, [arg])
        number = as_scalar(arg)
        if t.is_integer and kind(number.dtype) == 2:
            raise kinds.WRONG_TYPE(
                f"{self._function.symbol}() takes an integer here, not a float",
                current_loc(),
                help="convert with int(...) first",
            )
        return to_element(convert(number, t), t)

    def _array(self, frame: Frame, arg: AbstractValue, parameter: Parameter) -> Value:
        t = parameter.type
        assert isinstance(t, MemRefType)
        if not isinstance(arg, Array) or (arg.type.element, arg.rank) != (t.element, t.rank):
            raise refuse(
                current_loc(),
                f"{self._function.symbol}() takes {parameter.text} here, not {describe_type(arg)}",
                "pass an array of this dtype and of as many dimensions",
                kind=kinds.WRONG_TYPE,
            )
        if t.strides is None and arg.type.strides is not None:
            raise refuse(
                current_loc(),
                f"{self._function.symbol}() takes {parameter.text} here, and this array may not be C-contiguous",
                "pass a copy, or declare it with strides, as in f64[:]",
                kind=kinds.WRONG_TYPE,
            )
        if parameter.written:
            check_writable(frame, arg)
        return arg.memref if arg.type == t else ops.cast(arg.memref, type=t)

    def _plain(self, given: list[Value]) -> Value:
        function = self._function
        attrs = {"library": function.library, "symbol": function.symbol, "type": _type(function.result)}
        return build(ops.external, given, attrs).result

    def _foreign(self, frame: Frame, given: list[Value]) -> Value | None:
        function = self._function
        written = tuple(k for k, p in enumerate(function.parameters) if p.written)
        return call_foreign(
            frame, function.named, given, hint=function.symbol, written=written, ordered=function.ordered
        )
