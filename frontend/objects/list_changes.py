"""Operations of programs on lists of run-time length, besides appending."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.frontend import abstract
from adc.frontend.data.compounds import Contents
from adc.frontend.data.dims import dim_value
from adc.frontend.data.values import AbstractValue, Array, Ref
from adc.frontend.errors import refuse
from adc.frontend.forms import LIST
from adc.frontend.frame import Frame, discard
from adc.frontend.numeric.nests import nest, serial
from adc.frontend.objects import columns, counts, growing, heap, item_shapes, rows
from adc.frontend.objects.merge import Clash, join
from adc.frontend.traps import trap_unless, within
from adc.ir import kinds, ops
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import current_loc, insert_at
from adc.ir.core import Block, Value


def extend(frame: Frame, ref: Ref, count: Value, item: Callable[[Value], AbstractValue]) -> None:
    """Append ``item(0)``, ..., ``item(count - 1)`` to any list."""
    scratch = Block()
    with insert_at(scratch):
        sample = item(const_index(0))
        try:
            wanted = rows.item_type(frame, sample)
            before = rows.type_of_items(frame, heap.contents(frame, ref))
            wanted = wanted if before is None else join(before, wanted)
        except Clash as clash:
            raise growing.not_together(frame, f"this list cannot be extended: {clash}", clash.help) from None
        shapes = columns.shapes(columns.parts(frame, sample, wanted))
    discard(scratch)
    held = growing.converted(frame, heap.contents(frame, ref), wanted, Contents((sample,), LIST))
    if columns.has_arrays(wanted):
        known = columns.usable(shapes)
        if None in known:
            message = "cannot extend a list of arrays whose length is known at run time only by these"
            raise refuse(current_loc(), message, "append the arrays in a loop", kind=kinds.UNSUPPORTED_CALL)
        held = growing.with_room(frame, held, count, 1, known)
    else:
        held = growing.with_room(frame, held, count)
    end = rows.length(held)
    serial([count], lambda i: growing.write(frame, held, end + i[0], item(i[0])))
    growing.assign(frame, ref, rows.resized(held, end + count))


def position(held: Contents, index: Value) -> Value:
    """A checked subscript; negative ones count from the end."""
    return within(index, rows.length(held))


def store(frame: Frame, ref: Ref, index: Value, item: AbstractValue) -> None:
    """``ref[index] = item``."""
    held = heap.contents(frame, ref)
    growing.check_unshared(frame, item)
    now = growing.widened(frame, held, item)
    k = position(now, index)
    rows.check_pools(now, item)
    found = columns.parts(frame, item, rows.row_of(now))
    counts.check_store(frame, ref, now, columns.shapes(found))
    now = growing.shaped(frame, ref.key, now, columns.shapes(found))
    columns.check_shapes(rows.buffers(now), columns.shapes(found))
    growing.assign(frame, ref, now)
    columns.write(frame, rows.buffers(now), k, found)


def pop(frame: Frame, ref: Ref, index: Value | None) -> AbstractValue:
    """``ref.pop(index)``: the items after it shift left."""
    held = heap.contents(frame, ref)
    count = rows.length(held)
    some = ops.cmpi(count, const_index(0), predicate="sgt")
    trap_unless(some, "IndexError", "pop from empty list")
    last = count - 1
    at = last if index is None else position(held, index)
    found = growing.load(frame, held, at)
    if index is not None and constant_of(index) != -1:
        serial([last - at], lambda i: growing.move(frame, held, at + i[0] + 1, held, at + i[0]))
    growing.assign(frame, ref, rows.resized(held, last))
    return found


def insert(frame: Frame, ref: Ref, index: Value, item: AbstractValue) -> None:
    """``ref.insert(index, item)``: the items from there on shift right."""
    growing.check_unshared(frame, item)
    now = growing.widened(frame, heap.contents(frame, ref), item)
    rows.check_pools(now, item)
    found = columns.parts(frame, item, rows.row_of(now))
    counts.check_append(frame, ref, now, columns.shapes(found))
    now = growing.shaped(frame, ref.key, now, columns.shapes(found))
    held = growing.with_room(frame, now, const_index(1), growing.FIRST_ROOM, columns.shapes(found))
    count, zero = rows.length(held), const_index(0)
    negative = ops.cmpi(index, zero, predicate="slt")
    at = ops.select(negative, ops.maxsi(index + count, zero), ops.minsi(index, count))
    serial([count - at], lambda i: growing.move(frame, held, count - i[0] - 1, held, count - i[0]))
    columns.write(frame, rows.buffers(held), at, found)
    growing.assign(frame, ref, rows.resized(held, count + 1))


def clear(frame: Frame, ref: Ref) -> None:
    held = heap.contents(frame, ref)
    growing.assign(frame, ref, rows.resized(held, const_index(0)))


def reverse(frame: Frame, ref: Ref) -> None:
    """``ref.reverse()``."""
    held = heap.contents(frame, ref)
    count = rows.length(held)
    made = growing.allocated(
        frame, rows.row_of(held), count, count, item_shapes.shapes_in(held), rows.pools(held)
    )
    nest([count], lambda i: growing.move(frame, held, i[0], made, count - 1 - i[0]))
    growing.assign(frame, ref, made)


def joined(frame: Frame, a: Ref, b: Ref) -> Ref:
    """``a + b``."""
    first, second = heap.contents(frame, a), heap.contents(frame, b)
    try:
        item = rows.common_type(frame, first, second)
    except Clash as clash:
        raise growing.not_together(frame, f"these lists cannot be joined: {clash}", clash.help) from None
    assert item is not None
    first = growing.converted(frame, first, item, second)
    second = growing.converted(frame, second, item, first)
    count = rows.length(first) + rows.length(second)
    columns.check_shapes(rows.buffers(first), item_shapes.shapes_in(second))
    rows.check_one_pool(rows.pools(first), rows.pools(second))
    result = growing.allocated(frame, item, count, count, item_shapes.shapes_in(first), rows.pools(first))
    growing.copy_all(frame, first, result)
    growing.copy_all(frame, second, result, rows.length(first))
    return heap.new(frame, result.form, result.items)


def repeated(frame: Frame, held: Contents, item: abstract.Abstract, times: Value) -> Ref:
    """``held * times``, with at least one item."""
    once = growing.converted(frame, held, item)
    count = rows.length(once) * times
    result = growing.allocated(frame, item, count, count, item_shapes.shapes_in(once), rows.pools(once))
    size = rows.length(once)
    nest([times, size], lambda i: growing.move(frame, once, i[1], result, i[0] * size + i[1]))
    return heap.new(frame, result.form, result.items)


def unpack(frame: Frame, held: Contents, wanted: int) -> list[AbstractValue]:
    """``a, b, c = items``."""
    fits = ops.cmpi(rows.length(held), const_index(wanted), predicate="eq")
    trap_unless(fits, "ValueError", f"{{}} values cannot be unpacked into {wanted} variables", rows.length(held))
    return [growing.load(frame, held, const_index(k)) for k in range(wanted)]


def of_windows(frame: Frame, held: Contents, views: Sequence[Array]) -> Ref:
    """A new list of the items in views of the buffers of ``held``."""
    item = rows.row_of(held)
    count = dim_value(views[0].dims[0]) if views else rows.length(held)
    result = growing.allocated(frame, item, count, count, item_shapes.shapes_in(held), rows.pools(held))
    growing.copy_all(frame, rows.held_of(item, count, views), result)
    return heap.new(frame, result.form, result.items)
