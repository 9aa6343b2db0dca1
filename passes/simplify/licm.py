"""Loop-invariant code motion."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from adc.ir import ops
from adc.ir.core import Block, Func, Module, Op
from adc.ir.lazy_dataclass import dataclass
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.integers import Integers
from adc.passes.analysis.kinds import LOOPS
from adc.passes.analysis.speculation import Speculation
from adc.passes.due import due


@dataclass(frozen=True)
class LICM:
    """Compute before a loop what is the same in each iteration.

    Pure operations move whenever they are defined for all operands, also out of branches. Loads and checks move if
    they certainly happen first thing in the first iteration: the loop runs, nothing before them in the body writes or
    may end the run, and (loads) nothing in the loop writes what they read.
    """

    name: ClassVar[str] = "licm"
    needs = LOOPS

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in due(self, module, partial(Memory.asked, summaries=summaries)):
            _Motion(func, summaries).run()
        return module


class _Motion:
    def __init__(self, func: Func, summaries: Summaries) -> None:
        self._func = func
        self._memory = Memory.asked(func, summaries)
        self._speculation = Speculation(func)
        self._integers = Integers()
        self._depth: dict[Block, int] = {}

    def run(self) -> None:
        self._block(self._func.body, 0)

    def _block(self, block: Block, depth: int) -> None:
        self._depth[block] = depth
        out: list[Op] = []
        for op in block.ops:
            for region in op.regions:
                self._block(region, depth + 1)
            if op.opdef in LOOPS:
                for k, region in enumerate(op.regions):
                    certain = k == 0 and self._runs(op)
                    self._take_out(op, region, depth, certain, out)
            out.append(op)
        block.set_ops(out)

    def _runs(self, loop: Op) -> bool:
        """Whether the first region of ``loop`` certainly runs at least once."""
        return loop.opdef is ops.while_ or self._integers.proves_ge(loop.operands[1], loop.operands[0], 1)

    def _take_out(self, loop: Op, block: Block, depth: int, certain: bool, out: list[Op]) -> None:
        """Move invariant operations of ``block``, which is in ``loop``, to ``out``, the code before the loop.

        ``certain``: the block is entered whenever the loop is reached, and before anything else happens in the loop.
        """
        kept: list[Op] = []
        for op in block.ops:
            if op.opdef is ops.if_:
                for region in op.regions:
                    self._take_out(loop, region, depth, False, out)
            elif self._is_invariant(op, depth) and (
                self._speculation.safe(op) or (certain and self._may_come_first(op, loop))
            ):
                op.parent = loop.parent
                out.append(op)
                continue
            kept.append(op)
            if certain:
                effects = self._memory.effects(op)
                certain = not (effects.traps or effects.writes or effects.everything) and op.opdef is not ops.while_
        if len(kept) < len(block.ops):
            block.set_ops(kept)

    def _is_invariant(self, op: Op, depth: int) -> bool:
        for operand in op.operands:
            block = operand.block
            if block is None or self._depth[block] > depth:
                return False
        return True

    def _may_come_first(self, op: Op, loop: Op) -> bool:
        if op.opdef is ops.load:
            return not self._memory.may_write(loop, op.operands[0])
        return op.opdef is ops.bound or op.opdef is ops.assert_
