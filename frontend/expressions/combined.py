"""``sum``, ``min``, ``max``, ``any`` and ``all`` of a comprehension, or of a list of run-time length."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adc.frontend import abstract
from adc.frontend.arrays import arrays
from adc.frontend.control.branches import branch, trace
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Scalar, Static, Tuple, Unbound, is_array, is_numeric
from adc.frontend.errors import refuse
from adc.frontend.expressions.comparisons import compare_items
from adc.frontend.expressions.comprehensions import Walk
from adc.frontend.expressions.evaluation import evaluate_kept, may_write
from adc.frontend.expressions.targets import bind_target
from adc.frontend.frame import Frame, discard
from adc.frontend.item_effects import tried
from adc.frontend.iteration import Items, Known
from adc.frontend.syntax.bindings import assigned_in
from adc.frontend.traps import trap_unless
from adc.frontend.truth import as_condition
from adc.ir import kinds
from adc.ir.arith import const_index
from adc.ir.builder import current_loc

_BOOL = np.dtype(np.bool_)


def reduces(callee: Any) -> bool:
    """Whether a function accepts a comprehension over a run-time number of items."""
    return callee in (builtins.sum, builtins.min, builtins.max, builtins.any, builtins.all)


def may_be_generator(frame: Frame, callee: Any, node: ast.ListComp) -> bool:
    """Whether such a function may get the items of a list while they are computed, as those of a generator."""
    if callee in (builtins.min, builtins.max) or not may_write(frame, node.elt):
        return True

    def compute(look: Callable[[AbstractValue], None]) -> None:
        Walk(frame, node, lambda: look(evaluate_kept(frame, node.elt)), frozenset()).run()

    _, effects = tried(frame, compute)
    return not (effects.on_items if callee is builtins.sum else effects.objects or effects.memory)


def reduced(
    frame: Frame, callee: Any, node: ast.ListComp | ast.GeneratorExp, start: AbstractValue | None
) -> AbstractValue:
    """``sum``, ``min``, ``max``, ``any`` or ``all`` of a comprehension."""
    label, named = f"{node.lineno}:{node.col_offset}", assigned_in([node])
    result, found = f"<{callee.__name__} {label}>", f"<found {label}>"
    emit: Callable[[], None]
    several = callee is builtins.sum and start is None and len(node.generators) == 1 and not node.generators[0].ifs
    if callee is builtins.sum:
        frame.env[result] = Static(0) if start is None else start

        def emit() -> None:
            item = evaluate_kept(frame, node.elt)
            frame.env[result] = arrays.settled(frame, arrays.operate(frame, "+", frame.env[result], item))

    elif callee in (builtins.any, builtins.all):
        stop = callee is builtins.any
        frame.env[result] = Static(not stop)

        def decide() -> None:
            known = as_condition(frame, evaluate_kept(frame, node.elt))
            frame.env[result] = Static(known) if isinstance(known, bool) else Scalar(known, abstract.DTYPES[_BOOL])

        def emit() -> None:
            now = as_condition(frame, frame.env[result])
            if isinstance(now, bool):
                if now is not stop:
                    decide()
                return
            branch(frame, now, *((lambda: None, decide) if stop else (decide, lambda: None)), {result} | named)

    else:
        symbol = "<" if callee is builtins.min else ">"
        frame.env[found] = Static(False)

        def take(item: AbstractValue) -> Callable[[], None]:
            def act() -> None:
                frame.env[result], frame.env[found] = item, Static(True)

            return act

        def emit() -> None:
            item = evaluate_kept(frame, node.elt)
            if not (is_numeric(item) or isinstance(item, Tuple)):
                raise refuse(
                    frame.loc(node.elt), f"{callee.__name__}() of {describe_type(item)}", kind=kinds.WRONG_TYPE
                )
            some = as_condition(frame, frame.env[found])
            best = frame.env.get(result)
            if some is False or best is None:
                take(item)()
                return

            def compare() -> None:
                best = frame.env[result]
                value = best.value if isinstance(best, Unbound) else best
                better = as_condition(frame, compare_items(frame, symbol, item, value, node.elt))
                if isinstance(better, bool):
                    if better:
                        take(item)()
                else:
                    branch(frame, better, take(item), lambda: None, both)

            if some is True:
                compare()
            else:
                branch(frame, some, compare, take(item), both)

    both = frozenset({result, found}) if callee in (builtins.min, builtins.max) else frozenset({result})
    first = _first_array(frame, node, emit) if several else _all_of_them
    Walk(frame, node, emit, both, first, complete=callee not in (builtins.any, builtins.all)).run()
    value = frame.env.pop(result, None)
    if callee in (builtins.min, builtins.max):
        some = as_condition(frame, frame.env.pop(found))
        if some is False or value is None:
            raise refuse(current_loc(), f"{callee.__name__}() of nothing", kind=kinds.INVALID_VALUE)
        if some is not True:
            trap_unless(some, "ValueError", f"{callee.__name__}() iterable argument is empty")
    assert value is not None
    return value.value if isinstance(value, Unbound) else value


def _all_of_them(items: Items) -> Items:
    return items


def _first_array(
    frame: Frame, node: ast.ListComp | ast.GeneratorExp, emit: Callable[[], None]
) -> Callable[[Items], Items]:
    """Add the first item of a sum before the loop if it is an array, so that the loop carries an array."""

    def start(items: Items) -> Items:
        if isinstance(items, Known) and not items.count:
            return items

        def bind() -> None:
            first = items.item(0) if isinstance(items, Known) else items.item(const_index(0))
            bind_target(frame, node.generators[0].target, first)

        def one() -> AbstractValue:
            bind()
            return evaluate_kept(frame, node.elt)

        traced = trace(frame, one)
        discard(traced.block)
        if traced.result is None or traced.mutates or not is_array(traced.result):
            return items
        trap_unless(items.has(0), "ValueError", "sum() of arrays needs one of them at least")
        bind()
        emit()
        return items.after_first()

    return start


def reduced_list(frame: Frame, callee: Any, node: ast.Call, args: Sequence[AbstractValue]) -> AbstractValue | None:
    """``sum``, ``min``, ``max``, ``any`` or ``all`` of a list of run-time length; None for another function."""
    if not reduces(callee) or len(args) > 1 + (callee is builtins.sum):
        return None
    source, item = f"<items {node.lineno}:{node.col_offset}>", "<item>"
    target = ast.comprehension(ast.Name(item, ast.Store()), ast.Name(source, ast.Load()), [], 0)
    made = ast.copy_location(ast.GeneratorExp(ast.Name(item, ast.Load()), [target]), node)
    for part in (made.elt, target.target, target.iter):
        ast.copy_location(part, node.args[0])
    frame.env[source] = args[0]
    try:
        return reduced(frame, callee, made, args[1] if len(args) > 1 else None)
    finally:
        frame.env.pop(source, None)
