"""Sides of branches become functions of their own, of which those that no call takes are never compiled.

Statements on arrays whose extents may turn out to be one have a version for that; loops that add to shadows have one
with copies for threads; library functions have a side for each kind of argument. A call takes one of them, and what
the others do would be most of the work of LLVM. Branches in loops, and in functions that call themselves, stay if it is
not known which side is the usual one: a call each time may cost more than what it does, and the surroundings decide
whether the loop becomes SIMD.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.arith import constant_of
from adc.ir.branches import usual_side
from adc.ir.callgraph import recursive
from adc.ir.core import Block, Func, Module, Op
from adc.ir.externals import UNIT
from adc.ir.lazy_dataclass import dataclass
from adc.passes.analysis.cold import COLD
from adc.passes.analysis.extents import Extents
from adc.passes.analysis.kinds import LOOPS
from adc.passes.outlining.equal_functions import merge_equal
from adc.passes.outlining.outline import outline, shows_frame
from adc.passes.outlining.outline_cold import inside


@dataclass(frozen=True)
class OutlineBranches:
    """Move sides of branches that have a loop to functions: those beside a side that is marked as the usual one, and,
    of other branches that are not run often, each of two sides that do something, from ``least`` operations."""

    least: int = 24
    name: ClassVar[str] = "outline-branches"
    needs = frozenset({ops.if_})

    def run(self, module: Module) -> Module:
        moved: list[Func] = []
        often = set(recursive(module))
        work = [func for func in module.funcs.values() if COLD not in func.attrs]
        while work:
            func = work.pop()
            pieces = [inside(region) for region in self._sides(func.body, func.name in often)]
            pieces = [piece for piece in pieces if not shows_frame(piece.moved)]
            if pieces:
                made = outline(module, pieces, f"{func.name}.side", Aliasing.asked(func, module), Extents())
                for each in made:
                    each.attrs.update({"adc.noinline": True, UNIT: True})
                moved += made
                work += made
                if func.name in often:
                    often.update(each.name for each in made)
        merge_equal(module, moved)
        return module

    def _sides(self, block: Block, often: bool) -> Iterator[Block]:
        """The outermost sides to be moved. ``often``: the block is in a loop, or in a function that calls itself."""
        for op in block.ops:
            usual = usual_side(op) if op.opdef is ops.if_ else None
            both = op.opdef is ops.if_ and all(len(region.ops) > 1 for region in op.regions)
            asked = usual is not None or (both and not often)
            for region in op.regions:
                if asked and region is not usual and self._pays(region, marked=usual is not None):
                    yield region
                else:
                    yield from self._sides(region, often or op.opdef in LOOPS)

    def _pays(self, region: Block, *, marked: bool) -> bool:
        loops = any(op.opdef in LOOPS and not _is_of_known_length(op) for op in region.walk())
        return loops and (marked or sum(1 for _ in region.walk()) >= self.least)


def _is_of_known_length(loop: Op) -> bool:
    return loop.opdef is not ops.while_ and all(constant_of(v) is not None for v in loop.operands[:3])
