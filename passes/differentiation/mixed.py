"""Mixed mode: scalars in forward mode, arrays in reverse mode, where the scalars alone would need a tape.

A time loop that is linear in its state stores nothing for the gradient by the state, but a trajectory for the gradient
by a coefficient. Forward mode suits the derivative by one number: carrying a tangent of the state costs about as much
as a step, while the trajectory leaves the cache. So before the reverse sweep is derived, the function is made to carry
the tangents of such scalars as well. This function is then reversed, by the other arguments.

Reference: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, section 10.3, on what either mode costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from adc.ir import ops
from adc.ir.attached import attached
from adc.ir.callgraph import callees, reachable
from adc.ir.core import Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.passes.analysis.costs import cost_of_func, executions, memory_cost, storage_cost
from adc.passes.base import Pipeline, run_pipeline
from adc.passes.canonicalize.canonicalize import Canonicalize
from adc.passes.differentiation.calls.checkpointed import is_checkpointed
from adc.passes.differentiation.calls.rematerialised import is_rematerialised
from adc.passes.differentiation.forward.forward import jvp
from adc.passes.differentiation.storage.storage_plan import StoragePlan
from adc.passes.simplify.cse import CSE
from adc.passes.simplify.dce import DCE
from adc.passes.simplify.licm import LICM

TAPE_OVER_TANGENT = 2.0
"""How much more the memory traffic of a tape costs than computing instead, beyond what ``costs`` says: arithmetic hides
behind other arithmetic, a trajectory that leaves the cache does not."""

LARGEST_REST = 0.25  # the share of the tape that may remain in spite of the tangents

TIDY: Pipeline = (Canonicalize(), CSE(), LICM(), DCE())
"""Passes that run before tangents are weighed, so that these, like the function, cost what they will in the end."""

PlansOf = Callable[[Module, tuple[int, ...]], Iterable[StoragePlan]]
"""What is stored for the gradient by some arguments, by the function and all that it calls. The module may change."""


@dataclass(frozen=True)
class Mixed:
    """``func`` returns what the primal does, then the derivatives of its first result by the arguments at
    ``positions``.
    """

    func: Func
    positions: tuple[int, ...]

    def __str__(self) -> str:
        names = ", ".join(self.func.args[k].hint or f"argument {k}" for k in self.positions)
        return f"by {names} in forward mode: the tangents cost less than the tape that they would need in reverse mode"


def mixed(
    module: Module, name: str, wrt: tuple[int, ...], plans: Iterable[StoragePlan], plans_of: PlansOf
) -> Mixed | None:
    """The function with tangents of some scalars in ``wrt``, if that removes most of the tape and pays. ``plans``: what
    is stored without them."""
    primal = module.funcs[name]
    scalars = [k for k in wrt if primal.args[k].type.is_float]
    called = [module.funcs[other] for other in reachable(module, [name])]
    if not scalars or not any(_is_stepped(op) for func in called for op in func.walk()):
        return None
    if any(map(_has_rules, called)):
        return None

    def tape(chosen: Sequence[int]) -> float:
        return sum(map(_tape, plans_of(Module(dict(module.funcs)), tuple(chosen))))

    rest = [k for k in wrt if k not in scalars]
    everything = sum(map(_tape, plans))
    if not everything:
        return None
    least = tape(rest)
    if least > LARGEST_REST * everything:
        return None
    if len(scalars) > 1:  # scalars that need no tape of their own stay in reverse mode
        scalars = [k for k in scalars if tape([*rest, k]) > least]
    known = set(module.funcs)
    made = _with_tangents(module, name, scalars) if scalars else None
    if made is not None:
        extra = _cost(module, made) - _cost(module, primal)
        if extra < TAPE_OVER_TANGENT * (everything - least):
            return Mixed(made, tuple(scalars))
    for other in set(module.funcs) - known:
        del module.funcs[other]
    return None


def _cost(module: Module, func: Func) -> float:
    called = reachable(module, callees(func))
    return cost_of_func(func) + math.fsum(cost_of_func(module.funcs[name]) for name in called)


def _is_stepped(op: Op) -> bool:
    """Whether ``op`` is a parallel loop that a sequential one runs again and again."""
    if op.opdef is not ops.parallel:
        return False
    block = op.parent
    while block is not None and (outer := block.parent_op) is not None:
        if outer.opdef in (ops.for_, ops.while_):
            return True
        block = outer.parent
    return False


def _has_rules(func: Func) -> bool:
    """Whether there are rules of users, which may exist for one mode only, or schedules, which do not need a tape."""
    if attached(func) is not None or is_checkpointed(func) or is_rematerialised(func):
        return True
    return any(op.opdef in (ops.ruled, ops.gradient) for op in func.walk())


def _tape(plan: StoragePlan) -> float:
    """What storing costs, including copies of arrays."""

    def cost(value: Value) -> float:
        made = value.op is not None and value.op.opdef is ops.alloc
        return storage_cost(value) + (memory_cost(value) if made else 0.0)

    return sum(cost(v) * executions(v.block) for v in plan.stored if v.block is not None)


def _with_tangents(module: Module, name: str, scalars: Sequence[int]) -> Func | None:
    """The function that also returns the derivatives of its first result; None if the caller's memory has tangents."""
    known = set(module.funcs)
    made = module.funcs[name]
    for k in scalars:
        tangent = jvp(module, made.name, (k,), useful=(0,), ones=(k,))
        if made.name not in known:
            del module.funcs[made.name]
        made = module.funcs[tangent.name]
        if tangent.arguments or tangent.results != (0,):
            return None
    part = run_pipeline(Module({other: module.funcs[other] for other in reachable(module, [made.name])}), TIDY)
    module.funcs.update(part.funcs)
    return module.funcs.pop(made.name)
