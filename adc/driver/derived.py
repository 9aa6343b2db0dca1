"""Gradients as functions that return their results, so that they can be differentiated again."""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.arith import const
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Value
from adc.ir.types import MemRefType


def gradients_returned(func: Func, wrt: Sequence[int], *, values: int) -> dict[int, int]:
    """Let a gradient allocate its shadows itself and return them; ``values`` results precede the cotangents.

    Returns the positions of the gradients among the results, by position of the argument.
    """
    from adc.passes.differentiation.reverse.shadows import like

    places: dict[int, int] = {}
    floats = [k for k in wrt if func.args[k].type.is_float]
    places.update((k, values + n) for n, k in enumerate(floats))
    shadows = [n for n, attrs in enumerate(func.arg_attrs) if "adc.shadow" in attrs]
    start = Block()
    made: list[Value] = []
    with insert_at(start, func.loc):
        for n in shadows:
            shadow, of = func.args[n], func.arg_attrs[n]["adc.shadow"]
            t = shadow.type
            assert isinstance(t, MemRefType)
            fresh = ops.alloc(*like(func.args[of]), type=t)
            build(ops.fill, [const(0.0, t.element), fresh])
            fresh.hint = shadow.hint
            shadow.replace_uses(fresh)
            places[of] = len(func.result_types) + len(made)
            made.append(fresh)
    func.body.set_ops([*start.ops, *func.body.ops])
    func.body.keep_args(range(len(func.body.args) - len(shadows)))
    del func.arg_attrs[len(func.body.args) :]
    for fresh in made:
        func.body.terminator.add_operand(fresh)
    func.result_types = tuple(v.type for v in func.body.terminator.operands)
    return places


def clear_shadows(func: Func, positions: Sequence[int]) -> None:
    """Let a function set some of its arguments, which are shadows, to zero at its beginning."""
    start = Block()
    with insert_at(start, func.loc):
        for k in positions:
            t = func.args[k].type
            assert isinstance(t, MemRefType)
            build(ops.fill, [const(0.0, t.element), func.args[k]])
    func.body.set_ops([*start.ops, *func.body.ops])
