"""Which values may differ between the ranks that run a function together (``adc.ir.messages``).

A value is *local* if it may; otherwise it is the *same* on all ranks. Arguments are local, except those declared to be
the same (``SAME``). The rank's own number is local, and so is what another rank has sent; the result of a collective
operation is the same. What depends on something local is local: through its operands, the memory it is read from, or
the condition under which it is computed. Memory is judged by its roots, without regard to order.

Collective operations under a local condition are refused: only some ranks would run them, and wait for ever.
"""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import kinds, ops
from adc.ir.alias import Aliasing, returned_memory
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.fixpoint import Fixpoint
from adc.ir.lazy_dataclass import dataclass
from adc.ir.messages import COLLECTIVE, LIBRARY, is_message, is_together
from adc.ir.types import MemRefType, holds_records
from adc.passes.differentiation.activity.flow import edges

SAME = "adc.same"
"""Attribute of an argument: it is the same on all ranks."""


@dataclass(frozen=True)
class Question:
    """A function, which of its arguments are local, and whether it is called under a local condition."""

    callee: str
    local: frozenset[int]
    apart: bool


@dataclass(frozen=True)
class Answer:
    """Which results and which memory of arguments are local after a call."""

    results: frozenset[int]
    args: frozenset[int]


class Locality:
    """What is local in the functions of a module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.returned = returned_memory(module)
        nothing: frozenset[int] = frozenset()
        self.answers = Fixpoint[Question, Answer](self._answer, lambda question: Answer(nothing, nothing))

    def of_entry(self, name: str) -> Answer:
        """The answer for a function that Python calls. Raises for collective operations under local conditions."""
        attrs = self.module.funcs[name].arg_attrs
        local = frozenset(k for k, known in enumerate(attrs) if not known.get(SAME))
        return self.answers(Question(name, local, apart=False))

    def _answer(self, question: Question) -> Answer:
        found = _Analysis(self, self.module.funcs[question.callee], question)
        found.run()
        func = found.func
        results = frozenset(k for k, v in enumerate(func.body.terminator.operands) if found.is_local(v))
        args = frozenset(k for k, v in enumerate(func.args) if isinstance(v.type, MemRefType) and found.is_local(v))
        if COLLECTIVE in func.attrs:
            return Answer(frozenset(), args)
        return Answer(results, args)


class _Analysis:
    """One function for one question. ``marks``: the scalars and the roots of memory that are local."""

    def __init__(self, whole: Locality, func: Func, question: Question) -> None:
        self.whole = whole
        self.func = func
        self.aliasing = Aliasing(func, whole.module, whole.returned)
        self.apart = question.apart
        self.marks: set[Value] = set()
        self.equal = _equal_values(func)
        self.changed = True
        for k in question.local:
            self.mark(func.args[k])

    def run(self) -> None:
        while self.changed:
            self.changed = False
            self._block(self.func.body, self.apart)

    def is_local(self, value: Value) -> bool:
        if isinstance(value.type, MemRefType):
            return not self.marks.isdisjoint(self.aliasing.reach(value))
        return value in self.marks and self.equal.get(value, frozenset()) <= self.marks

    def mark(self, value: Value) -> None:
        found = self.aliasing.reach(value) if isinstance(value.type, MemRefType) else {value}
        if not found <= self.marks:
            self.marks |= found
            self.changed = True

    def _block(self, block: Block, apart: bool) -> None:
        for op in block.ops:
            self._op(op, apart)

    def _op(self, op: Op, apart: bool) -> None:
        if op.regions:
            self._regions(op, apart)
        elif op.opdef is ops.call:
            self._call(op, apart)
        elif op.opdef is ops.foreign:
            self._foreign(op, apart)
        else:
            local = apart or any(map(self.is_local, op.operands))
            if op.opdef is ops.dim and not apart:
                local = self.is_local(op.operands[0])
            if local:
                for result in op.results:
                    self.mark(result)
                if op.opdef.target is not None or op.opdef in _WRITE:
                    for target in _targets(op):
                        self.mark(target)

    def _regions(self, op: Op, apart: bool) -> None:
        inside = apart or self._differs(op)
        for region in op.regions:
            if inside:
                for arg in region.args:
                    self.mark(arg)
            self._block(region, inside)
        for sources, targets in edges(op):
            for source, target in zip(sources, targets, strict=True):
                if self.is_local(source):
                    self.mark(target)
        if inside or self._differs(op):
            for result in op.results:
                self.mark(result)

    def _differs(self, op: Op) -> bool:
        """Whether ranks may take different ways through the regions of an operation."""
        if op.opdef is ops.while_:
            return self.is_local(op.regions[0].terminator.operands[0])
        if op.opdef is ops.if_:
            return self.is_local(op.operands[0])
        return any(map(self.is_local, op.operands[:3]))

    def _call(self, op: Op, apart: bool) -> None:
        callee = op.attrs["callee"]
        if callee not in self.whole.module.funcs or any(map(_has_record, (*op.operands, *op.results))):
            self._mark_all(op)
            return
        local = frozenset(k for k, v in enumerate(op.operands) if self.is_local(v))
        if apart and COLLECTIVE in self.whole.module.funcs[callee].attrs:
            raise _refused(op)
        answer = self.whole.answers(Question(callee, local, apart))
        for k in range(len(op.results)) if apart else answer.results:
            self.mark(op.results[k])
        for k in answer.args:
            self.mark(op.operands[k])

    def _foreign(self, op: Op, apart: bool) -> None:
        symbol = op.attrs["symbol"] if op.attrs["library"] == LIBRARY else None
        if apart and is_message(op) and is_together(op):
            raise _refused(op)
        if symbol in ("size", *SAME_FOR_ALL) and not apart:
            return
        if apart or op.attrs["ordered"] or any(map(self.is_local, op.operands)):
            for result in op.results:
                self.mark(result)
            for k in op.attrs["written"]:
                self.mark(op.operands[k])

    def _mark_all(self, op: Op) -> None:
        for value in (*op.operands, *op.results):
            self.mark(value)


def _equal_values(func: Func) -> dict[Value, frozenset[Value]]:
    """For values that are compared with others where they are computed, such as extents of arrays: the values that they
    equal. If they did not, the run would have ended."""
    found: dict[Value, frozenset[Value]] = {}
    for op in func.walk():
        if op.opdef is not ops.assert_:
            continue
        conditions = [op.operands[0]]
        for condition in conditions:
            made = condition.op
            if made is not None and made.opdef is ops.andi:
                conditions += made.operands
            elif made is not None and made.opdef is ops.cmpi and made.attrs["predicate"] == "eq":
                for one, other in (made.operands, made.operands[::-1]):
                    if one.block is op.parent:
                        found[one] = found.get(one, frozenset()) | {other}
    return found


SAME_FOR_ALL = ("allreduce", "allgather", "bcast")
"""The symbols of operations that give the same result on all ranks."""

_WRITE = frozenset({ops.store, ops.fill, ops.copy, ops.accumulate, ops.matmul, ops.grow, ops.pack})


def _targets(op: Op) -> Sequence[Value]:
    if op.opdef is ops.matmul:
        return op.operands[2:3]
    if op.opdef in (ops.grow, ops.pack):
        return op.operands
    return op.operands[1:2]


def _has_record(value: Value) -> bool:
    return holds_records(value.type)


def _refused(op: Op) -> Exception:
    return kinds.COLLECTIVE_APART(
        "all ranks have to do this at once, and the condition around it may differ between ranks", op.loc
    )
