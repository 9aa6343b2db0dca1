"""Inlining calls that would be run again in a reverse sweep, where none may be.

A gradient that is differentiated in reverse mode again keeps its tapes: otherwise what it runs again would be run again
by each of its own sweeps.
"""

from __future__ import annotations

from collections.abc import Iterable

from adc.ir import ops
from adc.ir.attached import attached
from adc.ir.builder import insert_at
from adc.ir.callgraph import components, reachable, recursive
from adc.ir.core import Block, Func, Module
from adc.ir.rewrite import inline_block
from adc.ir.schedules import REMATERIALISED
from adc.passes.rewrite import put_instead, replace_op


def expand_calls(module: Module, roots: Iterable[str]) -> None:
    """Inline the functions that are run again, and those that lead to them, in ``roots`` and in what these call.

    Recursive functions, and those with derivative rules, are not inlined.
    """
    marked = {name for name, func in module.funcs.items() if REMATERIALISED in func.attrs}
    if not marked:
        return
    inside = reachable(module, roots)
    gone = {name for name in inside - recursive(module) if not marked.isdisjoint(reachable(module, [name]))}
    gone = {name for name in gone if attached(module.funcs[name]) is None}
    for name in [name for component in components(module) for name in component]:
        if name in inside:
            _expand(module.funcs[name], module, gone)
    for name in inside:
        module.funcs[name].attrs.pop(REMATERIALISED, None)


def _expand(func: Func, module: Module, gone: set[str]) -> None:
    """Inline calls in ``func``. Callees come first, so that what is put here contains none."""
    for op in [op for op in func.walk() if op.opdef is ops.call and op.attrs["callee"] in gone]:
        with insert_at(Block(), op.loc) as made:
            results = inline_block(module.funcs[op.attrs["callee"]].body, op.operands)
        put_instead(op, made.ops)
        replace_op(op, results)
