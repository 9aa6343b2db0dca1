"""What was stored into a slot of a container of memrefs: a tape from which a reverse sweep gets memory back."""

from __future__ import annotations

from typing import NamedTuple

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Block, Op, Value
from adc.ir.nesting import enclosing
from adc.ir.opdef import Trait

_COUNTED = ops.having(Trait.COUNTED)
_KEPT = frozenset({ops.load, ops.dim, ops.dealloc})  # what leaves the slots of a container as they are


class Slots(NamedTuple):
    """Slots of containers that one iteration has filled: the subscripts of loads and of the stores."""

    loaded: tuple[Value, ...]
    stored: tuple[Value, ...]


def filled_by(container: Value) -> Op | None:
    """The one store that fills slots of ``container``, each at most once, in an iteration that its subscripts tell from
    all others; None if there is no such store."""
    made = container.op
    if made is not None and made.opdef is ops.alloc:
        store = _only_store(container, _KEPT)
        return store if store is not None and _numbers_iterations(store, made.parent) else None
    if made is not None and made.opdef is ops.while_:
        return _grown_by(made, container)
    return None


def _only_store(container: Value, others: frozenset[object]) -> Op | None:
    """The store into ``container``, if nothing else but ``others`` uses it."""
    found = None
    for op, at in container.uses:
        if op.opdef is ops.store and at == 1:
            if found is not None:
                return None
            found = op
        elif op.opdef not in others:
            return None
    return found


def _numbers_iterations(store: Op, home: Block | None) -> bool:
    """Whether the counters of all loops around ``store`` inside ``home`` are subscripts."""
    at = store.operands[2:]
    block = store.parent
    for outer in enclosing(block):
        if block is home:
            return True
        if outer.opdef in _COUNTED:
            counters = outer.regions[0].args[: 1 if outer.opdef is ops.for_ else None]
            if not all(any(counter is v for v in at) for counter in counters):
                return False
        elif outer.opdef is not ops.if_:
            return False
        block = outer.parent
    return block is home


def _grown_by(loop: Op, result: Value) -> Op | None:
    """The same for a result of a ``scf.while`` that begins without slots and grows by one in each iteration."""
    (before, after), position = loop.regions, result.index
    carried = _carried(loop, position)
    if carried is None or any(op.opdef not in _KEPT for op, _ in result.uses):
        return None
    start, uses = loop.operands[carried], after.args[position].uses
    if start.op is None or start.op.opdef is not ops.undef or len(uses) != 1 or len(before.args[carried].uses) != 1:
        return None
    ((grow, _),) = uses
    yielded = after.terminator.operands[carried]
    if grow.opdef is not ops.grow or yielded is not grow.results[0] or grow.parent is not after:
        return None
    if sum(op is after.terminator for op, _ in yielded.uses) != 1:
        return None
    store = _only_store(yielded, _KEPT | {ops.yield_})
    if store is None or len(store.operands) != 3 or not _counts(loop, store.operands[2]):
        return None
    return store if _numbers_iterations(store, after) else None


def _carried(loop: Op, position: int) -> int | None:
    """Where the loop carries the value that it passes to its body, and returns, at ``position`` as it is."""
    before = loop.regions[0]
    passed = before.terminator.operands[1 + position]
    return next((k for k, arg in enumerate(before.args) if arg is passed), None)


def _counts(loop: Op, value: Value) -> bool:
    """Whether ``value`` is one that the loop increments by one in each iteration."""
    after = loop.regions[1]
    if value.owner is not after or (carried := _carried(loop, value.index)) is None:
        return False
    step = after.terminator.operands[carried].op
    if step is None or step.opdef is not ops.addi or not any(v is value for v in step.operands):
        return False
    return any(constant_of(v) == 1 for v in step.operands)
