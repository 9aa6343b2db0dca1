"""A time loop that overwrites an array by way of a temporary one makes the next state of the array instead.

``u[1:-1] += f(u[2:] - u[:-2])`` computes the whole right-hand side before it stores any of it, in an array that is then
copied. Here the values are stored where they would be copied to, in a new array that begins as a copy of the old one:
``new = u.copy(); new[1:-1] = u[1:-1] + f(u[2:] - u[:-2]); u = new``. Of the copy only what the loop leaves out remains
(``first-writes``), and the new array and the old one take turns (``alternate-buffers``). So is what the second loop
computes, element by element, from the temporary array, the state and arrays that do not change meanwhile:
``lap = u[2:] - 2.0 * u[1:-1] + u[:-2]; u[1:-1] += c * lap``.

This pays if all but a rim of the array is overwritten. The array must be one that the function made before the time
loop and that nobody reaches in another way.
"""

from __future__ import annotations

from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import inside, place_in
from adc.ir.rewrite import Mapping, clone_op
from adc.passes.analysis.cold import is_cold
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.extents import Extent, Extents
from adc.passes.analysis.integers import Integers
from adc.passes.analysis.kinds import COUNTED, PURE, TERMINATORS
from adc.passes.analysis.nests import loop_body_of, loops_between, match_counters
from adc.passes.buffers.carried_arrays import like
from adc.passes.buffers.carried_states import carry, place_of, users_of_state
from adc.passes.rewrite import put_before, put_instead

_COPIED = PURE | {ops.load}
RIM = 8
"""How many elements along an axis may be left as they were."""


@dataclass(frozen=True)
class RenewOverwritten:
    """Store what a sequential loop puts into its state by way of a temporary array directly in the next state."""

    name: ClassVar[str] = "renew-overwritten"

    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            _in_function(func, module)
        return module


def _in_function(func: Func, module: Module) -> None:
    for loop in [op for op in func.walk() if op.opdef is ops.for_]:
        if loop.parent is not None and not is_cold(loop.parent):
            for alloc in [op for op in loop.regions[0].ops if op.opdef is ops.alloc]:
                found = _found(loop, alloc)
                if found is not None and _is_unchanged(found, Memory.asked(func, Summaries.asked(module))):
                    _renew(loop, found)


@dataclass(frozen=True)
class _Passed:
    """What passes through a temporary array: ``first`` stores it there, ``then`` stores it in the state. ``counters``:
    those of the loops around the second store, by dimension of the temporary; ``nests`` are in the body."""

    temporary: Op
    first: Op
    then: Op
    counters: list[Value]
    nests: tuple[Op, Op]


def _found(loop: Op, alloc: Op) -> _Passed | None:
    """What passes through the array that ``alloc`` makes; None unless it is stored there in one nest, and another one
    stores something in a state for each of its elements."""
    body, temporary = loop.regions[0], alloc.result
    users = [user for user, _ in temporary.uses]
    firsts = [op for op in users if op.opdef is ops.store and op.operands[1] is temporary]
    loads = [op for op in users if op.opdef is ops.load]
    if len(firsts) != 1 or not loads or len(users) != 1 + len(loads):
        return None
    nests = place_in(body, firsts[0]), place_in(body, loads[0])
    if nests[0] is None or nests[1] is None or firsts[0].parent is None:
        return None
    thens = [op for op in _inner(nests[1]) if op.opdef is ops.store]
    if len(thens) != 1 or not all(op in thens or op.opdef in _COPIED | TERMINATORS for op in _inner(nests[1])):
        return None
    found = _Passed(alloc, firsts[0], thens[0], list(loads[0].operands[1:]), (nests[0], nests[1]))
    if not all(load.operands[1:] == loads[0].operands[1:] and place_in(body, load) is nests[1] for load in loads):
        return None
    if not _goes_through(loads[0], thens[0], nests[1], alloc) or not _may_be_earlier(body, found):
        return None
    return found if _may_renew(loop, found) else None


def _inner(nest: Op) -> list[Op]:
    """The operations in a nest, except the loops."""
    return [op for region in nest.regions for op in region.walk() if op.opdef not in COUNTED]


def _goes_through(load: Op, then: Op, nest: Op, alloc: Op) -> bool:
    """Whether the loops of a nest have their counters as subscripts of ``load``, go through the whole array, and store
    no two of its elements in one place."""
    block = loop_body_of(load)
    loops = loops_between(block, nest) if block is load.parent is then.parent and block is not None else None
    subscripts = list(load.operands[1:])
    if loops is None or len(loops) != len(subscripts) or len(set(subscripts)) != len(subscripts):
        return False
    if nest.results or sum(len(op.regions) for op in nest.regions[0].walk()) != len(loops) - 1:
        return False
    extents = Extents()
    shape = extents.shape(alloc.result)
    for loop in loops:
        if loop.regions[0].args[0] not in subscripts or len(loop.operands) != 3:
            return False
        lower, upper, step = loop.operands
        dim = subscripts.index(loop.regions[0].args[0])
        if constant_of(lower) != 0 or constant_of(step) != 1 or extents.extent(upper) != shape[dim]:
            return False
    return match_counters(loops, then.operands[2:], Integers()) is not None


def _may_be_earlier(body: Block, found: _Passed) -> bool:
    """Whether what the second nest needs to compute subscripts is there before the first one."""
    start, end = found.nests
    before = body.ops[: body.ops.index(start)]
    outside = (v for op in (*_inner(end), end) for v in op.operands if not inside(v, end) and v.block is body)
    return all(v.op is None or v.op in before or v is found.temporary.result for v in outside)


def _may_renew(loop: Op, found: _Passed) -> bool:
    """Whether the state may be carried, is unchanged until it is overwritten, and is overwritten nearly everywhere."""
    state = found.then.operands[1]
    users = users_of_state(loop, state)
    if users is None or not _is_nearly_all(found.temporary, state):
        return False
    body = loop.regions[0]
    start, end = (body.ops.index(nest) for nest in found.nests)
    if start >= end:
        return False
    for op in users:
        place = place_of(body, op)
        if start <= place < end and op.opdef is not ops.load and op.opdef is not ops.dim:
            return False  # written to before it is overwritten: the copy would not have that
        if place == end and op is not found.then and op.opdef is not ops.dim and not _is_of_same(op, found.then):
            return False
    return True


def _is_of_same(load: Op, then: Op) -> bool:
    """Whether ``load`` is of the element that ``then`` overwrites afterwards."""
    if load.opdef is not ops.load or load.operands[1:] != then.operands[2:] or load.parent is not then.parent:
        return False
    assert load.parent is not None
    return load.parent.ops.index(load) < load.parent.ops.index(then)


def _is_unchanged(found: _Passed, memory: Memory) -> bool:
    """Whether what the second nest loads from other arrays is the same in the first one."""
    start, end = found.nests
    assert start.parent is not None
    between = start.parent.ops[start.parent.ops.index(start) : start.parent.ops.index(end)]
    own = found.temporary.result, found.then.operands[1]
    others = {op.operands[0] for op in _inner(end) if op.opdef is ops.load and op.operands[0] not in own}
    return not any(memory.may_write(op, other) for op in between for other in others)


def _is_nearly_all(temporary: Op, state: Value) -> bool:
    """Whether a temporary array is as large as the state, except for a rim."""
    alloc = state.op
    if alloc is None or len(alloc.operands) != len(temporary.operands) or state.type != temporary.result.type:
        return False
    integers, extents = Integers(), Extents()
    return all(
        any(_is_little_less(part, whole, integers) for part in extents.all_equal_at(size, temporary))
        for whole, size in zip(alloc.operands, temporary.operands, strict=True)
    )


def _is_little_less(part: Extent, whole: Value, integers: Integers) -> bool:
    if not isinstance(part, Value):
        return False
    if part.op is not None and part.op.opdef is ops.maxsi and constant_of(part.op.operands[1]) == 0:
        part = part.op.operands[0]
    rest = integers.linear(whole).plus(integers.linear(part), -1)
    return not rest.terms and 0 <= rest.constant <= RIM


def _renew(loop: Op, found: _Passed) -> None:
    body = loop.regions[0]
    state = found.then.operands[1]
    start, end = found.nests
    made = Block()
    with insert_at(made, found.then.loc):
        new = like(state)
        build(ops.copy, [state, new])
    # What the second nest does with its counters is done with the subscripts of the first store.
    mapping: Mapping = dict(zip(found.counters, found.first.operands[2:], strict=True))
    stored = Block()
    with insert_at(stored, found.then.loc):
        for op in _inner(end):
            if op.opdef is ops.load and op.operands[0] is found.temporary.result:
                mapping[op.result] = found.first.operands[0]
            elif op.opdef in _COPIED:
                clone_op(op, mapping)
        value, _, *subscripts = (mapping.get(v, v) for v in found.then.operands)
        build(ops.store, [value, new, *subscripts])
    put_instead(found.first, list(stored.ops))
    found.first.drop()
    put_before(start, list(made.ops))
    carry(loop, state, new, body.ops.index(end))  # what reads the state before it was overwritten reads the old one
    put_instead(end, [])
    end.drop()
    put_instead(found.temporary, [])
    found.temporary.drop()
