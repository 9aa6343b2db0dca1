"""Which functions have been split into an augmented and a reverse one, and how.

A recursive function calls itself by the plan that is being made. So a plan is assumed, at first the least one, the
functions are built by it, and built again while what they turn out to need is more than was assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.ir import ops
from adc.ir.attached import attached
from adc.ir.core import Func, Module, Value
from adc.ir.fixpoint import Builder
from adc.ir.types import MemRefType
from adc.passes.differentiation.activity import Activity, Interface, analyse
from adc.passes.differentiation.demand import CallPlan
from adc.passes.differentiation.held import is_container
from adc.passes.differentiation.rule_calls import split_plan

# A function, what of it is differentiated, the arguments that stay, whether it is reversed but once after each run.
SplitKey = tuple[str, Interface, frozenset[int], bool]
Build = Callable[[SplitKey, CallPlan], tuple[CallPlan, *tuple[Func, ...]]]


class SplitPlans:
    """``build`` makes the two functions by an assumed plan, and what they call of their own."""

    def __init__(self, module: Module, build: Build) -> None:
        self._module = module
        self._make = build
        self._built: dict[SplitKey, tuple[Func, ...]] = {}
        self._reserved: set[str] = set()
        # The plan of a key, whose functions are in the module, or will be.
        self.of = Builder[SplitKey, CallPlan](self._first, self._build, self._forget)

    def _first(self, key: SplitKey) -> CallPlan:
        """The least that differentiating asks for: what is active, and nothing that is kept for the reverse sweep."""
        name, interface, *_ = key
        func = self._module.funcs[name]
        if attached(func) is not None:
            return split_plan(self._module, name, interface, self._name(f"{name}.aug"), self._name(f"{name}.rev"))
        activity = analyse(self._module, func, interface)
        activity.include_held()
        returned = func.body.terminator.operands

        def shadowed(values: Sequence[Value]) -> tuple[int, ...]:
            return tuple(k for k, v in enumerate(values) if activity.has_companion(v))

        results = shadowed(returned)
        given = tuple(k for k in results if _made_here(returned[k], func) and not _shared(k, returned, activity))
        return CallPlan(
            self._name(f"{name}.aug"),
            self._name(f"{name}.rev"),
            shadowed(func.args),
            tuple(k for k in results if k not in given),
            given,
            (),
            tuple(k for k in sorted(interface.useful_results) if activity.active(returned[k])),
            tuple(k for k in sorted(interface.varied) if activity.active(func.args[k])),
            False,
        )

    def _build(self, key: SplitKey, assumed: CallPlan) -> CallPlan:
        if key in self._built:
            self._forget(key)
        found, *funcs = self._make(key, assumed)
        self._built[key] = tuple(funcs)
        for func in funcs:
            self._module.add(func)
        return found

    def _forget(self, key: SplitKey) -> None:
        for func in self._built.pop(key):
            del self._module.funcs[func.name]

    def _name(self, wanted: str) -> str:
        name, number = wanted, 0
        while name in self._reserved or name in self._module.funcs:
            number += 1
            name = f"{wanted}_{number}"
        self._reserved.add(name)
        return name


def _made_here(value: Value, func: Func) -> bool:
    """Whether it is memory for floats that each run of the function allocates once."""
    made = value.op is not None and value.op.opdef is ops.alloc and value.block is func.body
    return made and not is_container(value.type)


def _shared(position: int, returned: Sequence[Value], activity: Activity) -> bool:
    """Whether a returned memref may be found in another one that is returned, or in a record."""
    others = [v for k, v in enumerate(returned) if k != position]
    others += [v for op in activity.func.walk() if op.opdef is ops.pack for v in op.operands]
    return any(returned[position] in activity.aliasing.reach(v) for v in others if isinstance(v.type, MemRefType))
