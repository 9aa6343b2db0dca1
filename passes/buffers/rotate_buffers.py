"""A time loop that ends a step by copying a buffer over the state makes the next state in a new array instead.

``new[1:-1] = f(u); u[:] = new`` becomes ``new = u.copy(); new[1:-1] = f(u); u = new``, if the two arrays are equal when
the loop begins: then they are whenever a step begins. Of the copy only what the step leaves as it was remains
(``first-writes``), and the arrays take turns (``alternate-buffers``). ``old[:] = u`` before that becomes ``old = u``:
the array that the step began with is not needed otherwise then.

The arrays must be those that the function made before the loop and that nobody reaches in another way.
"""

from __future__ import annotations

from typing import ClassVar

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.passes.analysis.extents import Extents
from adc.passes.analysis.integers import Integers
from adc.passes.analysis.kinds import COUNTED
from adc.passes.analysis.lifetimes import dies_at, users_of, writers_of
from adc.passes.analysis.nests import covered_box
from adc.passes.buffers.carried_arrays import like
from adc.passes.buffers.carried_states import carry, place_of, users_of_state
from adc.passes.rewrite import put_before, put_instead


@dataclass(frozen=True)
class RotateBuffers:
    """Let sequential loops hand on arrays that they copy over others at the end of a step."""

    name: ClassVar[str] = "rotate-buffers"

    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            _in_function(func)
        return module


def _in_function(func: Func) -> None:
    for loop in [op for op in func.walk() if op.opdef is ops.for_]:
        # The last copy first: what is copied before it may be free then.
        for op in reversed(list(loop.regions[0].ops)):
            copied = _copied(op)
            if copied is None:
                continue
            if _is_next_state(loop, op, *copied):
                _make_anew(loop, op, *copied)
            elif _is_last_use(loop, op, *copied):
                _hand_on(loop, op, *copied)


def _copied(op: Op) -> tuple[Value, Value] | None:
    """An array that ``op``, or a nest of loops, copies as a whole, and the one that it is copied to."""
    if op.opdef is ops.copy:
        return op.operands[0], op.operands[1]
    loops: list[Op] = []
    while op.opdef in COUNTED and not op.results:
        loops.append(op)
        op = op.regions[0].ops[0]
        if len(loops[-1].regions[0].ops) != (2 if op.regions else 3):
            return None
    if not loops or op.opdef is not ops.load:
        return None
    store = loops[-1].regions[0].ops[1]
    if store.opdef is not ops.store or store.operands[0] is not op.result:
        return None
    if op.operands[1:] != store.operands[2:] or op.operands[1:] != tuple(o.regions[0].args[0] for o in loops):
        return None
    extents = Extents()
    shape = extents.shape(store.operands[1])
    box = covered_box(loops[::-1], op.operands[1:], shape, Integers(), extents)
    return (op.operands[0], store.operands[1]) if box == [None] * len(shape) else None


def _is_next_state(loop: Op, copy: Op, buffer: Value, state: Value) -> bool:
    """Whether ``copy``, of all of a buffer over a state, is the last change of both in a step, the two are equal when
    the loop begins, and nobody needs the buffer after the loop."""
    if buffer is state or buffer.type != state.type or loop.parent is None or loop.parent is not state.block:
        return False
    of_buffer = users_of_state(loop, buffer)
    extents = Extents()
    if users_of_state(loop, state) is None or of_buffer is None or extents.shape(state) != extents.shape(buffer):
        return False
    body = loop.regions[0]
    at = body.ops.index(copy)
    if any(place_of(body, op) > at for array in (state, buffer) for op in writers_of(array)):
        return False
    if all(place_of(body, op) < 0 for op in writers_of(buffer)):
        return False  # the copy itself can be left out
    place = loop.parent.ops.index(loop)
    if any(place_of(loop.parent, op) > place for op in of_buffer):
        return False
    return _begin_equal(loop, state, buffer)


def _begin_equal(loop: Op, state: Value, buffer: Value) -> bool:
    """Whether two arrays hold the same when ``loop`` begins; one that has not been filled may hold anything."""
    block = loop.parent
    assert block is not None
    end = block.ops.index(loop)
    ours, theirs = ([op for op in writers_of(v) if 0 <= place_of(block, op) < end] for v in (state, buffer))
    if not theirs:
        return buffer.block is block
    if not ours or ours[-1].parent is not block or theirs[-1].parent is not block:
        return False
    for source, target, before in ((state, theirs, ours), (buffer, ours, theirs)):
        if len(target) == 1 and target[0].opdef is ops.copy and target[0].operands[0] is source:
            return all(place_of(block, op) < block.ops.index(target[0]) for op in before)
    if len(ours) != 1 or len(theirs) != 1 or ours[0].opdef is not theirs[0].opdef:
        return False
    source = ours[0].operands[0]
    if source is not theirs[0].operands[0]:
        return False
    return ours[0].opdef is ops.fill or (ours[0].opdef is ops.copy and _is_constant(source))


def _is_constant(array: Value) -> bool:
    """Whether ``array`` is an argument that nobody writes to."""
    func = array.block.parent if array.op is None and array.block is not None else None
    return isinstance(func, Func) and bool(func.arg_attrs[array.index].get("adc.readonly"))


def _make_anew(loop: Op, copy: Op, buffer: Value, state: Value) -> None:
    body = loop.regions[0]
    made = Block()
    with insert_at(made, copy.loc):
        new = like(state)
        build(ops.copy, [state, new])
    for user, position in list(buffer.uses):
        if place_of(body, user) >= 0:
            user.set_operand(position, new)
    put_before(body.ops[0], list(made.ops))
    at = body.ops.index(copy)
    carry(loop, state, new, at)
    put_instead(copy, [])
    copy.drop()


def _is_last_use(loop: Op, copy: Op, carried: Value, state: Value) -> bool:
    """Whether ``copy`` is of an array that the loop carries, and that is not used any more, over all of a state that is
    not changed afterwards."""
    body, end = loop.regions[0], loop.regions[0].terminator
    if carried.block is not body or carried.op is not None or carried is body.args[0] or carried.type != state.type:
        return False
    position = body.args.index(carried) - 1
    following = end.operands[position]
    if following.op is None or following.op.opdef is not ops.alloc or following.block is not body:
        return False
    if sum(user is end for user, _ in following.uses) != 1 or users_of(following, {end}) is None:
        return False
    if loop.parent is not state.block or not dies_at(loop.operands[3 + position], loop):
        return False
    of_carried, extents = users_of(carried), Extents()
    if users_of_state(loop, state) is None or of_carried is None:
        return False
    if extents.shape(state) != extents.shape(loop.operands[3 + position]):
        return False
    at = body.ops.index(copy)
    if any(place_of(body, op) > at for op in of_carried):
        return False
    return all(place_of(body, op) <= at for op in writers_of(state))


def _hand_on(loop: Op, copy: Op, carried: Value, state: Value) -> None:
    carry(loop, state, carried, loop.regions[0].ops.index(copy))
    put_instead(copy, [])
    copy.drop()
