"""Views of small arrays whose offsets, extents and steps are numbers: which element of the array they mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from adc.ir import ops
from adc.ir.core import Op, Value
from adc.ir.types import MemRefType
from adc.passes.analysis.kinds import VIEWS

Shape = tuple[int, ...]
Use = tuple[Op, int]
Number = Callable[[Value], int | None]
"""The value of an integer; None if it is not known."""

Shapes = Callable[[Value], Shape | None]
"""The shape of a memref; None if it is not known."""


def with_views(uses: Sequence[Use]) -> Iterator[Use]:
    """Uses of a memref, and those of its views, and of views of these."""
    for op, position in uses:
        yield op, position
        if op.opdef in VIEWS and position == 0:
            yield from with_views(list(op.result.uses))


def numbers_of(view: Op) -> Sequence[Value]:
    """The integers that define a view."""
    return view.operands[1:]


def shape_of_view(view: Op, number: Number, shape_of: Shapes) -> Shape | None:
    """The shape of a view."""
    kind = view.opdef
    if kind is ops.transpose or kind is ops.cast:
        source = shape_of(view.operands[0])
        if source is None or kind is ops.cast:
            return source
        return tuple(source[p] for p in view.attrs["permutation"])
    extents: Sequence[Value]
    if kind is ops.subview:
        rank = len(view.attrs["static_steps"])
        sizes = view.operands[1 + rank : 1 + 2 * rank]
        extents = [size for d, size in enumerate(sizes) if d not in view.attrs["dropped"]]
    elif kind is ops.reshape:
        extents = view.operands[1:]
    else:
        extents = view.operands[2 : 2 + len(view.attrs["static_strides"])]
    found = [number(extent) for extent in extents]
    return None if None in found else tuple(e for e in found if e is not None)


def element(memref: Value, at: Sequence[int], number: Number, shape_of: Shapes) -> tuple[Value, int] | None:
    """The array that ``memref`` is, or is a view of, and the number, in order, of its element with these subscripts in
    ``memref``. None if that is not known, or there is no such element."""
    shape = shape_of(memref)
    if shape is None or not all(0 <= k < extent for k, extent in zip(at, shape, strict=True)):
        return None
    view = memref.op
    if view is None or view.opdef not in VIEWS:
        return memref, flat(at, shape)
    source = view.operands[0]
    if view.opdef is ops.reinterpret_cast:
        return _reinterpreted(view, at, number, shape_of)
    under = _subscripts(view, at, number, shape, shape_of(source))
    return None if under is None else element(source, under, number, shape_of)


def flat(at: Sequence[int], shape: Sequence[int]) -> int:
    """The number of an element in row-major order."""
    return sum(k * math.prod(shape[d + 1 :]) for d, k in enumerate(at))


def _reinterpreted(view: Op, at: Sequence[int], number: Number, shape_of: Shapes) -> tuple[Value, int] | None:
    """The element of a window on contiguous memory, which all small arrays have."""
    memref = view.operands[0]
    while memref.op is not None and memref.op.opdef is ops.cast:
        memref = memref.op.operands[0]
    shape, t = shape_of(memref), memref.type
    numbers = [number(v) for v in view.operands[1:]]
    if shape is None or None in numbers or (memref.op is not None and memref.op.opdef in VIEWS):
        return None
    assert isinstance(t, MemRefType)
    offset, *rest = (n for n in numbers if n is not None)
    place = offset + sum(k * stride for k, stride in zip(at, rest[len(at) :], strict=True))
    return (memref, place) if 0 <= place < math.prod(shape) else None


def _subscripts(
    view: Op, at: Sequence[int], number: Number, shape: Shape, source: Shape | None
) -> tuple[int, ...] | None:
    """The subscripts of the same element in the base of ``view``."""
    if source is None:
        return None
    if view.opdef is ops.cast:
        return tuple(at)
    if view.opdef is ops.transpose:
        found = [0] * len(at)
        for k, p in zip(at, view.attrs["permutation"], strict=True):
            found[p] = k
        return tuple(found)
    if view.opdef is ops.subview:
        rank, dropped = len(view.attrs["static_steps"]), view.attrs["dropped"]
        offsets = [number(v) for v in view.operands[1 : 1 + rank]]
        steps = [number(v) for v in view.operands[1 + 2 * rank :]]
        if None in offsets or None in steps:
            return None
        given = iter(at)
        pairs = zip(offsets, steps, strict=True)
        return tuple(
            (offset or 0) + (0 if d in dropped else next(given) * (step or 0)) for d, (offset, step) in enumerate(pairs)
        )
    return _unshaped(view.attrs["groups"], at, shape, source)


def _unshaped(groups: Sequence[Sequence[int]], at: Sequence[int], shape: Shape, source: Shape) -> tuple[int, ...]:
    """The subscripts before a reshape: each group of dimensions has the same elements in the same order."""
    found: list[int] = []
    here, there = 0, 0
    for m, n in groups:
        place = flat(at[here : here + n], shape[here : here + n])
        under: list[int] = []
        for extent in reversed(source[there : there + m]):
            place, k = divmod(place, extent)
            under.insert(0, k)
        found += under
        here, there = here + n, there + m
    return tuple(found)
