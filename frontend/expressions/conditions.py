"""Truth, short circuits and conditional expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial

from adc.frontend.arrays import arrays
from adc.frontend.control.branches import Traced, branch, merge, trace
from adc.frontend.data.values import AbstractValue, Scalar, Static
from adc.frontend.expressions.choosing import kept, narrowed, true_as
from adc.frontend.expressions.evaluation import evaluate, evaluate_kept
from adc.frontend.frame import Frame, discard
from adc.frontend.numeric import bits, scalars
from adc.frontend.syntax.bindings import assigned_in
from adc.frontend.truth import as_condition
from adc.ir import ops
from adc.ir.core import Value
from adc.ir.types import i1


def condition(frame: Frame, node: ast.expr) -> bool | Value:
    """Whether an expression holds: known now, or an i1."""
    if isinstance(node, ast.BoolOp):
        with frame.at(node):
            return _conditions(frame, node.values, stop=isinstance(node.op, ast.Or))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        known = condition(frame, node.operand)
        with frame.at(node):
            return not known if isinstance(known, bool) else bits.logical_not(known)
    value = evaluate(frame, node)
    with frame.at(node):
        return as_condition(frame, value)


def _conditions(frame: Frame, nodes: list[ast.expr], stop: bool) -> bool | Value:
    first = condition(frame, nodes[0])
    if len(nodes) == 1:
        return first

    def rest() -> bool | Value:
        with narrowed(frame, nodes[0], not stop, evaluate):
            return _conditions(frame, nodes[1:], stop)

    return conjunction(frame, first, rest, assigned_in(nodes[1:]), stop)


def conjunction(
    frame: Frame, first: bool | Value, rest: Callable[[], bool | Value], names: frozenset[str], stop: bool
) -> bool | Value:
    """``first and rest`` (``stop`` False) or ``first or rest``; ``rest`` is evaluated only if needed, unless evaluating
    it is harmless. It may assign ``names``."""
    if isinstance(first, bool):
        return first if first == stop else rest()
    other = trace(frame, lambda: _as_value(rest()))
    result = _join_conditions(frame, first, other, names, stop)
    assert result is not None
    return scalars.truth(result)


def _as_value(known: bool | Value) -> AbstractValue:
    return Static(known) if isinstance(known, bool) else Scalar(known, i1)


def _join_conditions(
    frame: Frame, first: Value, other: Traced, names: frozenset[str], stop: bool
) -> AbstractValue | None:
    pure = other.pure and not names
    if pure and isinstance(other.result, Static):
        discard(other.block)
        return other.result if bool(other.result.value) == stop else Scalar(first, i1)
    if pure and isinstance(other.result, Scalar) and other.result.dtype == i1:
        other.splice()
        return Scalar((ops.ori if stop else ops.andi)(first, other.result.value), i1, other.result.weak)
    decided = trace(frame, lambda: Static(stop))
    return merge(frame, first, decided if stop else other, other if stop else decided, names)


def boolean_operation(frame: Frame, node: ast.BoolOp) -> AbstractValue:
    """``a and b`` as a value: one of the operands."""
    return _select_operand(frame, node.values, stop=isinstance(node.op, ast.Or))


def _select_operand(frame: Frame, nodes: list[ast.expr], stop: bool) -> AbstractValue:
    first = evaluate(frame, nodes[0])
    if len(nodes) == 1:
        return first
    known = as_condition(frame, first)
    if isinstance(known, bool):
        return first if known == stop else _select_operand(frame, nodes[1:], stop)
    other = trace(frame, lambda: arrays.settled(frame, _select_operand(frame, nodes[1:], stop)))
    both = isinstance(first, Scalar) and isinstance(other.result, Scalar) and first.dtype == other.result.dtype == i1
    names = assigned_in(nodes[1:])
    if both and other.pure:
        result = _join_conditions(frame, known, other, names, stop)
        assert result is not None
        return result
    keep = trace(frame, lambda: arrays.settled(frame, kept(first, partial(true_as, stop)) or first))
    result = merge(frame, known, keep if stop else other, other if stop else keep, names)
    assert result is not None
    return result


def conditional(frame: Frame, node: ast.IfExp) -> AbstractValue:
    """``a if test else b``."""
    known = condition(frame, node.test)
    if isinstance(known, bool):
        return evaluate(frame, node.body if known else node.orelse)
    names = assigned_in([node.body, node.orelse])

    def side(part: ast.expr, holds: bool) -> AbstractValue:
        with narrowed(frame, node.test, holds, evaluate):
            return evaluate_kept(frame, part)

    result = branch(frame, known, lambda: side(node.body, True), lambda: side(node.orelse, False), names)
    assert result is not None
    return result
