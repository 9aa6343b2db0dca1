"""Dead store elimination: writes that are overwritten, or whose memory ends, before anything can read them.

One walk backwards. What the function's caller can see is read when the function returns, and wherever it may end with
an error: the arrays then are as they were at that point.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import ClassVar

from adc.ir import ops
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import of_kinds
from adc.passes.analysis.effects import Effects, Memory, Summaries
from adc.passes.analysis.integers import Integers
from adc.passes.analysis.kinds import COUNTED, ELEMENT, READS, TARGET
from adc.passes.analysis.nests import is_visible, loop_body_of, loops_between, match_counters
from adc.passes.analysis.subscripts import differ
from adc.passes.due import due

Subscripts = tuple[Value, ...] | None  # None: the whole memref

# Overwritten elements that are remembered; enough for what is close together.
MAX_OVERWRITTEN = 32


@dataclass(frozen=True)
class DeadStores:
    """Remove writes that nothing reads."""

    name: ClassVar[str] = "dead-stores"
    needs = TARGET

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in due(self, module, partial(Memory.asked, summaries=summaries)):
            _Backwards(func, summaries).run()
        return module


# Position of the memref that is read; its subscripts follow.
_READERS = {kind: position for kind, position in ELEMENT.items() if kind in READS}


class _State:
    """What will not be read: elements that are overwritten first, and memory that nothing reads any more."""

    def __init__(self, elements: Iterable[tuple[Value, Subscripts]] = (), roots: Iterable[Value] = ()) -> None:
        self.elements = dict.fromkeys(elements)  # a set in order of insertion
        self.roots = set(roots)

    def copy(self) -> _State:
        return _State(self.elements, self.roots)

    def add(self, memref: Value, subscripts: Subscripts) -> None:
        self.elements[memref, subscripts] = None
        if len(self.elements) > MAX_OVERWRITTEN:
            del self.elements[next(iter(self.elements))]

    def keep(self, elements: Iterable[tuple[Value, Subscripts]]) -> None:
        self.elements = dict.fromkeys(elements)


class _Backwards:
    def __init__(self, func: Func, summaries: Summaries) -> None:
        self._func = func
        self._memory = memory = Memory.asked(func, summaries)
        self._integers = Integers()
        self._visible: dict[Value, bool] = {}
        self._private: dict[Block, list[tuple[Value, Subscripts]]] = {}
        allocations = [r for op in of_kinds(func.body, {ops.alloc, ops.grow}) for r in op.results]
        self._order = {root: k for k, root in enumerate(allocations)}
        self._local = {root for root in allocations if memory.is_local(root)}
        # Local memory that no memref of memrefs may hold.
        self._unheld = self._local - {root for m in allocations for root in memory.alias.contents(m)}

    def run(self) -> None:
        self._block(self._func.body, _State(roots=self._local))

    def _block(self, block: Block, state: _State) -> None:
        """Walk ``block``; ``state`` is what holds at its end, and becomes what holds at its start."""
        self._end_of_iteration(block, state)
        for memref, subscripts in self._private.pop(block, ()):
            state.add(memref, subscripts)
        kept: list[Op] = []
        for op in reversed(block.ops):
            if op.regions:
                self._regions(op, state)
            elif op.opdef in TARGET and self._is_dead(op, state):
                op.drop()
                continue
            else:
                self._simple(op, state)
            kept.append(op)
        if len(kept) < len(block.ops):
            block.set_ops(kept[::-1])

    def _end_of_iteration(self, block: Block, state: _State) -> None:
        """Memory allocated in ``block`` and not handed on is out of reach at its end."""
        if block.parent is self._func:
            return
        handed_on = {root for v in block.terminator.operands for root in self._memory.roots(v)}
        for op in block.ops:
            if op.opdef is ops.alloc and op.result in self._unheld and op.result not in handed_on:
                state.roots.add(op.result)

    def _is_dead(self, op: Op, state: _State) -> bool:
        memref, *subscripts = op.operands[1:]
        roots = self._memory.roots(memref)
        if roots and roots <= state.roots:
            return True
        if (memref, None) in state.elements:
            return True
        if op.opdef is ops.store or op.opdef is ops.accumulate:
            if (memref, tuple(subscripts)) in state.elements:
                return True
            if op.opdef is ops.accumulate:
                self._read(memref, tuple(subscripts), state)
            else:
                state.add(memref, tuple(subscripts))
            return False
        if op.opdef is ops.copy:
            state.add(memref, None)
            self._read(op.operands[0], None, state)
        else:
            state.add(memref, None)
        return False

    def _simple(self, op: Op, state: _State) -> None:
        if op.opdef is ops.load:
            self._read(op.operands[0], op.operands[1:], state)
        elif op.opdef is ops.dealloc:
            state.add(op.operands[0], None)
        else:
            self._pass(op, self._memory.effects(op), state)

    def _pass(self, op: Op, effects: Effects, state: _State) -> None:
        """Take out of ``state`` what ``op`` may read, or may make visible by ending the run."""
        if effects.reads or effects.everything:
            state.keep([e for e in state.elements if not self._memory.may_read(op, e[0])])
            state.roots -= effects.reads
        if effects.traps:
            state.keep([e for e in state.elements if not self._is_visible(e[0])])

    def _regions(self, op: Op, state: _State) -> None:
        effects = self._memory.effects(op)
        if op.opdef is ops.if_:
            then, other = state, state.copy()
            self._block(op.regions[0], then)
            self._block(op.regions[1], other)
            state.keep([e for e in then.elements if e in other.elements])
            state.roots &= other.roots
            return
        if op.opdef in COUNTED:
            self._find_private(op, state.roots & effects.reads)
        self._pass(op, effects, state)
        for region in op.regions:
            self._block(region, state.copy())

    def _find_private(self, loop: Op, roots: set[Value]) -> None:
        """Find memory that is not read after ``loop``, and of which each iteration of the nest reads one element of its
        own.

        That element is not read any more at the end of the iteration.
        """
        reads: dict[Value, Op | None] = dict.fromkeys(roots)
        for op in loop.regions[0].walk() if roots else ():
            position = _READERS.get(op.opdef)
            if op.regions:
                continue
            for root in self._memory.effects(op).reads & reads.keys():
                first = reads[root] or op
                same = position is not None and op.operands[position:] == first.operands[_READERS[first.opdef] :]
                if same and loop_body_of(op) is loop_body_of(first):
                    reads[root] = first
                else:
                    del reads[root]
        for root in sorted(reads, key=self._order.__getitem__):
            read = reads[root]
            body = loop_body_of(read) if read is not None else None
            loops = loops_between(body, loop) if body is not None else None
            if read is None or body is None or loops is None:
                continue
            memref, *subscripts = read.operands[_READERS[read.opdef] :]
            if (
                all(is_visible(v, body) for v in (memref, *subscripts))
                and self._memory.roots(memref) == {root}
                and not self._defined_within(memref, loop)
                and match_counters(loops, subscripts, self._integers) is not None
            ):
                self._private.setdefault(body, []).append((memref, tuple(subscripts)))

    @staticmethod
    def _defined_within(memref: Value, loop: Op) -> bool:
        block = memref.block
        while block is not None and (parent := block.parent_op) is not None:
            if parent is loop:
                return True
            block = parent.parent
        return False

    def _read(self, memref: Value, subscripts: Subscripts, state: _State) -> None:
        state.roots -= self._memory.roots(memref)
        if state.elements:
            state.keep([e for e in state.elements if not self._may_be(e, memref, subscripts)])

    def _may_be(self, element: tuple[Value, Subscripts], memref: Value, subscripts: Subscripts) -> bool:
        other, at = element
        if other is not memref:
            return self._memory.may_overlap(other, memref)
        if at is None or subscripts is None:
            return True
        return not differ(self._integers, at, subscripts)

    def _is_visible(self, memref: Value) -> bool:
        known = self._visible.get(memref)
        if known is None:
            roots = self._memory.roots(memref)
            known = self._visible[memref] = any(root not in self._local for root in roots)
        return known
