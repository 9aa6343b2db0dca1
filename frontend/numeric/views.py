"""Views of another shape: reshaped arrays, new axes, dropped axes, diagonals.

As in NumPy they are windows on the same memory, and can be written through; a reshape that merges dimensions that are
not contiguous is a copy. If that depends on run-time extents, both are built, under a condition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from adc.frontend.data.dims import Dim, dim_value, is_one, same_dim, static_dim
from adc.frontend.data.values import Array
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.numeric import snapshots
from adc.frontend.numeric.convert import load_scalar, store_scalar
from adc.frontend.numeric.layouts import (
    Layout,
    equal_products,
    grouped,
    layout_of,
    mergeable,
    merged_stride,
    product,
    quotient,
    times,
)
from adc.frontend.numeric.nests import allocate, nest
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.builder import build, current_loc, insert_at
from adc.ir.core import Block, Value
from adc.ir.types import MemRefType

Groups = tuple[tuple[int, int], ...]


def grouped_view(owner: Array, dims: Sequence[Dim], groups: Groups) -> Array:
    """The same elements under other extents, if the layout allows it: see ``ops.reshape``."""
    extents: list[Dim] = [*dims]
    if owner.is_complex:
        extents, groups = [*dims, 2], (*groups, (1, 1))
    view = build(ops.reshape, [owner.memref, *map(dim_value, extents)], {"groups": groups}).result
    return Array(view, tuple(dims), owner.roots)


def with_new_axes(owner: Array, new: Sequence[bool]) -> Array:
    """The view that has an axis of extent one wherever ``new`` says so."""
    rest = iter(owner.dims)
    dims: list[Dim] = [1 if added else next(rest) for added in new]
    return grouped_view(owner, dims, tuple((0, 1) if added else (1, 1) for added in new))


def without_axes(owner: Array, axes: Sequence[int]) -> Array:
    """The view without some axes of extent one; that they are is asserted."""
    for k in axes:
        if is_one(owner.dims[k]) is not True:
            one = ops.cmpi(dim_value(owner.dims[k]), const_index(1), predicate="eq")
            message = "cannot select an axis to squeeze out which has size not equal to one"
            trap_unless(one, "ValueError", message)
    dims = [d for k, d in enumerate(owner.dims) if k not in axes]
    return grouped_view(owner, dims, tuple((1, 0) if k in axes else (1, 1) for k in range(owner.rank)))


# Reshape --------------------------------------------------------------------------------------------------------------


def reshape(frame: Frame, owner: Array, shape: Sequence[Dim], inferred: int | None = None) -> Array:
    """The array in another shape, of as many elements; that is asserted. ``inferred``: the extent that follows from the
    others."""
    dims = list(shape) if inferred is None else _infer(owner, shape, inferred)
    if len(dims) == owner.rank and all(same_dim(a, b) for a, b in zip(owner.dims, dims, strict=True)):
        return grouped_view(owner, owner.dims, ((1, 1),) * owner.rank)
    if inferred is None and not equal_products(owner.dims, dims):
        equal = ops.cmpi(dim_value(product(owner.dims)), dim_value(product(dims)), predicate="eq")
        _check_size(equal, owner, dims)
    groups = _groups(owner.dims, dims)
    if owner.type.strides is None or all(m <= 1 for m, _ in groups):
        return grouped_view(owner, dims, groups)
    layout = layout_of(owner.memref)
    if layout is None:
        return snapshots.stand_in(frame, _copied(frame, owner, dims), owner, "x.reshape(...)")
    finer = _refined(owner.dims, dims, groups)
    ways = [(fits, found) for found in finer if (fits := _fits(owner, dims, layout, found)) is not False]
    if not ways:
        return _copied(frame, owner, dims)
    sure = next((found for fits, found in ways if fits is True), None)
    if sure is not None:
        return window(owner, layout, layout.offset, dims, _strides(owner, layout, dims, sure))
    condition = reduce(ops.ori, [fits for fits, _ in ways if isinstance(fits, Value)])

    def view() -> Array:
        return window(owner, layout, layout.offset, dims, _chosen_strides(owner, layout, dims, ways))

    return _view_or_copy(frame, owner, dims, condition, view)


def vector_in_one_run(frame: Frame, owner: Array) -> Array:
    """A vector, or a copy of it if its elements are not next to each other, as from ``np.ravel``."""
    if owner.type.strides is None:
        return owner
    layout = layout_of(owner.memref)
    if layout is None:
        return snapshots.stand_in(frame, _copied(frame, owner, owner.dims), owner, "x.ravel()")
    (step,) = layout.strides
    if static_dim(step) == 1:
        return owner
    near = ops.cmpi(dim_value(owner.dims[0]), const_index(1), predicate="sle")
    if static_dim(step) is None:
        near = ops.ori(near, ops.cmpi(dim_value(step), const_index(1), predicate="eq"))
    return _view_or_copy(
        frame, owner, owner.dims, near, lambda: window(owner, layout, layout.offset, owner.dims, (1,))
    )


def _view_or_copy(
    frame: Frame, owner: Array, dims: Sequence[Dim], condition: Value, made: Callable[[], Array]
) -> Array:
    """The view that ``made`` makes, if ``condition`` holds at run time; else a copy in another shape."""
    blocks = Block(), Block()
    with insert_at(blocks[0]):
        view = made()
    with insert_at(blocks[1]):
        copied = _copied(frame, owner, dims)
    t = MemRefType((None,) * view.type.rank, view.type.element, _common(view, copied))
    for block, one in zip(blocks, (view, copied), strict=True):
        with insert_at(block):
            build(ops.yield_, [one.memref if one.type == t else ops.cast(one.memref, type=t)])
    chosen = build(ops.if_, [condition], result_types=[t], regions=blocks).result
    return Array(chosen, tuple(dims), view.roots | copied.roots)


def _common(view: Array, copied: Array) -> tuple[int | None, ...]:
    strides = view.type.strides
    assert strides is not None and copied.type.rank == len(strides)
    return (*(None for _ in strides[:-1]), *(1 if s == 1 else None for s in strides[-1:]))


def _check_size(fits: Value, owner: Array, dims: Sequence[Dim], inferred: int | None = None) -> None:
    """Raise a ValueError unless the shape fits. ``inferred``: which extent was -1."""
    text = ",".join("newaxis" if k == inferred else "{}" for k in range(len(dims))) + "," * (len(dims) == 1)
    shown = [dim_value(d) for k, d in enumerate(dims) if k != inferred]
    have = dim_value(product(owner.dims))
    trap_unless(fits, "ValueError", f"cannot reshape array of size {{}} into shape ({text})", have, *shown)


def _groups(old: Sequence[Dim], new: Sequence[Dim]) -> Groups:
    """Groups of consecutive dimensions with as many elements before and after, as small as can be found, from the front
    and then from the back."""
    first, i, j = _prefixes(old, new)
    last, m, n = _prefixes(old[i:][::-1], new[j:][::-1])
    left = (len(old) - i - m, len(new) - j - n)
    return (*first, *([left] if left != (0, 0) else []), *reversed(last))


def _prefixes(old: Sequence[Dim], new: Sequence[Dim]) -> tuple[list[tuple[int, int]], int, int]:
    """Groups from the front, as many as are found, and the numbers of dimensions in them."""
    groups: list[tuple[int, int]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        sizes = [(m, n) for m in range(len(old) - i + 1) for n in range(len(new) - j + 1) if m or n]
        sizes.sort(key=sum)
        found = next(((m, n) for m, n in sizes if _same(old[i : i + m], new[j : j + n])), None)
        if found is None:
            break
        groups.append(found)
        i, j = i + found[0], j + found[1]
    return groups, i, j


def _same(old: Sequence[Dim], new: Sequence[Dim]) -> bool:
    if not old or not new:
        return all(is_one(d) is True for d in (*old, *new))
    return equal_products(old, new) is True and all(static_dim(d) != 0 for d in (*old, *new))


def _refined(old: Sequence[Dim], new: Sequence[Dim], groups: Groups) -> list[Groups]:
    """``groups``, and all finer ones that may also fit, as far as the extents are known."""
    found: list[Groups] = [()]
    i = j = 0
    for m, n in groups:
        here = _splits(old[i : i + m], new[j : j + n]) if m > 1 and n > 1 else [((m, n),)]
        found = [(*before, *finer) for before in found for finer in here]
        i, j = i + m, j + n
    if len(found) > _MOST_WAYS:
        raise refuse(
            current_loc(),
            "there are too many ways in which this reshape may be a view, and not a copy",
            "reshape a copy: x.copy().reshape(...)",
            kind=kinds.UNSUPPORTED_INDEXING,
        )
    return found


_MOST_WAYS = 24


def _splits(old: Sequence[Dim], new: Sequence[Dim]) -> list[Groups]:
    m, n = len(old), len(new)
    found: list[Groups] = [((m, n),)]
    for i in range(1, m):
        for j in range(1, n):
            if equal_products(old[:i], new[:j]) is not False:
                found += [((i, j), *rest) for rest in _splits(old[i:], new[j:])]
    return found


def _fits(owner: Array, dims: Sequence[Dim], layout: Layout, groups: Groups) -> bool | Value:
    """Whether a reshape by these groups is a view: known, or an i1."""
    i = j = 0
    result: bool | Value = True
    for m, n in groups:
        old, new = owner.dims[i : i + m], dims[j : j + n]
        tests = [mergeable(old, layout.strides[i : i + m])]
        if equal_products(old, new) is not True:
            tests.append(ops.cmpi(dim_value(product(old)), dim_value(product(new)), predicate="eq"))
        i, j = i + m, j + n
        for test in tests:
            if test is False:
                return False
            if isinstance(test, Value):
                result = ops.andi(result, test) if isinstance(result, Value) else test
    return result


def _strides(owner: Array, layout: Layout, dims: Sequence[Dim], groups: Groups) -> list[Dim]:
    merged: list[Dim] = []
    at = 0
    for m, _ in groups:
        if m:
            merged.append(merged_stride(owner.dims[at : at + m], layout.strides[at : at + m]))
        at += m
    return grouped([(min(m, 1), n) for m, n in groups], merged, dims)


def _chosen_strides(
    owner: Array, layout: Layout, dims: Sequence[Dim], ways: Sequence[tuple[bool | Value, Groups]]
) -> list[Dim]:
    """The strides by the first way that fits. All ways that fit have the same strides, except along extents of one."""
    *others, (_, last) = ways
    strides = _strides(owner, layout, dims, last)
    for fits, groups in reversed(others):
        assert isinstance(fits, Value)
        first = _strides(owner, layout, dims, groups)
        strides = [
            b if static_dim(a) == static_dim(b) is not None else ops.select(fits, dim_value(a), dim_value(b))
            for a, b in zip(first, strides, strict=True)
        ]
    return strides


def window(owner: Array, layout: Layout, offset: Dim, dims: Sequence[Dim], strides: Sequence[Dim]) -> Array:
    """The view of some elements of an array whose layout is known; all are distinct."""
    extents, strides = [*dims], [*strides]
    if owner.is_complex:
        extents, strides = [*extents, 2], [*strides, 1]
    known = tuple(static_dim(s) for s in strides)
    operands = [layout.base, dim_value(offset), *map(dim_value, extents), *map(dim_value, strides)]
    view = build(ops.reinterpret_cast, operands, {"static_strides": known}).result
    return Array(view, tuple(dims), owner.roots)


def diagonal(frame: Frame, owner: Array, offset: Value, first: int, second: int) -> Array:
    """The view of the elements whose subscripts along two axes differ by ``offset``; their axis is the last."""
    layout = layout_of(owner.memref)
    zero = const_index(0)
    row, column = ops.maxsi(ops.subi(zero, offset), zero), ops.maxsi(offset, zero)
    height, width = dim_value(owner.dims[first]), dim_value(owner.dims[second])
    count = ops.maxsi(ops.minsi(ops.subi(height, row), ops.subi(width, column)), zero)
    kept = [k for k in range(owner.rank) if k not in (first, second)]
    dims = (*(owner.dims[k] for k in kept), count)
    if layout is None:
        copied = _diagonal_of_window(frame, owner, dims, (first, second), (row, column))
        return snapshots.stand_in(frame, copied, owner, "np.diagonal(x)")
    down, across = layout.strides[first], layout.strides[second]
    start = [dim_value(layout.offset), dim_value(times(row, down)), dim_value(times(column, across))]
    strides = (*(layout.strides[k] for k in kept), ops.addi(dim_value(down), dim_value(across)))
    return window(owner, layout, reduce(ops.addi, start), dims, strides)


def _diagonal_of_window(
    frame: Frame, owner: Array, dims: Sequence[Dim], axes: tuple[int, int], start: tuple[Value, Value]
) -> Array:
    """A copy of a diagonal that begins at ``start``."""
    made = allocate(frame, dims, owner.dtype)

    def assign(i: list[Value]) -> None:
        places = dict(zip(axes, (ops.addi(i[-1], begin) for begin in start), strict=True))
        rest = iter(i)
        at = [places[k] if k in places else next(rest) for k in range(owner.rank)]
        store_scalar(load_scalar(owner.memref, at, owner.dtype), made.memref, i, owner.dtype)

    nest(dims, assign)
    return made


def _copied(frame: Frame, owner: Array, dims: Sequence[Dim]) -> Array:
    result = allocate(frame, owner.dims, owner.dtype)
    build(ops.copy, [owner.memref, result.memref])
    return grouped_view(result, dims, ((owner.rank, len(dims)),))


def _infer(owner: Array, dims: Sequence[Dim], at: int) -> list[Dim]:
    """``dims`` with the extent ``at`` inferred from the others, and checked."""
    given = [*dims[:at], *dims[at + 1 :]]
    left = quotient(owner.dims, given)
    whole, known = product(owner.dims), product(given)
    if left is not None and static_dim(known) is not None:
        return [*dims[:at], left, *dims[at + 1 :]]
    part = dim_value(known)
    fits = ops.cmpi(part, const_index(0), predicate="ne")
    if left is None:
        divisor = ops.maxsi(part, const_index(1))
        left = ops.divsi(dim_value(whole), divisor)
        fits = ops.andi(fits, ops.cmpi(ops.muli(left, divisor), dim_value(whole), predicate="eq"))
    _check_size(fits, owner, dims, at)
    return [*dims[:at], left, *dims[at + 1 :]]


def row(owner: Array, k: Value, axis: int = 0) -> Array:
    """The view ``owner[k]``, or that along another axis, for a ``k`` in range."""
    zero, one = const_index(0), const_index(1)
    extents: list[Dim] = [*owner.dims, 2] if owner.is_complex else [*owner.dims]
    rank = len(extents)
    offsets = [k if n == axis else zero for n in range(rank)]
    sizes = [one if n == axis else dim_value(d) for n, d in enumerate(extents)]
    operands = [owner.memref, *offsets, *sizes, *[one] * rank]
    view = build(ops.subview, operands, {"static_steps": (1,) * rank, "dropped": (axis,)}).result
    return Array(view, tuple(d for n, d in enumerate(owner.dims) if n != axis), owner.roots)
