"""Data layout: arrays in which each iteration of parallel loops has a row become arrays of columns.

    parallel p:                                 parallel p:
        for t in range(n):                          for t in range(n):
            tape[p, t] = s                              tape[t, p] = s

Iterations side by side then access neighbouring elements. This concerns arrays that the function makes for itself, such
as tapes of steps, and only looks at by elements. It pays if all loops over the rows run side by side.

Reference: Kandemir, Choudhary, Ramanujam and Banerjee, A matrix-based approach to global locality optimization,
Journal of Parallel and Distributed Computing 58, 1999.
"""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Func, Op
from adc.ir.nesting import of_kinds
from adc.ir.types import MemRefType
from adc.passes.analysis.kinds import ELEMENT


def rows_of_iterations(func: Func) -> dict[Op, set[Op]]:
    """The allocations of arrays in which each iteration of parallel loops has rows for itself, and these loops."""
    found = {alloc: _loops(alloc) for alloc in of_kinds(func.body, {ops.alloc})}
    return {alloc: loops for alloc, loops in found.items() if loops}


def _loops(alloc: Op) -> set[Op]:
    t = alloc.result.type
    assert isinstance(t, MemRefType)
    if t.strides is not None or t.rank < 2:
        return set()
    loops: set[Op] = set()
    for user, position in alloc.result.uses:
        if user.opdef is ops.dealloc:
            continue
        if ELEMENT.get(user.opdef) != position:
            return set()
        first = user.operands[position + 1]
        loop = first.block.parent_op if first.op is None and first.block is not None else None
        if loop is None or loop.opdef is not ops.parallel or constant_of(loop.operands[2]) != 1:
            return set()
        loops.add(loop)
    return loops


def make_columns(alloc: Op) -> None:
    """Make the first axis of an array the last one."""
    t = alloc.result.type
    assert isinstance(t, MemRefType)
    new = MemRefType((*t.shape[1:], t.shape[0]), t.element)
    extents = alloc.operands if t.shape[0] is not None else (*alloc.operands[1:], alloc.operands[0])
    for at, extent in enumerate(extents):
        alloc.set_operand(at, extent)
    for user, position in tuple(alloc.result.uses):
        if user.opdef is not ops.dealloc:
            first, *rest = user.operands[position + 1 :]
            for at, subscript in enumerate((*rest, first), position + 1):
                user.set_operand(at, subscript)
    alloc.set_attr("type", new)
    alloc.result.set_type(new)
