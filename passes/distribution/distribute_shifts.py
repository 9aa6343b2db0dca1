"""Loops that would be parallel if they did not pass a value on to the next iteration: these values are computed first.

    left = flux(0)                                 # first, in any order
    for i in range(1, n):                          for i in range(1, n): kept[i] = flux(i)
        right = flux(i)                            # then, in any order
        new[i] = u[i] - (right - left)             for i in range(1, n):
        left = right                                   new[i] = u[i] - (kept[i] - kept[i - 1])

What the next iteration gets must not depend on what this one was given: then it is a shift, and no recurrence. (A
program that reuses the left flux saves half of the fluxes, but keeps SIMD and threads from the loop, and from its
reverse sweep.) This undoes predictive commoning by scalar expansion and loop distribution.

Reference: Allen and Kennedy, Optimizing Compilers for Modern Architectures, Morgan Kaufmann 2001, sections 2.4.2 (loop
distribution) and 5.3 (scalar expansion).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of, iteration_number, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import having, inside, with_inner
from adc.ir.rewrite import Mapping, clone_op
from adc.ir.types import MemRefType
from adc.passes.analysis.cold import warm_regions
from adc.passes.analysis.costs import cost_of
from adc.passes.analysis.dependence import Analysis
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.kinds import ELEMENT_WRITES, LOOPS, PURE, TERMINATORS
from adc.passes.distribution.carried_sums import is_sum
from adc.passes.rewrite import keep_args, keep_operands, put_instead
from adc.passes.threads.parallelise import integer_reduction

LEAST_COST = 12.0
"""The least cost of a value that is kept, in the units of ``costs``. What is cheaper may stay as it is: LLVM makes such
loops SIMD by itself."""

FEWEST = 64  # iterations, if their number is known


@dataclass(frozen=True)
class DistributeShifts:
    """Split loops in which only values of the iteration before are carried."""

    name: ClassVar[str] = "distribute-shifts"
    needs = frozenset({ops.for_})

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            if any(op.opdef is ops.for_ and _shifts(op) for op in func.walk()):
                _Distribution(Analysis(func, module, summaries), Memory.asked(func, summaries)).block(func.body)
        return module


def _shifts(loop: Op) -> dict[int, list[Op]]:
    """The positions of floats that follow from nothing that the loop carries, with the operations of the body that
    compute them; none if the loop carries anything else than these and sums."""
    body, found = loop.regions[0], dict[int, list[Op]]()
    for k, arg in enumerate(body.args[1:]):
        made = _made(loop, body.terminator.operands[k]) if arg.type.is_float and arg.uses else None
        if made is not None and sum(cost_of(op.opdef) for top in made for op in with_inner(top)) >= LEAST_COST:
            found[k] = made
        elif not is_sum(loop, k) and (arg.type.is_float or integer_reduction(loop, k) is None):
            return {}
    return found


def _made(loop: Op, value: Value) -> list[Op] | None:
    """The operations of the body that ``value`` is computed by, if these may run beforehand as far as values tell."""
    body, found, work = loop.regions[0], set[Op](), [value]
    if not inside(value, loop):
        return None
    while work:
        value = work.pop()
        if not inside(value, loop):
            continue
        op = value.op
        if op is None:
            if value is not body.args[0]:
                return None
            continue
        if op in found:
            continue
        if op.parent is not body or not all(_is_early(inner) for inner in with_inner(op)):
            return None
        found.add(op)
        work += [v for inner in with_inner(op) for v in inner.operands if v.block is body or v is body.args[0]]
    return [op for op in body.ops if op in found]


def _is_early(op: Op) -> bool:
    if op.opdef is ops.load:
        return not isinstance(op.result.type, MemRefType)
    return op.opdef is ops.if_ or op.opdef in TERMINATORS or (op.opdef in PURE and op.opdef not in LOOPS)


@dataclass(frozen=True)
class _Distribution:
    analysis: Analysis
    memory: Memory

    def block(self, block: Block) -> None:
        for op in list(block.ops):
            if op.opdef is ops.for_ and _is_long(op) and (shifts := self._legal(op)):
                _distribute(op, shifts)
                continue
            for region in warm_regions(op):
                with self.analysis.inside(region):
                    self.block(region)

    def _legal(self, loop: Op) -> dict[int, list[Op]]:
        """The shifts of a loop whose iterations have no effects on each other, if nothing that an iteration stores is
        loaded for them after that in the same iteration."""
        shifts = _shifts(loop)
        if not shifts or not self.analysis.is_unordered(loop):
            return {}
        loads = {o for made in shifts.values() for op in made for o in with_inner(op) if o.opdef is ops.load}
        written: list[Value] = []
        for op in loop.regions[0].walk():
            if op in loads and any(self.memory.may_overlap(op.operands[0], memref) for memref in written):
                return {}
            if op.opdef in ELEMENT_WRITES:
                written.append(op.operands[1])
            elif op.opdef not in PURE and op.opdef is not ops.load and not op.regions and op.opdef not in TERMINATORS:
                return {}
        return shifts


def _is_long(loop: Op) -> bool:
    lower, upper, step = (constant_of(v) for v in loop.operands[:3])
    return step is not None and (lower is None or upper is None or (upper - lower) >= FEWEST * step)


def _distribute(loop: Op, shifts: dict[int, list[Op]]) -> None:
    """Replace ``loop`` by one that keeps what iterations pass on, and one that does the rest."""
    (body,) = loop.regions
    lower, _, step = loop.operands[:3]
    with insert_at(Block(), loop.loc) as made:
        trips, one = trip_count(*loop.operands[:3]), const_index(1)
        room = ops.addi(trips, one)
        kept = {k: build(ops.alloc, [room], {"type": _row(loop.results[k])}).result for k in shifts}
        for k, memref in kept.items():
            build(ops.store, [loop.operands[3 + k], memref, const_index(0)])
        first = Block([body.args[0].type], [body.args[0].hint])
        mapping: Mapping = {body.args[0]: first.args[0]}
        with insert_at(first):
            for op in _union(body, shifts):
                clone_op(op, mapping)
            following = ops.addi(iteration_number(first.args[0], lower, step), one)
            for k, memref in kept.items():
                build(ops.store, [mapping[body.terminator.operands[k]], memref, following])
            build(ops.yield_, [])
        build(ops.for_, loop.operands[:3], None, [], [first])
        _rest(loop, kept)
        for k, memref in kept.items():
            last = build(ops.load, [memref, trips]).result
            last.hint = loop.results[k].hint
            loop.results[k].replace_uses(last)
    put_instead(loop, made.ops)
    loop.drop()


def _row(value: Value) -> MemRefType:
    return MemRefType((None,), value.type)


def _union(body: Block, shifts: dict[int, list[Op]]) -> Iterator[Op]:
    wanted = {op for made in shifts.values() for op in made}
    return (op for op in body.ops if op in wanted)


def _rest(loop: Op, kept: dict[int, Value]) -> None:
    """Append ``loop`` without what is ``kept``: its body loads that."""
    (body,) = loop.regions
    with insert_at(Block(), loop.loc) as head:
        number = iteration_number(body.args[0], *loop.operands[0:3:2])
        following = ops.addi(number, const_index(1))
        for k, memref in kept.items():
            before, now = body.args[1 + k], body.terminator.operands[k]
            uses = [use for use in now.uses if use[0] is not body.terminator]
            given, passed = (build(ops.load, [memref, at]).result for at in (number, following))
            given.hint = before.hint
            before.replace_uses(given)
            for op, position in uses:
                op.set_operand(position, passed)
    others = [k for k in range(len(loop.results)) if k not in kept]
    body.set_ops([*head.ops, *body.ops])
    keep_operands(body, others)
    keep_args(body, [0, *(1 + k for k in others)])
    loop.set_regions(())
    starts: Sequence[Value] = [loop.operands[3 + k] for k in others]
    types = [v.type for v in starts]
    new = build(ops.for_, [*loop.operands[:3], *starts], dict(loop.attrs), types, [body])
    for k, result in zip(others, new.results, strict=True):
        result.hint = loop.results[k].hint
        loop.results[k].replace_uses(result)
