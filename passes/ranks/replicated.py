"""Replicated code: each rank runs all of it, on whole arrays, where it cannot be run for the rank's own elements.

Each rank then does what one process does, so this is right for all code that only computes: recurrences, indices that
are read from arrays, products of matrices. It takes the time of one process, and sends whole arrays to all ranks, so it
is done on request.
"""

from __future__ import annotations

from adc.ir.core import Op, Value
from adc.ir.diagnostics import CompileTypeError
from adc.ir.nesting import inside, with_inner
from adc.ir.types import MemRefType, RecordType
from adc.passes.ranks.layouts import Layouts, underneath
from adc.passes.ranks.regions import Box, whole_axis
from adc.passes.ranks.steps import Step

WAY_OUT = "with adc.distribute(f, grid, replicate=True) all ranks run all of this, on whole arrays"


def with_way_out(error: CompileTypeError) -> CompileTypeError:
    """The error of what may be replicated."""
    if WAY_OUT in error.help:
        return error
    return error.helped(f"{error.help}; or {WAY_OUT}" if error.help else WAY_OUT)


def whole_arrays(op: Op, layouts: Layouts) -> Step | None:
    """A step that fetches all elements of the shared arrays that an operation takes, and cuts nothing. None if it is
    not known which arrays these are, or if the operation must not be run by each rank."""
    effects = layouts.effects(op)
    if effects.everything or effects.ordered:
        return None
    step = Step()
    for value in {v: None for inner in with_inner(op) for v in (*inner.operands, *inner.results)}:
        if _holds_arrays(value):
            return None
        if not isinstance(value.type, MemRefType) or inside(value, op):
            continue
        if value.op is op:  # memory that may have been that of an array that was fetched
            step.written.append(value)
            continue
        array, _ = underneath(value)
        try:
            shared = layouts.is_shared(array)
            extents = [layouts.extent(array, d) for d in range(len(layouts.of(array)))]
        except CompileTypeError:
            return None
        if shared:
            step.fetches[array] = [Box((), tuple(map(whole_axis, extents)))]
    step.written += [array for array in step.fetches if not effects.writes.isdisjoint(layouts.roots(array))]
    return step


def _holds_arrays(value: Value) -> bool:
    """Whether a value is memory that holds arrays: it is not known which of their elements a rank has."""
    return isinstance(value.type, RecordType) or (
        isinstance(value.type, MemRefType) and isinstance(value.type.element, MemRefType)
    )
