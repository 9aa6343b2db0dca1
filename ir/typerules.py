"""Type rules: from operand types and attributes to result types, or ``TypeError``. One function per shape of rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adc.ir.core import Attr
from adc.ir.types import (
    FloatType,
    IndexType,
    IntType,
    MemRefType,
    RecordType,
    Type,
    i1,
    i64,
    index,
    record,
)

Types = Sequence[Type]
Attrs = Mapping[str, Attr]


def require(condition: bool, message: str) -> None:
    """For messages that are constants, and for rare checks; other code makes its message only when the check fails."""
    if not condition:
        raise TypeError(message)


def _same(types: Types, count: int) -> Type:
    if len(types) != count:
        raise TypeError(f"takes {count} operands, got {len(types)}")
    first = types[0]
    for t in types:
        if t is not first and t != first:
            raise TypeError(f"operands differ in type: {', '.join(map(str, types))}")
    return first


def floats(count: int):  # type: ignore[no-untyped-def]
    """``count`` equal floats to one of the same type."""

    def rule(types: Types, attrs: Attrs) -> Types:
        t = _same(types, count)
        if not t.is_float:
            raise TypeError(f"needs floats, got {t}")
        return [t]

    return rule


def integers(count: int):  # type: ignore[no-untyped-def]
    """``count`` equal integers to one of the same type."""

    def rule(types: Types, attrs: Attrs) -> Types:
        t = _same(types, count)
        if not t.is_integer:
            raise TypeError(f"needs integers, got {t}")
        return [t]

    return rule


def compare_floats(types: Types, attrs: Attrs) -> Types:
    floats(2)(types, attrs)
    return [i1]


def compare_integers(types: Types, attrs: Attrs) -> Types:
    integers(2)(types, attrs)
    return [i1]


def compare_wide(types: Types, attrs: Attrs) -> Types:
    """Two integers of 64 bits to an i1."""
    t = _same(types, 2)
    require(t in (i64, index), f"needs integers of 64 bits, got {t}")
    return [i1]


def select(types: Types, attrs: Attrs) -> Types:
    require(len(types) == 3 and types[0] == i1, "takes a condition (i1) and two values")
    return [_same(types[1:], 2)]


def strong(numbers: int, marks: int):  # type: ignore[no-untyped-def]
    """``numbers`` equal floats, then ``marks`` of i1, to one of the floats' type."""

    def rule(types: Types, attrs: Attrs) -> Types:
        require(len(types) == numbers + marks, f"takes {numbers} floats and {marks} marks (i1)")
        require(all(t == i1 for t in types[numbers:]), "the marks are of type i1")
        return list(floats(numbers)(types[:numbers], attrs))

    return rule


def float_power(types: Types, attrs: Attrs) -> Types:
    """A float and an integer exponent to the float."""
    require(len(types) == 2 and types[0].is_float and types[1].is_integer, "takes a float and an integer")
    return [types[0]]


def given(types: Types, attrs: Attrs) -> Types:
    """No operands; the result type is the attribute ``type``."""
    require(not types, "takes no operands")
    return [attrs["type"]]


def one_index(types: Types, attrs: Attrs) -> Types:
    """No operands; an index."""
    require(not types, "takes no operands")
    return [index]


def external(types: Types, attrs: Attrs) -> Types:
    """Numbers to the attribute ``type``, a number."""
    numbers = all(t.is_float or isinstance(t, IntType) for t in (*types, attrs["type"]))
    require(numbers, "takes numbers, and returns one")
    return [attrs["type"]]


def foreign(types: Types, attrs: Attrs) -> Types:
    """Numbers and arrays of them to the attribute ``types``, at most one number."""
    elements = [t.element if isinstance(t, MemRefType) else t for t in types]
    results = attrs["types"]
    numbers = all(t.is_float or t.is_integer for t in (*elements, *results))
    require(numbers and len(results) <= 1, "takes numbers and arrays of them, and returns at most one number")
    arrays = all(0 <= k < len(types) and isinstance(types[k], MemRefType) for k in attrs["written"])
    require(arrays, "writes to arrays")
    return list(results)


def cast(source: tuple[type[Type], ...], target: tuple[type[Type], ...], *, grow: bool | None = None):  # type: ignore[no-untyped-def]
    """One operand of a ``source`` class to the attribute ``type`` of a ``target`` class; ``grow``: to more bits."""

    def rule(types: Types, attrs: Attrs) -> Types:
        require(len(types) == 1, "takes one operand")
        to = attrs["type"]
        require(isinstance(types[0], source) and isinstance(to, target), f"cannot cast {types[0]} to {to}")
        if grow is not None:
            before, after = types[0].width, to.width  # type: ignore[attr-defined]
            require(before < after if grow else before > after, f"cannot cast {types[0]} to {to}")
        return [to]

    return rule


FLOAT, INT, INDEX = (FloatType,), (IntType,), (IndexType,)


def bitcast(types: Types, attrs: Attrs) -> Types:
    """A float to an integer of as many bits, or the other way round."""
    require(len(types) == 1, "takes one operand")
    before, after = types[0], attrs["type"]
    number = all(isinstance(t, FloatType | IntType | IndexType) for t in (before, after))
    widths = {getattr(t, "width", 64) for t in (before, after)}
    require(number and before.is_float != after.is_float and len(widths) == 1, f"cannot cast {before} to {after}")
    return [after]


def nothing(types: Types, attrs: Attrs) -> Types:
    """Any operands, no result."""
    return []


def bound(types: Types, attrs: Attrs) -> Types:
    require(tuple(types) == (index, index), "takes an index and an extent")
    return [index]


def trap_unless(types: Types, attrs: Attrs) -> Types:
    require(len(types) >= 1 and types[0] == i1, "takes a condition (i1), then values for the message")
    return []


def _memref(t: Type) -> MemRefType:
    if not isinstance(t, MemRefType):
        raise TypeError(f"needs a memref, got {t}")
    return t


def _indices(types: Types, rank: int) -> None:
    if len(types) != rank:
        raise TypeError(f"needs {rank} subscripts, got {len(types)}")
    for t in types:
        if t is not index and t != index:
            raise TypeError("subscripts must be of type index")


def alloc(types: Types, attrs: Attrs) -> Types:
    result = _memref(attrs["type"])
    require(result.strides is None, "allocates the identity layout only")
    _indices(types, sum(extent is None for extent in result.shape))
    return [result]


def dealloc(types: Types, attrs: Attrs) -> Types:
    require(len(types) == 1, "takes one memref")
    _memref(types[0])
    return []


def dim(types: Types, attrs: Attrs) -> Types:
    require(len(types) == 1 and 0 <= attrs["dim"] < _memref(types[0]).rank, "dimension out of range")
    return [index]


def load(types: Types, attrs: Attrs) -> Types:
    source = _memref(types[0])
    _indices(types[1:], source.rank)
    return [source.element]


def store(types: Types, attrs: Attrs) -> Types:
    target = _memref(types[1])
    if types[0] != target.element:
        raise TypeError(f"cannot store {types[0]} into {target}")
    _indices(types[2:], target.rank)
    return []


def accumulate(types: Types, attrs: Attrs) -> Types:
    require(types[0].is_float, "accumulates floats")
    return store(types, attrs)


def fill(types: Types, attrs: Attrs) -> Types:
    require(len(types) == 2 and types[0] == _memref(types[1]).element, "takes a value and a memref of it")
    return []


def copy(types: Types, attrs: Attrs) -> Types:
    require(len(types) == 2, "takes a source and a target")
    source, target = _memref(types[0]), _memref(types[1])
    require(source.rank == target.rank and source.element == target.element, f"cannot copy {source} to {target}")
    return []


def _known_strides(source: MemRefType) -> tuple[int | None, ...]:
    """The strides as far as they are known: those of the identity layout follow from the extents."""
    if source.strides is not None:
        return source.strides
    strides: list[int | None] = []
    step: int | None = 1
    for extent in reversed(source.shape):
        strides.append(step)
        step = None if step is None or extent is None else step * extent
    return tuple(reversed(strides))


def subview(types: Types, attrs: Attrs) -> Types:
    """Source, then per dimension offsets, sizes, steps (``3 * rank`` subscripts).

    ``static_steps`` repeats the steps that are constants (else None); ``dropped`` lists the dimensions, of size one,
    that the result omits. Steps may be negative.
    """
    source = _memref(types[0])
    _indices(types[1:], 3 * source.rank)
    steps, dropped = attrs["static_steps"], attrs["dropped"]
    require(len(steps) == source.rank, "static_steps needs one entry per dimension")
    strides: list[int | None] = []
    for k, stride in enumerate(_known_strides(source)):
        step = steps[k]
        if k not in dropped:
            strides.append(None if stride is None or step is None else stride * step)
    return [MemRefType((None,) * len(strides), source.element, tuple(strides))]


def transpose(types: Types, attrs: Attrs) -> Types:
    source = _memref(types[0])
    permutation = attrs["permutation"]
    require(sorted(permutation) == list(range(source.rank)), "permutation must name each dimension once")
    strides = _known_strides(source)
    return [
        MemRefType(tuple(source.shape[p] for p in permutation), source.element, tuple(strides[p] for p in permutation))
    ]


def reshape(types: Types, attrs: Attrs) -> Types:
    """Source, then the extents of the result.

    ``groups`` has pairs (m, n), in order: m dimensions of the source become n of the result, with as many elements.
    Dimensions are merged in the identity layout only. Elsewhere each dimension becomes one or more, or, if its extent
    is one, none.
    """
    source, groups = _memref(types[0]), attrs["groups"]
    require(sum(m for m, _ in groups) == source.rank, "groups must name each dimension of the source once")
    rank = sum(n for _, n in groups)
    _indices(types[1:], rank)
    if source.strides is None:
        return [MemRefType(_kept_extents(source, groups), source.element)]
    require(all(m <= 1 for m, _ in groups), "merges dimensions of contiguous memory only")
    strides: list[int | None] = []
    at = 0
    for m, n in groups:
        if n:
            strides += [None] * (n - 1) + [source.strides[at]] if m else [1] * n
        at += m
    return [MemRefType((None,) * rank, source.element, tuple(strides))]


def _kept_extents(source: MemRefType, groups: Sequence[tuple[int, int]]) -> tuple[int | None, ...]:
    """The extents after a reshape as far as they are known: those of dimensions that stay as they are."""
    shape: list[int | None] = []
    at = 0
    for m, n in groups:
        shape += [source.shape[at]] if (m, n) == (1, 1) else [None] * n
        at += m
    return tuple(shape)


def reinterpret_cast(types: Types, attrs: Attrs) -> Types:
    """Source, then the offset, the extents and the strides, counted in elements, of the result.

    ``static_strides`` repeats the strides that are constants (else None). The source must have the identity layout:
    then its shadow has the same layout, wherever it was made.
    """
    source, strides = _memref(types[0]), attrs["static_strides"]
    require(source.strides is None, "is for contiguous memory")
    _indices(types[1:], 1 + 2 * len(strides))
    return [MemRefType((None,) * len(strides), source.element, tuple(strides))]


def memref_cast(types: Types, attrs: Attrs) -> Types:
    """To a type of the same rank and element, whose layout is the same or less specific."""
    source, target = _memref(types[0]), _memref(attrs["type"])
    require(source.rank == target.rank and source.element == target.element, f"cannot cast {source} to {target}")
    require(
        target.strides is not None or source.strides is None, f"cannot cast {source} to the identity layout: {target}"
    )
    return [target]


def grow(types: Types, attrs: Attrs) -> Types:
    require(len(types) == 2 and types[1] == index and _memref(types[0]).rank == 1, "takes a 1-D memref and an index")
    return [types[0]]


def page_out(types: Types, attrs: Attrs) -> Types:
    require(len(types) == 2 and types[1] == index and _memref(types[0]).rank > 0, "takes a memref and an index")
    require(_memref(types[0]).strides is None, "takes contiguous memory")
    return []


def pack(types: Types, attrs: Attrs) -> Types:
    return [record]


def release(types: Types, attrs: Attrs) -> Types:
    require(len(types) == 1 and isinstance(types[0], RecordType), "takes a record")
    return []


def unpack(types: Types, attrs: Attrs) -> Types:
    require(len(types) == 1 and isinstance(types[0], RecordType), "takes a record")
    return list(attrs["types"])


def matmul(types: Types, attrs: Attrs) -> Types:
    """``c += a @ b`` on memrefs of rank two."""
    matrices = [_memref(t) for t in types]
    require([m.rank for m in matrices] == [2, 2, 2], "takes three matrices")
    elements = {m.element for m in matrices}
    require(len(elements) == 1 and matrices[0].element.is_float, "takes matrices of one float type")
    return []


def ruled(types: Types, attrs: Attrs) -> Types:
    """The results first, then residuals and arguments; one float at least."""
    results = list(attrs["types"])
    require(list(types[: len(results)]) == results, "the first operands are the results")
    require(not any(isinstance(t, MemRefType) for t in types), "is for numbers")
    return results


def call(types: Types, attrs: Attrs) -> Types:
    return list(attrs["types"])
