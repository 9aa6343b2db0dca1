"""Abstract argument types: what a compiled function is specialised for.

A specialisation key is a tuple of these. They are immutable and hashable, and do not depend on run-time values, except
``Static``, whose value is part of the key.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any, Literal

import numpy as np

from adc.frontend.forms import COMPLEX, TUPLE, Form, Unsuitable, build, form_of, items_of
from adc.frontend.prelude.python_rows import Cell, PooledList
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import ComplexType, IntType, MemRefType, Type, c64, c128, f16, f32, f64, i1, i64, index

Layout = Literal["C", "F", "inner", "any"]


@dataclass(frozen=True)
class Abstract:
    """Base of all abstract types."""


@dataclass(frozen=True)
class Scalar(Abstract):
    """A number of type ``f64 f32 i64 i32 i1``. Python's own numbers are ``weak``: NumPy's types win over them."""

    type: Type
    weak: bool = True

    def __str__(self) -> str:
        return number_name(self.type, self.weak)


@dataclass(frozen=True)
class Array(Abstract):
    """An array. ``layout``: ``"C"`` contiguous, ``"inner"`` innermost stride of one element, ``"any"``; ``"F"``, only
    of arguments: contiguous in Fortran's order. In the IR such an argument is the transposed array, which is ``"C"``.

    Arguments whose ``alias`` is the same number may overlap; those without one never do. ``ones`` says for each extent
    whether it is 1, which decides how an array is broadcast; None where that is not known, and an empty tuple if
    nothing is. ``extents``: those that the code is compiled for, None where it is for all; () if it is for all of
    them. ``dims``, only while tracing: the extents (see ``adc.frontend.data.dims``).
    """

    element: Type
    rank: int
    layout: Layout = "C"
    alias: int | None = None
    writable: bool = True
    ones: tuple[bool | None, ...] = ()
    extents: tuple[int | None, ...] = ()
    dims: tuple[Any, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        dims = [":"] * self.rank
        if self.layout == "C" and dims:
            dims[-1] = "::1"
        return f"{dtype_name(self.element)}[{', '.join(dims)}]"


@dataclass(frozen=True)
class Tuple(Abstract):
    """A tuple, item by item; or another container, as ``form`` says."""

    items: tuple[Abstract, ...]
    form: Form = TUPLE

    def __str__(self) -> str:
        if self.form.again:
            return f"the same {self.form}"
        if self.form.kind in ("function", "handle"):
            return str(self.form)
        if self.form.kind == "text":
            return "str"
        if self.form.kind == "choice":
            return f"one of {', '.join(map(str, self.form.names))}"
        if self.form.kind in ("tuple", "list"):
            return f"{self.form}({', '.join(map(str, self.items))})"
        names = (f"{n!r}: " if self.form.kind == "dict" else f"{n}=" for n in self.form.names)
        return f"{self.form}({', '.join(n + str(i) for n, i in zip(names, self.items, strict=True))})"


@dataclass(frozen=True)
class Row:
    """The single name in the form of a list of run-time length: the type of its items.

    Such a list is taken apart into its length and its columns: one array for each number in an item.
    """

    item: Abstract

    def listed(self, parts: Sequence[Any]) -> list[Any]:
        """The list of the length and the columns. After the columns come the lists that the numbers in handles refer
        to."""
        return _listed(self.item, int(parts[0]), iter(parts[1:]), iter(parts[1 + len(_handles(self.item)) :]))

    def columns(self, cotangents: Sequence[Any]) -> list[Any]:
        """Cotangents of the length and the columns, from those of the items. Raises ``ValueError`` if these do not have
        the form of the items."""
        return [None, *_columns(self.item, cotangents)]

    def listed_tangents(self, parts: Sequence[Any], tangents: Sequence[Any]) -> list[Any] | None:
        """The list of the tangents of items, given the length, the columns and their tangents; None if there are no
        floats in items."""
        if all(tangent is None for tangent in tangents):
            return None
        numbers = [False, *_numbers(self.item)]
        columns = [v if number else t for v, t, number in zip(parts, tangents, numbers, strict=False)]
        first = len(numbers)
        pools = (pool or [None] * len(made) for pool, made in zip(tangents[first:], parts[first:], strict=True))
        return _listed(self.item, int(parts[0]), iter(columns[1:]), iter(pools))

    @property
    def of_objects(self) -> bool:
        """Whether items are objects in pools, or contain some."""
        return any(_handles(self.item))

    def __str__(self) -> str:
        return str(self.item)


def _handles(item: Abstract, inside: bool = False) -> list[bool]:
    """Which columns of a list, for this part of its items, hold numbers of objects in pools, or other parts of them."""
    if isinstance(item, Tuple):
        inside = item.form.kind == "handle" or issubclass(item.form.cls, PooledList)
        return [column for part in item.items for column in _handles(part, inside)]
    return [inside] if isinstance(item, Scalar | Array) else []


def _numbers(item: Abstract) -> list[bool]:
    """Which columns of a list, beside those of ``_handles``, say which one of several things a part of an item is."""
    if not isinstance(item, Tuple) or item.form.kind == "handle" or issubclass(item.form.cls, PooledList):
        return _handles(item)
    found = [column for part in item.items for column in _numbers(part)]
    return [True, *found[1:]] if item.form.kind == "choice" else found


def _listed(item: Abstract, count: int, columns: Iterator[Any], pools: Iterator[Any]) -> list[Any]:
    if isinstance(item, Scalar):
        column = next(columns)
        if column is None:
            return [None] * count
        return column.tolist() if item.weak else list(column)
    if isinstance(item, Array):
        column = next(columns)
        return [None if column is None else column[k].copy() for k in range(count)]
    if isinstance(item, Tuple):
        if item.form.kind == "handle":
            pool = next(pools)
            return [pool[k] for k in next(columns)]
        if issubclass(item.form.cls, Cell):
            return _listed(item.items[0], count, columns, pools)
        if issubclass(item.form.cls, PooledList):
            cells = next(pools)
            first, size, _ = (next(columns) for _ in range(3))
            return [cells[a : a + n] for a, n in zip(first, size, strict=True)]
        parts = [_listed(part, count, columns, pools) for part in item.items]
        return [build(item.form, [part[k] for part in parts]) for k in range(count)]
    assert isinstance(item, Static)
    return [item.value] * count


def _columns(item: Abstract, given: Sequence[Any]) -> list[Any]:
    if isinstance(item, Scalar):
        return [np.array([0.0 if one is None else one for one in given]) if item.type.is_float else None]
    if isinstance(item, Array):
        return [_stacked(given) if item.element.is_float or isinstance(item.element, ComplexType) else None]
    if not isinstance(item, Tuple):
        return []
    found: list[Any] = []
    if item.form.kind == "choice" and sum(not isinstance(part, Static) for part in item.items[1:]) == 1:
        return [None, *(column for part in item.items[1:] for column in _columns(part, given))]
    for k, part in enumerate(item.items):
        found += _columns(part, [_part(item.form, one, k, len(item.items)) for one in given])
    return found


def _stacked(given: Sequence[Any]) -> Any:
    """The cotangents of arrays, some of which may be None, in one array; None if all are."""
    some = next((one for one in given if one is not None), None)
    return None if some is None else np.array([np.zeros_like(some) if one is None else one for one in given])


def _part(form: Form, one: Any, k: int, count: int) -> Any:
    if one is None:
        return None
    parts = [one.get(n) for n in form.names] if isinstance(one, dict) else items_of(one, form)
    if len(parts) != count:
        raise ValueError
    return parts[k]


@dataclass(frozen=True, eq=False)
class Static(Abstract):
    """A value known when the function is traced (None, str, a function, ...); numbers compare with their type."""

    value: Any

    def _key(self) -> tuple[type, Any]:
        try:
            hash(self.value)
        except (TypeError, ValueError):  # a ValueError for memory that may be written
            return (type(self.value), id(self.value))
        return (type(self.value), self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and (self.value is other.value or self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        if callable(self.value):
            return str(getattr(self.value, "__name__", type(self.value).__name__))
        return repr(self.value)


_SIGNED = {np.dtype(f"i{n}"): IntType(8 * n) for n in (8, 4, 2, 1)}
_UNSIGNED = {np.dtype(f"u{n}"): IntType(8 * n, unsigned=True) for n in (8, 4, 2, 1)}
DTYPES: dict[np.dtype[Any], Type] = {
    np.dtype(np.float64): f64,
    np.dtype(np.float32): f32,
    np.dtype(np.float16): f16,
    np.dtype(np.complex128): c128,
    np.dtype(np.complex64): c64,
    **_SIGNED,
    **_UNSIGNED,
    np.dtype(np.bool_): i1,
}
REAL: dict[np.dtype[Any], Type] = {d: t for d, t in DTYPES.items() if d.kind != "c"}
_NUMPY: dict[Type, np.dtype[Any]] = {t: d for d, t in DTYPES.items()}
_NAMES: dict[Type, str] = {t: str(t).replace("ui", "u") for t in _NUMPY} | {i1: "bool", index: "int"}


def dtype_name(t: Type) -> str:
    """The name of an element type in annotations and messages."""
    return _NAMES[t]


# How messages spell types: as Python and NumPy do, never as the IR.


def number_name(t: Type, weak: bool) -> str:
    """float, int or bool; NumPy's float64, float32, the integers and bool."""
    names = {f64: "float", i64: "int"}
    return names[t] if weak and t in names else str(numpy_dtype(t))


def array_name(element: Type, rank: int) -> str:
    """An array's type, without an article: 2-D float64 array."""
    return f"{rank}-D {numpy_dtype(element)} array"


def spelled(a: Abstract) -> str:
    """The type of any value."""
    if isinstance(a, Array):
        return f"a {array_name(a.element, a.rank)}"
    if isinstance(a, Tuple) and a.form.kind in ("tuple", "list") and not a.form.again:
        return f"{a.form}({', '.join(spelled(item).removeprefix('a ') for item in a.items)})"
    if isinstance(a, Tuple) and a.form.kind == "choice":
        return " or ".join(map(spelled, a.items[1:]))
    return str(a)


def with_article(name: str) -> str:
    """The name of a type in a sentence."""
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def numpy_dtype(t: Type) -> np.dtype[Any]:
    """NumPy's dtype for an element type."""
    return _NUMPY[t]


def abstract_of(value: Any, seen: dict[int, int] | None = None) -> Abstract:
    """The abstract type of a run-time value.

    Raises ``TypeError`` for arrays of a dtype that adc does not support, and for containers that cannot be taken apart.
    Objects that are not numbers, arrays or containers are ``Static``. Mutable ones are numbered in order of appearance;
    ``seen`` maps their ``id`` to the number.
    """
    if isinstance(value, bool):
        return Scalar(i1)
    if type(value) in COMPLEX:
        return complex_number(type(value))
    if isinstance(value, np.generic) and value.dtype.names is None:
        if value.dtype not in DTYPES:
            raise Unsuitable(f"a NumPy scalar of type {value.dtype} is not supported; {_SUPPORTED}", instead(value))
        return Scalar(DTYPES[value.dtype], weak=False)
    if isinstance(value, int | float):
        if isinstance(value, enum.Enum):  # it has a name, which matters more than its value
            return Static(value)
        return Scalar(i64 if isinstance(value, int) else f64)
    if isinstance(value, np.ndarray) and value.dtype.names is None:
        return _abstract_array(value)
    form = form_of(value)
    if form is None:
        return Static(value)
    seen = {} if seen is None else seen
    if form.mutable:
        if id(value) in seen:
            return Tuple((), Form(form.kind, form.cls, (), seen[id(value)], again=True))
        seen[id(value)] = len(seen)
        form = form.numbered(seen[id(value)])
    return Tuple(tuple(abstract_of(item, seen) for item in items_of(value, form)), form)


def instead(value: np.ndarray[Any, Any] | np.generic) -> str:
    """What to pass in place of a NumPy array or number of a dtype that adc does not support."""
    dtype, number = value.dtype, isinstance(value, np.generic)
    if dtype.kind not in "biufc":
        return "convert it: x.astype(np.float64)" if dtype.kind == "O" and not number else "pass arrays of numbers"
    wanted = {"f": "float64", "c": "complex128"}.get(dtype.kind, "int64")
    return f"convert it: np.{wanted}(x)" if number else f"convert it: x.astype(np.{wanted})"


def complex_number(cls: type) -> Tuple:
    """The type of a complex number: a tuple of its two parts. ``cls``: Python's complex, or one of NumPy's."""
    part = Scalar(f32 if cls is np.complex64 else f64, weak=cls is complex)
    return Tuple((part, part), COMPLEX[cls])


_SUPPORTED = "supported are float64, float32, float16, complex128, complex64, integers of 8 to 64 bits and bool"


def _abstract_array(value: np.ndarray[Any, Any]) -> Array:
    element = DTYPES.get(value.dtype)
    if element is None or not value.dtype.isnative:
        message = f"an array of dtype {value.dtype} is not supported; {_SUPPORTED}, in native byte order"
        raise Unsuitable(message, instead(value))
    layout: Layout = "any"
    if value.flags.c_contiguous:
        layout = "C"
    elif value.ndim and value.strides[-1] == value.itemsize:
        layout = "inner"
    ones = tuple(extent == 1 for extent in value.shape)
    return Array(element, value.ndim, layout, None, bool(value.flags.writeable), ones)


def walk_abstract(a: Abstract) -> Iterator[Abstract]:
    """The leaves of ``a``, in order: scalars, arrays and statics."""
    if isinstance(a, Tuple):
        for item in a.items:
            yield from walk_abstract(item)
    else:
        yield a


def map_abstract(a: Abstract, change: Callable[[Abstract], Abstract]) -> Abstract:
    """``a`` with each leaf replaced by ``change(leaf)``."""
    if isinstance(a, Tuple):
        return replace(a, items=tuple(map_abstract(item, change) for item in a.items))
    return change(a)


def with_alias(a: Abstract, number: int | None) -> Abstract:
    """``a`` with every array in it put into the alias group ``number``."""
    return map_abstract(a, lambda leaf: replace(leaf, alias=number) if isinstance(leaf, Array) else leaf)


def memref_type(a: Array) -> MemRefType:
    """The IR type of an array. An array of complex numbers has one more axis: the real and the imaginary part."""
    strides: tuple[int | None, ...] | None = None
    if isinstance(a.element, ComplexType):
        assert a.layout != "F"
        if a.rank and a.layout != "C":
            strides = (*(None,) * (a.rank - 1), 2 if a.layout == "inner" else None, 1)
            return MemRefType((None,) * (a.rank + 1), a.element.part, strides)
        return MemRefType((*(None,) * a.rank, 2), a.element.part)
    if a.layout not in ("C", "F"):
        strides = (*(None,) * (a.rank - 1), 1 if a.layout == "inner" else None) if a.rank else ()
    return MemRefType((None,) * a.rank, a.element, strides)


def layout_of(t: MemRefType, pairs: bool = False) -> Layout:
    """The layout of an abstract array whose IR type is ``t``; ``pairs``: of complex numbers."""
    if t.strides is None:
        return "C"
    if pairs:
        return "C" if t.rank == 1 else "inner" if t.strides[-2] == 2 else "any"
    return "inner" if t.rank and t.strides[-1] == 1 else "any"


def value_type(element: Type) -> Type:
    """The type in which a number of dtype ``element`` is computed with: integers as ``index``."""
    return index if isinstance(element, IntType) and element != i1 else element
