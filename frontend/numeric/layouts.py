"""Memory layouts of views, as far as they follow from extents; whether dimensions can be merged without a copy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise

from adc.frontend.data.dims import Dim, dim_value, is_one, read_dim, representative, same_dim, static_dim
from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of
from adc.ir.core import Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType, i1

Factors = tuple[int, list[Value]]


# Products of extents --------------------------------------------------------------------------------------------------


def times(a: Dim, b: Dim) -> Dim:
    """A product, known if both are."""
    x, y = static_dim(a), static_dim(b)
    if x is not None and y is not None:
        return x * y
    if x == 1:
        return b
    return a if y == 1 else ops.muli(dim_value(a), dim_value(b))


def product(dims: Sequence[Dim]) -> Dim:
    result: Dim = 1
    for d in dims:
        result = times(result, d)
    return result


def factors(dims: Sequence[Dim]) -> Factors:
    """The factors of a product: one number, and values that are not products themselves."""
    number, values = 1, []
    work = list(dims)
    while work:
        d = representative(work.pop())
        known = static_dim(d)
        if known is not None:
            number *= known
        elif isinstance(d, Value) and d.op is not None and d.op.opdef is ops.muli:
            work += d.op.operands
        else:
            assert isinstance(d, Value)
            values.append(d)
    return number, values


def cancelled(a: Factors, b: Factors) -> tuple[Factors, Factors]:
    """Two products without the values that are factors of both."""
    mine, others = [], list(b[1])
    for v in a[1]:
        twin = next((w for w in others if same_dim(v, w)), None)
        if twin is None:
            mine.append(v)
        else:
            others.remove(twin)
    return (a[0], mine), (b[0], others)


def equal_products(a: Sequence[Dim], b: Sequence[Dim]) -> bool | None:
    """Whether two products are equal, unless one of them is zero; None if that is not known."""
    (m, mine), (n, others) = cancelled(factors(a), factors(b))
    if not mine and not others:
        return m == n
    if m == n == 1 and (not mine or not others) and all(is_one(v) is False for v in mine + others):
        return False
    if m == n and len(mine) == len(others) == 1 and (_less(mine[0], others[0]) or _less(others[0], mine[0])):
        return False
    return None


def quotient(whole: Sequence[Dim], part: Sequence[Dim]) -> Dim | None:
    """The quotient of a product and another one, which is not zero, if it is known to be exact."""
    (m, mine), (n, others) = cancelled(factors(whole), factors(part))
    return None if others or not n or m % n else product([m // n, *mine])


def _less(a: Value, b: Value) -> bool:
    """Whether ``a`` is ``b`` minus a constant, or zero if that is negative."""
    op = a.op
    if op is not None and op.opdef is ops.maxsi and constant_of(op.operands[1]) == 0:
        op = op.operands[0].op
    if op is None or op.opdef is not ops.addi:
        return False
    less = constant_of(op.operands[1])
    return less is not None and less < 0 and same_dim(op.operands[0], b)


# Layouts --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """The elements lie in the contiguous memory of ``base``, from ``offset`` on, ``strides`` apart."""

    base: Value
    offset: Dim
    strides: tuple[Dim, ...]


def layout_of(memref: Value) -> Layout | None:
    """The layout of an array; None if it does not follow from extents, as for a view that was passed as an argument."""
    assert isinstance(memref.type, MemRefType)
    if memref.type.strides is None:
        return Layout(memref, 0, contiguous(_dims(memref)))
    op = memref.op
    rule = None if op is None else _LAYOUTS.get(op.opdef)
    if op is None or rule is None:
        return None
    inner = layout_of(op.operands[0])
    return None if inner is None else rule(op, inner)


def contiguous(dims: Sequence[Dim]) -> tuple[Dim, ...]:
    """The strides of contiguous memory."""
    return tuple(product(dims[k + 1 :]) for k in range(len(dims)))


def _dims(memref: Value) -> list[Dim]:
    t, op = memref.type, memref.op
    assert isinstance(t, MemRefType)
    if op is not None and op.opdef is ops.alloc:
        given = iter(op.operands)
        return [next(given) if e is None else e for e in t.shape]
    if op is not None and op.opdef is ops.reshape:
        return list(op.operands[1:])
    return [e if e is not None else read_dim(memref, k) for k, e in enumerate(t.shape)]


def _plus(a: Dim, b: Dim) -> Dim:
    x, y = static_dim(a), static_dim(b)
    if x is not None and y is not None:
        return x + y
    if x == 0:
        return b
    return a if y == 0 else ops.addi(dim_value(a), dim_value(b))


def _of_subview(op: Op, inner: Layout) -> Layout:
    rank, dropped = len(inner.strides), op.attrs["dropped"]
    offsets, steps = op.operands[1 : 1 + rank], op.operands[1 + 2 * rank :]
    offset = inner.offset
    for start, stride in zip(offsets, inner.strides, strict=True):
        offset = _plus(offset, times(start, stride))
    strides = (times(steps[k], inner.strides[k]) for k in range(rank) if k not in dropped)
    return Layout(inner.base, offset, tuple(strides))


def _of_transpose(op: Op, inner: Layout) -> Layout:
    return Layout(inner.base, inner.offset, tuple(inner.strides[p] for p in op.attrs["permutation"]))


def _of_reshape(op: Op, inner: Layout) -> Layout:
    return Layout(inner.base, inner.offset, tuple(grouped(op.attrs["groups"], inner.strides, op.operands[1:])))


def grouped(groups: Sequence[tuple[int, int]], strides: Sequence[Dim], dims: Sequence[Dim]) -> list[Dim]:
    """The strides after a reshape with ``groups`` to extents ``dims``."""
    found: list[Dim] = []
    at = 0
    for m, n in groups:
        at += m
        last = strides[at - 1] if m else 1
        here = dims[len(found) : len(found) + n]
        found += [times(last, product(here[k + 1 :])) for k in range(n)]
    return found


def _of_reinterpret(op: Op, inner: Layout) -> Layout:
    rank = len(op.attrs["static_strides"])
    return Layout(op.operands[0], op.operands[1], tuple(op.operands[2 + rank :]))


def _of_cast(op: Op, inner: Layout) -> Layout:
    return inner


_LAYOUTS = {
    ops.subview: _of_subview,
    ops.transpose: _of_transpose,
    ops.reshape: _of_reshape,
    ops.reinterpret_cast: _of_reinterpret,
    ops.cast: _of_cast,
}


def mergeable(dims: Sequence[Dim], strides: Sequence[Dim]) -> bool | Value:
    """Whether these dimensions can be merged: known, or an i1."""
    counted = [(d, s) for d, s in zip(dims, strides, strict=True) if is_one(d) is not True]
    if any(is_one(d) is None for d, _ in counted):
        known = [equal_products([s], [inner, last]) for (_, s), (inner, last) in pairwise(counted)]
        return True if all(known) else _by_strides(counted)
    conditions: list[Value] = []
    for (_, stride), (inner, last) in pairwise(counted):
        fits = equal_products([stride], [last, inner])
        if fits is False:
            return False
        if fits is None:
            conditions.append(ops.cmpi(dim_value(stride), dim_value(times(last, inner)), predicate="eq"))
    return reduce(ops.andi, conditions) if conditions else True


def _by_strides(counted: Sequence[tuple[Dim, Dim]]) -> Value:
    """Whether dimensions can be merged, where some may have extent one: these are ignored."""
    one = const_index(1)
    result = const(True, i1)
    wanted, started = one, const(False, i1)
    for d, stride in reversed(counted):
        n, s = dim_value(d), dim_value(stride)
        here = ops.cmpi(n, one, predicate="ne")
        wrong = ops.andi(ops.andi(started, here), ops.cmpi(s, wanted, predicate="ne"))
        result = ops.select(wrong, const(False, i1), result)
        wanted = ops.select(here, ops.muli(s, n), wanted)
        started = ops.ori(started, here)
    return result


def merged_stride(dims: Sequence[Dim], strides: Sequence[Dim]) -> Dim:
    """The stride of merged dimensions: that of the last one whose extent is not one."""
    counted = [(d, s) for d, s in zip(dims, strides, strict=True) if is_one(d) is not True]
    found: Dim = 1
    for d, stride in counted:
        if is_one(d) is None and found is not stride:
            alone = ops.cmpi(dim_value(d), const_index(1), predicate="eq")
            same = static_dim(found) == static_dim(stride) is not None
            found = stride if same else ops.select(alone, dim_value(found), dim_value(stride))
        else:
            found = stride
    return found
