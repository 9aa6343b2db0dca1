"""Legality: may a load be repeated in the reverse sweep?

It may if nothing that can run after it, up to the end of the forward sweep, writes to the memory it reads. A write that
stands later in the program runs later; one that stands earlier runs later only if a sequential loop around both comes
round again. Iterations of a parallel loop do not write what another one reads, so they do not count as coming round.
Memory that a loop body allocates for itself is a new object each time, so loops around the body do not count either.
"""

from __future__ import annotations

from collections.abc import Iterator

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.types import MemRefType

SEQUENTIAL = (ops.for_, ops.while_)


class Legality:
    """Answers for one function. ``stable``: positions of memref arguments that nobody writes after the call."""

    def __init__(self, module: Module, func: Func, aliasing: Aliasing, stable: frozenset[int]) -> None:
        self.aliasing = aliasing
        self.body = func.body
        self.position = {op: n for n, op in enumerate(func.walk())}
        self.writes: dict[Value, list[Op]] = {}
        self.escaping: set[Value] = set()
        unstable = {k for k, a in enumerate(func.args) if isinstance(a.type, MemRefType)} - stable
        self.unstable_roots = {r for k in unstable for r in aliasing.roots(func.args[k])}
        for op in func.walk():
            for memref in written(op, module):
                for root in aliasing.roots(memref):
                    self.writes.setdefault(root, []).append(op)
            for memref in escaping(op):
                self.escaping |= aliasing.roots(memref)

    def may_reload(self, load: Op) -> bool:
        """Whether repeating a load in the reverse sweep gives the same value."""
        return self.intact_after(load, load.operands[0])

    def intact_after(self, reader: Op, memref: Value) -> bool:
        """Whether what ``reader`` read of ``memref`` is still there when the reverse sweep comes to ``reader``."""
        for root in self.aliasing.roots(memref):
            if root in self.unstable_roots:
                return False
            scope = self._scope(root)
            if any(self._may_follow(reader, write, scope) for write in self.writes.get(root, ())):
                return False
        return True

    def _scope(self, root: Value) -> Block:
        """The block whose every run has an object of its own."""
        block = root.block
        return self.body if block is None or root.op is None or root in self.escaping else block

    def _may_follow(self, reader: Op, write: Op, scope: Block) -> bool:
        if self.position[write] > self.position[reader] and not _exclusive(reader, write):
            return True
        blocks = set(_blocks_above(write))
        common = next(block for block in _blocks_above(reader) if block in blocks)
        while common is not scope:
            loop = common.parent_op
            if loop is None or loop.parent is None:
                return False
            if loop.opdef in SEQUENTIAL:
                return True
            common = loop.parent
        return False


def _blocks_above(op: Op) -> Iterator[Block]:
    block = op.parent
    while block is not None:
        yield block
        parent = block.parent_op
        block = parent.parent if parent is not None else None


def _exclusive(a: Op, b: Op) -> bool:
    """Whether the two stand in different branches of one ``scf.if``, so that one run of it executes one of them."""
    above = {block.parent_op: block for block in _blocks_above(a)}
    for block in _blocks_above(b):
        branch = block.parent_op
        if branch in above:
            return branch is not None and branch.opdef is ops.if_ and above[branch] is not block
    return False


def written(op: Op, module: Module) -> list[Value]:
    """The memrefs that an operation itself writes through."""
    if op.opdef in (ops.store, ops.accumulate, ops.fill, ops.copy):
        return [op.operands[1]]
    if op.opdef is ops.grow:
        return [op.operands[0]]
    if op.opdef is ops.call:
        callee = module.funcs[op.attrs["callee"]]
        return [
            v
            for v, attrs in zip(op.operands, callee.arg_attrs, strict=True)
            if isinstance(v.type, MemRefType) and not attrs.get("adc.readonly")
        ]
    return []


def escaping(op: Op) -> list[Value]:
    """The memrefs that an operation hands on under another name: carried, yielded, returned, stored, packed."""
    kind = op.opdef
    values: tuple[Value, ...] = ()
    if kind in (ops.for_, ops.yield_, ops.while_, ops.condition, ops.return_, ops.pack, ops.select):
        values = op.operands
    elif kind is ops.store:
        values = op.operands[:1]
    elif kind is ops.call and any(isinstance(r.type, MemRefType) for r in op.results):
        values = op.operands
    return [v for v in values if isinstance(v.type, MemRefType)]
