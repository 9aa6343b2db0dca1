"""Cold copies of loops become functions of their own, apart from the code that matters.

A function is optimised as a whole: with the rare copies in it, each as large as the nest that it replaces, LLVM spends
most of its time on code that hardly ever runs, and that time grows faster than linearly (unswitching a loop costs time
in proportion to the function around it).
"""

from __future__ import annotations

from typing import ClassVar

from adc.ir.alias import Aliasing
from adc.ir.core import Block, Func, Module
from adc.ir.externals import EXCEPTIONAL, UNIT
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing
from adc.passes.analysis.cold import COLD, cold_region, walk_warm
from adc.passes.analysis.kinds import LOOPS
from adc.passes.outlining.equal_functions import merge_equal
from adc.passes.outlining.outline import Piece, outline, shows_frame


@dataclass(frozen=True)
class OutlineCold:
    """Move each cold region that contains a loop to a function marked ``adc.cold``, and call that."""

    name: ClassVar[str] = "outline-cold"

    def run(self, module: Module) -> Module:
        moved: list[Func] = []
        for func in list(module.funcs.values()):
            regions = [region for op in walk_warm(func.body) if (region := cold_region(op)) is not None]
            pieces = [inside(region) for region in regions if any(op.opdef in LOOPS for op in region.walk())]
            pieces = [piece for piece in pieces if not shows_frame(piece.moved)]
            if pieces:
                branches = [next(enclosing(piece.moved[0].parent)) for piece in pieces]
                made = outline(module, pieces, f"{func.name}.cold", Aliasing.asked(func, module))
                for branch, cold in zip(branches, made, strict=True):
                    exceptional = {EXCEPTIONAL: True} if EXCEPTIONAL in branch.attrs else {}
                    cold.attrs.update({COLD: True, UNIT: True, **exceptional})
                moved += made
        merge_equal(module, moved)
        return module


def inside(region: Block) -> Piece:
    """All that is in a region."""
    moved = region.ops[:-1]
    own = {result for op in moved for result in op.results}
    return Piece(moved, [v for v in dict.fromkeys(region.terminator.operands) if v in own])
