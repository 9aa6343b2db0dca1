"""Constants that are chosen at run time: what conditions say of them, and statements that are done for each of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from adc.frontend.control.branches import either, trace
from adc.frontend.data.compounds import OneOf, constant_of_type
from adc.frontend.data.merge import coerce, describe, join
from adc.frontend.data.values import AbstractValue, Static
from adc.frontend.frame import Frame, discard
from adc.frontend.numeric import arrays
from adc.ir import ops
from adc.ir.arith import const_index

Evaluate = Callable[[Frame, ast.expr], AbstractValue]


def narrow(frame: Frame, test: ast.expr, holds: bool, evaluate: Evaluate) -> None:
    """Where ``test`` holds, or does not, a variable that it compares with a constant is one of fewer, or just one."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        narrow(frame, test.operand, not holds, evaluate)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == holds:
        for part in test.values:
            narrow(frame, part, holds, evaluate)
    elif isinstance(test, ast.Name):
        _keep(frame, test, lambda v: arrays.truth(v) is holds)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name):
        _compared(frame, test.left, test.ops[0], test.comparators[0], holds, evaluate)


def _compared(
    frame: Frame, name: ast.Name, op: ast.cmpop, node: ast.expr, holds: bool, evaluate: Evaluate
) -> None:
    if not isinstance(frame.env.get(name.id), OneOf) or not isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
        return
    if not isinstance(node, ast.Constant | ast.Name | ast.Attribute):
        return
    found = trace(frame, lambda: evaluate(frame, node))
    discard(found.block)
    other = found.result
    if isinstance(other, Static):
        same = holds == isinstance(op, ast.Eq | ast.Is)
        _keep(frame, name, lambda v: (isinstance(v, Static) and v.value == other.value) == same)


def _keep(frame: Frame, name: ast.Name, wanted: Callable[[AbstractValue], bool]) -> None:
    value = frame.env.get(name.id)
    if not isinstance(value, OneOf):
        return
    kept = [v for v in value.options if wanted(v)]
    if kept and len(kept) < len(value.options):
        fewer = describe(kept[0])
        for v in kept[1:]:
            fewer = join(fewer, describe(v))
        frame.env[name.id] = constant_of_type(fewer) if len(kept) == 1 else coerce(value, fewer)


def for_each(frame: Frame, nodes: Sequence[ast.AST], path: Callable[[], None]) -> None:
    """``path()``, which has no end, for each of the constants that the variables in ``nodes`` may be."""
    names = [n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)]
    chosen = next((n for n in names if isinstance(frame.env.get(n), OneOf)), None)
    if chosen is None:
        path()
        return
    value = frame.env[chosen]
    assert isinstance(value, OneOf)
    options = value.options

    def one(k: int) -> None:
        frame.env[chosen] = options[k]
        for_each(frame, nodes, path)

    def rest(k: int) -> None:
        if k + 1 == len(options):
            one(k)
            return
        here = ops.cmpi(value.position, const_index(k), predicate="eq")
        either(frame, here, trace(frame, lambda: one(k)), trace(frame, lambda: rest(k + 1)), ())

    rest(0)
