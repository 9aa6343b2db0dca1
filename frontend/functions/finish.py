"""The last steps of tracing a function of the IR."""

from __future__ import annotations

from adc.frontend.data.dims import NOT_ONE
from adc.frontend.data.roots import grounded
from adc.frontend.frame import Frame
from adc.frontend.objects import held, owned
from adc.ir.core import Func


def finish(frame: Frame) -> set[int]:
    """Put the prologue before the body and mark arguments that are never stored to. Returns the positions of mutated
    arguments."""
    frame.func.body.set_ops([*frame.prologue.ops, *frame.func.body.ops])
    for op in frame.func.walk():
        op.drop_attr(NOT_ONE)  # from here on, equal extents are read by equal operations
    if frame.abandoned:
        _drop_abandoned(frame.func)
    held.check(frame)
    owned.check(frame)
    mutated: set[int] = set()
    written = grounded(frozenset(frame.written))
    for position, root in frame.argument_roots.items():
        if root in written:
            mutated.add(position)
        else:
            frame.func.arg_attrs[position]["adc.readonly"] = True
    return mutated


def _drop_abandoned(func: Func) -> None:
    """Remove the uses of values by code that is not in the function."""
    alive = set(func.walk())
    values = [*func.args]
    for op in alive:
        values += op.results
        for region in op.regions:
            values += region.args
    for value in values:
        for use in [use for use in value.uses if use[0] not in alive]:
            del value.uses[use]
