"""Memory that is reached by one name only, and where the last use of that name is."""

from __future__ import annotations

import enum
from collections.abc import Container, Iterator

from adc.ir import ops
from adc.ir.core import Block, Op, Value
from adc.ir.nesting import with_enclosing
from adc.ir.types import MemRefType, RecordType, holds_memory
from adc.passes.analysis.kinds import LOOPS, VIEWS

_ACCESSES = frozenset({ops.load, ops.fill, ops.copy, ops.accumulate, ops.dim, ops.matmul})
"""Operations that use an array and do not make it reachable in another way."""


def users_of(memref: Value, passing: Container[Op] = ()) -> list[Op] | None:
    """The operations that read or change the memory of ``memref`` by this name or by views of it, except ``passing``,
    which hand it on. None if it can be reached in another way too."""
    found: list[Op] = []
    for user, position in memref.uses:
        if user in passing:
            continue
        found.append(user)
        if user.opdef in _ACCESSES or (user.opdef is ops.store and position == 1):
            continue
        if user.opdef in VIEWS:
            inner = users_of(user.result)
            if inner is None:
                return None
            found += inner
        elif user.opdef is not ops.call or not _keeps_nothing(user):
            return None
    return found


def writers_of(memref: Value) -> list[Op]:
    """The operations that may write to ``memref``, by its name or views; those that hand it on count as well."""
    found: list[Op] = []
    for user, position in memref.uses:
        if user.opdef in VIEWS:
            found += writers_of(user.result)
        elif user.opdef not in (ops.load, ops.dim) and (user.opdef is not ops.copy or position != 0):
            found.append(user)
    return found


def only_read(memref: Value) -> bool:
    """Whether the memory of ``memref`` is only read, by this name, by views of it and as results of branches, and
    nothing else is done to it."""
    for user, position in memref.uses:
        branch = user.parent.parent_op if user.opdef is ops.yield_ and user.parent is not None else None
        if user.opdef in VIEWS:
            passed = [user.result]
        elif branch is not None and branch.opdef is ops.if_:
            passed = [branch.results[position]]
        elif user.opdef in (ops.load, ops.dim) or (user.opdef is ops.copy and position == 0):
            continue
        else:
            return False
        if not all(map(only_read, passed)):
            return False
    return True


def _keeps_nothing(call: Op) -> bool:
    """Whether no result of a call can be memory that it was given, and nothing that it was given can hold such
    memory."""
    if any(isinstance(r.type, MemRefType | RecordType) for r in call.results):
        return False
    return not any(holds_memory(v.type) for v in call.operands)


def dies_at(memref: Value, last: Op) -> bool:
    """Whether the memory of an allocation is not used any more once ``last``, one of its users, has begun, and ``last``
    begins only once for each time that it is allocated."""
    alloc = memref.op
    if alloc is None or alloc.opdef is not ops.alloc or sum(user is last for user, _ in memref.uses) != 1:
        return False
    around = list(_until(last, alloc.parent))
    if around[-1].parent is not alloc.parent or any(op.opdef in LOOPS for op in around[1:]):
        return False
    elsewhere = {user for user, _ in memref.uses if user is not last and _order(user, around) is Order.INSTEAD}
    users = users_of(memref, {last, *elsewhere})
    return users is not None and all(_order(user, around) is Order.BEFORE for user in users)


def is_behind(op: Op, last: Op) -> bool:
    """Whether ``op`` may run after ``last`` has begun."""
    return _order(op, list(with_enclosing(last))) is Order.LATER


def _until(op: Op, block: Block | None) -> Iterator[Op]:
    """``op`` and the operations around it, up to the one in ``block``."""
    for one in with_enclosing(op):
        yield one
        if one.parent is block:
            return


class Order(enum.Enum):
    """When an operation runs, seen from another one: only before it, in the other branch, or possibly later."""

    BEFORE = enum.auto()
    INSTEAD = enum.auto()
    LATER = enum.auto()


def _order(user: Op, around: list[Op]) -> Order:
    """When ``user`` runs, seen from the first of ``around``; the others are around that one."""
    for one in with_enclosing(user):
        for other in around:
            if one.parent is other.parent and one.parent is not None:
                if one is other:
                    return Order.INSTEAD if one.opdef is ops.if_ else Order.LATER
                before = one.parent.ops.index(one) < one.parent.ops.index(other)
                return Order.BEFORE if before else Order.LATER
    return Order.LATER
