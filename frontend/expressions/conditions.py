"""Truth, short circuits and conditional expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from adc.frontend.arrays import arrays
from adc.frontend.control.branches import Traced, merge, trace
from adc.frontend.data.values import AbstractValue, Scalar, Static
from adc.frontend.expressions.choosing import kept, narrowed, true_as
from adc.frontend.expressions.evaluation import evaluate, evaluate_kept
from adc.frontend.frame import Frame, PathEnds, discard
from adc.frontend.numeric import bits, scalars
from adc.frontend.syntax.bindings import assigned_in
from adc.frontend.traps import handling
from adc.frontend.truth import as_condition
from adc.ir import ops
from adc.ir.arith import const
from adc.ir.builder import current_block
from adc.ir.core import Value
from adc.ir.types import i1

_T = TypeVar("_T")


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
    first = frame.tracer.attempt.decide(at := frame.loc(nodes[0]), first)

    def rest() -> bool | Value:
        with narrowed(frame, nodes[0], not stop, evaluate):
            return _conditions(frame, nodes[1:], stop)

    with frame.tracer.attempt.undecided(at):
        return conjunction(frame, first, rest, assigned_in(nodes[1:]), stop)


def conjunction(
    frame: Frame, first: bool | Value, rest: Callable[[], bool | Value], names: frozenset[str], stop: bool
) -> bool | Value:
    """``first and rest`` (``stop`` False) or ``first or rest``; ``rest`` is evaluated only if needed, unless evaluating
    it is harmless. It may assign ``names``."""
    if isinstance(first, bool):
        return first if first == stop else rest()
    other = trace(frame, lambda: _as_value(_may_end(frame, rest, lambda: False)))
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
    known = frame.tracer.attempt.decide(at := frame.loc(nodes[0]), as_condition(frame, first))
    if isinstance(known, bool):
        return first if known == stop else _select_operand(frame, nodes[1:], stop)
    with frame.tracer.attempt.undecided(at):
        return _either_operand(frame, nodes, stop, first, known)


def _either_operand(
    frame: Frame, nodes: list[ast.expr], stop: bool, first: AbstractValue, known: Value
) -> AbstractValue:
    def operand() -> AbstractValue:
        return _may_end(frame, lambda: _select_operand(frame, nodes[1:], stop), lambda: Scalar(const(False, i1), i1))

    other = trace(frame, lambda: arrays.settled(frame, operand()))
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


def _may_end(frame: Frame, part: Callable[[], _T], never: Callable[[], _T]) -> _T:
    """``part`` of an expression, which may not be evaluated. What certainly raises if it is, such as ``x - last`` where
    ``last`` is still None, ends only this, and the value, ``never``, is not read."""
    if handling():
        return part()
    block, frame.statement_block = frame.statement_block, current_block()
    try:
        return part()
    except PathEnds:
        return never()
    finally:
        frame.statement_block = block


def conditional(frame: Frame, node: ast.IfExp) -> AbstractValue:
    """``a if test else b``."""
    known = frame.tracer.attempt.decide(at := frame.loc(node), condition(frame, node.test))
    if isinstance(known, bool):
        return evaluate(frame, node.body if known else node.orelse)
    with frame.tracer.attempt.undecided(at):
        return _either_side(frame, node, known)


def _either_side(frame: Frame, node: ast.IfExp, known: Value) -> AbstractValue:
    names = assigned_in([node.body, node.orelse])

    def side(part: ast.expr, holds: bool) -> AbstractValue | None:
        with narrowed(frame, node.test, holds, evaluate):
            return _may_end(frame, lambda: evaluate_kept(frame, part), lambda: None)

    then, other = trace(frame, lambda: side(node.body, True)), trace(frame, lambda: side(node.orelse, False))
    ended = next((path for path in (then, other) if path.result is None and not path.undetermined), None)
    if ended is None:
        result = merge(frame, known, then, other, names)
        assert result is not None
        return result
    stays = other if ended is then else then
    nothing = trace(frame, lambda: None)
    merge(frame, known, *((ended, nothing) if ended is then else (nothing, ended)))
    if stays.result is None:
        if current_block() is frame.statement_block:
            raise PathEnds
        return evaluate_kept(frame, node.body)  # it is refused
    stays.splice()
    frame.env = stays.env
    return stays.result
