"""Reverse functions that do nothing but free what their record holds.

A function may look active from outside, because of its array results for instance, and turn out not to be: a minimiser
found by descent depends on values that only decide about steps. Then the function is called as it is, without a record,
and the reverse sweep does nothing for the call.
"""

from __future__ import annotations

from collections.abc import Callable

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.callgraph import reachable
from adc.ir.core import Func, Module, Op
from adc.ir.moments import strip_views
from adc.passes.differentiation.storage.adjoints import Adjoint

_FREES = frozenset({ops.dealloc, ops.release, ops.unpack})
_READS = frozenset({ops.load, ops.bound, ops.alloc})
_FLOW = frozenset({ops.if_, ops.for_, ops.parallel, ops.yield_, ops.condition, ops.reduce, ops.return_})
_STORES = frozenset({ops.store, ops.accumulate, ops.copy, ops.fill})


def is_idle(reverse: Func) -> bool:
    """Whether ``reverse`` adds nothing to any shadow and returns zeros. Calls of itself do not count."""
    return all(_is_nothing(op, reverse) for op in reverse.walk()) and all(
        constant_of(v) == 0.0 for v in reverse.body.terminator.operands
    )


def _is_nothing(op: Op, reverse: Func) -> bool:
    kind = op.opdef
    if kind in _STORES:
        base = strip_views(op.operands[1])
        return base.op is not None and base.op.opdef is ops.alloc  # of this function: nobody reads it later
    if kind is ops.call:
        return bool(op.attrs["callee"] == reverse.name)
    return kind in _FREES or kind in _READS or kind in _FLOW or kind.pure


def drop_unused(module: Module, differentiate: Callable[[], Adjoint]) -> Adjoint:
    """What ``differentiate`` makes, without those of the new functions that are not called."""
    known = set(module.funcs)
    made = differentiate()
    wanted = reachable(module, [name for name in (made.name, made.reverse) if name is not None])
    for name in set(module.funcs).difference(known, wanted):
        del module.funcs[name]
    return made
