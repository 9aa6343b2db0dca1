"""A new array that a time loop makes, element by element, from one that dies is that one, updated in place.

``for ...: u = u + r * f(u)`` reads each element of u where it computes the same element of the new array, and nothing
the old array later. So one array is enough, as in ``u += r * f(u)``, and nothing is stored twice. If the new array
begins as a copy, the copied values are there already: ``new = u.copy(); new[1:] -= h[1:] - h[:-1]; u = new``.
"""

from __future__ import annotations

from typing import ClassVar

from adc.ir import ops
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import place_in
from adc.passes.analysis.integers import Integers
from adc.passes.analysis.kinds import accessed
from adc.passes.analysis.lifetimes import users_of
from adc.passes.analysis.nests import is_visible, loop_body_of, loops_between, match_counters
from adc.passes.buffers.carried_arrays import made_in_steps, own_starts
from adc.passes.rewrite import put_instead


@dataclass(frozen=True)
class UpdateInPlace:
    """Let new arrays of a sequential loop take the place of the dying ones that they are made from."""

    name: ClassVar[str] = "update-in-place"

    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            for loop, alloc, chain in made_in_steps(func, module):
                body = loop.regions[0]
                old = body.args[1 + chain[-1]]
                copies = _copies(body, old, alloc.result)
                if _may_be_one(body, old, alloc.result, copies):
                    _make_one(loop, alloc, chain, copies)
        return module


def _copies(body: Block, old: Value, new: Value) -> list[Op]:
    """The operations that copy all of the old array to the new one."""
    return [op for op in body.ops if op.opdef is ops.copy and op.operands == (old, new)]


def _may_be_one(body: Block, old: Value, new: Value, copies: list[Op]) -> bool:
    """Whether no element of the old array is read after the new one has another value there, and the copied values are
    those that the old array holds as long as it exists."""
    passing = {body.terminator, *copies}
    of_old, of_new = users_of(old, passing), users_of(new, passing)
    if of_old is None or of_new is None or len(copies) > 1:
        return False
    old_at, new_at = ([(_place(body, op), op) for op in users if op.opdef is not ops.dim] for users in (of_old, of_new))
    first = min((at for at, op in new_at if op.opdef is not ops.load), default=len(body.ops))
    for at in (body.ops.index(copy) for copy in copies):
        if any(n <= at for n, _ in new_at) or any(n >= at and op.opdef is not ops.load for n, op in old_at):
            return False
    if any(at > first for at, _ in old_at):
        return False
    inside = [op for at, op in old_at if at == first]
    return not inside or _by_element(body.ops[first], (old, new), inside, [op for at, op in new_at if at == first])


def _place(body: Block, op: Op) -> int:
    """The position in ``body`` of an operation, or of the one that contains it."""
    place = place_in(body, op)
    assert place is not None
    return body.ops.index(place)


def _by_element(nest: Op, arrays: tuple[Value, Value], of_old: list[Op], of_new: list[Op]) -> bool:
    """Whether each iteration of a nest of loops reads one element of the old array, the one that it writes to in the
    new one, before it does so, and no other iteration has the same element. ``arrays``: the old and the new one; in
    views of them the same subscripts mean other elements."""
    accesses = [*of_old, *of_new]
    stores = [op for op in of_new if op.opdef is ops.store]
    if any(op.opdef is not ops.load for op in of_old) or any(op.opdef not in (ops.store, ops.load) for op in of_new):
        return False
    subscripts = stores[0].operands[2:]
    block = loop_body_of(stores[0])
    loops = loops_between(block, nest) if block is not None else None
    if block is None or loops is None or not all(is_visible(s, block) for s in subscripts):
        return False
    if match_counters(loops, subscripts, Integers()) is None:
        return False
    if any(accessed(op)[0] not in arrays or accessed(op)[1:] != subscripts for op in accesses):
        return False
    places = {op: place_in(block, op) for op in accesses}
    if None in places.values():
        return False
    reads, writes = ([block.ops.index(p) for op in some if (p := places[op])] for some in (of_old, stores))
    return max(reads) < min(writes)


def _make_one(loop: Op, alloc: Op, chain: list[int], copies: list[Op]) -> None:
    own_starts(loop, chain)
    for op in copies:
        put_instead(op, [])
        op.drop()
    alloc.result.replace_uses(loop.regions[0].args[1 + chain[-1]])
    put_instead(alloc, [])
    alloc.drop()
