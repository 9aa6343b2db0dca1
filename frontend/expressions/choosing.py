"""Constants that are chosen at run time: what conditions say of them, and statements that are done for each of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import reduce
from types import ModuleType

from adc.frontend.arrays import arrays
from adc.frontend.control.branches import either, trace
from adc.frontend.data.compounds import OneOf
from adc.frontend.data.described import describe
from adc.frontend.data.values import AbstractValue, Static
from adc.frontend.frame import Frame, discard
from adc.frontend.objects import cells
from adc.frontend.objects.merge import coerce, join
from adc.frontend.syntax.liveness import assigned_in
from adc.ir import ops
from adc.ir.arith import const_index

Evaluate = Callable[[Frame, ast.expr], AbstractValue]


def narrow(frame: Frame, test: ast.expr, holds: bool, evaluate: Evaluate) -> None:
    """Where ``test`` holds, or does not, a variable that it compares with a constant is one of fewer, or just one.

    The test has run: it says nothing of what a later part of it has changed.
    """
    assigned = assigned_in([test])
    calls = any(isinstance(n, ast.Call) for n in ast.walk(test))

    def visit(part: ast.expr, holds: bool) -> None:
        if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not):
            visit(part.operand, not holds)
        elif isinstance(part, ast.BoolOp) and isinstance(part.op, ast.And) == holds:
            for one in part.values:
                visit(one, holds)
        elif isinstance(part, ast.Name) and part.id not in assigned:
            _keep(frame, part, lambda v: arrays.truth(v) is holds)
        elif isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.left, ast.Name):
            other, several = part.comparators[0], isinstance(frame.env.get(part.left.id), OneOf)
            if several and part.left.id not in assigned and not _changed(frame, other, assigned, calls, evaluate):
                _compared(frame, part.left, part.ops[0], other, holds, evaluate)

    visit(test, holds)


def _changed(frame: Frame, node: ast.expr, assigned: frozenset[str], calls: bool, evaluate: Evaluate) -> bool:
    """Whether a test that assigns variables, or calls functions, may have changed what it compared with."""
    if any(isinstance(n, ast.Name) and n.id in assigned for n in ast.walk(node)):
        return True
    if isinstance(node, ast.Name):
        return calls and cells.cell_of(frame, node.id) is not None
    if not calls or not isinstance(node, ast.Attribute):
        return False
    found = trace(frame, lambda: evaluate(frame, node.value))
    discard(found.block)
    owner = found.result
    return not (isinstance(owner, Static) and isinstance(owner.value, type | ModuleType))


def _compared(frame: Frame, name: ast.Name, op: ast.cmpop, node: ast.expr, holds: bool, evaluate: Evaluate) -> None:
    if not isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
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
        frame.env[name.id] = kept[0] if len(kept) == 1 else coerce(value, reduce(join, map(describe, kept)))


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
