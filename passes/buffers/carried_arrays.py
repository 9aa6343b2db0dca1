"""Arrays that a time loop makes in each step and hands on to the next: where they go, and where they die."""

from __future__ import annotations

from collections.abc import Iterator

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.nesting import enclosing
from adc.ir.types import MemRefType
from adc.passes.analysis.cold import is_cold
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.extents import Extents
from adc.passes.analysis.kinds import LOOPS
from adc.passes.analysis.lifetimes import dies_at, is_behind, only_read, users_of
from adc.passes.rewrite import put_before


def made_in_steps(func: Func, module: Module) -> Iterator[tuple[Op, Op, list[int]]]:
    """Sequential loops, an allocation in the body of each, and the positions at which the array is carried in the steps
    that follow; it dies in the last. Nobody else sees these arrays, and all have one shape. Allocations that have been
    removed meanwhile are left out.
    """
    for loop in [op for op in func.walk() if op.opdef is ops.for_]:
        carries = any(isinstance(r.type, MemRefType) for r in loop.results)
        if not carries or (loop.parent is not None and is_cold(loop.parent)):
            continue
        body = loop.regions[0]
        for alloc in [op for op in body.ops if op.opdef is ops.alloc]:
            chain = _chain(loop, body, alloc)
            if chain is not None and _may_own_starts(func, module, loop, chain):
                yield loop, alloc, chain


def _chain(loop: Op, body: Block, alloc: Op) -> list[int] | None:
    end, made = body.terminator, alloc.result
    ends = [position for user, position in made.uses if user is end]
    if len(ends) != 1 or users_of(made, {end}) is None:
        return None
    extents = Extents()
    chain: list[int] = []
    while ends:
        (position,) = ends
        arg, start = body.args[1 + position], loop.operands[3 + position]
        if arg.type != made.type or start.type != made.type or users_of(arg, {end}) is None:
            return None
        # The carried arrays keep their shapes, so all of the chain have that of the first.
        if extents.shape(arg) != extents.shape(start):
            return None
        if not chain and not extents.equal_at(extents.shape(made), extents.shape(start), alloc):
            return None
        chain.append(position)
        ends = [position for user, position in arg.uses if user is end]
        if len(ends) > 1 or any(position in chain for position in ends):
            return None
    return chain


def _may_own_starts(func: Func, module: Module, loop: Op, chain: list[int]) -> bool:
    """Whether the loop may begin with arrays of its own. If others use the arrays that it begins with, it begins with
    copies, provided nobody can tell the difference: neither is written to, and the result, which may be the initial
    array, is only read. The copy must not be made again and again."""
    kept = [k for k in chain if not dies_at(loop.operands[3 + k], loop)]
    if not kept:
        return True
    if any(op.opdef in LOOPS for op in enclosing(loop.parent)) or not all(only_read(loop.results[k]) for k in kept):
        return False
    memory = Memory.asked(func, Summaries.asked(module))
    writes = [op for op in func.walk() if not op.regions and is_behind(op, loop)]
    return not any(memory.may_write(op, loop.operands[3 + k]) for op in writes for k in kept)


def own_starts(loop: Op, chain: list[int]) -> None:
    """Let ``loop`` begin with arrays that nobody uses any more, or with copies, since they will be overwritten."""
    before = Block()
    with insert_at(before, loop.loc):
        for position in chain:
            start = loop.operands[3 + position]
            if not dies_at(start, loop):
                copy = like(start)
                build(ops.copy, [start, copy])
                loop.set_operand(3 + position, copy)
    put_before(loop, list(before.ops))


def like(array: Value) -> Value:
    """Append an allocation of the shape of ``array``."""
    assert isinstance(array.type, MemRefType)
    extents = [ops.dim(array, dim=d) for d, extent in enumerate(array.type.shape) if extent is None]
    return ops.alloc(*extents, type=array.type)
