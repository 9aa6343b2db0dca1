"""A function that only reads is called once for the same arguments, as long as nothing writes to what it reads.

    found = f(new)                       # both run the same inner solver
    if found < value:
        slope = gradient(new)

Arrays that such calls return are shared where nothing writes to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from adc.ir import ops
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType, RecordType
from adc.passes.analysis.attributes import attr_key
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.kinds import READS, VIEWS, WRITES
from adc.passes.rewrite import replace_op


@dataclass(frozen=True)
class ShareCalls:
    """Make no call twice."""

    name: ClassVar[str] = "share-calls"

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in module.funcs.values():
            calls = [op for op in func.walk() if op.opdef is ops.call]
            if len({(op.attrs["callee"], *op.operands) for op in calls}) < len(calls):
                _Walk(func, summaries).run()
        return module


class _Walk:
    def __init__(self, func: Func, summaries: Summaries) -> None:
        self._func = func
        self._summaries = summaries
        self._memory = Memory.asked(func, summaries)
        self._known: dict[object, Op] = {}

    def run(self) -> None:
        self._block(self._func.body)

    def _block(self, block: Block) -> None:
        kept: list[Op] = []
        for op in block.ops:
            kind = op.opdef
            if kind is ops.call and self._is_function(op):
                key = op.attrs["callee"], attr_key(op.attrs), *op.operands
                before = self._known.setdefault(key, op)
                if before is not op and all(map(self._is_only_read, (*before.results, *op.results))):
                    replace_op(op, before.results)
                    continue
            elif op.regions:
                if kind is not ops.if_:
                    self._forget(op)
                for region in op.regions:
                    known = dict(self._known)
                    self._block(region)
                    self._known = known
                self._forget(op)
            elif kind in READS or kind in WRITES:
                self._forget(op)
            kept.append(op)
        block.set_ops(kept)

    def _forget(self, op: Op) -> None:
        """Forget calls that read what ``op`` writes."""
        if self._known:
            made = self._memory.effects(op)
            apart = {key: call for key, call in self._known.items() if made.is_apart(self._memory.effects(call))}
            self._known = {} if made.everything else apart

    def _is_function(self, call: Op) -> bool:
        """Whether all that a call does is to return what follows from its arguments, and from memory that it reads."""
        summary = self._summaries.of(call.attrs["callee"])
        if summary is None or summary.writes or summary.ordered or summary.once:
            return False
        return not any(_is_opaque(v) for v in (*call.operands, *call.results))

    def _is_only_read(self, array: Value) -> bool:
        """Whether nobody writes to an array, frees it, or keeps it."""
        if not isinstance(array.type, MemRefType):
            return True
        return all(self._only_reads(op, position) for op, position in array.uses)

    def _only_reads(self, op: Op, position: int) -> bool:
        if op.opdef in VIEWS:
            return all(map(self._is_only_read, op.results))
        if op.opdef is ops.call:
            summary = self._summaries.of(op.attrs["callee"])
            keeps = any(isinstance(r.type, MemRefType | RecordType) for r in op.results)
            return summary is not None and position not in summary.writes and not keeps and not any(_holds(op))
        return op.opdef is ops.dim or op.opdef is ops.load or (op.opdef is ops.copy and position == 0)


def _is_opaque(value: Value) -> bool:
    """Whether a value is a record, or memory in which there are others."""
    return isinstance(value.type, RecordType) or _holds_memory(value)


def _holds_memory(value: Value) -> bool:
    return isinstance(value.type, MemRefType) and isinstance(value.type.element, MemRefType | RecordType)


def _holds(call: Op) -> Iterator[bool]:
    return map(_holds_memory, call.operands)
