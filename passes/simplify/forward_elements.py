"""Arrays that are filled once, with what is cheap to compute, and read in one place: there it is computed instead.

``values @ x[columns]`` takes an array of what it gathers, and ``(x - x.mean()) / x.std()`` one of differences. Neither
is needed where each element is read but once: what reads it can gather, or subtract, by itself. Nor is it kept for a
reverse sweep then, which can do so again.

What fills the array is a nest of loops that goes through all of its elements, one by one; what is stored is made of
loads, of memory that nobody writes before the last look at the array, and of a few operations on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.builder import insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.nesting import enclosing, inside, place_in
from adc.ir.rewrite import clone_op
from adc.passes.analysis.costs import cost_of, executions
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.kinds import COUNTED, LOOPS, PURE
from adc.passes.rewrite import put_instead

CHEAP = 10.0
"""What an element may cost to compute: two loads, one through the other, and a wrapped subscript."""


@dataclass(frozen=True)
class ForwardElements:
    """Compute cheap elements of arrays where they are read, if that is in one place."""

    name: ClassVar[str] = "forward-elements"

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in module.funcs.values():
            for alloc in [op for op in func.walk() if op.opdef is ops.alloc]:
                _forward(func, alloc, summaries)
        return module


@dataclass(frozen=True)
class _Filled:
    """How an array is filled: ``nest`` stands in its block; ``counters`` are those of its loops, by dimension;
    ``made`` are the operations whose last one makes what is stored."""

    nest: Op
    counters: Mapping[int, Value]
    value: Value
    made: list[Op]


def _forward(func: Func, alloc: Op, summaries: Summaries) -> None:
    users = [op for op, _ in alloc.result.uses]
    loads = [op for op in users if op.opdef is ops.load]
    stores = [op for op in users if op.opdef is ops.store and op.operands[1] is alloc.result]
    dims = sum(op.opdef is ops.dim for op in users)
    if len(loads) != 1 or len(stores) != 1 or len(users) != dims + 2:
        return
    load, store = loads[0], stores[0]
    filled = _filled(alloc, store)
    if filled is None or not _stays(func, alloc, filled, load, summaries):
        return
    assert store.parent is not None and load.parent is not None
    around = next((op for op in enclosing(load.parent) if op.opdef in LOOPS), None)
    if around is None or around.opdef is not ops.parallel:
        return  # a recurrence would wait for what was SIMD
    if executions(load.parent) > executions(store.parent):
        return
    mapping = {counter: load.operands[1 + dim] for dim, counter in filled.counters.items()}
    copy = Block()
    with insert_at(copy, load.loc):
        for op in filled.made:
            clone_op(op, mapping)
    load.result.replace_uses(mapping.get(filled.value, filled.value))
    put_instead(load, list(copy.ops))
    load.drop()


def _filled(alloc: Op, store: Op) -> _Filled | None:
    """How the store fills the array, if it surely stores all elements, and if these are cheap."""
    home = alloc.parent
    if len(alloc.operands) != len(store.operands) - 2:
        return None  # an extent is a constant of the type
    subscripts = list(store.operands[2:])
    counters: dict[int, Value] = {}
    block = store.parent
    nest: Op = store
    while block is not None and block is not home:
        loop = block.parent_op
        if loop is None or loop.opdef not in COUNTED or block.args[0] not in subscripts:
            return None
        dim = subscripts.index(block.args[0])
        lower, upper, step = loop.operands[:3]
        if constant_of(lower) != 0 or constant_of(step) != 1 or upper is not alloc.operands[dim]:
            return None
        counters[dim] = block.args[0]
        nest, block = loop, loop.parent
    if block is None or len(counters) != len(subscripts) or len(set(subscripts)) != len(subscripts):
        return None
    made = _made(store.operands[0], nest)
    if made is None or sum(cost_of(op.opdef) for op in made) > CHEAP:
        return None
    return _Filled(nest, counters, store.operands[0], made)


def _made(value: Value, nest: Op) -> list[Op] | None:
    """The operations in ``nest`` that it takes to have ``value``, in order; None if they are more than loads and pure
    operations, or take what the loops carry. Each is defined where it is done again, as it was there."""
    found: list[Op] = []

    def visit(value: Value) -> bool:
        op = value.op
        if not inside(value, nest):
            return True
        if op is None:
            return value.index == 0  # a counter
        if op in found:
            return True
        if op.regions or not (op.opdef is ops.load or op.opdef in PURE):
            return False
        if len(found) > CHEAP * 2 or not all(visit(operand) for operand in op.operands):
            return False
        found.append(op)
        return True

    return found if visit(value) else None


def _stays(func: Func, alloc: Op, filled: _Filled, load: Op, summaries: Summaries) -> bool:
    """Whether the load comes after the nest, and finds all that this read as it was."""
    block = alloc.parent
    assert block is not None
    place = place_in(block, load)
    if place is None or place is filled.nest:
        return False
    start, end = block.ops.index(filled.nest), block.ops.index(place)
    if end < start:
        return False
    memory = Memory.asked(func, summaries)
    sources = [op.operands[0] for op in filled.made if op.opdef is ops.load]
    return not any(memory.may_write(op, source) for op in block.ops[start : end + 1] for source in sources)
