"""The functions that a pass has to visit."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from adc.ir.core import Func, Module
from adc.ir.nesting import having
from adc.ir.opdef import OpDef
from adc.ir.states import version
from adc.passes.base import Pass


def due(step: Pass, module: Module, facts: Callable[[Func], object] | None = None) -> Iterator[Func]:
    """The functions that the pass ``step`` may change: they have what it needs, and it did not leave them as they are
    now. What it does to one is done before it gets the next.

    What the pass does to a function may depend on this function alone and on ``facts(func)``: an analysis that is
    another object when it says something else.
    """
    needs: frozenset[OpDef] | None = getattr(step, "needs", None)
    for func in module.funcs.values() if needs is None else having(module, needs):
        found = facts(func) if facts is not None else None
        now = version(func)
        before = func.known.get(step)
        if before is not None and before[0] is now and before[1] is found:
            continue
        yield func
        if version(func) is now:
            func.known[step] = now, found
