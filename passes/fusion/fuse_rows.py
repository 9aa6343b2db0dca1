"""The forward and the reverse sweep over rows of a sparse matrix become one loop, which reads each row once.

Terms at loaded subscripts go to private copies (``privatisation``), one chunk of iterations after the other. The
iterations of a chunk can do their part of the forward sweep, too: then what both sweeps read in inner loops (the
entries of the matrix, and their columns) is still in cache when the reverse sweep needs it, and no tape goes through
memory. Code between the two, such as the derivative of a function of each row, is joined with them; the sums of the
forward sweep are not.

Afterwards ``distribute_terms`` and ``distribute_functions`` cut the loop, for a strip of iterations each, into parts
that are SIMD and parts that are not.
"""

from __future__ import annotations

from typing import ClassVar

from adc.ir import ops
from adc.ir.core import Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import inside
from adc.passes.analysis.conflicts import has_accumulate
from adc.passes.analysis.kinds import LOOPS, PURE
from adc.passes.fusion.bodies import Bodies
from adc.passes.fusion.fuse_loops import fuse, may_be_fused


@dataclass(frozen=True)
class FuseRows:
    """Fuse loops that scatter in inner loops with those before them."""

    name: ClassVar[str] = "fuse-rows"
    needs = frozenset({ops.parallel})

    def run(self, module: Module) -> Module:
        loops = (op for func in module.funcs.values() for op in func.walk() if op.opdef is ops.parallel)
        if any(_scatters(loop) for loop in loops):
            fuse(module, _worthwhile, _are_sweeps)
        return module


def _worthwhile(bodies: Bodies, first: Op, second: Op) -> bool:
    """Whether the two may be fused, and ``first`` or a loop before it is the forward sweep of ``second``. The forward
    sweep is joined last: code in between is joined with the reverse sweep first."""
    if first.results or second.results or has_accumulate(first) or first.parent is None:
        return False
    before = first.parent.ops[: first.parent.ops.index(first) + 1]
    loops = (op for op in before if op.opdef is ops.parallel and op.operands[:3] == second.operands[:3])
    return any(_are_sweeps(bodies, op, second) for op in loops) and may_be_fused(bodies, first, second)


def _are_sweeps(bodies: Bodies, first: Op, second: Op) -> bool:
    """Whether ``second`` scatters, and its inner loops read what those in ``first`` read, from the same rows."""
    if first.results or has_accumulate(first) or not _scatters(second):
        return False
    return not _read_inside(first).isdisjoint(_read_inside(second))


def _scatters(loop: Op) -> bool:
    """Whether all terms of ``loop`` are added in inner loops, at subscripts that are loaded."""
    terms = [op for op in loop.regions[0].walk() if op.opdef is ops.accumulate]
    return bool(terms) and all(
        op.parent is not loop.regions[0] and any(_is_loaded(v, loop) for v in op.operands[2:]) for op in terms
    )


def _is_loaded(subscript: Value, loop: Op) -> bool:
    op = subscript.op
    if op is None or not inside(subscript, loop):
        return False
    return op.opdef is ops.load or (op.opdef in PURE and any(_is_loaded(v, loop) for v in op.operands))


def _read_inside(loop: Op) -> set[Value]:
    nests = [op for op in loop.regions[0].ops if op.opdef in LOOPS]
    loads = (op for nest in nests for region in nest.regions for op in region.walk() if op.opdef is ops.load)
    return {op.operands[0] for op in loads if not inside(op.operands[0], loop)}
