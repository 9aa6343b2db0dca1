"""Ints that a loop makes floats: whether it matters that they are ints in the first iteration.

A variable has one type at the head of a loop, so that an int which the loop makes a float becomes one before the loop.
That is the same number. It matters where the program asks for the type, where an int of more than 53 bits is computed
with, and where a zero gets a sign that only floats have. Then the first iteration stands before the others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from adc.frontend import abstract
from adc.frontend.data.values import AbstractValue, Compound, Scalar, Static
from adc.frontend.frame import Frame
from adc.frontend.objects.merge import types
from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Func, Op, Value
from adc.ir.types import FloatType

_EXACT = 2**53  # beyond it a float is not next to the other in steps of one
_SIGNED = frozenset({ops.addf, ops.subf, ops.cmpf})  # alike for both zeros, unless both terms are negative
_DIVISIONS = frozenset({ops.floordivsi, ops.remsi, ops.divsi})


class FirstDiffers(Exception):
    """The first iteration of ``loop`` computes with ints where the others have floats, and that can be seen."""

    def __init__(self, loop: ast.stmt) -> None:
        super().__init__()
        self.loop = loop


def made_floats(
    start: AbstractValue | None, head: AbstractValue | None, spec: abstract.Abstract, wider: abstract.Abstract
) -> Iterator[tuple[Value | Static, float | None]]:
    """The ints and bools of a variable at the head of a loop that its end makes floats, with what they are before it,
    if that is known. ``spec``, ``wider``: its type at the head, and what it must be."""
    if head is None or start is None:
        return
    if isinstance(head, Static):
        if isinstance(head.value, int | np.integer | np.bool_) and any(t.is_float for t in types(wider)):
            yield head, int(head.value)
    elif isinstance(head, Compound) and isinstance(start, Compound):
        if isinstance(spec, abstract.Tuple) and isinstance(wider, abstract.Tuple) and spec.form == wider.form:
            for part in zip(start.items, head.items, spec.items, wider.items, strict=False):
                yield from made_floats(*part)
    elif isinstance(head, Scalar) and not head.dtype.is_float and any(t.is_float for t in types(wider)):
        before = start.value if isinstance(start, Scalar | Static) else None
        yield head.value, constant_of(before) if isinstance(before, Value) else before


def check_first(frame: Frame, loop: ast.stmt, ints: Iterable[tuple[Value | Static, float | None]]) -> None:
    """Raise ``FirstDiffers`` if its first iteration can stand apart, and it can be seen that those are ints. The body
    was traced as if they stayed ints."""
    attempt, seen = frame.tracer.attempt, set[Value]()
    if frame.loc(loop) not in attempt.divisible:
        return
    for head, start in ints:
        if start is not None and abs(start) >= _EXACT and (isinstance(head, Static) or head.uses):
            raise FirstDiffers(loop)
        if id(head) in attempt.asked:
            raise FirstDiffers(loop)
        if isinstance(head, Value) and _seen(head, start, attempt.asked, frame.tracer.module.funcs, seen):
            raise FirstDiffers(loop)


def _seen(
    head: Value, start: float | None, asked: Mapping[int, object], funcs: Mapping[str, Func], seen: set[Value]
) -> bool:
    work = [head]
    while work:
        value = work.pop()
        if value in seen or isinstance(value.type, FloatType):
            continue
        seen.add(value)
        if id(value) in asked:
            return True
        for op, position in value.uses:
            zero = start if value is head else None
            if _may_lose_sign(op, position, zero) and any(_sign_is_seen(r) for r in op.results):
                return True
            work += _flows(op, position, funcs)
    return False


def _may_lose_sign(op: Op, position: int, start: float | None) -> bool:
    """Whether the result may be a zero that would be negative if the operand were a float. ``start``: the operand, if
    it is known."""
    kind = op.opdef
    if kind is ops.subi:
        return position == 1 and constant_of(op.operands[0]) == 0 and not start
    if kind is ops.muli:
        other = constant_of(op.operands[1 - position])
        return (other is None or other < 0) and (start is None or start <= 0)
    if kind in _DIVISIONS and position == 0:
        divisor = constant_of(op.operands[1])
        return (divisor is None or divisor < 0) and not start
    return False


def _sign_is_seen(result: Value) -> bool:
    """Whether something is computed from a zero for which its sign matters."""
    work, seen = [result], set[Value]()
    while work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        for op, position in value.uses:
            if op.opdef in _SIGNED or not (op.results or op.opdef is ops.yield_ or op.opdef is ops.store):
                continue
            if isinstance(value.type, FloatType):
                return True
            work += _flows(op, position, {})
            work += [r for r in op.results if op.opdef is ops.sitofp]
    return False


def _flows(op: Op, position: int, funcs: Mapping[str, Func]) -> Iterator[Value]:
    """The values that depend on an operand as ints do on ints, or that are the operand."""
    if op.opdef is ops.call:
        callee = funcs.get(str(op.attrs["callee"]))
        if callee is not None:
            yield callee.body.args[position]
    elif op.opdef is ops.yield_:
        parent = op.parent.parent_op if op.parent is not None else None
        if parent is not None and parent.opdef is ops.if_:
            yield parent.results[position]
    elif op.opdef is ops.for_ and position >= 3:
        yield op.regions[0].args[position - 2]
    elif op.opdef is ops.while_:
        yield op.regions[0].args[position]
    elif op.opdef is ops.condition and position:
        parent = op.parent.parent_op if op.parent is not None else None
        if parent is not None:
            yield parent.regions[1].args[position - 1]
    elif op.opdef.pure and op.opdef not in (ops.cmpi, ops.fits):
        yield from op.results
