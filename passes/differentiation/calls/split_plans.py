"""Which functions have been split into an augmented and a reverse one, and how.

A recursive function calls itself by the plan that is being made. So a plan is assumed, at first the least one, and the
functions are built by it; they are built again while they need more than was assumed. The same holds for functions that
run both sweeps of steps, as steps may call the function that contains their loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from adc.ir import ops
from adc.ir.attached import attached
from adc.ir.core import Func, Module, Value
from adc.ir.fixpoint import Builder
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType
from adc.passes.differentiation.activity.activity import Activity, Interface, analyse
from adc.passes.differentiation.activity.held import is_container
from adc.passes.differentiation.call_plan import CallPlan
from adc.passes.differentiation.calls.rule_calls import split_plan

# A function, how it is differentiated, the arguments that do not change, whether it is reversed only once for each run.
SplitKey = tuple[str, Interface, frozenset[int], bool]
Build = Callable[[SplitKey, CallPlan], tuple[CallPlan, *tuple[Func, ...]]]


@dataclass(frozen=True)
class Sweeps:
    """The function ``name`` runs the forward and the reverse sweep of another one.

    It takes the arguments of that function; shadows of the arguments ``shadows`` and of the memref results ``given``
    and ``moved`` (see ``rematerialised.ResultShadows``); the cotangents of the results ``cotangents_in``; and the
    cotangents so far of the arguments ``summed``, to which it adds. It returns the cotangents of the arguments
    ``cotangents_out``. Before the call the shadows hold the cotangents of what is in memory after the function has run,
    afterwards those of what was there before; the memory itself is changed as by the other function.
    """

    name: str
    shadows: tuple[int, ...]
    given: tuple[int, ...]
    moved: tuple[int, ...]
    cotangents_in: tuple[int, ...]
    summed: tuple[int, ...]
    cotangents_out: tuple[int, ...]

    def assumed(self) -> CallPlan:
        """The same, as what a plan asks for at least."""
        return CallPlan(self.name, "", self.shadows, (), (), (), self.cotangents_in, self.cotangents_out, False)


class SweepsKey(NamedTuple):
    """A function that returns no arrays, and how it is differentiated. The arguments ``carried`` have no cotangents
    before."""

    name: str
    interface: Interface
    carried: frozenset[int]


BuildSweeps = Callable[[SweepsKey, Sweeps], tuple[Sweeps, Func]]


class SplitPlans:
    """``build`` makes the two functions by an assumed plan, and functions that only these call; ``both`` makes
    functions that run both sweeps."""

    def __init__(self, module: Module, build: Build, both: BuildSweeps) -> None:
        self._module = module
        self._make = build
        self._both = both
        self._built: dict[SplitKey | SweepsKey, tuple[Func, ...]] = {}
        self._reserved: set[str] = set()
        self._plans = Builder[SplitKey | SweepsKey, CallPlan | Sweeps](self._first, self._build, self._forget)

    def of(self, key: SplitKey) -> CallPlan:
        """The plan of a key, whose functions are in the module, or will be. A reverse function that may be built again
        does not count as idle, since it may do more then."""
        found = self._plans(key)
        assert isinstance(found, CallPlan)
        return found if self._plans.is_settled(key) else replace(found, idle=False)

    def sweeps_of(self, key: SweepsKey) -> Sweeps:
        """The same for a function that runs both sweeps."""
        found = self._plans(key)
        assert isinstance(found, Sweeps)
        return found

    def _first(self, key: SplitKey | SweepsKey) -> CallPlan | Sweeps:
        """The least that differentiating asks for: what is active, and nothing that is kept for the reverse sweep."""
        name, interface, *_ = key
        func = self._module.funcs[name]
        if attached(func) is not None:
            return split_plan(self._module, name, interface, self._name(f"{name}.aug"), self._name(f"{name}.rev"))
        activity = analyse(self._module, func, interface)
        activity.include_held()
        returned = func.body.terminator.operands
        activity.give_shadows(returned[k] for k in interface.shadowed)
        read = tuple(k for k in sorted(interface.useful_results) if activity.active(returned[k]))
        varied = tuple(k for k in sorted(interface.varied) if activity.active(func.args[k]))

        def shadowed(values: Sequence[Value]) -> tuple[int, ...]:
            return tuple(k for k, v in enumerate(values) if activity.has_companion(v))

        if isinstance(key, SweepsKey):
            summed = tuple(k for k in varied if k not in key.carried)
            return Sweeps(self._name(f"{name}.adjoint"), shadowed(func.args), (), (), read, summed, varied)
        results = shadowed(returned)
        given = tuple(k for k in results if _made_here(returned[k], func) and not _shared(k, returned, activity))
        return CallPlan(
            self._name(f"{name}.aug"),
            self._name(f"{name}.rev"),
            shadowed(func.args),
            tuple(k for k in results if k not in given),
            given,
            (),
            read,
            varied,
            False,
        )

    def _build(self, key: SplitKey | SweepsKey, assumed: CallPlan | Sweeps) -> CallPlan | Sweeps:
        if key in self._built:
            self._forget(key)
        found: CallPlan | Sweeps
        if isinstance(key, SweepsKey):
            assert isinstance(assumed, Sweeps)
            found, *funcs = self._both(key, assumed)
        else:
            assert isinstance(assumed, CallPlan)
            found, *funcs = self._make(key, assumed)
        self._built[key] = tuple(funcs)
        for func in funcs:
            self._module.add(func)
        return found

    def _forget(self, key: SplitKey | SweepsKey) -> None:
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
    """Whether a value is memory for floats that each run of the function allocates once."""
    made = value.op is not None and value.op.opdef is ops.alloc and value.block is func.body
    return made and not is_container(value.type)


def _shared(position: int, returned: Sequence[Value], activity: Activity) -> bool:
    """Whether a returned memref may also be reached through another returned one, or through a record."""
    others = [v for k, v in enumerate(returned) if k != position]
    others += [v for op in activity.func.walk() if op.opdef is ops.pack for v in op.operands]
    return any(returned[position] in activity.aliasing.reach(v) for v in others if isinstance(v.type, MemRefType))
