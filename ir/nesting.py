"""The nesting of blocks, operations and values in regions."""

from __future__ import annotations

from collections.abc import Container, Iterator
from operator import attrgetter

from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.opdef import OpDef
from adc.ir.states import kept

_opdef = attrgetter("opdef")


def enclosing(block: Block | None) -> Iterator[Op]:
    """The operations in whose regions ``block`` is, innermost first."""
    while block is not None:
        op = block.parent
        if type(op) is not Op:
            return
        yield op
        block = op.parent


def with_enclosing(op: Op) -> Iterator[Op]:
    """``op``, then the operations in whose regions it is, innermost first."""
    yield op
    yield from enclosing(op.parent)


def with_inner(op: Op) -> Iterator[Op]:
    """``op``, then all operations inside it."""
    yield op
    for region in op.regions:
        yield from region.walk()


def of_kinds(block: Block, kinds: Container[OpDef]) -> list[Op]:
    """The operations in ``block`` of certain kinds, in the order of ``walk`` but in less than half its time: most
    analyses begin with this."""
    found: list[Op] = []
    _gather(block, kinds, found)
    return found


def _gather(block: Block, kinds: Container[OpDef], found: list[Op]) -> None:
    for op in block.ops:
        if op.opdef in kinds:
            found.append(op)
        if op.regions:
            for region in op.regions:
                _gather(region, kinds, found)


def kinds_in(func: Func) -> set[OpDef]:
    """The kinds of operations that there are in a function, kept until it changes."""
    return kept(func, _find_kinds)


def having(module: Module, kinds: frozenset[OpDef]) -> Iterator[Func]:
    """The functions that have operations of some of these kinds."""
    for func in module.funcs.values():
        if not kinds.isdisjoint(kinds_in(func)):
            yield func


def _find_kinds(func: Func) -> set[OpDef]:
    found: set[OpDef] = set()
    _add_kinds(func.body, found)
    return found


def _add_kinds(block: Block, found: set[OpDef]) -> None:
    own = set(map(_opdef, block.ops))
    found |= own
    if any(kind.regions for kind in own):
        for op in block.ops:
            for region in op.regions:
                _add_kinds(region, found)


def inside(value: Value, op: Op) -> bool:
    """Whether ``value`` is defined inside ``op``, as an argument of its regions or by an operation in them."""
    block = value.block
    while block is not None:
        around = block.parent
        if around is op:
            return True
        block = around.parent if type(around) is Op else None
    return False


def defined_in(block: Block) -> set[Value]:
    """The values that are defined in a block, as its arguments, by its operations, or inside these."""
    found = set(block.args)
    for op in block.walk():
        found.update(op.results)
        for region in op.regions:
            found.update(region.args)
    return found


def place_in(block: Block, op: Op) -> Op | None:
    """The operation of ``block`` that is ``op`` or contains it; None if there is none."""
    return next((around for around in with_enclosing(op) if around.parent is block), None)


def holds(block: Block | None, op: Op) -> bool:
    """Whether ``op`` is in ``block``, or inside an operation of it."""
    return block is not None and place_in(block, op) is not None
