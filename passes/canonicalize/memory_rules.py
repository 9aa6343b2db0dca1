"""Identities of memrefs: extents, views of views, subscripts that are known to be in range."""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op, Value
from adc.ir.opdef import OpDef
from adc.passes.analysis.extents import Extent
from adc.passes.canonicalize.rewriter import Rewriter, Rule
from adc.passes.memory.ownership_flags import uncast

Result = Sequence[Value] | None


def _dim(rw: Rewriter, op: Op) -> Result:
    (memref,) = op.operands
    value = extent_value(rw, rw.extents.shape(memref)[op.attrs["dim"]], beside=(memref, op.attrs["dim"]))
    return None if value is None else (value,)


def extent_value(rw: Rewriter, extent: Extent, beside: tuple[Value, int] | None = None) -> Value | None:
    """An SSA value for ``extent``; None if it is just dimension ``beside``."""
    if isinstance(extent, int):
        return rw.index(extent)
    if isinstance(extent, tuple):
        memref, d = rw.resolve(extent[0]), extent[1]
        if beside == (memref, d):
            return None
        return rw.append(ops.dim, memref, dim=d)
    return rw.resolve(extent)


def _bound(rw: Rewriter, op: Op) -> Result:
    subscript, extent = op.operands
    facts = rw.integers
    inner = subscript.op
    if inner is not None and inner.opdef is ops.bound and inner.operands[1] is extent:
        return (subscript,)
    if rw.proves_ge_zero(subscript) and (not op.attrs["check"] or rw.proves_ge(extent, subscript, 1)):
        return (subscript,)
    if facts.interval(subscript)[1] < 0:
        from_start = rw.emit(ops.addi, subscript, extent)
        if not op.attrs["check"] or rw.proves_ge_zero(from_start):
            return (from_start,)
    return None


def _assert(rw: Rewriter, op: Op) -> Result:
    known = constant_of(op.operands[0])
    if known:
        return ()
    if known is None:
        rw.assume(op.operands[0], True)
    else:
        rw.fails()
    return None


def _cast(rw: Rewriter, op: Op) -> Result:
    (source,) = op.operands
    if source.type == op.result.type:
        return (source,)
    inner = source.op
    if inner is not None and inner.opdef is ops.cast:
        return (rw.emit(ops.cast, inner.operands[0], type=op.result.type),)
    return None


def _transpose(rw: Rewriter, op: Op) -> Result:
    (source,) = op.operands
    permutation = op.attrs["permutation"]
    inner = source.op
    if inner is not None and inner.opdef is ops.transpose:
        before = inner.attrs["permutation"]
        both = tuple(before[p] for p in permutation)
        value = rw.emit(ops.transpose, inner.operands[0], permutation=both)
    elif list(permutation) == list(range(len(permutation))):
        value = source
    else:
        return None
    return (value,) if value.type == op.result.type else (rw.emit(ops.cast, value, type=op.result.type),)


def _subview(rw: Rewriter, op: Op) -> Result:
    """A subview of the whole of a memref is the memref."""
    source = op.operands[0]
    rank = len(op.attrs["static_steps"])
    offsets, sizes = op.operands[1 : 1 + rank], op.operands[1 + rank : 1 + 2 * rank]
    if op.attrs["dropped"] or any(step != 1 for step in op.attrs["static_steps"]):
        return None
    if any(constant_of(offset) != 0 for offset in offsets):
        return None
    shape = rw.extents.shape(source)
    if any(rw.extents.extent(size) != extent for size, extent in zip(sizes, shape, strict=True)):
        return None
    return (source,) if source.type == op.result.type else (rw.emit(ops.cast, source, type=op.result.type),)


def _reshape(rw: Rewriter, op: Op) -> Result:
    """Reshapes to the same shape, back to the shape before another reshape, and of contiguous memory merged and
    split."""
    source = op.operands[0]
    if all(m == n == 1 for m, n in op.attrs["groups"]):
        # A reshape to other extents that are in fact equal makes them known (``adc.passes.ranks.same_extents``), so it
        # stays.
        return (source,) if rw.extents.shape(source) == rw.extents.shape(op.result) else None
    inner = source.op
    if inner is None or inner.opdef is not ops.reshape:
        return None
    first = inner.operands[0]
    if first.type == op.result.type and rw.extents.shape(first) == rw.extents.shape(op.result):
        return (first,)
    if first.type.strides is not None:  # type: ignore[attr-defined]
        return None
    return (rw.emit(ops.reshape, first, *op.operands[1:], groups=((first.type.rank, len(op.operands) - 1),)),)  # type: ignore[attr-defined]


def _copy(rw: Rewriter, op: Op) -> Result:
    source, target = op.operands
    return () if source is target else _fill(rw, op)


def _fill(rw: Rewriter, op: Op) -> Result:
    """Nothing is stored into an array without elements."""
    return () if 0 in rw.extents.shape(op.operands[1]) else None


def _dealloc(rw: Rewriter, op: Op) -> Result:
    """Memory is freed by the memref that was allocated."""
    (memref,) = op.operands
    base = uncast(memref)
    if base is memref:
        return None
    rw.put(ops.dealloc, [base], op.attrs)
    return ()


def _unpack(rw: Rewriter, op: Op) -> Result:
    record = op.operands[0].op
    if record is None or record.opdef is not ops.pack:
        return None
    return record.operands if [v.type for v in record.operands] == [r.type for r in op.results] else None


MEMORY: dict[OpDef, Rule] = {
    ops.dim: _dim,
    ops.bound: _bound,
    ops.assert_: _assert,
    ops.cast: _cast,
    ops.transpose: _transpose,
    ops.subview: _subview,
    ops.reshape: _reshape,
    ops.copy: _copy,
    ops.fill: _fill,
    ops.dealloc: _dealloc,
    ops.unpack: _unpack,
}
