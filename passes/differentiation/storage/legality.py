"""Legality: may a load be repeated in the reverse sweep?

It may if nothing that can run after it, up to the end of the forward sweep, writes to the memory it reads. A write that
stands later in the program runs later; one that stands earlier runs later only in a further iteration of a sequential
loop around both. Iterations of a parallel loop do not write what another one reads, so parallel loops do not count.
Memory that a loop body allocates for itself is a new object each time, so loops around the body do not count either.
Nor do writes that can be shown to go elsewhere (``adc.passes.differentiation.storage.elsewhere``).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.types import MemRefType, RecordType, holds_memory, holds_records
from adc.passes.differentiation.activity.held import is_container
from adc.passes.differentiation.storage.elsewhere import Elsewhere

SEQUENTIAL = (ops.for_, ops.while_)


class Legality:
    """Answers for one function. ``stable``: positions of memref arguments that nobody writes after the call. Unless the
    reverse sweep follows ``direct``ly, the caller may change what the function returned before that sweep runs."""

    def __init__(
        self, module: Module, func: Func, aliasing: Aliasing, stable: frozenset[int], *, direct: bool
    ) -> None:
        self.aliasing = aliasing
        self.body = func.body
        self.position = {op: n for n, op in enumerate(func.walk())}
        self.writes: dict[Value, list[Op]] = {}
        self.escaping: set[Value] = set()
        self.written = Written(module, func, aliasing)
        self._elsewhere = Elsewhere(aliasing)
        unstable = {k for k, a in enumerate(func.args) if isinstance(a.type, MemRefType)} - stable
        self.unstable_roots = {r for k in unstable for r in aliasing.roots(func.args[k])}
        for op in func.walk():
            for root in {root for memref in self.written.by(op) for root in aliasing.roots(memref)}:
                self.writes.setdefault(root, []).append(op)
            for memref in escaping(op):
                self.escaping |= aliasing.roots(memref)
        if not direct:
            self.unstable_roots |= self._handed_out(func)

    def _handed_out(self, func: Func) -> set[Value]:
        """The memory that is returned, or held by something that the caller knows."""
        returned = func.body.terminator.operands
        found = {root for v in returned if isinstance(v.type, MemRefType) for root in self.aliasing.roots(v)}
        known = (*returned, *func.args)
        return found | self.escaping if any(holds_memory(v.type) for v in known) else found

    def may_reload(self, load: Op) -> bool:
        """Whether repeating a load in the reverse sweep gives the same value."""
        return self.intact_after(load, load.operands[0])

    def stored(self, value: Value) -> Op | None:
        """A store of ``value``, in the block that computes it, from which the reverse sweep can load the value
        again."""
        if isinstance(value.type, MemRefType | RecordType):
            return None
        stores = (op for op, k in value.uses if op.opdef is ops.store and k == 0 and op.parent is value.block)
        there = (op for op in stores if self._was_there(op.operands[1], value))
        return next((op for op in there if self.intact_after(op, op.operands[1])), None)

    def _was_there(self, memref: Value, value: Value) -> bool:
        """Whether the memory is older than the value: then it is not freed before the reverse sweep reaches the
        value."""
        if memref.op is None or memref.block is not value.block:
            return True
        return value.op is not None and self.position[memref.op] < self.position[value.op]

    def intact_after(self, reader: Op, memref: Value) -> bool:
        """Whether what ``reader`` read from ``memref``, or stored there, is still there when the reverse sweep reaches
        ``reader``."""
        for root in self.aliasing.roots(memref):
            if root in self.unstable_roots:
                return False
            scope = self._scope(root)
            if any(self._may_change(reader, memref, write, scope) for write in self.writes.get(root, ())):
                return False
        return True

    def _may_change(self, reader: Op, memref: Value, write: Op, scope: Block) -> bool:
        if not self._may_follow(reader, write, scope):
            return False
        return not self._elsewhere.misses(write, reader, memref, scope, lambda: self._follows(reader, write))

    def _scope(self, root: Value) -> Block:
        """The block that has a new object in each run."""
        block = root.block
        return self.body if block is None or root.op is None or root in self.escaping else block

    def _may_follow(self, reader: Op, write: Op, scope: Block) -> bool:
        if self._follows(reader, write):
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

    def _follows(self, reader: Op, write: Op) -> bool:
        """Whether the write follows the reader in one iteration of the loops around both."""
        return self.position[write] > self.position[reader] and not _exclusive(reader, write)


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


class Written:
    """Which memrefs the operations of a function write through."""

    def __init__(self, module: Module, func: Func, aliasing: Aliasing) -> None:
        self._module = module
        self._func = func
        self._aliasing = aliasing

    def by(self, op: Op) -> list[Value]:
        """The memrefs that an operation itself writes through, including memory that it may find in its operands."""
        if op.opdef in (ops.store, ops.accumulate, ops.fill, ops.copy):
            return [op.operands[1]]
        if op.opdef is ops.grow:
            return [op.operands[0]]
        return self._by_call(op) if op.opdef is ops.call else []

    def _by_call(self, op: Op) -> list[Value]:
        if any(holds_records(v.type) for v in op.operands):
            return [*self._visible, *(v for v in op.operands if isinstance(v.type, MemRefType))]
        callee = self._module.funcs.get(op.attrs["callee"])  # none: in a recursion, not yet made
        attributes = callee.arg_attrs if callee is not None else [{}] * len(op.operands)
        given = [v for v, attrs in zip(op.operands, attributes, strict=True) if not attrs.get("adc.readonly")]
        return [root for v in given if isinstance(v.type, MemRefType) for root in (v, *self._held(v))]

    def _held(self, memref: Value) -> set[Value]:
        return self._aliasing.reach(memref) if is_container(memref.type) else set()

    @cached_property
    def _visible(self) -> set[Value]:
        """The roots of memory that others may know, including what records hold."""
        roots = self._aliasing.roots
        known: set[Value] = set()
        for op in self._func.walk():
            handed_on = list(op.operands) if op.opdef in (ops.pack, ops.call) else []
            handed_on += op.results if op.opdef in (ops.unpack, ops.call) else []
            if op.opdef is ops.store and not all(map(_is_allocated, roots(op.operands[1]))):
                handed_on.append(op.operands[0])
            known = known.union(*(self._aliasing.reach(v) for v in handed_on if isinstance(v.type, MemRefType)))
        return known.union(*(self._aliasing.reach(a) for a in self._func.args if isinstance(a.type, MemRefType)))


def _is_allocated(root: Value) -> bool:
    return root.op is not None and root.op.opdef in (ops.alloc, ops.grow)


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
