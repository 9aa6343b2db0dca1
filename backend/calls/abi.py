"""The parameters and results of compiled code, seen from outside: shared by the Python stubs and the C wrappers.

A compiled function is ``i32 @adc.NAME(ptr ctx, flattened arguments..., ptr out per result)``, 0 for success. A memref
is flattened to data pointer, all extents, then (unless its layout is the identity) all strides in elements. A result is
stored through its ``out``: a memref always as data pointer, extents and strides; a Boolean as a byte.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import ComplexType, MemRefType, Type, f64

Layout = Literal["C", "F", "inner", "any"]
Structure = tuple["Structure", ...] | None  # None: not a tuple


@dataclass(frozen=True)
class Argument:
    """A value that the call passes: the position of the argument, then positions in nested tuples."""

    path: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Fetched:
    """A value that is read at each call: a captured or global variable.

    If ``fetch`` has the attributes ``namespace`` (a dict) and ``name``, or ``cell`` (a closure's cell), the stub reads
    the variable directly; else it calls ``fetch()``.
    """

    fetch: Callable[[], Any]


Source = Argument | Fetched


@dataclass(frozen=True)
class ScalarParam:
    """A number: exactly Python's ``float``, ``int`` or ``bool``, or, if ``strong``, NumPy's scalar of the type."""

    source: Source
    type: Type = f64
    strong: bool = False


@dataclass(frozen=True)
class ArrayParam:
    """An ndarray of exactly this element type, rank and layout, aligned; writeable if ``writable``. ``ones`` says for
    each extent whether it is 1; None, and (), mean that it may be. ``extents``: which it must have, as far as known. Of
    an array in Fortran's order ("F"), compiled code takes the transposed array."""

    source: Source
    element: Type = f64
    rank: int = 1
    layout: Layout = "C"
    writable: bool = False
    ones: tuple[bool | None, ...] = ()
    extents: tuple[int | None, ...] = ()

    @property
    def type(self) -> MemRefType:
        strided = self.layout not in ("C", "F") and self.rank > 0
        element, rank = self.element, self.rank
        if isinstance(element, ComplexType):  # floats, with one more axis
            element, rank = element.part, rank + 1
        return MemRefType((None,) * rank, element, (None,) * rank if strided else None)


@dataclass(frozen=True)
class ShadowParam:
    """A new contiguous array of the shape and dtype of parameter ``of``, in Fortran's order if that is; it can be part
    of the result. The callee sets its elements, unless the stub fills it with zeros (``zeroed``)."""

    of: int
    zeroed: bool = False


@dataclass(frozen=True)
class Unseen:
    """An array that compiled code does not read: the stub passes an empty array of this type."""

    type: MemRefType


@dataclass(frozen=True)
class RecordParam:
    """The capsule that a forward sweep returned."""

    source: Source


@dataclass(frozen=True, eq=False)
class StaticParam:
    """An argument known when tracing: the object must be ``value`` itself, and is not passed on."""

    source: Source
    value: object


@dataclass(frozen=True, eq=False)
class Unchanged:
    """A condition that is not passed on: the looks of an ``adc.backend.calls.looks.Table`` must hold."""

    table: Any


Param = ScalarParam | ArrayParam | ShadowParam | Unseen | RecordParam | StaticParam | Unchanged


@dataclass(frozen=True)
class Out:
    """Result ``position`` of the compiled function. ``strong``: a scalar becomes one of NumPy's types, not Python's.
    ``pairs``: the innermost axis of an array is the real and the imaginary part of complex numbers.

    A record becomes a capsule, which owns the context of the call and thus all memory that is still allocated.
    """

    position: int
    strong: bool = False
    pairs: bool = False


@dataclass(frozen=True)
class ShadowOut:
    """The array that was made for parameter ``param``."""

    param: int


@dataclass(frozen=True, eq=False)
class StaticOut:
    """A constant, None say."""

    value: object


@dataclass(frozen=True)
class ObjectOut:
    """The object that parameter ``param`` was taken from."""

    param: int


@dataclass(frozen=True)
class TupleOut:
    """A tuple."""

    items: tuple[Output, ...]


@dataclass(frozen=True, eq=False)
class CallOut:
    """What a Python function returns for these arguments."""

    function: Callable[..., Any]
    items: tuple[Output, ...]


Output = Out | ShadowOut | StaticOut | ObjectOut | TupleOut | CallOut


@dataclass(frozen=True)
class Signature:
    """How Python calls the IR function ``function``.

    ``arguments``: for each positional argument None, or its structure if it is a tuple. ``params``: the values taken
    from the call, in the order of the compiled function's arguments (``StaticParam`` and ``Unchanged`` stand anywhere).
    ``results``: the types of the compiled function's results; ``output``: how the Python result is made from them.
    ``disjoint``: pairs of parameters (positions in ``params``) whose memory, from lowest to highest address, must not
    overlap. ``alike``: pairs of array parameters that must agree in all extents. ``context``: whether the function may
    allocate, raise or run threads; without, it gets a null context. ``release_gil``: whether other Python threads may
    run meanwhile. ``threads``: for parallel loops, 0 the default.
    """

    function: str
    arguments: tuple[Structure, ...]
    params: tuple[Param, ...]
    results: tuple[Type, ...]
    output: Output
    disjoint: tuple[tuple[int, int], ...] = ()
    alike: tuple[tuple[int, int], ...] = ()
    context: bool = True
    release_gil: bool = True
    threads: int = 0


def result_words(t: Type) -> int:
    """How many 8-byte words a result of type ``t`` occupies at its out pointer."""
    return 1 + 2 * t.rank if isinstance(t, MemRefType) else 1

