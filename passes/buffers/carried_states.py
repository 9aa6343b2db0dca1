"""Arrays that the steps of a time loop overwrite, as values that the loop carries from one step to the next."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.core import Block, Op, Value
from adc.ir.nesting import enclosing, place_in
from adc.passes.analysis.kinds import VIEWS
from adc.passes.analysis.lifetimes import users_of


def users_of_state(loop: Op, state: Value) -> list[Op] | None:
    """The operations that read or change an array that the function made before ``loop``. None if it may not be
    carried: it may be if nobody reaches it in another way, and there are only branches between the loop and where it
    was made."""
    alloc = state.op
    if alloc is None or alloc.opdef is not ops.alloc:
        return None
    if loop.parent is not alloc.parent:
        around = list(enclosing(loop.parent))
        at = next((k for k, op in enumerate(around) if op.parent is alloc.parent), None)
        if at is None or any(op.opdef is not ops.if_ for op in around[: at + 1]):
            return None
    returns = {user for user, _ in state.uses if user.opdef is ops.return_}
    users = users_of(state, returns)
    return None if users is None or any(op.opdef in VIEWS for op in users) else users


def place_of(block: Block, op: Op) -> int:
    """The position in ``block`` of an operation, or of the one that contains it; -1 if it is elsewhere."""
    place = place_in(block, op)
    return -1 if place is None else block.ops.index(place)


def carry(loop: Op, state: Value, new: Value, at: int) -> Value:
    """Let ``loop`` carry ``state``, which ``users_of_state`` allows. In the body, uses up to position ``at``
    then refer to the array that the step begins with, and later ones to ``new``. Returns the former."""
    body = loop.regions[0]
    before = body.add_arg(state.type, state.hint)
    result = loop.add_result(state.type, state.hint)
    for user, position in list(state.uses):
        place = place_of(body, user)
        if place >= 0:
            user.set_operand(position, before if place <= at else new)
    body.terminator.add_operand(new)
    _rename_after(loop, state, result)
    loop.add_operand(state)
    return before


def _rename_after(op: Op, state: Value, value: Value) -> None:
    """Let what comes after ``op``, also after the branches around it, use ``value`` in place of ``state``."""
    block = op.parent
    assert block is not None
    at = block.ops.index(op)
    for user, position in list(state.uses):
        if place_of(block, user) > at:
            user.set_operand(position, value)
    branch = block.parent_op
    if block is state.block or branch is None:
        return
    for region in branch.regions:
        region.terminator.add_operand(value if region is block else state)
    _rename_after(branch, state, branch.add_result(state.type, state.hint))
