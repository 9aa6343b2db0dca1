"""Gradients with respect to values inside a function, by the name of the local variable that holds them.

A function ``x -> y`` with a local variable ``a`` becomes ``(x, shift) -> y``, where ``shift`` is added to whatever is
assigned to ``a``; the gradient with respect to ``a`` is that with respect to ``shift`` at zero. A variable that is
assigned several times, in a loop say, gets the sum over its assignments.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from adc.frontend.abstract import Scalar
from adc.frontend.traced import Leaf, Traced
from adc.ir import ops
from adc.ir.builder import insert_at
from adc.ir.core import Block, Value
from adc.ir.types import f64


def shifted(traced: Traced, name: str) -> Traced | None:
    """The function with an additional argument that is added to its local variable; None if it has no such float
    variable."""
    func = traced.module.funcs[traced.entry]
    found = [r for op in func.walk() if not op.regions for r in op.results if r.hint == name and r.type.is_float]
    if not found or any(r.type != found[0].type for r in found):
        return None
    shift = func.body.add_arg(found[0].type, name)
    func.arg_attrs.append({"adc.name": name})
    for value in found:
        add_to(value, shift)
    zero = 0.0 if shift.type == f64 else np.float32(0.0)
    leaf = Leaf((name,), Scalar(shift.type, weak=shift.type == f64), "capture", lambda: zero)
    return replace(traced, leaves=(*traced.leaves, leaf))


def add_to(value: Value, shift: Value) -> Value:
    """Replace ``value``, the result of an operation, by ``value + shift`` in all its uses; returns the sum."""
    op = value.op
    assert op is not None and isinstance(op.parent, Block)
    users = list(value.uses)
    scratch = Block()
    with insert_at(scratch, op.loc):
        moved = ops.addf(value, shift)
    moved.hint = value.hint
    for user, position in users:
        user.set_operand(position, moved)
    at = op.parent.ops.index(op) + 1
    op.parent.set_ops([*op.parent.ops[:at], *scratch.ops, *op.parent.ops[at:]])
    return moved
