"""What differs between the iterations of a parallel loop that are to be lanes, and which arrays of theirs do."""

from __future__ import annotations

from collections.abc import Iterator

from adc.ir import ops
from adc.ir.core import Block, Op, Value
from adc.ir.nesting import defined_in, enclosing, with_inner
from adc.ir.types import MemRefType
from adc.passes.analysis.effects import Memory
from adc.passes.analysis.kinds import COUNTED, ELEMENT, ELEMENT_WRITES, PURE, STRUCTURED, TARGET, TERMINATORS, VIEWS

WIDENED = (ops.subview, ops.transpose, ops.reshape, ops.cast)
"""Views that an array with one more dimension has, too."""


class Unfit(Exception):
    """The loop does something that lanes cannot share."""


class Variation:
    """``varying``: the numbers that differ between iterations of ``loop``. The rest is *uniform*. ``apart``: branches
    and loops that each iteration goes through by itself; of the others only what is inside may differ.

    Arrays that are made in the loop are told apart by classes: those that may share memory are in one. An array differs
    if anything stored to its class does. Arrays from outside are either read or written, and written by element; they
    may be in a class that is the same for all.
    """

    def __init__(self, loop: Op, memory: Memory) -> None:
        self.loop = loop
        self.body = loop.regions[0]
        self.varying: set[Value] = {self.body.args[0]}
        self.apart: set[Op] = set()
        self._parent: dict[Value, Value] = {}
        self._changed = True
        self.inner = defined_in(self.body)
        for op in self.body.walk():
            self._check(op, memory)
            for value, other in _linked(op):
                if isinstance(value.type, MemRefType):
                    self._join(value, other)
        self._members: dict[Value, list[Value]] = {}
        for value in {*self.inner, *self._parent, *self._parent.values()}:
            if isinstance(value.type, MemRefType):
                self._members.setdefault(self.of(value), []).append(value)
        outer = {v for members in self._members.values() for v in members if v not in self.inner}
        if any(memory.may_write(loop, v) for v in outer):
            raise Unfit
        self._outer = set(map(self.of, outer))  # representatives of classes with arrays from outside
        self._different: set[Value] = set()  # representatives of the classes that differ
        while self._changed:
            self._changed = False
            self._block(self.body, apart=False)
        for op in self.body.walk():
            self._check_array(op)

    # Classes of arrays ------------------------------------------------------------------------------------------------

    def of(self, array: Value) -> Value:
        """The representative of the class of an array."""
        while array in self._parent:
            array = self._parent[array]
        return array

    def _join(self, value: Value, other: Value) -> None:
        a, b = self.of(value), self.of(other)
        if a is not b:
            self._parent[a] = b

    def differs(self, value: Value) -> bool:
        """Whether a number, or what is in an array, may differ between iterations."""
        if isinstance(value.type, MemRefType):
            return self.of(value) in self._different
        return value in self.varying

    # What the loop may contain ----------------------------------------------------------------------------------------

    def _check(self, op: Op, memory: Memory) -> None:
        kind = op.opdef
        if kind in TERMINATORS or kind in STRUCTURED or kind in (ops.alloc, ops.bound, ops.assert_):
            if kind is ops.alloc and isinstance(op.result.type.element, MemRefType):  # type: ignore[attr-defined]
                raise Unfit
            return
        written = op.operands[1] if kind in TARGET else None
        if written is not None and written not in self.inner and (kind is not ops.store or self._is_read(written)):
            raise Unfit
        if kind in (ops.load, ops.copy):
            if op.operands[0] not in self.inner and memory.may_write(self.loop, op.operands[0]):
                raise Unfit
        elif kind is ops.dealloc:
            if op.operands[0] not in self.inner:
                raise Unfit
        elif kind not in TARGET and (kind not in PURE or kind is ops.ruled):
            raise Unfit

    def _is_read(self, array: Value) -> bool:
        """Whether anything but stores to elements uses an array from outside in the loop."""
        users = [(user, k) for user, k in array.uses if any(around is self.loop for around in enclosing(user.parent))]
        return any(not (user.opdef is ops.store and k == 1) and user.opdef is not ops.dim for user, k in users)

    def stores_outside(self, op: Op) -> bool:
        """Whether an operation, or one in it, stores to an array from outside."""
        return any(o.opdef is ops.store and o.operands[1] not in self.inner for o in with_inner(op))

    def _check_array(self, op: Op) -> None:
        """Arrays that differ get an axis for lanes, which only accesses to elements know of, and what sets them all."""
        if op in self.apart and op.results and self.stores_outside(op):
            raise Unfit
        kind, together = op.opdef, not self._is_apart(op.parent)
        for k, value in enumerate(op.operands):
            if not isinstance(value.type, MemRefType) or not self.differs(value) or self.is_private(value):
                continue
            if ELEMENT.get(kind) == k or kind is ops.dim:
                continue
            if not together or kind not in (*WIDENED, ops.fill, ops.copy, ops.dealloc, ops.yield_, ops.for_):
                raise Unfit
            if kind in WIDENED and any(map(self.differs, op.operands[1:])):
                raise Unfit

    def is_private(self, array: Value) -> bool:
        """Whether an iteration makes an array inside something that it goes through by itself, and uses it only there.
        """
        return all(v.block is not None and self._is_apart(v.block) for v in self._members[self.of(array)])

    def _is_apart(self, block: Block | None) -> bool:
        return any(around in self.apart for around in enclosing(block))

    # What differs -----------------------------------------------------------------------------------------------------

    def _vary(self, value: Value) -> None:
        if isinstance(value.type, MemRefType):
            of = self.of(value)
            if of in self._outer:
                raise Unfit
            if of in self._members and of not in self._different:
                self._different.add(of)
                self._changed = True
        elif value not in self.varying:
            self.varying.add(value)
            self._changed = True

    def _block(self, block: Block, *, apart: bool) -> None:
        for op in block.ops[:-1]:
            self._op(op, apart=apart)

    def _op(self, op: Op, *, apart: bool) -> None:
        kind = op.opdef
        if kind in STRUCTURED:
            self._structured(op, apart=apart)
        elif kind is ops.alloc:
            if apart:
                self._vary(op.result)
            elif any(map(self.differs, op.operands)):
                raise Unfit
        elif kind in ELEMENT_WRITES or kind in (ops.fill, ops.copy):
            if apart or any(self.differs(v) for k, v in enumerate(op.operands) if k != 1):
                self._vary(op.operands[1])
        elif kind is ops.dim:
            if apart and self.is_private(op.operands[0]):
                self._vary(op.result)
        elif any(map(self.differs, op.operands)) or (apart and op.results and kind is not ops.constant):
            for result in op.results:
                self._vary(result)

    def _structured(self, op: Op, *, apart: bool) -> None:
        if not apart and op not in self.apart:
            control = op.operands[: 1 if op.opdef is ops.if_ else 3]
            if any(map(self.differs, control)):
                self.apart.add(op)
                self._changed = True
        inside = apart or op in self.apart
        if inside:
            for region in op.regions:
                for v in region.args:
                    self._vary(v)
            for result in op.results:
                self._vary(result)
        for region in op.regions:
            self._block(region, apart=inside)
        for value, other in _linked(op):
            for a, b in ((value, other), (other, value)):
                if self.differs(a) and _is_later(b, op):
                    self._vary(b)


def _is_later(value: Value, op: Op) -> bool:
    """Whether a value is a result of an operation, or an argument of its block."""
    return value.op is op or (value.op is None and value.block is not None and value.block.parent_op is op)


def _linked(op: Op) -> Iterator[tuple[Value, Value]]:
    """Pairs of values of which the second is, or may be, the first."""
    if op.opdef in VIEWS:
        yield op.operands[0], op.result
    elif op.opdef is ops.select and isinstance(op.result.type, MemRefType):
        yield op.operands[1], op.result
        yield op.operands[2], op.result
    elif op.opdef is ops.if_:
        for region in op.regions:
            yield from zip(region.terminator.operands, op.results, strict=True)
    elif op.opdef in COUNTED:
        (body,) = op.regions
        yield from zip(op.operands[3:], op.results, strict=True)
        yield from zip(body.terminator.operands, op.results, strict=True)
        if op.opdef is ops.for_:
            for argument, initial, end in zip(body.args[1:], op.operands[3:], body.terminator.operands, strict=True):
                yield initial, argument
                yield end, argument
