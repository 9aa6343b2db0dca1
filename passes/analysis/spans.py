"""Spans of subscripts, from the least to the greatest, of a view as those of the memref that it is a view of."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op, Value
from adc.ir.opdef import Trait
from adc.passes.analysis.affine import Form, Forms
from adc.passes.analysis.kinds import adds_ones

Span = tuple[Form, Form]  # least and greatest subscript


def through_views(
    forms: Forms, memref: Value, where: list[Span], last: Value | None = None
) -> tuple[Value, tuple[Span, ...] | None]:
    """Subscripts of a view as subscripts of the memref that it is a view of; or of ``last``, a view in between."""
    spans: list[Span] | None = where
    while memref is not last and (op := memref.op) is not None and Trait.VIEW in op.opdef.traits:
        memref = op.operands[0]
        if spans is None or op.opdef is ops.cast:
            continue
        if op.opdef is ops.transpose:
            permutation = op.attrs["permutation"]
            spans = [spans[permutation.index(d)] for d in range(len(permutation))]
        elif op.opdef is ops.reshape:
            spans = through_reshape(op, spans)
        elif op.opdef is ops.reinterpret_cast:
            spans = None
        else:
            spans = through_subview(forms, op, spans)
    return memref, None if spans is None else tuple(spans)


def in_other_shape(forms: Forms, memref: Value, where: list[Span]) -> tuple[Value, tuple[Span, ...]] | None:
    """The view in another shape that ``memref`` is a view of, and subscripts of it, if no two of its elements are one
    element of its root."""
    found: tuple[Value, tuple[Span, ...]] | None = None
    root = memref
    while (op := root.op) is not None and Trait.VIEW in op.opdef.traits:
        if op.opdef is ops.reinterpret_cast or (op.opdef is ops.subview and 0 in _steps_of(op)):
            return None
        if found is None and op.opdef is ops.reshape and not adds_ones(op):
            _, spans = through_views(forms, memref, where, root)
            if spans is None:
                return None
            found = root, spans
        root = op.operands[0]
    return found


def _steps_of(subview: Op) -> tuple[int, ...]:
    """The steps of a window; zero for those that are not known."""
    steps = subview.operands[1 + 2 * ((len(subview.operands) - 1) // 3) :]
    return tuple(int(constant_of(v) or 0) for v in steps)


def through_reshape(op: Op, spans: list[Span]) -> list[Span] | None:
    """None if the reshape does more than add and drop axes of extent one."""
    if not adds_ones(op):
        return None
    inner = iter(spans)
    outer: list[Span] = []
    for m, n in op.attrs["groups"]:
        taken = [next(inner) for _ in range(n)]
        outer += taken if m and n else [(Form.ZERO, Form.ZERO)] * m
    return outer


def through_subview(forms: Forms, op: Op, spans: list[Span]) -> list[Span] | None:
    """None if the direction of a window is not known."""
    rank = (len(op.operands) - 1) // 3
    offsets, steps = op.operands[1 : 1 + rank], op.operands[1 + 2 * rank :]
    outer: list[Span] = []
    inner = iter(spans)
    for d in range(rank):
        offset = forms.of(offsets[d])
        if d in op.attrs["dropped"]:
            outer.append((offset, offset))
            continue
        low, high = next(inner)
        step = forms.of(steps[d])
        first, last = offset + low * step, offset + high * step
        if low is high:
            outer.append((first, first))
        elif forms.interval(step)[0] >= 0:
            outer.append((first, last))
        elif forms.interval(step)[1] <= 0:
            outer.append((last, first))
        else:
            return None
    return outer
