"""The values of the tracer: abstract values, as trees whose leaves are IR values.

``Static`` is known at trace time; ``Scalar`` and ``Array`` stand for run-time numbers and arrays; ``Lazy`` is an array
expression not yet evaluated; a ``Compound`` holds others (``compounds.py``, ``callables.py``). Values are immutable
(what they refer to is not).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from adc.frontend import abstract
from adc.frontend.data.dims import NOT_ONE, Dim, is_usable, read_dim
from adc.frontend.data.pins import pin_of
from adc.frontend.data.roots import NOWHERE, Roots
from adc.frontend.forms import COMPLEX, TUPLE, Form, Sort
from adc.frontend.syntax.generators import EXPRESSION
from adc.ir import kinds
from adc.ir.core import Loc, Value
from adc.ir.diagnostics import Note
from adc.ir.kinds import Kind
from adc.ir.lazy_dataclass import dataclass
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
    """An integer that does not fit into 64 bits, and its place in the source."""

    loc: Loc


@dataclass(frozen=True, eq=False)
class Scalar(AbstractValue):
    """A run-time number of dtype ``dtype`` (f64 f32 i64 i32 i1); integers are computed with as ``index``.

    ``weak``: a Python number, which takes the type of a NumPy number it is combined with.
    """

    value: Value
    dtype: Type
    weak: bool = True

    @property
    def pin(self) -> Callable[[], Any] | None:
        """What makes it a constant, if it is computed from integers that can be made constants (``pins.py``)."""
        return None if self.dtype.is_float else pin_of(self.value)


@dataclass(frozen=True, eq=False)
class Array(AbstractValue):
    """An array in memory. ``dims`` are its extents, ``roots`` the memory it may be a window on.

    An array of complex numbers has floats in memory, with one more axis than it has extents: the innermost, for the
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
    """An array that an expression reads. ``pointwise``: element ``[i, j]`` of the expression reads only element ``[i,
    j]``."""

    array: Array
    pointwise: bool


@dataclass(frozen=True, eq=False)
class Lazy(AbstractValue):
    """An array expression: its extents, and the element at given subscripts.

    NumPy stretches extents of one. Where that depends on run-time extents, ``equalities`` (i1) hold if nothing is
    stretched; then the extents are ``plain`` and ``element(subscripts, False)`` is the element. In any case the extents
    are ``dims`` and ``element(subscripts, True)`` is right.
    """

    dims: tuple[Dim, ...]
    plain: tuple[Dim, ...]
    dtype: Type
    element: Callable[[Sequence[Value], bool], Number]
    reads: tuple[Read, ...]
    equalities: tuple[Value, ...] = ()
    view: str = ""  # if not empty: the NumPy function that returns a view in which one element has several subscripts

    @property
    def rank(self) -> int:
        return len(self.dims)


@dataclass(frozen=True, eq=False)
class Compound(AbstractValue):
    """Values held together by something that is known while tracing: ``form``; see ``compound``."""

    items: tuple[AbstractValue, ...]
    form: Form = TUPLE

    def of(self, items: Iterable[AbstractValue]) -> Compound:
        """The same with other items."""
        return type(self)(tuple(items), self.form)


class Complex(Compound):
    """A complex number: its real and its imaginary part, weak if the number is Python's."""

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
    """A tuple, a namedtuple, or the present contents of a list."""


@dataclass(frozen=True, eq=False)
class View(Tuple):
    """The result of ``values`` or ``items`` of a dict: ``now()`` is its contents at the insertion point. If passed to
    another function or carried by a loop, it becomes the tuple of the dict's contents."""

    now: Callable[[], tuple[AbstractValue, ...]] = field(kw_only=True)

    def of(self, items: Iterable[AbstractValue]) -> Tuple:
        found = tuple(items)
        same = len(found) == len(self.items) and all(a is b for a, b in zip(found, self.items, strict=True))
        return self if same else Tuple(found)


@dataclass(frozen=True, eq=False)
class Ref(AbstractValue):
    """A list, dict or object that can be mutated; compared by identity.

    Its present contents are the ``Contents`` in the frame's variable ``key``. ``protected``, if not empty, says why it
    must not be mutated; ``caller``: whether the caller of the function has it too.
    """

    key: str
    kind: Sort
    cls: type
    protected: str = ""
    caller: bool = False


@dataclass(frozen=True, eq=False)
class Choice(AbstractValue):
    """The object at a run-time ``position`` among several. A use of it is built for each, under a condition. It only
    occurs before a dot or bracket, never as the value of a variable."""

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
    """The result of ``enumerate``, ``zip`` or ``reversed``: ``items`` as in ``control.iteration``, iterated over once.

    ``ahead``: the items were computed before they are asked for, so nothing may happen between one and the next.
    ``name``: the function that returned it; empty for a generator expression.
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
    """The call of the generator function ``target``, a ``Callee``, whose items have not been asked for yet. ``inner``:
    the function is defined in its caller. ``function`` is the function as a value, if it may be passed on."""

    target: Any
    bound: Mapping[str, AbstractValue]
    inner: bool
    function: AbstractValue | None

    @property
    def name(self) -> str:
        """The function that returned it; empty for a generator expression."""
        name = str(self.target.source.name)
        return "" if name == EXPRESSION else name

    @property
    def shown(self) -> str:
        return f"what {self.name}() gives" if self.name else "a generator expression"


@dataclass(frozen=True, eq=False)
class Error(AbstractValue):
    """An instance of an exception."""

    cls: type[Exception]
    args: tuple[AbstractValue, ...]
    keywords: tuple[tuple[str, AbstractValue], ...] = ()


@dataclass(frozen=True, eq=False)
class Unbound(AbstractValue):
    """A variable that some paths have not set. ``flag``: whether it is set, in which case it is ``value``."""

    flag: Value
    value: AbstractValue


@dataclass(frozen=True, eq=False)
class Poison(AbstractValue):
    """A variable that must not be read, with the reason for the refusal. ``objects`` are among its possible values; if
    kept in pools, they may have a common type. ``divides``: the ``if`` whose branches gave it different values."""

    reason: str
    notes: tuple[Note, ...] = ()
    help: str = ""
    kind: Kind = kinds.TYPE_DIFFERS
    objects: tuple[Ref, ...] = ()
    divides: Loc | None = None


NONE = Static(None)
GONE = Poison("a path that has returned")  # stands for the value of a variable on such a path


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
    """Whether ``v`` is a number, known or not. Code that cannot take complex ones calls ``as_scalar``, which refuses
    them."""
    return isinstance(v, Scalar) or is_static_number(v) or is_complex(v)


def is_array(v: AbstractValue) -> bool:
    return isinstance(v, Array | Lazy)


def is_list(v: AbstractValue) -> bool:
    return isinstance(v, Ref) and v.kind == "list"


def is_dict(v: AbstractValue) -> bool:
    return isinstance(v, Ref) and v.kind == "dict"


def known_int(v: AbstractValue) -> int | None:
    """The integer that ``v`` is already known to be."""
    return int(v.value) if isinstance(v, Static) and isinstance(v.value, int | np.integer) else None


def needed_int(v: AbstractValue) -> int | None:
    """The integer that ``v`` is, where it must be known.

    If it depends on captured variables, the code then depends on them; if on parameters, the callers' constants are
    used.
    """
    known = known_int(v)
    pin = v.pin if known is None and isinstance(v, Scalar) else None
    return known if pin is None else int(pin())


def number_dtype(value: Any) -> tuple[Type, bool]:
    """The dtype of a Python or NumPy number, and whether it is weak."""
    if isinstance(value, np.generic):
        return abstract.DTYPES[value.dtype], False
    return (i1 if isinstance(value, bool) else i64 if isinstance(value, int) else f64), True


def array(memref: Value, roots: Roots, known: Sequence[Any] = (), *, pairs: bool = False) -> Array:
    """The array in ``memref``. Its innermost axis is for the parts of complex numbers if there are ``pairs``. Its
    extents are read at the insertion point, except those that are ``known`` there."""
    assert isinstance(memref.type, MemRefType)
    dims: list[Dim] = []
    for k, extent in enumerate(memref.type.shape[: memref.type.rank - pairs]):
        dim: Any = extent if extent is not None or not known else known[k]
        dims.append(dim if is_usable(dim) else read_dim(memref, k, not_one=dim is NOT_ONE))
    return Array(memref, tuple(dims), roots)


def leaves(v: AbstractValue) -> Iterator[Scalar | Array]:
    """The run-time leaves of ``v``, in order."""
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
