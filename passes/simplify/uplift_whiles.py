"""While loops that count become counted loops.

``while e < last: ...; e += 1`` is ``for e in range(e, last)``, and afterwards ``e`` is the greater of both. If the
number of iterations is known before, a loop can be SIMD or parallel, its subscripts are checked once, and its reverse
needs no tape of its counter. MLIR calls this uplifting (``scf.while`` to ``scf.for``).
"""

from __future__ import annotations

from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import having
from adc.ir.rewrite import Mapping, clone_op
from adc.ir.types import index
from adc.passes.analysis.attributes import MIRRORED

_ORDERED = frozenset({"slt", "sle", "sgt", "sge"})
_ENDLESS = frozenset({("sle", 2**63 - 1), ("sge", -(2**63))})  # met by all integers: an error ends such a loop


@dataclass(frozen=True)
class UpliftWhiles:
    """Make a ``scf.for`` of each ``scf.while`` whose condition compares a carried value that changes by a constant with
    one that does not change."""

    name: ClassVar[str] = "uplift-whiles"
    needs = frozenset({ops.while_})

    def run(self, module: Module) -> Module:
        for func in having(module, self.needs):
            _block(func.body)
        return module


def _block(block: Block) -> None:
    out: list[Op] = []
    for op in block.ops:
        for region in op.regions:
            _block(region)
        counted = _Counted.of(op) if op.opdef is ops.while_ else None
        out += counted.loop() if counted is not None else [op]
    block.set_ops(out)


@dataclass(frozen=True)
class _Counted:
    """A while loop that counts: ``counter`` is the position, among what is carried, of the value that changes by
    ``step`` in each iteration, and the loop goes on while that compares with ``bound`` as ``predicate`` says."""

    op: Op
    counter: int
    step: int
    predicate: str
    bound: Value

    @staticmethod
    def of(op: Op) -> _Counted | None:
        before, after = op.regions
        test = before.terminator.operands[0].op
        if test is None or test.opdef is not ops.cmpi or list(before.ops) != [test, before.terminator]:
            return None
        predicate, (counter, bound) = test.attrs["predicate"], test.operands
        if counter.owner is not before:
            predicate, counter, bound = MIRRORED[predicate], bound, counter
        if predicate not in _ORDERED or counter.owner is not before or bound.block is before or counter.type != index:
            return None
        if (predicate, constant_of(bound)) in _ENDLESS:
            return None
        given = before.terminator.operands[1:]
        if any(value.block is before and value.owner is not before for value in given):
            return None
        step = _step(after.terminator.operands[counter.index], after, given, counter)
        if step == 0 or (step > 0) != (predicate in ("slt", "sle")):
            return None
        return _Counted(op, counter.index, step, predicate, bound)

    def loop(self) -> list[Op]:
        """The counted loop in its place, with the code that computes its bounds and the final counter."""
        op, (before, after) = self.op, self.op.regions
        made = Block()
        with insert_at(made, op.loc):
            first = op.operands[self.counter]
            lower, upper = (first, self.bound) if self.step > 0 else (self.bound, first)
            if self.predicate == "sle":
                upper = _beyond(upper, "add")
            elif self.predicate == "sge":
                lower = _beyond(lower, "sub")
            trips = trip_count(lower, upper, const_index(abs(self.step)))
            others = [k for k in range(len(before.args)) if k != self.counter]
            body = Block([index, *(before.args[k].type for k in others)], self._hints(others))
            given = before.terminator.operands[1:]
            with insert_at(body, op.loc):
                number = body.args[0]
                here = number if self.step > 0 else first - number * const_index(-self.step)
                carried: Mapping = dict(zip((before.args[k] for k in others), body.args[1:], strict=True))
                carried[before.args[self.counter]] = here
                mapping = {arg: carried.get(value, value) for arg, value in zip(after.args, given, strict=True)}
                for inner in after.ops[:-1]:
                    clone_op(inner, mapping)
                yields = after.terminator.operands
                build(ops.yield_, [mapping.get(yields[k], yields[k]) for k in others])
            zero, one = const_index(0), const_index(1)
            limits = [first, upper, const_index(self.step)] if self.step > 0 else [zero, trips, one]
            inits = [op.operands[k] for k in others]
            loop = build(ops.for_, [*limits, *inits], None, [v.type for v in inits], [body])
            ends: Mapping = dict(zip((before.args[k] for k in others), loop.results, strict=True))
            ends[before.args[self.counter]] = self._end(first, lower, upper, trips)
        for result, value in zip(op.results, given, strict=True):
            end = ends.get(value, value)
            end.hint = end.hint or result.hint
            result.replace_uses(end)
        op.drop()
        return list(made.ops)

    def _end(self, first: Value, lower: Value, upper: Value, trips: Value) -> Value:
        """The final value of the counter."""
        if self.step == 1:
            return ops.maxsi(first, upper)
        if self.step == -1:
            return ops.minsi(first, lower)
        return first + trips * const_index(self.step)

    def _hints(self, others: list[int]) -> list[str]:
        args = self.op.regions[0].args
        return [args[self.counter].hint, *(args[k].hint for k in others)]


def _beyond(bound: Value, kind: str) -> Value:
    """The number after ``bound``, which is the last that is counted. In a loop up to the last of all integers the
    counter would overflow at the end; here the error is raised at once."""
    one = const_index(1)
    message = f"the integer {{}} {'+' if kind == 'add' else '-'} {{}} does not fit into 64 bits"
    build(ops.assert_, [ops.fits(bound, one, kind=kind), bound, one], {"error": "RangeError", "message": message})
    return bound + one if kind == "add" else bound - one


def _step(following: Value, after: Block, given: tuple[Value, ...], counter: Value) -> int:
    """The change of the counter in an iteration; 0 if it does not change, or not by a constant."""
    op = following.op
    if op is None or op.opdef not in (ops.addi, ops.subi):
        return 0
    value, by = op.operands
    if op.opdef is ops.addi and constant_of(by) is None:
        value, by = by, value
    known = constant_of(by)
    if known is None or value.owner is not after or given[value.index] is not counter:
        return 0
    return int(known) if op.opdef is ops.addi else -int(known)
