"""Operations of programs on lists that are kept in a pool. See ``prelude.python_rows``."""

from __future__ import annotations

from collections.abc import Callable

from adc.frontend import abstract
from adc.frontend.control.branches import branch
from adc.frontend.control.jumps import left
from adc.frontend.control.thrown import raise_if_run
from adc.frontend.data.compounds import Contents, Handle
from adc.frontend.data.values import AbstractValue, Ref, Scalar
from adc.frontend.errors import refuse
from adc.frontend.forms import LIST
from adc.frontend.frame import Frame
from adc.frontend.numeric.nests import serial
from adc.frontend.objects import columns, growing, heap, list_pools, pools, rows
from adc.frontend.traps import trap_unless, within
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import i64

LEAST = 4  # items that there is room for, when a list has got one


def _number(frame: Frame, v: Handle, name: str) -> Value:
    found = pools.field(frame, v, name)
    assert isinstance(found, Scalar)
    return found.value


def length(frame: Frame, v: Handle) -> Value:
    return _number(frame, v, "size")


def _cells(frame: Frame, v: Handle) -> Handle:
    found = pools.field(frame, v, "first")
    assert isinstance(found, Handle)
    return found


def cell(frame: Frame, v: Handle, k: Value) -> Handle:
    """The place of item ``k``."""
    first = _cells(frame, v)
    return Handle((first.pool, Scalar(first.number + k, i64)), first.form)


def item(frame: Frame, v: Handle, k: Value) -> AbstractValue:
    """Item ``k``, which must exist."""
    if list_pools.item_of(frame, _cells(frame, v).pool) == list_pools.NOTHING:
        raise_if_run(frame, IndexError, "list index out of range")  # none of these lists ever has items
        raise refuse(
            current_loc(),
            "nothing is known yet of the items of this list",
            "append to it in the program before items are read",
            kind=kinds.TYPE_DIFFERS,
        )
    return pools.field(frame, cell(frame, v, k), "value")


def read(frame: Frame, v: Handle, index: Value) -> AbstractValue:
    """``v[index]``."""
    return item(frame, v, within(index, length(frame, v)))


def _let_hold(frame: Frame, v: Handle, value: AbstractValue) -> None:
    found = list_pools.type_of(frame, Contents((value,), LIST))
    assert isinstance(found, abstract.Abstract)
    list_pools.let_hold(frame, v.form.cls, _cells(frame, v).pool, found)


def write(frame: Frame, v: Handle, index: Value, value: AbstractValue) -> None:
    """``v[index] = value``."""
    _let_hold(frame, v, value)
    pools.store(frame, cell(frame, v, within(index, length(frame, v))), "value", value)


def append(frame: Frame, v: Handle, value: AbstractValue) -> None:
    """``v.append(value)``."""
    _let_hold(frame, v, value)
    size, room = length(frame, v), _number(frame, v, "room")
    more = ops.maxsi(room + room, const_index(LEAST))
    shapes = columns.shapes(columns.parts_inside(frame, value, list_pools.item_of(frame, _cells(frame, v).pool)))

    def move() -> None:
        old = _cells(frame, v)
        first = list_pools.reserved(frame, old.pool, more, shapes)
        now = heap.contents(frame, old.pool)
        serial([size], lambda i: growing.move(frame, now, old.number + i[0], now, first + i[0]))
        _place(frame, v, old, first, more)

    branch(frame, ops.cmpi(size, room, predicate="eq"), move, lambda: None)
    pools.store(frame, cell(frame, v, size), "value", value)
    pools.store(frame, v, "size", Scalar(size + 1, i64))


def _place(frame: Frame, v: Handle, old: Handle, first: Value, room: Value) -> None:
    pools.store(frame, v, "first", Handle((old.pool, Scalar(first, i64)), old.form))
    pools.store(frame, v, "room", Scalar(room, i64))


def become(frame: Frame, v: Handle, ref: Ref) -> None:
    """Give a list the items of another one."""
    held = heap.contents(frame, ref)
    found = list_pools.type_of(frame, held)
    if found is not None:
        list_pools.let_hold(frame, v.form.cls, _cells(frame, v).pool, found)
    count = rows.length(held) if rows.is_growing(held) else const_index(len(held.items))

    def move() -> None:
        old = _cells(frame, v)
        _place(frame, v, old, list_pools.reserved(frame, old.pool, count, None), count)

    branch(frame, ops.cmpi(count, _number(frame, v, "room"), predicate="sgt"), move, lambda: None)
    first = _cells(frame, v)
    list_pools.fill(frame, first.pool, first.number, held)
    growing.assign(frame, first.pool, heap.contents(frame, first.pool))
    pools.store(frame, v, "size", Scalar(count, i64))


def gone_through(frame: Frame, v: Handle) -> tuple[Value, Callable[[Value], AbstractValue]]:
    """A list's length, and its items. They may change while a loop goes through them, but not their number:
    ``check_lengths``."""
    count, begun = length(frame, v), heap.contents(frame, v.pool)
    frame.heap.begun += 1
    entry = (frame.heap.begun, v, count, begun)

    def at(k: Value) -> AbstractValue:
        frame.heap.gone_through.append(entry)
        if heap.contents(frame, v.pool) is not begun:
            check_length(frame, v, count)
        return item(frame, v, k)

    return count, at


def check_length(frame: Frame, v: Handle, count: Value, unless: Value | None = None) -> None:
    same = ops.cmpi(length(frame, v), count, predicate="eq")
    if unless is not None:
        same = ops.ori(same, unless)
    trap_unless(same, "RuntimeError", "a list changed its length while a loop went through it: go through list(it)")


def check_lengths(frame: Frame, first: int, begun_ahead: int) -> None:
    """After a loop, check that the lists in pools that it went through have the same length as before. ``first``: how
    many items had been asked for when it began; ``begun_ahead``: how many lists were begun ahead of its body.

    Lists that were copied or summed for its iterable may change, and those that its body goes through are none of its
    own. What happens on the way to a break or a return is not checked.
    """
    has_left = left(frame.env)
    if has_left is True:
        return
    unless = has_left if isinstance(has_left, Value) else None
    asked = {entry[0]: entry for entry in frame.heap.gone_through[first:]}
    for number, v, count, begun in asked.values():
        if number <= begun_ahead and heap.contents(frame, v.pool) is not begun:
            check_length(frame, v, count, unless)
