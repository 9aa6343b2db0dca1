"""Elementary functions of a loop whose iterations depend on each other, computed ahead of it, in blocks, as SIMD.

    for t in range(n):                    for each block of 256 steps:
        s = s * exp(m + v * z[t])             for t in the block: e[t] = exp(m + v * z[t])     # in any order
        x[t] = s                              for t in the block:
                                                  s = s * e[t]
                                                  x[t] = s

What a step gets from the one before it keeps LLVM from making the loop SIMD, but not what is computed from the counter,
from numbers that stay and from arrays that the loop does not write (loop distribution and scalar expansion; Allen and
Kennedy, Optimizing Compilers for Modern Architectures, sections 2.4.2 and 5.3). What stays has the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from adc.ir import ops
from adc.ir.arith import const_index, constant_of, trip_count
from adc.ir.builder import at_loc, build, insert_at
from adc.ir.core import Attr, Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import REVERSE
from adc.ir.nesting import inside
from adc.ir.rewrite import Mapping, clone_op
from adc.ir.types import MemRefType, index
from adc.passes.analysis.costs import trips
from adc.passes.analysis.effects import Memory
from adc.passes.analysis.kinds import LOOPS, PURE, TRAPS
from adc.passes.building import parallel_loop, strip

ROW = 256
"""Steps of a block: two kilobytes for each buffer, in the first-level cache."""

FEW = 16  # steps that are not worth a buffer
MOST_BUFFERS = 8


@dataclass(eq=False)
class Ahead:
    """What can be computed ahead of ``loop``: ``made`` depends on no other step, ``functions`` are those of it that
    depend on an elementary function, ``kept`` are their results that the rest of the loop needs."""

    loop: Op
    made: dict[Op, None] = field(default_factory=dict)
    functions: dict[Op, None] = field(default_factory=dict)
    kept: list[Value] = field(default_factory=list)

    def find(self, memory: Memory) -> bool:
        """Whether there is something that is worth it."""
        loop, (body,) = self.loop, self.loop.regions
        if constant_of(loop.operands[2]) != 1 or trips(loop) < FEW:
            return False
        if not any(map(is_called, body.ops)) or any(op.opdef in LOOPS or op.opdef in TRAPS for op in body.walk()):
            return False
        for op in body.ops[:-1]:
            repeatable = op.opdef in PURE or (op.opdef is ops.load and not memory.may_write(loop, op.operands[0]))
            if not repeatable or not all(map(self._is_known, op.operands)):
                continue
            if any(isinstance(r.type, MemRefType) for r in op.results):
                continue
            self.made[op] = None
            depends = is_called(op) or any(v.op in self.functions for v in op.operands)
            # A product that may be fused with a sum is not kept: the loop would have other bits.
            if depends and op.attrs.get("fastmath", "none") == "none" and all(r.type.is_float for r in op.results):
                self.functions[op] = None
        results = [r for op in self.functions for r in op.results]
        self.kept = [r for r in results if any(user not in self.functions for user, _ in r.uses)]
        return 0 < len(self.kept) <= MOST_BUFFERS

    def _is_known(self, value: Value) -> bool:
        return value.op in self.made or value is self.loop.regions[0].args[0] or not inside(value, self.loop)

    def build(self) -> Op:
        """Append the loop over blocks, which carries what ``loop`` does."""
        loop = self.loop
        lower, upper, _, *starts = loop.operands
        buffers = {value: ops.alloc(type=MemRefType((ROW,), value.type)) for value in self.kept}
        types = [v.type for v in starts]
        block = Block([index, *types], ["block", *(a.hint for a in loop.regions[0].args[1:])])
        with insert_at(block):
            first, count = strip(block.args[0], const_index(ROW), upper, lower)
            end = ops.addi(first, count)
            parallel_loop(first, end, lambda step: self._first(step, first, buffers))
            rest = self._rest(first, end, block.args[1:], buffers)
            build(ops.yield_, rest.results)
        blocks = ops.ceildivsi(trip_count(lower, upper, const_index(1)), const_index(ROW))
        attrs: dict[str, Attr] = {REVERSE: True} if REVERSE in loop.attrs else {}
        return build(ops.for_, [const_index(0), blocks, const_index(1), *starts], attrs, types, [block])

    def _first(self, step: Value, first: Value, buffers: dict[Value, Value]) -> None:
        """Append the functions of a step."""
        mapping: Mapping = {self.loop.regions[0].args[0]: step}
        for op in self.made:
            with at_loc(op.loc):
                clone_op(op, mapping)
        here = ops.subi(step, first)
        for value, buffer in buffers.items():
            build(ops.store, [mapping[value], buffer, here])

    def _rest(self, first: Value, end: Value, starts: Sequence[Value], buffers: dict[Value, Value]) -> Op:
        """Append the steps of a block, which begin with ``starts``."""
        old = self.loop.regions[0]
        body = Block([a.type for a in old.args], [a.hint for a in old.args])
        mapping: Mapping = dict(zip(old.args, body.args, strict=True))
        with insert_at(body):
            here = ops.subi(body.args[0], first)
            for value, buffer in buffers.items():
                mapping[value] = ops.load(buffer, here)
            for op in old.ops:
                if op not in self.functions:
                    with at_loc(op.loc):
                        clone_op(op, mapping)
        operands = [first, end, const_index(1), *starts]
        return build(ops.for_, operands, dict(self.loop.attrs), [v.type for v in starts], [body])


def is_called(op: Op) -> bool:
    """Whether this is an elementary function that takes a call, or as long as one."""
    return op.opdef.dialect == "math" and bool(op.opdef.called) and op.results[0].type.is_float
