"""Spans of subscripts, from the least to the greatest, of a view as those of the memref that it is a view of."""

from __future__ import annotations

from adc.ir.core import Op
from adc.passes.analysis.affine import Form, Forms
from adc.passes.analysis.kinds import adds_ones

Span = tuple[Form, Form]  # least and greatest subscript


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
