"""What in a function leads to what: the graph on which activity is reachability.

Nodes are float values, records, and the roots of memory (see ``adc.ir.alias``), without regard to the order of
operations. Forward, an edge says that the second varies if the first does; backward, that the second matters if the
first does. Every rule has the form "if any of these is marked, all of those are". So what several seeds reach is the
union of what each reaches, and a callee is known by what each of its arguments or results leads to by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from typing import Literal

from adc.ir import ops
from adc.ir.alias import Aliasing, returned_memory
from adc.ir.attached import attached, is_float
from adc.ir.core import Func, Module, Op, Value
from adc.ir.fixpoint import Fixpoint
from adc.ir.lazy_dataclass import dataclass
from adc.ir.messages import CROSSING
from adc.ir.types import MemRefType, RecordType, holds_records
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
from adc.passes.differentiation.rules import RULES, differentiable

Port = tuple[Literal["argument", "result"], int]
"""Where marks enter a function, or leave it."""


@dataclass(frozen=True)
class _Question:
    """What a port of a function leads to. None: what messages from other ranks bring."""

    function: str
    backward: bool
    port: Port | None


class Flows:
    """The flow graphs of a module's functions, made when they are asked for, and what calls lead to: least fixed points
    where functions are recursive."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.returned = returned_memory(module)
        self.crossing = Messages.asked(module).crossing
        self._graphs: dict[tuple[Func, bool], FlowGraph] = {}
        self._aliasing: dict[Func, Aliasing] = {}
        nothing: frozenset[Port] = frozenset()
        self._through = Fixpoint[_Question, frozenset[Port]](self._compute, lambda question: nothing)

    def aliasing(self, func: Func) -> Aliasing:
        found = self._aliasing.get(func)
        if found is None:
            found = self._aliasing[func] = Aliasing(func, self.module, self.returned)
        return found

    def graph(self, func: Func, backward: bool) -> FlowGraph:
        found = self._graphs.get((func, backward))
        if found is None:
            found = FlowGraph(func, self.aliasing(func), backward)
            self._graphs[func, backward] = found
            for op in func.walk():
                found.add(op, self)
        return found

    def through(self, call: Op, port: Port | None, backward: bool) -> Iterable[Value]:
        """The operands and results of a call to which one of them leads."""
        for kind, k in self._through(_Question(str(call.attrs["callee"]), backward, port)):
            yield call.operands[k] if kind == "argument" else call.results[k]

    def reached(self, func: Func, seeds: Iterable[Value], backward: bool) -> set[Value]:
        """The nodes that these values lead to, themselves included."""
        graph = self.graph(func, backward)
        marks: set[Value] = set()
        work: list[Value] = []
        asked: set[tuple[Op, Port | None]] = set()

        def mark(nodes: AbstractSet[Value]) -> None:
            new = nodes - marks
            marks.update(new)
            work.extend(new)

        def ask(call: Op, port: Port | None) -> None:
            if (call, port) not in asked:
                asked.add((call, port))
                for value in self.through(call, port, backward):
                    mark(graph.marked_with(value))

        for value in (*seeds, *graph.always):
            mark(graph.marked_with(value))
        for call in graph.crossing:
            ask(call, None)
        while work:
            node = work.pop()
            for targets in graph.next.get(node, ()):
                mark(targets)
            for call, port in graph.calls.get(node, ()):
                ask(call, port)
        return marks

    def _compute(self, question: _Question) -> frozenset[Port]:
        func = self.module.funcs[question.function]
        rules = attached(func)
        if rules is not None:  # whatever the function computes
            known = frozenset((*rules.cotangents, *rules.tangents, *rules.constant))
            return _of_rule(func, known, question)
        graph, returned, seeds = self.graph(func, question.backward), func.body.terminator.operands, []
        if question.port is not None:
            kind, k = question.port
            seeds.append(func.args[k] if kind == "argument" else returned[k])
        marks = self.reached(func, seeds, question.backward)
        arguments = [k for k, a in enumerate(func.args) if graph.is_in(a, marks)]
        if question.backward:
            return frozenset(("argument", k) for k in arguments)
        results = [k for k, v in enumerate(returned) if graph.is_in(v, marks)]
        written = [k for k in arguments if is_reference(func.args[k])]
        return frozenset([*(("result", k) for k in results), *(("argument", k) for k in written)])


def _of_rule(func: Func, known: frozenset[int], question: _Question) -> frozenset[Port]:
    """What a port of a function with derivative rules leads to. ``known``: the arguments that its rules know."""
    port, crosses = question.port, CROSSING in func.attrs
    arguments = frozenset[Port](("argument", k) for k in known)
    if question.backward:
        return arguments if crosses or (port is not None and port[0] == "result") else frozenset()
    results = frozenset[Port](("result", k) for k, t in enumerate(func.result_types) if is_float(t))
    if crosses:
        return results | arguments
    return results if port is not None and port[1] in known else frozenset()


@dataclass(eq=False)
class FlowGraph:
    """``next``: the sets of nodes to which a node leads; ``calls``: the calls that it enters, and where; ``always``:
    the values that are marked in any case, and ``crossing``: the calls that mark some in any case."""

    func: Func
    aliasing: Aliasing
    backward: bool
    next: dict[Value, list[AbstractSet[Value]]] = field(default_factory=dict)
    calls: dict[Value, list[tuple[Op, Port]]] = field(default_factory=dict)
    always: list[Value] = field(default_factory=list)
    crossing: list[Op] = field(default_factory=list)

    def nodes(self, value: Value) -> AbstractSet[Value]:
        """The nodes any of which makes a value count as marked: for a memref its roots, and those of what it holds."""
        t = value.type
        if not isinstance(t, MemRefType):
            return {value}
        return self.aliasing.reach(value) if isinstance(t.element, MemRefType) else self.aliasing.roots(value)

    def marked_with(self, value: Value) -> AbstractSet[Value]:
        """The nodes that are marked if a value is."""
        return self.nodes(value) if isinstance(value.type, MemRefType) or is_active_type(value.type) else set()

    def is_in(self, value: Value, marks: set[Value]) -> bool:
        """Whether a value counts as marked."""
        return not marks.isdisjoint(self.nodes(value))

    def add(self, op: Op, flows: Flows) -> None:
        """The rules of an operation."""
        kind, lead = op.opdef, self._lead
        if kind in RULES:
            lead(differentiable(op), [op.result])
        elif kind is ops.load:
            if is_active_type(op.result.type):
                lead([op.operands[0]], [op.result])
        elif kind in (ops.store, ops.fill, ops.accumulate, ops.copy):
            if self.backward or holds_floats(op.operands[1]):
                lead([op.operands[0]], [op.operands[1]])
        elif kind is ops.call:
            self._call(op, flows)
        elif kind is ops.ruled:
            lead(user_rules.varying(flows.module, op), op.results)
        elif kind is ops.foreign:
            lead(list(filter(has_floats, op.operands)) if self.backward else op.operands, foreign_outputs(op))
        elif kind is ops.pack:
            lead(op.operands, [op.result])
            if not self.backward and any(user.opdef is ops.call for user, _ in op.result.uses):
                # The call may store to the memory in the record.
                self._lead_on([op.result], list(filter(is_reference, op.operands)))
        elif kind is ops.unpack:
            # What is stored in memory that a record holds is in the record too, and is found by whoever unpacks it
            # next.
            self._lead_on(both := [*op.operands, *op.results], both)
        else:
            for sources, targets in edges(op):
                for source, target in zip(sources, targets, strict=True):
                    if is_active_type(source.type):  # memory has its roots
                        lead([source], [target])

    def _lead(self, sources: Sequence[Value], targets: Sequence[Value]) -> None:
        """Operations compute ``targets`` from ``sources``."""
        if self.backward:
            sources, targets = targets, sources
        self._lead_on(sources, targets)

    def _lead_on(self, sources: Sequence[Value], targets: Sequence[Value]) -> None:
        """If any of ``sources`` is marked, all of ``targets`` are."""
        marked = frozenset[Value]().union(*map(self.marked_with, targets))
        if marked:
            for source in frozenset[Value]().union(*map(self.nodes, sources)):
                self.next.setdefault(source, []).append(marked)

    def _call(self, op: Op, flows: Flows) -> None:
        """A record may hold memory that the call returns beside it, such as an array that it makes and that its
        reverse sweep has to find again. So what is stored there later is in the record, too. A record that a call makes
        may also hold the contents of a record that the call is given."""
        if any(holds_records(r.type) for r in op.results):
            together = [r for r in op.results if isinstance(r.type, RecordType) or holds(r)]
            together += [v for v in op.operands if holds_records(v.type)]
            self._lead_on(together, together)
        if op.attrs["callee"] in flows.crossing:
            self.crossing.append(op)
            if self.backward and CROSSING in flows.module.funcs[op.attrs["callee"]].attrs:
                self.always += op.results
        for k, value in enumerate(op.operands):
            if not self.backward or is_reference(value):
                self._enter(op, ("argument", k), value)
        if self.backward:
            for k, value in enumerate(op.results):
                self._enter(op, ("result", k), value)

    def _enter(self, call: Op, port: Port, value: Value) -> None:
        for node in self.nodes(value):
            self.calls.setdefault(node, []).append((call, port))
