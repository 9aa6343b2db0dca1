"""The memory that an operation, including everything nested in it, may read and write, by roots."""

from __future__ import annotations

from collections.abc import Iterable, Set
from functools import cached_property

from adc.ir import ops
from adc.ir.alias import Aliasing, Roots
from adc.ir.core import Func, Module, Op, Value
from adc.ir.fixpoint import Fixpoint
from adc.ir.known import of_function, of_module
from adc.ir.lazy_dataclass import dataclass
from adc.ir.messages import is_together
from adc.ir.types import MemRefType, RecordType
from adc.passes.analysis.kinds import READS, SILENT, TARGET, TRAPS, WRITES

NO_ROOTS: Set[Value] = frozenset()


@dataclass
class Effects:
    """``everything``: any memory that is visible outside of one local allocation may be read and written. ``ordered``:
    the operation has effects outside the program's memory, and must run exactly as often as it is reached, in order. It
    counts as one that ``traps``: it is not reordered with anything visible, and is not run beforehand. ``once``:
    nor may it be run again in a reverse sweep, as what all ranks do together may be.
    """

    reads: Set[Value] = NO_ROOTS
    writes: Set[Value] = NO_ROOTS
    everything: bool = False
    traps: bool = False
    ordered: bool = False
    once: bool = False

    def include(self, other: Effects) -> None:
        if not other.reads <= self.reads:
            self.reads = self.reads | other.reads
        if not other.writes <= self.writes:
            self.writes = self.writes | other.writes
        self.everything |= other.everything
        self.traps |= other.traps
        self.ordered |= other.ordered
        self.once |= other.once

    def is_apart(self, other: Effects) -> bool:
        """Whether neither writes a root that the other reads or writes."""
        reads_apart = self.reads.isdisjoint(other.writes) and self.writes.isdisjoint(other.reads)
        return reads_apart and self.writes.isdisjoint(other.writes)


NOTHING = Effects()


class Memory:
    """The effects of each operation of one function, on top of its ``Aliasing``."""

    def __init__(self, func: Func, summaries: Summaries) -> None:
        self.func = func
        self.alias = Aliasing.asked(func, summaries.module)
        self.callees = self.alias.callees
        self.escaped: set[Value] = set()
        self._summaries = summaries
        self._used: dict[str, Summary | None] = {}  # of called functions
        self._known: dict[Op, Effects] = {}
        self._loads: dict[Roots, Effects] = {}  # of one array: equal ones are one object
        self._stores: dict[Roots, Effects] = {}
        self._roots: dict[Value, Roots] = {}
        self._overlaps: dict[tuple[Value, Value], bool] = {}
        self._find_escapes()

    @classmethod
    def asked(cls, func: Func, summaries: Summaries, *, settled: bool = True) -> Memory:
        """The memory of a function as it is now, analysed if that is not known; ``settled``: the summaries of the
        functions that it calls are final."""
        module = summaries.module

        def holds(known: Memory) -> bool:
            if known._summaries.module is not module or known.alias is not Aliasing.asked(func, module):
                return False
            return all(summaries.of(name) == then for name, then in known._used.items())

        memory = of_function(cls, func, module, lambda: cls(func, summaries), holds, settled=settled)
        memory._summaries = summaries
        return memory

    def effects(self, op: Op) -> Effects:
        if op.opdef in SILENT:
            return NOTHING
        known = self._known.get(op)
        if known is None:
            known = self._known[op] = self._compute(op)
        return known

    def roots(self, memref: Value) -> Roots:
        known = self._roots.get(memref)
        if known is None:
            known = self._roots[memref] = self.alias.roots(memref)
        return known

    def may_overlap(self, a: Value, b: Value) -> bool:
        if self.roots(a).isdisjoint(self.roots(b)):
            return a is b
        known = self._overlaps.get((a, b))
        if known is None:
            known = self._overlaps[a, b] = self._overlaps[b, a] = self.alias.may_overlap(a, b)
        return known

    def may_write(self, op: Op, memref: Value) -> bool:
        """Whether ``op``, nested operations included, may write what ``memref`` gives access to."""
        effects = self.effects(op)
        roots = self.roots(memref)
        return not effects.writes.isdisjoint(roots) or (effects.everything and self._visible(roots))

    def may_overwrite(self, op: Op, memref: Value) -> bool:
        """The same for a memref that is in scope there, at the moments at which ``op`` writes: new memory, or the other
        one of two buffers that change places, is not what the memref gives access to, although it may have been."""
        if not self.may_write(op, memref):
            return False
        if op.regions:
            return any(self.may_overwrite(inner, memref) for region in op.regions for inner in region.ops)
        return op.opdef not in TARGET or self.may_overlap(op.operands[1], memref)

    def may_read(self, op: Op, memref: Value) -> bool:
        effects = self.effects(op)
        roots = self.roots(memref)
        return not effects.reads.isdisjoint(roots) or (effects.everything and self._visible(roots))

    def is_local(self, root: Value) -> bool:
        """Whether only this activation of the function can reach the memory of ``root``."""
        return _is_allocated(root) and root not in self.escaped

    def _visible(self, roots: Iterable[Value]) -> bool:
        return any(not self.is_local(root) for root in roots)

    def _find_escapes(self) -> None:
        for op in self.alias.carriers:
            if op.opdef in (ops.pack, ops.return_, ops.call):
                for operand in op.operands:
                    if isinstance(operand.type, MemRefType):
                        self.escaped |= self.reach(operand)
            elif (
                op.opdef in (ops.store, ops.fill)
                and isinstance(op.operands[0].type, MemRefType)
                and not all(_is_allocated(root) for root in self.roots(op.operands[1]))
            ):
                self.escaped |= self.reach(op.operands[0])

    @cached_property
    def summary(self) -> Summary:
        """The effects of the function for its callers."""
        total = Effects()
        for op in self.func.body.ops:
            total.include(self.effects(op))
        positions = {k for k, arg in enumerate(self.func.args) if isinstance(arg.type, MemRefType)}
        reach = {k: self.reach(self.func.args[k]) for k in positions}
        reads = {k for k in positions if total.everything or not reach[k].isdisjoint(total.reads)}
        writes = {k for k in positions if total.everything or not reach[k].isdisjoint(total.writes)}
        return Summary(frozenset(reads), frozenset(writes), total.traps, total.ordered, total.once)

    def reach(self, memref: Value) -> set[Value]:
        """The roots of ``memref``, of the memrefs it may hold, and so on."""
        return self.alias.reach(memref)

    def _compute(self, op: Op) -> Effects:
        if op.regions:
            total = Effects()
            seen: set[int] = set()  # many are the same object
            for region in op.regions:
                for inner in region.ops:
                    if inner.opdef not in SILENT and id(effects := self.effects(inner)) not in seen:
                        seen.add(id(effects))
                        total.include(effects)
            return total
        if op.opdef is ops.call:
            return self._call(op)
        if op.opdef is ops.bound:
            return Effects(traps=op.attrs["check"])
        roots = self.roots
        if op.opdef is ops.load:
            read = roots(op.operands[0])
            return self._loads.get(read) or self._loads.setdefault(read, Effects(reads=read))
        if op.opdef in (ops.store, ops.fill):
            written = roots(op.operands[1])
            return self._stores.get(written) or self._stores.setdefault(written, Effects(writes=written))
        if op.opdef is ops.accumulate:
            both = roots(op.operands[1])
            return Effects(reads=both, writes=both)
        if op.opdef is ops.copy:
            return Effects(reads=roots(op.operands[0]), writes=roots(op.operands[1]))
        if op.opdef is ops.matmul:
            both = roots(op.operands[2])
            return Effects(reads=both.union(*map(roots, op.operands[:2])), writes=both)
        if op.opdef is ops.foreign:
            arrays = [v for v in op.operands if isinstance(v.type, MemRefType)]
            written = frozenset(root for k in op.attrs["written"] for root in roots(op.operands[k]))
            ordered = op.attrs["ordered"]
            once = ordered and not is_together(op)
            used = {root for v in arrays for root in roots(v)}
            return Effects(used, written, traps=ordered, ordered=ordered, once=once)
        touched = frozenset(root for v in op.operands if isinstance(v.type, MemRefType) for root in roots(v))
        reads = touched if op.opdef in READS else NO_ROOTS
        writes = touched if op.opdef in WRITES else NO_ROOTS
        return Effects(reads=reads, writes=writes, traps=op.opdef in TRAPS)

    def _call(self, op: Op) -> Effects:
        summary = self._used[op.attrs["callee"]] = self._summaries.of(op.attrs["callee"])
        total = Effects(traps=True, ordered=True, once=True)
        if summary is not None:
            total = Effects(traps=summary.traps, ordered=summary.ordered, once=summary.once)
        for position, operand in enumerate(op.operands):
            if isinstance(operand.type, RecordType):
                total.everything = True
            if isinstance(operand.type, MemRefType):
                reach = self.reach(operand)
                if summary is None or position in summary.reads:
                    total.reads = total.reads | reach
                if summary is None or position in summary.writes:
                    total.writes = total.writes | reach
        return total


def _is_allocated(root: Value) -> bool:
    return root.op is not None and root.op.opdef in (ops.alloc, ops.grow)


@dataclass(frozen=True)
class Summary:
    """Which arguments a function may read from or write to, including memrefs that they hold, whether it may trap, and
    whether it has effects that must stay in order, or must not be repeated."""

    reads: frozenset[int]
    writes: frozenset[int]
    traps: bool
    ordered: bool = False
    once: bool = False


class Summaries:
    """Summaries of the functions of a module, made when asked for."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._summary = Fixpoint[str, Summary](
            lambda name: Memory.asked(module.funcs[name], self, settled=False).summary,
            lambda name: Summary(frozenset(), frozenset(), traps=True),  # a recursive call may run out of stack
        )

    @classmethod
    def asked(cls, module: Module) -> Summaries:
        """The summaries of a module as it is now, made if they are not known."""
        return of_module(cls, module, lambda: cls(module))

    def of(self, name: str) -> Summary | None:
        """The summary of a function; None if the function is not in the module."""
        return self._summary(name) if name in self.module.funcs else None
