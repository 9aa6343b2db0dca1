"""Loops that do much in few of their iterations: which ones is found out first, then these are done.

``for j: r = distance(i, j); if r < cutoff: much(j, r)`` takes the time of ``much`` for each ``j`` as a SIMD loop with
masks, and that of branches mispredicted as a scalar one. Instead, for a strip of iterations at a time, their numbers
are written one after the other to a small buffer, and one is added to their count only where the condition holds, so
there is no branch. The second loop goes through the numbers in the buffer, computes again what the condition was made
from, and has no condition: its iterations are SIMD, or their terms are. They take place in the order in which they took
place before, so that sums have the same bits.

It pays if what is done under the condition takes longer than the condition, and the condition is about data: of one
that is about counters the iterations are known (``split-index-sets``), and a likely one is left as it is. Whether it
holds in few iterations is found out by a sample of them when the loop is reached; else the loop runs as it was.

Reference: the inspector and the executor of Saltz, Mirchandaney and Crowley, Run-Time Parallelization and Scheduling of
Loops, IEEE Transactions on Computers 40 (1991) 603-612; stream compaction in Blelloch, Prefix Sums and Their
Applications, CMU-CS-90-190, 1990.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import having, inside
from adc.ir.rewrite import clone_op
from adc.ir.types import MemRefType, i1, index
from adc.passes.analysis.cold import walk_warm
from adc.passes.analysis.costs import cost_of, cost_of_block, trips
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.building import chosen, strip
from adc.passes.distribution.guarded_loops import Guarded, find_guarded
from adc.passes.rewrite import put_instead, replace_op

STRIP = 512  # numbers of iterations in the buffer: four kilobytes, in the first-level cache
SAMPLE = 16  # iterations that tell whether it pays
LEAST_COST = 16.0  # of what is done under the condition, in the units of ``costs``
FEWEST = 4 * SAMPLE  # iterations that are worth a sample and a buffer
OFTEN = "adc.often"  # of a branch: a sample has shown that its condition holds in most iterations
_TINY = 1e-3  # what is above it is above it nearly always: ``if r > 1e-12``


@dataclass(frozen=True)
class CompactIterations:
    """Split loops whose iterations do something under one condition only.

    With ``sums``, those that carry sums in order and write nothing: before it is decided how their terms are computed.
    Without, the others, when it is known which loops are parallel."""

    sums: bool = False
    name: ClassVar[str] = "compact-iterations"
    needs = frozenset({ops.for_, ops.parallel})

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            guarded = [found for op in walk_warm(func.body) if (found := find_guarded(op)) is not None]
            guarded = [found for found in guarded if (found.only_carries or not self.sums) and _pays(found)]
            if guarded:
                memory = Memory.asked(func, summaries)
                for found in [found for found in guarded if found.is_legal(memory)]:
                    _Compaction(found).split()
        return module


@dataclass(frozen=True, eq=False)
class _Compaction:
    """The loop of a ``Guarded`` in two."""

    found: Guarded

    def split(self) -> None:
        """Replace the loop by a choice between strips and itself."""
        loop = self.found.loop
        with insert_at(Block(), loop.loc) as made:
            count = trip_count(*loop.operands[:3])
            many = ops.cmpi(count, const_index(FEWEST), predicate="sge")
            few = chosen(many, lambda: [self._is_sparse(count)], lambda: [const(False, i1)])[0]
            done = chosen(few, lambda: self._strips(count), self._as_it_was)
        put_instead(loop, made.ops)
        replace_op(loop, done)

    def _as_it_was(self) -> Sequence[Value]:
        self.found.guard.set_attr(OFTEN, True)
        return clone_op(self.found.loop, {}).results

    def _is_sparse(self, count: Value) -> Value:
        """Append whether the condition holds in at most half of some iterations, at equal distances."""
        distance = ops.floordivsi(count, const_index(SAMPLE))
        body = Block([index], ["sample"])
        with insert_at(body):
            number = self._number(ops.muli(body.args[0], distance))
            held = self._holds(self.found.needed, {self.found.loop.regions[0].args[0]: number})
            build(ops.reduce, [held], {"kinds": ("add",)})
        limits = [const_index(0), const_index(SAMPLE), const_index(1), const_index(0)]
        hits = build(ops.parallel, limits, {}, [index], [body]).result
        return ops.cmpi(hits, const_index(SAMPLE // 2), predicate="sle")

    def _strips(self, count: Value) -> Sequence[Value]:
        loop = self.found.loop
        types = [r.type for r in loop.results]
        parallel = loop.opdef is ops.parallel
        strips = ops.ceildivsi(count, const_index(STRIP))
        block = Block([index, *([] if parallel else types)], ["strip"])
        with insert_at(block):
            numbers = ops.alloc(type=MemRefType((STRIP,), index))
            first, length = strip(block.args[0], const_index(STRIP), count)
            taken = self._inspector(numbers, first, length)
            kinds = loop.regions[0].terminator.attrs.get("kinds", ())
            neutral = [const(ops.NEUTRAL[kind], t) for kind, t in zip(kinds, types, strict=parallel)]
            starts = neutral if parallel else block.args[1:]
            done = self._executor(numbers, taken, starts)
            build(ops.reduce if parallel else ops.yield_, done.results, {"kinds": kinds} if parallel else {})
        limits = [const_index(0), strips, const_index(1)]
        return build(loop.opdef, [*limits, *loop.operands[3:]], dict(loop.attrs), types, [block]).results

    def _holds(self, before: Sequence[Op], mapping: dict[Value, Value]) -> Value:
        """Append what is done ``before`` the branch of an iteration, and 1 if the condition holds, else 0."""
        for op in before:
            clone_op(op, mapping)
        one, zero = const_index(1), const_index(0)
        condition = mapping[self.found.condition]
        held: Value = ops.select(condition, one, zero) if self.found.taken == 0 else ops.select(condition, zero, one)
        return held

    def _inspector(self, numbers: Value, first: Value, length: Value) -> Value:
        """Append the loop that stores the numbers of the iterations to be done; returns how many there are."""
        body = Block([index, index], ["k", "count"])
        with insert_at(body):
            number = self._number(ops.addi(first, body.args[0]))
            mapping = {self.found.loop.regions[0].args[0]: number}
            held = self._holds(self.found.always, mapping)
            for op, value in self.found.instead:
                build(ops.store, [value, *(mapping.get(v, v) for v in op.operands[1:])])
            build(ops.store, [number, numbers, body.args[1]])
            build(ops.yield_, [ops.addi(body.args[1], held)])
        return build(ops.for_, [const_index(0), length, const_index(1), const_index(0)], {}, [index], [body]).result

    def _number(self, k: Value) -> Value:
        """Append the counter of iteration ``k``."""
        lower, _, step = self.found.loop.operands[:3]
        number = k if constant_of(step) == 1 else ops.muli(k, step)
        return number if constant_of(lower) == 0 else ops.addi(lower, number)

    def _executor(self, numbers: Value, count: Value, starts: Sequence[Value]) -> Op:
        """Append the loop over the numbers."""
        found, loop = self.found, self.found.loop
        (body,) = loop.regions
        parallel = loop.opdef is ops.parallel
        types = [r.type for r in loop.results]
        made = Block([index, *([] if parallel else types)], ["k", *(a.hint for a in body.args[1:])])
        region = found.guard.regions[found.taken]
        with insert_at(made):
            mapping = {body.args[0]: ops.load(numbers, made.args[0])}
            mapping.update(zip(body.args[1:], made.args[1:], strict=True))
            for op in found.before:
                if op.opdef is not ops.store:
                    clone_op(op, mapping)
            mapping[found.condition] = const(found.taken == 0, i1)
            for op in region.ops[:-1]:
                clone_op(op, mapping)
            for result, value in zip(found.guard.results, region.terminator.operands, strict=True):
                mapping[result] = mapping.get(value, value)
            for op in [*found.after, body.terminator]:
                clone_op(op, mapping)
        limits = [const_index(0), count, const_index(1)]
        attrs = {name: value for name, value in loop.attrs.items() if name != "threads"}
        return build(loop.opdef, [*limits, *starts], attrs, types, [made])


def _pays(found: Guarded) -> bool:
    """Whether it pays to find the iterations first."""
    attrs = found.guard.attrs
    if trips(found.loop) < FEWEST or OFTEN in attrs or ops.LIKELY in attrs or _is_likely(found.condition, found.taken):
        return False
    if not any(op.opdef is ops.load and any(inside(v, found.loop) for v in op.operands) for op in found.needed):
        return False  # not about data
    cost = cost_of_block(found.guard.regions[found.taken]) + sum(cost_of(op.opdef) for op in found.after)
    return cost >= max(LEAST_COST, sum(cost_of(op.opdef) for op in found.needed))


def _is_likely(condition: Value, taken: int) -> bool:
    """Whether a condition only excludes numbers that are next to zero, or equal to something."""
    op = condition.op
    if op is None or op.opdef is not ops.cmpf:
        return False
    predicate = op.attrs["predicate"]
    if predicate[1:] in ("ne", "eq"):
        return bool((predicate[1:] == "ne") == (taken == 0))
    left, right = (constant_of(v) for v in op.operands)
    above = predicate[1:] in ("gt", "ge")
    if right is None:
        right, above = left, not above
    return right is not None and abs(right) <= _TINY and bool(above == (taken == 0))
