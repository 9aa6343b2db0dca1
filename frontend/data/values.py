"""What the tracer computes with: abstract values, as trees whose leaves are IR values.

``Static`` is known at trace time; ``Scalar`` and ``Array`` stand for run-time numbers and arrays; ``Lazy`` is an array
expression not yet evaluated; a ``Compound`` holds others (``compounds.py``, ``callables.py``). Values are immutable
(what they refer to is not).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adc.frontend import abstract
from adc.frontend.data.dims import NOT_ONE, Dim, is_usable, read_dim
from adc.frontend.data.roots import NOWHERE, Roots
from adc.frontend.forms import COMPLEX, TUPLE, Form, Sort
from adc.ir import kinds
from adc.ir.core import Loc, Value
from adc.ir.diagnostics import Note
from adc.ir.kinds import Kind
from adc.ir.schedules import Schedule
from adc.ir.types import ComplexType, FloatType, MemRefType, Type, c64, c128, f64, i1, i64


@dataclass(frozen=True, eq=False)
class AbstractValue:
    """Base of all."""


@dataclass(frozen=True, eq=False)
class Static(AbstractValue):
    """Any Python object known at trace time: a literal, a function, a module, None, a type, a string."""

    value: Any


@dataclass(frozen=True, eq=False)
class LargeLiteral(Static):
    """An integer that 64 bits do not hold, and where it is written."""

    loc: Loc


@dataclass(frozen=True, eq=False)
class Scalar(AbstractValue):
    """A run-time number of dtype ``dtype`` (f64 f32 i64 i32 i1); integers are computed with as ``index``.

    ``weak``: a Python number, which takes the type of a NumPy number that it meets. ``pin``, where there is one,
    makes the value static: it returns the number and has the compiled code depend on it.
    """

    value: Value
    dtype: Type
    weak: bool = True
    pin: Callable[[], Any] | None = None


@dataclass(frozen=True, eq=False)
class Array(AbstractValue):
    """An array in memory. ``dims`` are its extents, ``roots`` the memory it may be a window on.

    That of complex numbers has floats in memory, and there one more axis than it has extents: the innermost, of the
    real and the imaginary part.
    """

    memref: Value
    dims: tuple[Dim, ...]
    roots: Roots = NOWHERE

    @property
    def type(self) -> MemRefType:
        assert isinstance(self.memref.type, MemRefType)
        return self.memref.type

    @property
    def dtype(self) -> Type:
        element = self.type.element
        if self.is_complex:
            assert isinstance(element, FloatType)
            return ComplexType(2 * element.width)
        return element

    @property
    def is_complex(self) -> bool:
        return self.type.rank > len(self.dims)

    @property
    def layout(self) -> abstract.Layout:
        return abstract.layout_of(self.type, self.is_complex)

    @property
    def rank(self) -> int:
        return len(self.dims)


@dataclass(frozen=True)
class Read:
    """An array that an expression reads. ``pointwise``: its element ``[i, j]`` for the expression's own, no other."""

    array: Array
    pointwise: bool


@dataclass(frozen=True, eq=False)
class Lazy(AbstractValue):
    """An array expression: extents, and what the element at given subscripts is.

    NumPy stretches extents of one. Where that depends on run-time extents, ``equalities`` (i1) hold if nothing is
    stretched; then the extents are ``plain`` and ``element(subscripts, False)`` is the element. In any case the
    extents are ``dims`` and ``element(subscripts, True)`` is right.
    """

    dims: tuple[Dim, ...]
    plain: tuple[Dim, ...]
    dtype: Type
    element: Callable[[Sequence[Value], bool], Number]
    reads: tuple[Read, ...]
    equalities: tuple[Value, ...] = ()
    view: str = ""  # not empty: what gives, in NumPy, a view in which one element has several subscripts

    @property
    def rank(self) -> int:
        return len(self.dims)


@dataclass(frozen=True, eq=False)
class Compound(AbstractValue):
    """Values held together by something that is known when tracing. ``form`` says by what; see ``compound``."""

    items: tuple[AbstractValue, ...]
    form: Form = TUPLE

    def of(self, items: Iterable[AbstractValue]) -> Compound:
        """The same with other items."""
        return type(self)(tuple(items), self.form)


class Complex(Compound):
    """A complex number: its real and its imaginary part, which are weak if the number is Python's."""

    @property
    def real(self) -> Scalar:
        item = self.items[0]
        assert isinstance(item, Scalar)
        return item

    @property
    def imag(self) -> Scalar:
        item = self.items[1]
        assert isinstance(item, Scalar)
        return item

    @property
    def dtype(self) -> ComplexType:
        return c64 if self.form.cls is np.complex64 else c128

    @property
    def weak(self) -> bool:
        return self.form.cls is complex


Number = Scalar | Complex


class Tuple(Compound):
    """A tuple, a namedtuple, or what a list holds at this moment."""


@dataclass(frozen=True, eq=False)
class View(Tuple):
    """What ``values`` and ``items`` of a dict give: ``now()`` is what the dict holds at the insertion point. Handed to
    another function, or on by a loop, it is the tuple of what the dict held."""

    now: Callable[[], tuple[AbstractValue, ...]] = field(kw_only=True)

    def of(self, items: Iterable[AbstractValue]) -> Tuple:
        found = tuple(items)
        same = len(found) == len(self.items) and all(a is b for a, b in zip(found, self.items, strict=True))
        return self if same else Tuple(found)


@dataclass(frozen=True, eq=False)
class Ref(AbstractValue):
    """A list, dict or object that can be mutated; compared by identity.

    What it holds at the insertion point is the ``Contents`` that the frame's variable ``key`` has. ``protected`` says
    why it must not be mutated, if so; ``caller``: whether the caller of the function has it too.
    """

    key: str
    kind: Sort
    cls: type
    protected: str = ""
    caller: bool = False


@dataclass(frozen=True, eq=False)
class Choice(AbstractValue):
    """The object at a run-time ``position`` among several. What is done with it is done with each, under a condition;
    it stands before a dot or bracket only, and is no value of a variable."""

    refs: tuple[Ref, ...]
    position: Value


@dataclass(frozen=True, eq=False)
class Range(AbstractValue):
    """A ``range``, ``prange`` or ``steps``: integers, static or not."""

    start: AbstractValue
    stop: AbstractValue
    step: AbstractValue
    parallel: bool = False
    schedule: Schedule | None = None


@dataclass(frozen=True, eq=False)
class Method(AbstractValue):
    """A bound method of an array, a list or a dict, such as ``a.copy``."""

    owner: AbstractValue
    name: str


@dataclass(frozen=True, eq=False)
class Stream(AbstractValue):
    """What ``enumerate``, ``zip`` or ``reversed`` gives: ``items`` as in ``control.iteration``, gone through once.

    ``ahead``: the items were found before they are asked for, so nothing may happen between one and the next. ``name``:
    the function that gave it; none for a generator expression.
    """

    name: str
    items: Any
    ahead: bool = False

    @property
    def shown(self) -> str:
        return f"what {self.name}() gives" if self.name else "a generator expression"


@dataclass(frozen=True, eq=False)
class Flat(Stream):
    """``array.flat``, which is subscripted, too."""

    array: Any = None

    @property
    def shown(self) -> str:
        return "flat"


@dataclass(frozen=True, eq=False)
class Generator(AbstractValue):
    """The call of the generator function ``target``, a ``Callee``, whose items nobody has asked for yet. ``inner``: it
    is defined in the function that calls it."""

    target: Any
    bound: Mapping[str, AbstractValue]
    inner: bool

    @property
    def name(self) -> str:
        return str(self.target.source.name)

    @property
    def shown(self) -> str:
        return f"what {self.name}() gives"


@dataclass(frozen=True, eq=False)
class Error(AbstractValue):
    """An instance of an exception."""

    cls: type[Exception]
    args: tuple[AbstractValue, ...]


@dataclass(frozen=True, eq=False)
class Unbound(AbstractValue):
    """A variable that some paths have not set. ``flag``: whether it is set, in which case it is ``value``."""

    flag: Value
    value: AbstractValue


@dataclass(frozen=True, eq=False)
class Poison(AbstractValue):
    """A variable that must not be read, and why: what its refusal says. ``objects`` are among what it may hold; kept in
    pools they may have a common type."""

    reason: str
    notes: tuple[Note, ...] = ()
    help: str = ""
    kind: Kind = kinds.TYPE_DIFFERS
    objects: tuple[Ref, ...] = ()


NONE = Static(None)
GONE = Poison("a path that has returned")  # in place of what a variable holds on such a path


def is_number(value: object) -> bool:
    """Whether ``value`` is a real number."""
    return isinstance(value, bool | int | float) or (
        isinstance(value, np.generic) and value.dtype.kind != "c" and value.dtype in abstract.DTYPES
    )


def is_complex(v: AbstractValue) -> bool:
    """Whether ``v`` is a complex number, known or not."""
    return isinstance(v, Complex) or (isinstance(v, Static) and type(v.value) in COMPLEX)


def is_static_number(v: AbstractValue) -> bool:
    return isinstance(v, Static) and is_number(v.value)


def is_numeric(v: AbstractValue) -> bool:
    """Whether ``v`` is a number, known or not. Who takes complex ones says so: ``as_scalar`` refuses them."""
    return isinstance(v, Scalar) or is_static_number(v) or is_complex(v)


def is_array(v: AbstractValue) -> bool:
    return isinstance(v, Array | Lazy)


def is_list(v: AbstractValue) -> bool:
    return isinstance(v, Ref) and v.kind == "list"


def is_dict(v: AbstractValue) -> bool:
    return isinstance(v, Ref) and v.kind == "dict"


def known_int(v: AbstractValue) -> int | None:
    """The integer that ``v`` is known to be as it is."""
    return int(v.value) if isinstance(v, Static) and isinstance(v.value, int | np.integer) else None


def needed_int(v: AbstractValue) -> int | None:
    """The integer that ``v`` is, where it has to be known.

    A captured variable becomes part of what the code depends on; of a parameter, the callers' constants are used.
    """
    known = known_int(v)
    if known is not None:
        return known
    if isinstance(v, Scalar) and v.pin is not None:
        return int(v.pin())
    return None


def number_dtype(value: Any) -> tuple[Type, bool]:
    """The dtype of a Python or NumPy number, and whether it is weak."""
    if isinstance(value, np.generic):
        return abstract.DTYPES[value.dtype], False
    return (i1 if isinstance(value, bool) else i64 if isinstance(value, int) else f64), True


def array(memref: Value, roots: Roots, known: Sequence[Any] = (), *, pairs: bool = False) -> Array:
    """The array in ``memref``, with the innermost axis as the parts of complex numbers if there are ``pairs``. Its
    extents are read at the insertion point, but for those that are ``known`` there."""
    assert isinstance(memref.type, MemRefType)
    dims: list[Dim] = []
    for k, extent in enumerate(memref.type.shape[: memref.type.rank - pairs]):
        dim: Any = extent if extent is not None or not known else known[k]
        dims.append(dim if is_usable(dim) else read_dim(memref, k, not_one=dim is NOT_ONE))
    return Array(memref, tuple(dims), roots)


def leaves(v: AbstractValue) -> Iterator[Scalar | Array]:
    """The run-time leaves of ``v`` in order."""
    if isinstance(v, Scalar | Array):
        yield v
    elif isinstance(v, Compound):
        for item in v.items:
            yield from leaves(item)
    elif isinstance(v, Range):
        for item in (v.start, v.stop, v.step):
            yield from leaves(item)
    elif isinstance(v, Method):
        yield from leaves(v.owner)
