"""What the tracer computes with: abstract values, as trees whose leaves are IR values.

``Static`` is known at trace time; ``Scalar`` and ``Array`` stand for run-time numbers and arrays; ``Lazy`` is an array
expression not yet evaluated; ``Tuple`` and ``Closure`` hold others. Values are immutable (what they refer to is not).
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from adc.frontend import abstract
from adc.frontend.data.forms import BOUND, TUPLE, Form, Sort
from adc.frontend.data.roots import NOWHERE, Roots
from adc.frontend.syntax.source import FunctionSource
from adc.ir import kinds, ops
from adc.ir.arith import const_index, constant_of
from adc.ir.core import Value
from adc.ir.diagnostics import Note
from adc.ir.kinds import Kind
from adc.ir.schedules import Schedule
from adc.ir.types import MemRefType, Type, f64, i1, i64

if TYPE_CHECKING:
    from adc.frontend.frame import Frame


@dataclass(frozen=True, eq=False)
class AbstractValue:
    """Base of all."""


@dataclass(frozen=True, eq=False)
class Static(AbstractValue):
    """Any Python object known at trace time: a literal, a function, a module, None, a type, a string."""

    value: Any


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


Dim = int | Value


@dataclass(frozen=True, eq=False)
class Array(AbstractValue):
    """An array in memory. ``dims`` are its extents, ``roots`` the memory it may be a window on."""

    memref: Value
    dims: tuple[Dim, ...]
    roots: Roots = NOWHERE

    @property
    def type(self) -> MemRefType:
        assert isinstance(self.memref.type, MemRefType)
        return self.memref.type

    @property
    def dtype(self) -> Type:
        return self.type.element

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
    element: Callable[[Sequence[Value], bool], Scalar]
    reads: tuple[Read, ...]
    equalities: tuple[Value, ...] = ()
    view: str = ""  # not empty: NumPy would give a view here, so that it cannot be kept under a name

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


class Record(Compound):
    """An instance of a frozen dataclass."""

    def field(self, name: Hashable) -> AbstractValue | None:
        """The field or item of this name, if it is set."""
        names = self.form.names
        return self.items[names.index(name)] if name in names else None


class OneOf(Compound):
    """One of several constants (texts, None, functions, ...), chosen at run time: its item is the position among them.
    What is done with it is done with each, under a condition, as with a ``Choice``."""

    @property
    def position(self) -> Value:
        (item,) = self.items
        assert isinstance(item, Scalar)
        return item.value

    @property
    def options(self) -> tuple[AbstractValue, ...]:
        return tuple(constant_of_type(a) for a in self.form.names)


def constant_of_type(a: Any) -> AbstractValue:
    """The only value of a type that has but one."""
    if isinstance(a, abstract.Static):
        return Static(a.value)
    return compound(a.form, tuple(map(constant_of_type, a.items)))


class Bound(Compound):
    """A Python function bound to the object that it is a method of, or to its class: the two items."""

    @property
    def owner(self) -> AbstractValue:
        return self.items[0]

    @property
    def function(self) -> AbstractValue:
        return self.items[1]


class Contents(Record):
    """What a mutable object holds at some point. A function's objects are referred to by ``Ref``; where values travel
    between functions, this stands for the object itself, numbered in its form."""


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




def bound(owner: AbstractValue, function: AbstractValue) -> Bound:
    return Bound((owner, function), BOUND)


@dataclass(frozen=True, eq=False)
class Choice(AbstractValue):
    """The object at a run-time ``position`` among several. What is done with it is done with each, under a condition;
    it stands before a dot or bracket only, and is no value of a variable."""

    refs: tuple[Ref, ...]
    position: Value


def compound(form: Form, items: tuple[AbstractValue, ...]) -> Compound:
    """The value of a form with these items."""
    if form.kind in ("tuple", "namedtuple"):
        return Tuple(items, form)
    if form.kind == "choice":
        return OneOf(items, form)
    if form.kind == "text":
        return Text(items, form)
    if form == BOUND:
        return Bound(items, form)
    if form.kind == "function":
        return (Closure if form.cls is FunctionType else Partial)(items, form)
    return (Record if form.kind == "record" else Contents)(items, form)


@dataclass(frozen=True, eq=False)
class Range(AbstractValue):
    """A ``range``, ``prange`` or ``steps``: integers, static or not."""

    start: AbstractValue
    stop: AbstractValue
    step: AbstractValue
    parallel: bool = False
    schedule: Schedule | None = None


@dataclass(frozen=True)
class Code:
    """A function defined in a traced function, without the values that belong to it. Compared by the syntax tree, by
    where its variables live, and by how many values there are.

    ``free`` names its free variables. They live in ``frame``, where they are read when the function is called; or, once
    it has been passed on, their values are among those that it ``captured``: its own and those of the functions of the
    same frame that it calls. ``cells`` are the variables of functions outside the traced one.
    """

    source: FunctionSource = field(compare=False)
    node: ast.AST
    free: tuple[str, ...]
    defaults: int
    keywords: tuple[str, ...]
    frame: Frame | None
    captured: tuple[str, ...]
    cell_ids: tuple[int, ...]
    module_globals: dict[str, Any] = field(compare=False)
    cells: dict[str, Any] = field(compare=False)

    def __str__(self) -> str:
        return self.source.name


class Closure(Compound):
    """A function or lambda defined in a traced function. Its items are the defaults of parameters, those of
    keyword-only ones, and what it captured."""

    @property
    def code(self) -> Code:
        code = self.form.names[0]
        assert isinstance(code, Code)
        return code

    @property
    def source(self) -> FunctionSource:
        return self.code.source

    @property
    def defaults(self) -> tuple[AbstractValue, ...]:
        return self.items[: self.code.defaults]

    @property
    def keyword_defaults(self) -> dict[str, AbstractValue]:
        return dict(zip(self.code.keywords, self.items[self.code.defaults :], strict=False))

    @property
    def captured(self) -> dict[str, AbstractValue]:
        given = self.items[self.code.defaults + len(self.code.keywords) :]
        return dict(zip(self.code.captured, given, strict=True))


def closure(code: Code, items: Iterable[AbstractValue]) -> Closure:
    return Closure(tuple(items), Form("function", FunctionType, (code,)))


class Partial(Compound):
    """What ``functools.partial`` makes: the function, positional arguments, then keyword arguments by their names."""

    @property
    def positional(self) -> tuple[AbstractValue, ...]:
        return self.items[: len(self.items) - len(self._names)]

    @property
    def keywords(self) -> dict[str, AbstractValue]:
        return dict(zip(self._names, self.items[len(self.items) - len(self._names) :], strict=True))

    @property
    def _names(self) -> tuple[str, ...]:
        return self.form.names[1:]  # type: ignore[return-value]


def partial(positional: Sequence[AbstractValue], keywords: Mapping[str, AbstractValue]) -> Partial:
    form = Form("function", functools.partial, ("partial", *keywords))
    return Partial((*positional, *keywords.values()), form)


@dataclass(frozen=True, eq=False)
class Method(AbstractValue):
    """A bound method of an array, a list or a dict, such as ``a.copy``."""

    owner: AbstractValue
    name: str


@dataclass(frozen=True, eq=False)
class Stream(AbstractValue):
    """What ``enumerate``, ``zip`` or ``reversed`` gives: ``items`` as in ``control.iteration``, gone through once."""

    name: str
    items: Any


class Text(Compound):
    """A string with run-time numbers in it: a template of ``adc.ir.raising``, which the form has, and the numbers."""

    @property
    def template(self) -> str:
        return str(self.form.names[0])

    @property
    def values(self) -> tuple[Scalar, ...]:
        return self.items  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class Error(AbstractValue):
    """An instance of a built-in exception."""

    cls: type[BaseException]
    args: tuple[AbstractValue, ...]


@dataclass(frozen=True, eq=False)
class Unbound(AbstractValue):
    """A variable that some paths have not set. ``flag``: whether it is set, in which case it is ``value``."""

    flag: Value
    value: AbstractValue


@dataclass(frozen=True, eq=False)
class Poison(AbstractValue):
    """A variable that must not be read, and why: what its refusal says."""

    reason: str
    notes: tuple[Note, ...] = ()
    help: str = ""
    kind: Kind = kinds.TYPE_DIFFERS


NONE = Static(None)
GONE = Poison("a path that has returned")  # in place of what a variable holds on such a path


def is_number(value: object) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, np.generic) and value.dtype in abstract.DTYPES)


def is_static_number(v: AbstractValue) -> bool:
    return isinstance(v, Static) and is_number(v.value)


def is_numeric(v: AbstractValue) -> bool:
    """Whether ``v`` is a number, known or not."""
    return isinstance(v, Scalar) or is_static_number(v)


def is_array(v: AbstractValue) -> bool:
    return isinstance(v, Array | Lazy)


def number_dtype(value: Any) -> tuple[Type, bool]:
    """The dtype of a Python or NumPy number, and whether it is weak."""
    if isinstance(value, np.generic):
        return abstract.DTYPES[value.dtype], False
    return (i1 if isinstance(value, bool) else i64 if isinstance(value, int) else f64), True


def dim_value(d: Dim) -> Value:
    """An extent as an IR value."""
    return const_index(d) if isinstance(d, int) else d


def static_dim(d: Dim) -> int | None:
    """The extent, if it is known."""
    if isinstance(d, int):
        return d
    known = constant_of(d)
    return None if known is None else int(known)


def same_dim(a: Dim, b: Dim) -> bool:
    """Whether two extents are known to be equal."""
    x, y = static_dim(a), static_dim(b)
    if x is not None or y is not None:
        return x == y
    assert isinstance(a, Value) and isinstance(b, Value)
    return same_value(a, b)


_DEPTH = 12


def same_value(a: Value, b: Value, depth: int = _DEPTH) -> bool:
    """Whether two values are computed alike from the same ones, by pure operations."""
    if a is b:
        return True
    x, y = a.op, b.op
    if x is None or y is None or depth == 0 or x.opdef is not y.opdef or x.regions:
        return False
    if not x.opdef.pure and x.opdef is not ops.bound:  # where neither has trapped, two checks give the same
        return False
    if a.index != b.index or a.type != b.type or x.attrs != y.attrs or len(x.operands) != len(y.operands):
        return False
    return all(same_value(p, q, depth - 1) for p, q in zip(x.operands, y.operands, strict=True))


def array(memref: Value, roots: Roots, dims: Sequence[Dim] | None = None) -> Array:
    """The array in ``memref``; reads its extents at the insertion point unless ``dims`` are given."""
    if dims is None:
        assert isinstance(memref.type, MemRefType)
        dims = [extent if extent is not None else ops.dim(memref, dim=k) for k, extent in enumerate(memref.type.shape)]
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


def for_array(*values: AbstractValue) -> str:
    """The way out where a list or tuple is given and an array is meant."""
    for v in values:
        if isinstance(v, Tuple) or (isinstance(v, Ref) and v.kind == "list"):
            name = v.form.cls.__name__ if isinstance(v, Tuple) else "list"
            return f"a {name} is no array: make one of it first, np.asarray(x)"
    return ""


def describe_type(v: AbstractValue) -> str:
    """The type of ``v`` as a user would say it: a 2-D float64 array, float, tuple(float, int)."""
    name = _type_name(v)
    return f"a {name}" if isinstance(v, Array | Lazy) else name


def _type_name(v: AbstractValue) -> str:
    if isinstance(v, Static):
        if v.value is None:
            return "None"
        if callable(v.value):
            return f"function {getattr(v.value, '__name__', v.value)}"
        return type(v.value).__name__
    if isinstance(v, Scalar):
        return str(abstract.Scalar(v.dtype, v.weak))
    if isinstance(v, Array | Lazy):
        return abstract.array_name(v.dtype, v.rank)
    if isinstance(v, Closure | Partial):
        return str(v.form)
    if isinstance(v, Tuple) and v.form.kind == "tuple":
        return f"tuple({', '.join(map(_type_name, v.items))})"
    if isinstance(v, Contents) and v.form.kind == "list" and v.form.names:
        return f"list of {v.form.names[0]} of run-time length"
    if isinstance(v, Contents) and v.form.kind == "list":
        return f"list({', '.join(map(_type_name, v.items))})"
    if isinstance(v, Contents) and v.form.kind == "dict":
        return f"dict with the keys {', '.join(map(repr, v.form.names)) or 'none'}"
    if isinstance(v, Text):
        return "str"
    if isinstance(v, OneOf):
        return f"one of {', '.join(map(str, v.form.names))}"
    if isinstance(v, Bound):
        return f"method {_type_name(v.function).removeprefix('function ')}"
    if isinstance(v, Compound):
        return v.form.cls.__name__
    if isinstance(v, Ref):
        return v.cls.__name__
    if isinstance(v, Method):
        return f"method {v.name}"
    if isinstance(v, Range):
        return "range"
    if isinstance(v, Stream):
        return v.name
    if isinstance(v, Error):
        return v.cls.__name__
    return type(v).__name__.lower()
