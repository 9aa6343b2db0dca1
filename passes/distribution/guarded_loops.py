"""Loops whose iterations do something only where a condition holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op, Value
from adc.ir.nesting import with_enclosing, with_inner
from adc.passes.analysis.effects import Memory
from adc.passes.analysis.kinds import COUNTED, SILENT


@dataclass(frozen=True, eq=False)
class Guarded:
    """A loop with a branch, ``guard``; without its side ``taken``, an iteration changes nothing.

    ``before`` is what the loop does before the branch, and ``after`` what it does then: in an iteration on the other
    side this adds zeros, to what the loop carries or reduces and to elements.
    """

    loop: Op
    guard: Op
    taken: int
    before: Sequence[Op]
    after: Sequence[Op]

    @property
    def condition(self) -> Value:
        return self.guard.operands[0]

    @cached_property
    def needed(self) -> list[Op]:
        """The operations that the condition is made from, in order."""
        wanted, found = {self.condition}, []
        for op in reversed(self.before):
            if not wanted.isdisjoint(op.results):
                found.append(op)
                wanted.update(op.operands)
        return found[::-1]

    @property
    def only_carries(self) -> bool:
        """Whether the loop is done in order, and changes no element."""
        return self.loop.opdef is ops.for_ and not any(
            op.opdef not in SILENT and op.opdef is not ops.load and not op.regions
            for op in self.loop.regions[0].walk()
        )

    def is_legal(self, memory: Memory) -> bool:
        """Whether the condition of an iteration reads nothing that others write. Those of a parallel loop share
        nothing."""
        if self.loop.opdef is ops.parallel:
            return True
        arrays = [op.operands[0] for op in self.needed if op.opdef is ops.load]
        return not any(memory.may_write(op, array) for op in (self.guard, *self.after) for array in arrays)


def find_guarded(loop: Op) -> Guarded | None:
    """``loop`` as an innermost loop of which a branch decides whether an iteration does anything."""
    if loop.opdef not in COUNTED:
        return None
    (body,) = loop.regions
    branches = [op for op in body.ops if op.regions]
    if len(branches) != 1 or branches[0].opdef is not ops.if_:
        return None
    (guard,) = branches
    at = body.ops.index(guard)
    before, after = body.ops[:at], body.ops[at + 1 : -1]
    if any(op.opdef not in SILENT and op.opdef is not ops.load for op in before):
        return None
    if any((op.regions and op.opdef is not ops.if_) or op.opdef is ops.call for op in with_inner(guard)):
        return None
    for taken in (0, 1):
        if len(guard.regions[1 - taken].ops) == 1 and _Idle(loop, guard, taken, after).is_idle():
            return Guarded(loop, guard, taken, before, after)
    return None


class _Idle:
    """Whether iterations whose branch does not go to ``taken`` change nothing."""

    def __init__(self, loop: Op, guard: Op, taken: int, after: Sequence[Op]) -> None:
        self._loop = loop
        self._guard = guard
        self._taken = taken
        self._after = after
        ends = guard.regions[1 - taken].terminator.operands
        self._instead = dict(zip(guard.results, ends, strict=True))  # what the branch gives then
        self._zeros = {value for value, end in self._instead.items() if _is_zero(end)}

    def is_idle(self) -> bool:
        for op in self._after:
            if op.opdef is ops.store:
                if not self._stores_what_is_there(op):
                    return False
            elif op.opdef is ops.accumulate:
                if op.operands[0] not in self._zeros:
                    return False
            elif op.opdef not in SILENT and op.opdef is not ops.load:
                return False
            elif self._is_zero_then(op):
                self._zeros.add(op.result)
        end = self._loop.regions[0].terminator
        if self._loop.opdef is ops.parallel:
            return set(end.attrs["kinds"]) <= {"add"} and self._zeros.issuperset(end.operands)
        carried = self._loop.regions[0].args[1:]
        used = (user for arg in carried for user, _ in arg.uses)
        if not all(user is end or self._is_later(user) for user in used):
            return False
        return all(self._is_kept(v, arg) for v, arg in zip(end.operands, carried, strict=True))

    def _is_later(self, op: Op) -> bool:
        """Whether ``op`` is not before the branch."""
        return any(outer is self._guard or outer in self._after for outer in with_enclosing(op))

    def _is_zero_then(self, op: Op) -> bool:
        kind, values = op.opdef, op.operands
        if kind is ops.select and values[0] is self._guard.operands[0]:
            return _is_zero(values[2 - self._taken])
        if kind in (ops.addf, ops.subf, ops.negf):
            return self._zeros.issuperset(values)
        if kind is ops.mulf:
            return all(v in self._zeros or _is_finite(v) for v in values) and not self._zeros.isdisjoint(values)
        return False

    def _stores_what_is_there(self, store: Op) -> bool:
        """Whether zero is added to an element: then all elements are what they were before the iteration."""
        value, *element = store.operands
        op = value.op
        if op is None or op.opdef not in (ops.addf, ops.subf) or op not in self._after:
            return False
        terms = op.operands if op.opdef is ops.addf else op.operands[:1]
        rest = [v for v in op.operands if v not in self._zeros]
        if len(rest) != 1 or rest[0] not in terms:
            return False
        load = rest[0].op
        return load is not None and load.opdef is ops.load and load in self._after and load.operands == tuple(element)

    def _is_kept(self, value: Value, arg: Value) -> bool:
        """Whether ``value`` is ``arg`` in iterations that change nothing."""
        if value is arg or self._instead.get(value) is arg:
            return True
        op = value.op
        if op is None or op.opdef not in (ops.addf, ops.subf) or op not in self._after:
            return False
        first, second = op.operands
        if second in self._zeros:
            return self._is_kept(first, arg)
        return op.opdef is ops.addf and first in self._zeros and self._is_kept(second, arg)


def _is_zero(value: Value) -> bool:
    return value.type.is_float and constant_of(value) == 0


def _is_finite(value: Value) -> bool:
    known = constant_of(value)
    return known is not None and isfinite(known)
