"""Long functions are cut: their loop nests become functions of their own.

The time that LLVM needs for a loop grows with the function around it (its vectoriser and its analysis of induction
variables look at more than the loop), so that a function of a thousand loops would take more than ten times as long as
ten of a hundred. A call for each nest costs nothing compared with the loop in it. Nests that are equal become one
function. Fills and copies of windows, such as the rim of an array, are nests too when they are lowered: adjacent ones
become a function.
The rest of a loop that is too long to be a piece becomes a function at last, which calls those cut out of it: if
nothing is left that runs twice, LLVM need not look at the rest (``adc.driver.cpu``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.builder import insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.externals import UNIT
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import TILES
from adc.ir.rewrite import Mapping, clone_op, erase_if
from adc.ir.types import MemRefType
from adc.passes.analysis.extents import Extents
from adc.passes.analysis.kinds import LOOPS, PURE, VIEWS
from adc.passes.outlining.equal_functions import merge_equal
from adc.passes.outlining.outline import Piece, outline, shows_frame

MOST_LOOPS = 24
"""A function with more loops is cut into pieces with at most a third as many."""

MOST_IN_SEQUENCE = 8
"""A function with more nests that run one after the other, once in a call, is cut at these: calls of them cost nothing
compared with the call of the function."""

MOST_WINDOWS = 8
"""The most fills and copies of windows that become one function."""


@dataclass(frozen=True)
class OutlineNests:
    """Move the largest nests that are small enough out of functions with more than ``most`` loops, and the outermost
    ones out of functions with more than ``in_sequence`` of them.

    Parallel loops stay whole: threads are shared out where they begin, and SIMD needs to see their surroundings.
    """

    most: int = MOST_LOOPS
    in_sequence: int = MOST_IN_SEQUENCE
    name: ClassVar[str] = "outline-nests"

    def run(self, module: Module) -> Module:
        pieces: dict[Func, list[Piece]] = {}
        for func in module.funcs.values():
            counts: dict[Op, int] = {}
            if _count(func.body, counts) > self.most:
                pieces[func] = list(_pieces(func.body, counts, self.most // 3))
            elif sum(op.parent is func.body and count > 0 for op, count in counts.items()) > self.in_sequence:
                pieces[func] = list(_pieces(func.body, counts, self.most))
        merge_equal(module, [made for func in pieces for made in _outlined(func, module, pieces[func])])
        # Only now, as the rests of two loops may be equal if the functions cut out of them are.
        merge_equal(module, [made for func in pieces for made in _outlined(func, module, list(_rests(func.body)))])
        return module


def _outlined(func: Func, module: Module, pieces: Sequence[Piece]) -> list[Func]:
    if not pieces:
        return []
    made = outline(module, pieces, f"{func.name}.nest", Aliasing.asked(func, module), Extents())
    for each in made:
        each.attrs.update({"adc.noinline": True, UNIT: True})
    erase_if(func.body, lambda op: op.opdef in VIEWS and not op.result.uses)
    return made


def _count(block: Block, counts: dict[Op, int]) -> int:
    """The number of loops in ``block``; that of each operation, including itself, is added to ``counts``."""
    total = 0
    for op in block.ops:
        if op.regions:
            counts[op] = (op.opdef in LOOPS) + sum(_count(region, counts) for region in op.regions)
            total += counts[op]
    return total


def _pieces(block: Block, counts: dict[Op, int], most: int) -> Iterator[Piece]:
    windows: list[Op] = []
    for op in block.ops:
        is_window = _is_of_window(op) and not shows_frame([op])
        if windows and (len(windows) == MOST_WINDOWS if is_window else op.opdef not in PURE):
            yield _with_views(windows)
            windows = []
        if is_window:
            windows.append(op)
        elif counts.get(op, 0) > most and op.opdef is not ops.parallel and TILES not in op.attrs:
            for region in op.regions:
                yield from _pieces(region, counts, most)
        elif counts.get(op) and not shows_frame([op]):
            yield Piece([op], op.results)


def _rests(block: Block) -> Iterator[Piece]:
    """The outermost loops that are left."""
    for op in block.ops:
        if op.opdef in LOOPS:
            if not shows_frame([op]):
                yield Piece([op], op.results)
        else:
            for region in op.regions:
                yield from _rests(region)


def _is_of_window(op: Op) -> bool:
    """Whether ``op`` fills or copies numbers that are not known to be contiguous: row by row."""
    if op.opdef is not ops.fill and op.opdef is not ops.copy:
        return False
    types = [v.type for v in op.operands if isinstance(v.type, MemRefType)]
    return not isinstance(types[0].element, MemRefType) and any(t.strides is not None for t in types)


def _with_views(windows: list[Op]) -> Piece:
    """``windows``, and copies of their views: what remains outside are the arrays, and where the windows are."""
    made, mapping = Block(), Mapping()
    moved: list[Op] = []

    def view(value: Value) -> Value:
        op = value.op
        if value not in mapping and op is not None and op.opdef in VIEWS:
            view(op.operands[0])
            clone_op(op, mapping)
        return mapping.get(value, value)

    with insert_at(made):
        for op in windows:
            before = len(made.ops)
            for position, operand in enumerate(op.operands):
                op.set_operand(position, view(operand))
            moved += [*made.ops[before:], op]
    return Piece(moved, [])
