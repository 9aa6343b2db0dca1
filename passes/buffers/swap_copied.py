"""A time loop that copies an array in order to overwrite it makes the next state of the array instead.

``un = u.copy(); u[1:-1] = f(un)`` in each step becomes ``new = u.copy(); new[1:-1] = f(u); u = new``: the new values
are stored in the copy's memory, and what is read is the array's. The loop carries the array from one step to the next,
so that only what the step leaves as it was is copied (``first-writes``), and the two take turns
(``alternate-buffers``).

The array must be one that the function made before the loop and that nobody reaches in another way.
"""

from __future__ import annotations

from typing import ClassVar

from adc.ir import ops
from adc.ir.core import Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.passes.analysis.extents import Extents
from adc.passes.analysis.lifetimes import users_of
from adc.passes.buffers.carried_states import carry, place_of, users_of_state


@dataclass(frozen=True)
class SwapCopied:
    """Swap arrays that a sequential loop copies and overwrites with their copies."""

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
    """Whether ``copy``, in the body of ``loop``, is of a whole array to a new one, and the array is written to
    later."""
    state, new = copy.operands
    body = loop.regions[0]
    if new.op is None or new.op.opdef is not ops.alloc or new.block is not body or state.type != new.type:
        return False
    users, others = users_of_state(loop, state), users_of(new)
    if users is None or others is None:
        return False
    extents = Extents()
    if extents.shape(state) != extents.shape(new):
        return False
    at = body.ops.index(copy)
    if any(op is not copy and place_of(body, op) <= at for op in others):
        return False
    return any(_changes(op, state) and place_of(body, op) > at for op in users)


def _changes(op: Op, array: Value) -> bool:
    return op.opdef is not ops.load and op.opdef is not ops.dim and array not in op.operands[:1]


def _swap(loop: Op, copy: Op) -> None:
    state, new = copy.operands
    uses = [use for use in new.uses if use[0] is not copy]
    before = carry(loop, state, new, loop.regions[0].ops.index(copy))
    for user, position in uses:
        user.set_operand(position, before)
