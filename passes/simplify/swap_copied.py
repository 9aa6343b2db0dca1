"""A time loop that copies an array in order to overwrite it makes the next state of the array instead.

``un = u.copy(); u[1:-1] = f(un)`` in each step is ``new = u.copy(); new[1:-1] = f(u); u = new``: where the new values
are stored is the copy's memory, and what is read is the array's. The loop carries the array from one step to the next,
so that the copy is but what the step leaves as it was (``first-writes``), and the two take turns
(``alternate-buffers``).

The array is one that the function made in front of the loop, which nobody reaches in another way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from adc.ir import ops
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.nesting import place_in
from adc.passes.analysis.extents import Extents
from adc.passes.analysis.kinds import VIEWS
from adc.passes.analysis.lifetimes import users_of


@dataclass(frozen=True)
class SwapCopied:
    """Have arrays that a sequential loop copies and overwrites change places with their copies."""

    name: ClassVar[str] = "swap-copied"

    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            _in_function(func)
        return module


def _in_function(func: Func) -> None:
    for loop in [op for op in func.walk() if op.opdef is ops.for_]:
        for copy in [op for op in loop.regions[0].ops if op.opdef is ops.copy]:
            if _may_swap(loop, copy):
                _swap(loop, copy)


def _may_swap(loop: Op, copy: Op) -> bool:
    """Whether ``copy``, in the body of ``loop``, is of a whole array to a new one, and the array is written to then."""
    state, new = copy.operands
    body = loop.regions[0]
    allocs = [v.op for v in (state, new)]
    if any(op is None or op.opdef is not ops.alloc for op in allocs) or state.type != new.type:
        return False
    if [v.block for v in (state, new)] != [loop.parent, body]:
        return False
    users, others = users_of(state, _returns(state)), users_of(new)
    if users is None or others is None or any(op.opdef in VIEWS for op in users):
        return False
    extents = Extents()
    if extents.shape(state) != extents.shape(new):
        return False
    at = body.ops.index(copy)
    if any(op is not copy and _place(body, op) <= at for op in others):
        return False
    return any(_changes(op, state) and _place(body, op) > at for op in users)


def _returns(state: Value) -> set[Op]:
    """Where it is returned, behind the loop: what takes its place there is returned as well."""
    return {user for user, _ in state.uses if user.opdef is ops.return_}


def _place(block: Block, op: Op) -> int:
    """Where in ``block`` it is, or what it is inside of; -1 if it is elsewhere."""
    place = place_in(block, op)
    return -1 if place is None else block.ops.index(place)


def _changes(op: Op, array: Value) -> bool:
    return op.opdef is not ops.load and op.opdef is not ops.dim and array not in op.operands[:1]


def _swap(loop: Op, copy: Op) -> None:
    state, new = copy.operands
    body = loop.regions[0]
    at = body.ops.index(copy)
    outside = loop.parent
    assert outside is not None
    before = body.add_arg(state.type, state.hint)
    result = loop.add_result(state.type, state.hint)
    for user, position in list(new.uses):
        if user is not copy:
            user.set_operand(position, before)
    for user, position in list(state.uses):
        place = _place(body, user)
        if place >= 0:
            user.set_operand(position, before if place <= at else new)
        elif _place(outside, user) > outside.ops.index(loop):
            user.set_operand(position, result)
    loop.add_operand(state)
    body.terminator.add_operand(new)
