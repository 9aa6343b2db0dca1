"""Activity: what varies with the inputs and matters to the outputs.

A float value is *active* if it depends on a chosen input and a chosen output depends on it; only active values have
cotangents. Memory is judged by its roots (see ``adc.ir.alias``): an active root has a shadow. Both directions are
least fixed points over the structured program; memory is treated as a whole, without regard to order.

Reference: Hascoet and Pascual, The Tapenade Automatic Differentiation Tool, ACM TOMS 39(3), 2013, section 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field

from adc.ir import ops
from adc.ir.alias import Aliasing, returned_memory
from adc.ir.attached import attached, is_float
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.fixpoint import Fixpoint
from adc.ir.lazy_dataclass import dataclass
from adc.ir.messages import CROSSING
from adc.ir.types import MemRefType, RecordType, Type, holds_records
from adc.passes.analysis.messages import Messages
from adc.passes.differentiation import user_rules
from adc.passes.differentiation.activity.flow import (
    edges,
    foreign_outputs,
    has_floats,
    holds,
    holds_floats,
    is_active_type,
    is_reference,
)
from adc.passes.differentiation.activity.held import is_container, may_have_tangent
from adc.passes.differentiation.rules import RULES, differentiable


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
    by their contents.
    """

    varied: frozenset[int]
    useful_results: frozenset[int]
    useful_args: frozenset[int] = frozenset()


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
        return Interface(varied, results, args)

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
    return _Analysis(func, interface, _Callees(module)).run()


class _Callees:
    """What calls do, for all functions of a module: least fixed points where functions are recursive."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.returned = returned_memory(module)
        self.crossing = Messages.asked(module).crossing
        nothing: frozenset[int] = frozenset()
        # Results and memref arguments that vary after a call, if the given arguments vary before it.
        self.forward = Fixpoint[tuple[str, frozenset[int]], tuple[frozenset[int], frozenset[int]]](
            self._forward, lambda key: (nothing, nothing)
        )
        # Arguments that matter before a call, if the given results and memref arguments matter after it.
        self.backward = Fixpoint[tuple[str, frozenset[int], frozenset[int]], frozenset[int]](
            self._backward, lambda key: nothing
        )

    def _forward(self, key: tuple[str, frozenset[int]]) -> tuple[frozenset[int], frozenset[int]]:
        callee, varied = key
        func = self.module.funcs[callee]
        rules = attached(func)
        if rules is not None:  # whatever the function computes
            known = frozenset((*rules.cotangents, *rules.tangents, *rules.constant))
            crosses = CROSSING in func.attrs
            vary = crosses or not varied.isdisjoint(known)
            results = frozenset(k for k, t in enumerate(func.result_types) if vary and is_float(t))
            return results, known if crosses else frozenset()
        inner = _Analysis(func, Interface(varied, frozenset()), self)
        inner._fixpoint(inner.result.varied, [func.args[k] for k in varied], inner._forward)
        args = frozenset(k for k, a in enumerate(func.args) if is_reference(a) and inner._marked(a))
        return inner._positions(func.body.terminator.operands), args

    def _backward(self, key: tuple[str, frozenset[int], frozenset[int]]) -> frozenset[int]:
        callee, results, args = key
        func = self.module.funcs[callee]
        rules = attached(func)
        if rules is not None:
            matters = results or CROSSING in func.attrs
            return frozenset((*rules.cotangents, *rules.tangents, *rules.constant) if matters else ())
        inner = _Analysis(func, Interface(frozenset(), results, args), self)
        outputs = [func.body.terminator.operands[k] for k in results] + [func.args[k] for k in args]
        inner._fixpoint(inner.result.useful, outputs, inner._backward)
        return inner._positions(func.args)


class _Analysis:
    def __init__(self, func: Func, interface: Interface, callees: _Callees) -> None:
        self.func = func
        self.interface = interface
        self.callees = callees
        self.aliasing = Aliasing(func, callees.module, callees.returned)
        self.result = Activity(func, self.aliasing)

    def run(self) -> Activity:
        returned = self.func.body.terminator.operands
        self._fixpoint(self.result.varied, [self.func.args[k] for k in self.interface.varied], self._forward)
        outputs = [returned[k] for k in self.interface.useful_results]
        outputs += [self.func.args[k] for k in self.interface.useful_args]
        self._fixpoint(self.result.useful, outputs, self._backward)
        self.result.close_shadows()
        return self.result

    def _fixpoint(self, marks: set[Value], seeds: Iterable[Value], visit: Callable[[Op], None]) -> None:
        self.marks = marks
        for value in seeds:
            self._mark(value)
        backward = visit == self._backward
        self.changed = True
        while self.changed:
            self.changed = False
            self._sweep(self.func.body, visit, backward)

    def _sweep(self, block: Block, visit: Callable[[Op], None], backward: bool) -> None:
        for op in reversed(block.ops) if backward else block.ops:
            visit(op)
            for region in reversed(op.regions) if backward else op.regions:
                self._sweep(region, visit, backward)
            if op.regions:
                visit(op)

    def _share_with_records(self, op: Op) -> None:
        """A record may hold memory that the operation returns beside it, such as an array that a call makes and that
        its reverse sweep has to find again. So what is stored there later is in the record, too. A record that a call
        makes may also hold the contents of a record that the call is given."""
        if not any(holds_records(r.type) for r in op.results):
            return
        together = [r for r in op.results if isinstance(r.type, RecordType) or holds(r)]
        together += [v for v in op.operands if holds_records(v.type)]
        if any(self._marked(r) for r in together):
            for r in together:
                self._mark(r)

    def _unpack(self, op: Op) -> None:
        """What is stored in memory that a record holds is in the record too, and is found by whoever unpacks it
        next."""
        if any(self._marked(v) for v in (*op.operands, *op.results)):
            for v in (*op.operands, *op.results):
                self._mark(v)

    # Marks are float values and memory roots; a memref counts as marked when one of its roots is.

    def _marked(self, value: Value) -> bool:
        if isinstance(value.type, MemRefType):
            return not self.marks.isdisjoint(self._memory(value))
        return value in self.marks

    def _memory(self, memref: Value) -> AbstractSet[Value]:
        """The roots of a memref, and of what it holds."""
        if isinstance(memref.type.element, MemRefType):  # type: ignore[attr-defined]
            return self.aliasing.reach(memref)
        return self.aliasing.roots(memref)

    def _mark(self, value: Value) -> None:
        if isinstance(value.type, MemRefType):
            roots = self._memory(value)
            if not roots <= self.marks:
                self.marks |= roots
                self.changed = True
        elif is_active_type(value.type) and value not in self.marks:
            self.marks.add(value)
            self.changed = True

    def _flow(self, sources: Sequence[Value], targets: Sequence[Value]) -> None:
        """Pass marks along with values between regions; memrefs flow through their roots."""
        for source, target in zip(sources, targets, strict=True):
            if is_active_type(source.type) and source in self.marks:
                self._mark(target)

    # Forward: what varies --------------------------------------------------------------------------------------------

    def _forward(self, op: Op) -> None:
        kind = op.opdef
        if kind in RULES:
            if any(operand in self.marks for operand in differentiable(op)):
                self._mark(op.result)
        elif kind is ops.load:
            if is_active_type(op.result.type) and self._marked(op.operands[0]):
                self._mark(op.result)
        elif kind in (ops.store, ops.fill, ops.accumulate, ops.copy):
            if self._marked(op.operands[0]) and holds_floats(op.operands[1]):
                self._mark(op.operands[1])
        elif kind is ops.call:
            varied = self._positions(op.operands)
            callee = op.attrs["callee"]
            passes = varied or callee in self.callees.crossing
            results, args = self.callees.forward((callee, varied)) if passes else ((), ())
            for k in results:
                self._mark(op.results[k])
            for k in args:
                self._mark(op.operands[k])
            self._share_with_records(op)
        elif kind is ops.ruled:
            if any(self._marked(v) for v in user_rules.varying(self.callees.module, op)):
                for result in op.results:
                    self._mark(result)
        elif kind is ops.foreign:
            if any(self._marked(v) for v in op.operands):
                for v in foreign_outputs(op):
                    self._mark(v)
        elif kind is ops.pack:
            if any(self._marked(v) for v in op.operands):
                self._mark(op.result)
            if op.result in self.marks and any(user.opdef is ops.call for user, _ in op.result.uses):
                for memory in filter(is_reference, op.operands):  # to which the call may store
                    self._mark(memory)
        elif kind is ops.unpack:
            self._unpack(op)
        else:
            for sources, targets in edges(op):
                self._flow(sources, targets)

    def _positions(self, values: Sequence[Value]) -> frozenset[int]:
        return frozenset(k for k, v in enumerate(values) if self._marked(v))

    # Backward: what matters -------------------------------------------------------------------------------------------

    def _backward(self, op: Op) -> None:
        kind = op.opdef
        if kind in RULES:
            if op.result in self.marks:
                for operand in differentiable(op):
                    self._mark(operand)
        elif kind is ops.load:
            if op.result in self.marks:
                self._mark(op.operands[0])
        elif kind in (ops.store, ops.fill, ops.accumulate, ops.copy):
            if self._marked(op.operands[1]):
                self._mark(op.operands[0])
        elif kind is ops.call:
            self._share_with_records(op)
            results = self._positions(op.results)
            args = frozenset(k for k, v in enumerate(op.operands) if is_reference(v) and self._marked(v))
            callee = op.attrs["callee"]
            if results or args or callee in self.callees.crossing:
                for k in self.callees.backward((callee, results, args)):
                    self._mark(op.operands[k])
                if CROSSING in self.callees.module.funcs[callee].attrs:
                    for result in op.results:
                        self._mark(result)
        elif kind is ops.foreign:
            if any(self._marked(v) for v in foreign_outputs(op)):
                for operand in filter(has_floats, op.operands):
                    self._mark(operand)
        elif kind is ops.pack:
            if op.result in self.marks:
                for operand in op.operands:
                    self._mark(operand)
        elif kind is ops.unpack:
            self._unpack(op)
        elif kind is ops.ruled:
            if any(self._marked(r) for r in op.results):
                for operand in user_rules.varying(self.callees.module, op):
                    self._mark(operand)
        else:
            for sources, targets in edges(op):
                self._flow(targets, sources)


def _memrefs(func: Func) -> Iterable[Value]:
    yield from (a for a in func.args if isinstance(a.type, MemRefType))
    for op in func.walk():
        yield from (r for r in op.results if isinstance(r.type, MemRefType))
        for region in op.regions:
            yield from (a for a in region.args if isinstance(a.type, MemRefType))
