"""Extents of arrays: known, or IR values; which are known to be equal."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import const_index, constant_of
from adc.ir.core import Value

Dim = int | Value


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
