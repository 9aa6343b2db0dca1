"""Activity: what varies with the inputs and matters to the outputs.

A float value is *active* if it depends on a chosen input and a chosen output depends on it; only active values have
cotangents. Memory is judged by its roots (see ``adc.ir.alias``): an active root has a shadow. Both directions are
reachability in the graph of what leads to what (``flow_graph.py``); memory is treated as a whole, without regard to
order.

Reference: Hascoet and Pascual, The Tapenade Automatic Differentiation Tool, ACM TOMS 39(3), 2013, section 4.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import field

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.core import Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType, RecordType, Type, holds_records
from adc.passes.differentiation.activity.flow import holds_floats
from adc.passes.differentiation.activity.flow_graph import Flows
from adc.passes.differentiation.activity.held import is_container, may_have_tangent


@dataclass(frozen=True)
class ArgumentState:
    """Whether an argument is active: it has a cotangent, or a shadow."""

    name: str
    type: Type
    active: bool


@dataclass(frozen=True)
class Interface:
    """What is to be differentiated in a function, by position.

    ``varied``: arguments (floats, memrefs) that vary on entry. ``useful_results``: float results that have a cotangent.
    ``useful_args``: memref arguments whose final contents have one. Memref results named in ``useful_results`` matter
    by their contents. ``shadowed``: memref results whose shadows the function makes, whether they vary in it or not.
    """

    varied: frozenset[int]
    useful_results: frozenset[int]
    useful_args: frozenset[int] = frozenset()
    shadowed: frozenset[int] = frozenset()


@dataclass
class Activity:
    """The result of the analysis of one function."""

    func: Func
    aliasing: Aliasing
    varied: set[Value] = field(default_factory=set)
    useful: set[Value] = field(default_factory=set)
    shadowed: set[Value] = field(default_factory=set)  # roots that have a shadow

    def active(self, value: Value) -> bool:
        """Whether a float value has a cotangent."""
        return value.type.is_float and value in self.varied and value in self.useful

    def has_shadow(self, memref: Value) -> bool:
        """Whether floats in memory have cotangents. Memory that was added after the analysis, such as tapes, has
        none."""
        t = memref.type
        assert isinstance(t, MemRefType)
        known = t.element.is_float and self.aliasing.knows(memref)
        return known and not self.shadowed.isdisjoint(self.aliasing.roots(memref))

    def has_companion(self, value: Value) -> bool:
        """Whether a value is memory with a shadow, or holds such memory. The companion of an array of arrays holds the
        shadows of its elements; that of a record holds the shadows of everything in the record. Records always have a
        companion, so that it need not be known who reads what was packed into them."""
        if holds_records(value.type):
            return True
        if not is_container(value.type):
            return isinstance(value.type, MemRefType) and self.has_shadow(value)
        return self.aliasing.knows(value) and not self.shadowed.isdisjoint(self.aliasing.reach(value))

    def reach(self, value: Value) -> AbstractSet[Value]:
        """The roots of a value's memory and of what that memory holds. A record stands for everything in it."""
        return {value} if isinstance(value.type, RecordType) else self.aliasing.reach(value)

    def close_shadows(self) -> None:
        """Give shadows to active roots, and to every root that shares a memref with a root that has one."""
        shadowed = self.shadowed
        shadowed |= {v for v in self.varied & self.useful if isinstance(v.type, MemRefType)}
        groups = {self.aliasing.roots(v) for v in _memrefs(self.func) if holds_floats(v)}
        changed = bool(shadowed)
        while changed:
            changed = False
            for roots in groups:
                if not roots <= shadowed and not shadowed.isdisjoint(roots):
                    shadowed |= roots
                    changed = True

    def give_shadows(self, memrefs: Iterable[Value]) -> None:
        """Give shadows to memrefs and to what they hold, active or not."""
        found = set[Value]().union(*map(self.aliasing.reach, memrefs))
        if not found <= self.shadowed:
            self.shadowed |= found
            self.close_shadows()

    def include_held(self) -> None:
        """Give shadows to everything that a record holds."""
        holding = [op for op in self.func.walk() if op.opdef in (ops.pack, ops.unpack)]
        values = [v for op in holding for v in (*op.operands, *op.results)]
        self.give_shadows(v for v in values if isinstance(v.type, MemRefType) and may_have_tangent(v.type))

    def include_containers(self) -> None:
        """Give shadows to everything that an array of arrays holds."""
        self.give_shadows(v for v in _memrefs(self.func) if is_container(v.type))

    def interface_of(self, op: Op) -> Interface:
        """How the callee of this call is to be differentiated."""
        varied = frozenset(
            k
            for k, v in enumerate(op.operands)
            if (v in self.varied if v.type.is_float else self.has_companion(v))
        )
        results = frozenset(
            k
            for k, v in enumerate(op.results)
            if (self.active(v) if v.type.is_float else self.has_companion(v))
        )
        args = frozenset(
            k
            for k, v in enumerate(op.operands)
            if self.has_companion(v) and not self.useful.isdisjoint(self.reach(v))
        )
        return Interface(varied, results, args, self._overlapping(op))

    def _overlapping(self, call: Op) -> frozenset[int]:
        """The memref results of a call that have a shadow and may be reached through others: only the callee knows how
        their shadows overlap."""
        memrefs = [k for k, v in enumerate(call.results) if isinstance(v.type, MemRefType) and self.has_companion(v)]
        roots = {k: self.aliasing.roots(call.results[k]) for k in memrefs}
        return frozenset(
            k
            for k in memrefs
            if roots[k] != {call.results[k]} or any(n != k and not roots[k].isdisjoint(roots[n]) for n in memrefs)
        )

    def arguments(self) -> tuple[ArgumentState, ...]:
        """The state of each argument of the function, including those that were added to it."""
        return tuple(
            ArgumentState(v.hint, v.type, self.has_shadow(v) if isinstance(v.type, MemRefType) else self.active(v))
            for v in self.func.args
        )

    def __str__(self) -> str:
        lines = [f"activity of @{self.func.name}"]
        for position, arg in enumerate(self.arguments()):
            words = ("has a shadow", "no shadow") if isinstance(arg.type, MemRefType) else ("active", "passive")
            state = words[0] if arg.active else words[1]
            lines.append(f"  argument {position} {arg.name or '?'}: {arg.type}: {state}")
        count = sum(self.active(r) for op in self.func.walk() for r in op.results)
        floats = sum(r.type.is_float for op in self.func.walk() for r in op.results)
        lines.append(f"  {count} of {floats} float values are active")
        return "\n".join(lines)


def analyse(module: Module, func: Func, interface: Interface) -> Activity:
    """Activity of ``func`` for the given inputs and outputs; calls are followed into their callees."""
    flows, returned = Flows(module), func.body.terminator.operands
    varied = [func.args[k] for k in interface.varied]
    useful = [returned[k] for k in interface.useful_results] + [func.args[k] for k in interface.useful_args]
    found = Activity(
        func,
        flows.aliasing(func),
        flows.reached(func, varied, backward=False),
        flows.reached(func, useful, backward=True),
    )
    found.close_shadows()
    return found


def _memrefs(func: Func) -> Iterable[Value]:
    yield from (a for a in func.args if isinstance(a.type, MemRefType))
    for op in func.walk():
        yield from (r for r in op.results if isinstance(r.type, MemRefType))
        for region in op.regions:
            yield from (a for a in region.args if isinstance(a.type, MemRefType))
