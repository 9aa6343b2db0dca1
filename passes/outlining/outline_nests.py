"""Long functions are cut: their loop nests become functions of their own.

What LLVM needs for a loop grows with the function around it (its vectoriser and its analysis of induction variables
look at more than the loop), so that a function of a thousand loops would take more than ten times as long as ten of a
hundred. A call per nest costs nothing beside the loop in it. Nests that are equal become one function.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.core import Block, Func, Module, Op
from adc.ir.externals import UNIT
from adc.ir.loop_attrs import TILES
from adc.passes.analysis.kinds import LOOPS
from adc.passes.outlining.equal_functions import merge_equal
from adc.passes.outlining.outline import Piece, outline, shows_frame

MOST_LOOPS = 24
"""A function with more is cut, into pieces with no more than a third of that."""


@dataclass(frozen=True)
class OutlineNests:
    """Move the largest nests that are small enough out of functions with more than ``most`` loops.

    Parallel loops stay whole: threads are shared out where they begin, and SIMD wants to see what is around.
    """

    most: int = MOST_LOOPS
    name: ClassVar[str] = "outline-nests"

    def run(self, module: Module) -> Module:
        moved: list[Func] = []
        for func in list(module.funcs.values()):
            counts: dict[Op, int] = {}
            if _count(func.body, counts) > self.most:
                pieces = list(_pieces(func.body, counts, self.most // 3))
                for made in outline(module, pieces, f"{func.name}.nest", Aliasing.asked(func, module)):
                    made.attrs.update({"adc.noinline": True, UNIT: True})
                    moved.append(made)
        merge_equal(module, moved)
        return module


def _count(block: Block, counts: dict[Op, int]) -> int:
    """The loops in ``block``; ``counts`` is extended by those of each operation, itself included."""
    total = 0
    for op in block.ops:
        if op.regions:
            counts[op] = (op.opdef in LOOPS) + sum(_count(region, counts) for region in op.regions)
            total += counts[op]
    return total


def _pieces(block: Block, counts: dict[Op, int], most: int) -> Iterator[Piece]:
    for op in block.ops:
        if counts.get(op, 0) > most and op.opdef is not ops.parallel and TILES not in op.attrs:
            for region in op.regions:
                yield from _pieces(region, counts, most)
        elif counts.get(op) and not shows_frame([op]):
            yield Piece([op], op.results)
