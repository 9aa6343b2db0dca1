"""Branches with loops become functions of their own, of which those that no call takes are never compiled.

A library function has a side for each kind of argument, and a call takes one of them: what the others do would be most
of the work of LLVM. Programs of users have such branches in loops, where a call for each iteration may cost more than
what it does, and where the surroundings decide whether the loop becomes SIMD. So this is a pass for kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.arith import constant_of
from adc.ir.branches import usual_side
from adc.ir.core import Block, Func, Module, Op
from adc.ir.externals import UNIT
from adc.passes.analysis.cold import COLD
from adc.passes.analysis.extents import Extents
from adc.passes.analysis.kinds import LOOPS
from adc.passes.outlining.equal_functions import merge_equal
from adc.passes.outlining.outline import outline, shows_frame
from adc.passes.outlining.outline_cold import inside


@dataclass(frozen=True)
class OutlineBranches:
    """Move each side of a branch that is in no loop to a function, if it has a loop and at least ``least`` operations,
    and is not marked as the usual side."""

    least: int = 24
    name: ClassVar[str] = "outline-branches"

    def run(self, module: Module) -> Module:
        moved: list[Func] = []
        work = list(module.funcs.values())
        while work:
            func = work.pop()
            pieces = [inside(region) for region in _sides(func.body) if self._pays(region)]
            pieces = [piece for piece in pieces if not shows_frame(piece.moved)]
            if pieces:
                made = outline(module, pieces, f"{func.name}.side", Aliasing.asked(func, module), Extents())
                for each in made:
                    each.attrs.update({"adc.noinline": True, UNIT: True})
                moved += made
                work += made
        merge_equal(module, moved)
        return module

    def _pays(self, region: Block) -> bool:
        loops = any(op.opdef in LOOPS and not _is_of_known_length(op) for op in region.walk())
        return loops and sum(1 for _ in region.walk()) >= self.least


def _sides(block: Block) -> Iterator[Block]:
    """The outermost sides of branches that are in no loop, and are not the usual ones."""
    for op in block.ops:
        if op.opdef is ops.if_:
            for region in op.regions:
                if region is usual_side(op):
                    yield from _sides(region)
                elif COLD not in op.attrs:  # outline-cold
                    yield region


def _is_of_known_length(loop: Op) -> bool:
    return loop.opdef is not ops.while_ and all(constant_of(v) is not None for v in loop.operands[:3])
