"""Loops of the reverse sweep whose terms are all zero together run only if they are not.

``if square < best: best = square`` picks one of many sums. The cotangents of the others are a choice between a
cotangent and zero, and zero here, and the loop that reverses such a sum adds only products with it. What does not
matter contributes nothing (see ``adc.passes.differentiation.need.strong_zeros``), so a branch on the choice is put
around the whole loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import REVERSE
from adc.ir.nesting import having
from adc.ir.rewrite import used_from_outside
from adc.passes.analysis.kinds import COUNTED, LINEAR, PURE, TERMINATORS
from adc.passes.rewrite import put_instead


@dataclass(frozen=True)
class SkipZeroTerms:
    """Put loops that the reverse sweep made into branches, where a choice says that they add zeros."""

    name: ClassVar[str] = "skip-zero-terms"
    needs = frozenset({ops.for_, ops.parallel})

    def run(self, module: Module) -> Module:
        for func in having(module, self.needs):
            if any(op.attrs.get(REVERSE) for op in func.walk()):
                _block(func.body)
        return module


def _block(block: Block) -> None:
    for op in list(block.ops):
        if op.opdef in COUNTED and op.attrs.get(REVERSE):
            for (condition, side), zeros in _choices(op).items():
                if _Vanishing(op, zeros).all():
                    _guard(op, condition, side)
                    break
            else:
                _block(op.regions[0])
        else:
            for region in op.regions:
                _block(region)


def _choices(loop: Op) -> dict[tuple[Value, int], set[Value]]:
    """The values from outside that a choice makes zero: by the condition, and 0 if they are zero where it is false, or
    1 where it is true."""
    found: dict[tuple[Value, int], set[Value]] = {}
    for value in used_from_outside([loop]):
        op = value.op
        if op is not None and op.opdef is ops.select and value.type.is_float:
            for side in (0, 1):
                if constant_of(op.operands[2 - side]) == 0.0:
                    found.setdefault((op.operands[0], side), set()).add(value)
    return found


class _Vanishing:
    """Whether a loop does nothing if the values ``zeros`` are zero."""

    def __init__(self, loop: Op, zeros: set[Value]) -> None:
        self.loop = loop
        self.zeros = zeros

    def all(self) -> bool:
        return self._body(self.loop.regions[0]) and self._results(self.loop)

    def _body(self, block: Block) -> bool:
        for position, op in enumerate(block.ops):
            if op.opdef is ops.store:
                if not self._adds_zero(block, position):
                    return False
            elif op.opdef is ops.accumulate:
                if not self._zero(op.operands[0]):
                    return False
            elif op.opdef in COUNTED:
                if not self._body(op.regions[0]):
                    return False
            elif op.opdef is ops.bound:
                if op.attrs["check"]:
                    return False
            elif op.opdef not in PURE and op.opdef not in TERMINATORS and op.opdef is not ops.load:
                return False
        return True

    def _results(self, loop: Op) -> bool:
        """Whether the loop then returns its initial values."""
        (body,) = loop.regions
        ends = body.terminator.operands
        if loop.opdef is ops.parallel:
            kinds = body.terminator.attrs["kinds"]
            return all(kind == "add" and self._zero(v) for kind, v in zip(kinds, ends, strict=True))
        return all(self._unchanged(v, arg) for v, arg in zip(ends, body.args[1:], strict=True))

    def _unchanged(self, value: Value, start: Value) -> bool:
        if value is start:
            return True
        op = value.op
        if op is None or op.opdef not in (ops.addf, ops.subf):
            return False
        a, b = op.operands
        if self._unchanged(a, start) and self._zero(b):
            return True
        return op.opdef is ops.addf and self._zero(a) and self._unchanged(b, start)

    def _adds_zero(self, block: Block, position: int) -> bool:
        """Whether a store puts back what was loaded just before."""
        value, *place = block.ops[position].operands
        loads = (op for op in _before(block, position) if op.opdef is ops.load and list(op.operands) == place)
        return any(self._unchanged(value, op.result) for op in loads)

    def _zero(self, value: Value) -> bool:
        if value in self.zeros or constant_of(value) == 0.0:
            return True
        op = value.op
        if op is None or not value.type.is_float:
            return False
        if op.opdef is ops.mulf:
            return any(map(self._zero, op.operands))
        if op.opdef is ops.divf:
            return self._zero(op.operands[0])
        if op.opdef is ops.select:
            return all(map(self._zero, op.operands[1:]))
        return op.opdef in LINEAR and all(map(self._zero, op.operands))


def _before(block: Block, position: int) -> Iterator[Op]:
    """The operations before a place in its block, the last first, until one that may write."""
    for op in reversed(block.ops[:position]):
        if op.regions or op.opdef is ops.store or op.opdef is ops.accumulate:
            return
        yield op


def _guard(loop: Op, condition: Value, side: int) -> None:
    """Run ``loop`` only if ``condition`` is true, or false if ``side`` is 1."""
    starts = loop.operands[3:]
    branch = Op(ops.if_, [condition], [r.type for r in loop.results], {}, [Block(), Block()], loop.loc)
    put_instead(loop, [branch])
    for result, new in zip(loop.results, branch.results, strict=True):
        new.hint = result.hint
        result.replace_uses(new)
    runs, skips = branch.regions if side == 0 else branch.regions[::-1]
    runs.append(loop)
    for region, values in ((runs, loop.results), (skips, starts)):
        with insert_at(region, loop.loc):
            build(ops.yield_, values)
