"""Lists whose length is known at run time only.

What such a list holds is a ``Contents`` of a form that has a ``Row``: the length, then one buffer for each number that
an item is made of. Loops carry these and branches merge them like the items of any object. The buffers are the list's
own: nothing else refers to their memory, and what lies behind the length means nothing.

A list becomes such a one where a loop or branch changes how many items it has. ``append`` makes a new buffer, of twice
the size, when there is no room; where a loop appends in every iteration, room for all is made in front of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from adc.frontend import abstract
from adc.frontend.data.compounds import Contents, compound
from adc.frontend.data.described import describe, widen
from adc.frontend.data.dims import dim_value
from adc.frontend.data.roots import NOWHERE
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Ref, Scalar, array
from adc.frontend.elements import from_element, to_element
from adc.frontend.errors import refuse
from adc.frontend.forms import Form
from adc.frontend.frame import Frame, discard
from adc.frontend.numeric.nests import allocate, nest, serial
from adc.frontend.objects import heap
from adc.frontend.objects.merge import Clash, coerce, flatten, join, rebuild
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import build, current_block, current_loc, insert_at
from adc.ir.core import Block, Value
from adc.ir.types import Type, i64

FIRST_ROOM = 8  # items, of a list that begins to grow

_PREALLOCATE = "make an array with np.zeros() before the loop, and store into its elements"


def is_growing(held: AbstractValue | None) -> bool:
    """Whether this is what a list of run-time length holds."""
    return isinstance(held, Contents) and held.form.kind == "list" and bool(held.form.names)


def grows(frame: Frame, v: AbstractValue | None) -> bool:
    """Whether ``v`` is a list of run-time length."""
    return isinstance(v, Ref) and v.kind == "list" and is_growing(heap.contents(frame, v))


def row_of(held: Contents) -> abstract.Abstract:
    """The type of the items of a list of run-time length."""
    row = held.form.names[0]
    assert isinstance(row, abstract.Row)
    return row.item


def length(held: Contents) -> Value:
    found = held.items[0]
    assert isinstance(found, Scalar)
    return found.value


def buffers(held: Contents) -> list[Array]:
    return [b for b in held.items[1:] if isinstance(b, Array)]


def _form(item: abstract.Abstract) -> Form:
    return Form("list", list, (abstract.Row(item),))


def _held(item: abstract.Abstract, count: Value, columns: Sequence[Array]) -> Contents:
    return Contents((Scalar(count, i64), *columns), _form(item))


def _elements(item: abstract.Abstract) -> list[Type]:
    """The element types of the buffers for items of a type."""
    return [leaf.type for leaf in abstract.walk_abstract(item) if isinstance(leaf, abstract.Scalar)]


# Types of items -------------------------------------------------------------------------------------------------------


def item_type(v: AbstractValue) -> abstract.Abstract:
    """The type of an item. Raises ``Clash`` for what cannot be one, and literals are no float32: NumPy makes a float64
    array of both."""
    found = widen(describe(v))
    _check(found, v)
    return found


def _check(a: abstract.Abstract, v: AbstractValue) -> None:
    if isinstance(a, abstract.Tuple) and not a.form.mutable and a.form.kind != "function":
        for item in a.items:
            _check(item, v)
    elif not isinstance(a, abstract.Scalar | abstract.Static):
        raise Clash(
            f"the items of a list whose length is not known when the function is compiled are numbers, or tuples of "
            f"numbers, not {describe_type(v)}"
        )


def type_of_items(held: Contents) -> abstract.Abstract | None:
    """The type that all items of a list can have, None of an empty list. Raises ``Clash``."""
    if is_growing(held):
        return row_of(held)
    found: abstract.Abstract | None = None
    for item in held.items:
        one = item_type(item)
        found = one if found is None else join(found, one)
    return found


def common_type(a: Contents, b: Contents) -> abstract.Abstract | None:
    """The type of items for both lists, None if they have none."""
    first, second = type_of_items(a), type_of_items(b)
    return join(first, second) if first is not None and second is not None else first or second


def uneven(a: AbstractValue | None, b: AbstractValue | None) -> bool:
    """Whether these are two lists of different structure."""
    if not isinstance(a, Contents) or not isinstance(b, Contents) or a.form.kind != "list" or b.form.kind != "list":
        return False
    return a.form != b.form or len(a.items) != len(b.items)


# Items ----------------------------------------------------------------------------------------------------------------


def load(held: Contents, k: Value) -> AbstractValue:
    """Item ``k``, which is there."""
    values = [from_element(ops.load(b.memref, k)) for b in buffers(held)]
    return rebuild(row_of(held), iter(values), lambda _: NOWHERE)


def _write(frame: Frame, held: Contents, k: Value, item: AbstractValue) -> None:
    values = flatten(coerce(item, row_of(held)))
    for b, value in zip(buffers(held), values, strict=True):
        frame.written |= b.roots
        build(ops.store, [to_element(value, b.dtype), b.memref, k])


def _copy(frame: Frame, source: Contents, target: Contents, shift: Value | None = None) -> None:
    """Copy all items of ``source`` into ``target``, from the place ``shift`` on."""
    nest([length(source)], lambda i: _write(frame, target, i[0] if shift is None else i[0] + shift, load(source, i[0])))


def _allocated(frame: Frame, item: abstract.Abstract, room: Value | int, count: Value) -> Contents:
    return _held(item, count, [allocate(frame, [room], t, "list") for t in _elements(item)])


def converted(frame: Frame, held: Contents, item: abstract.Abstract) -> Contents:
    """What a list holds, as a list of run-time length with items of a type that ``join`` gave."""
    if is_growing(held):
        if row_of(held) == item:
            return held
        result = _allocated(frame, item, length(held), length(held))
        _copy(frame, held, result)
        return result
    count = len(held.items)
    result = _allocated(frame, item, count, const_index(count))
    for k, value in enumerate(held.items):
        _write(frame, result, const_index(k), value)
    return result


def copy(frame: Frame, held: Contents) -> Contents:
    """The same items in memory of their own, with no room for more."""
    if not is_growing(held):
        return held
    result = _allocated(frame, row_of(held), length(held), length(held))
    _copy(frame, held, result)
    return result


def with_room(frame: Frame, held: Contents, more: Value, least: int = 0) -> Contents:
    """What a list of run-time length holds, in buffers that have room for ``more`` items."""
    old = buffers(held)
    if not old:
        return held
    count, item = length(held), row_of(held)
    if constant_of(count) is not None and not least:
        result = _allocated(frame, item, count + more, count)
        _copy(frame, held, result)
        return result
    needed, have = count + more, ops.dim(old[0].memref, dim=0)
    larger, same = Block(), Block()
    with insert_at(larger):
        room = ops.maxsi(needed, ops.maxsi(have + have, const_index(least)))
        result = _allocated(frame, item, room, count)
        _copy(frame, held, result)
        build(ops.yield_, [b.memref for b in buffers(result)])
    with insert_at(same):
        build(ops.yield_, [b.memref for b in old])
    full = ops.cmpi(needed, have, predicate="sgt")
    types = [b.type for b in old]
    op = build(ops.if_, [full], result_types=types, regions=(larger, same))
    roots = [b.roots | c.roots for b, c in zip(old, buffers(result), strict=True)]
    return _held(item, count, [array(v, r) for v, r in zip(op.results, roots, strict=True)])


# What programs do with lists ------------------------------------------------------------------------------------------


def assign(frame: Frame, ref: Ref, held: Contents) -> None:
    """Let a list hold something else."""
    heap.assign(frame, ref, held.items, held.form)


def _widened(frame: Frame, held: Contents, item: AbstractValue) -> Contents:
    """The list with items of a type that suits ``item`` as well."""
    try:
        return converted(frame, held, join(row_of(held), item_type(item)))
    except Clash as clash:
        raise refuse(
            current_loc(),
            f"{describe_type(item)} cannot become an item of this list: {clash}",
            _PREALLOCATE,
            kind=kinds.TYPE_DIFFERS,
        ) from None


def append(frame: Frame, ref: Ref, item: AbstractValue) -> None:
    """``ref.append(item)`` of any list."""
    held = heap.contents(frame, ref)
    appends = _around(frame)
    place = appends.place(ref.key, held) if appends is not None else None
    if is_growing(held):
        now = _widened(frame, held, item)
        if appends is None or place is None or now is not held or not appends.has_room(ref.key, place):
            now = with_room(frame, now, const_index(1), FIRST_ROOM)
        end = length(now)
        _write(frame, now, end, item)
        assign(frame, ref, _held(row_of(now), end + 1, buffers(now)))
    else:
        heap.assign(frame, ref, [*held.items, item])
    if appends is not None and place is not None:
        appends.note(ref.key, place, heap.contents(frame, ref))


class _Appends(Protocol):
    """What every iteration of a loop appends: room for all of it may be there already."""

    body: Block | None

    def place(self, key: str, held: Contents) -> int | None: ...

    def has_room(self, key: str, place: int) -> bool: ...

    def note(self, key: str, place: int, now: Contents) -> None: ...


def _around(frame: Frame) -> _Appends | None:
    """Of the loop whose every iteration comes to the insertion point, if there is one."""
    appends: _Appends | None = frame.loops[-1].appends if frame.loops else None
    return appends if appends is not None and appends.body is current_block() else None


def extend(frame: Frame, ref: Ref, count: Value, item: Callable[[Value], AbstractValue]) -> None:
    """Append ``item(0)``, ..., ``item(count - 1)`` to any list."""
    scratch = Block()
    with insert_at(scratch):
        sample = item(const_index(0))
        try:
            wanted = item_type(sample)
            before = type_of_items(heap.contents(frame, ref))
            wanted = wanted if before is None else join(before, wanted)
        except Clash as clash:
            message = f"this list cannot be extended: {clash}"
            raise refuse(current_loc(), message, _PREALLOCATE, kind=kinds.TYPE_DIFFERS) from None
    discard(scratch)
    held = with_room(frame, converted(frame, heap.contents(frame, ref), wanted), count)
    end = length(held)
    serial([count], lambda i: _write(frame, held, end + i[0], item(i[0])))
    assign(frame, ref, _held(wanted, end + count, buffers(held)))


def position(held: Contents, index: Value) -> Value:
    """A checked subscript; negative ones count from the end."""
    return ops.bound(index, length(held))


def store(frame: Frame, ref: Ref, index: Value, item: AbstractValue) -> None:
    """``ref[index] = item``."""
    held = heap.contents(frame, ref)
    now = _widened(frame, held, item)
    k = position(now, index)
    assign(frame, ref, _held(row_of(now), length(now), buffers(now)) if now is not held else held)
    _write(frame, now, k, item)


def pop(frame: Frame, ref: Ref, index: Value | None) -> AbstractValue:
    """``ref.pop(index)``: the items behind it move up."""
    held = heap.contents(frame, ref)
    count = length(held)
    some = ops.cmpi(count, const_index(0), predicate="sgt")
    trap_unless(some, "IndexError", "pop from empty list")
    last = count - 1
    at = last if index is None else position(held, index)
    found = load(held, at)
    if index is not None and constant_of(index) != -1:
        serial([last - at], lambda i: _write(frame, held, at + i[0], load(held, at + i[0] + 1)))
    assign(frame, ref, _held(row_of(held), last, buffers(held)))
    return found


def insert(frame: Frame, ref: Ref, index: Value, item: AbstractValue) -> None:
    """``ref.insert(index, item)``: the items from there on move down."""
    held = with_room(frame, _widened(frame, heap.contents(frame, ref), item), const_index(1), FIRST_ROOM)
    count, zero = length(held), const_index(0)
    negative = ops.cmpi(index, zero, predicate="slt")
    at = ops.select(negative, ops.maxsi(index + count, zero), ops.minsi(index, count))
    serial([count - at], lambda i: _write(frame, held, count - i[0], load(held, count - i[0] - 1)))
    _write(frame, held, at, item)
    assign(frame, ref, _held(row_of(held), count + 1, buffers(held)))


def clear(frame: Frame, ref: Ref) -> None:
    held = heap.contents(frame, ref)
    assign(frame, ref, _held(row_of(held), const_index(0), buffers(held)))


def joined(frame: Frame, a: Ref, b: Ref) -> Ref:
    """``a + b``."""
    first, second = heap.contents(frame, a), heap.contents(frame, b)
    try:
        item = common_type(first, second)
    except Clash as clash:
        raise refuse(
            current_loc(), f"these lists cannot be joined: {clash}", _PREALLOCATE, kind=kinds.TYPE_DIFFERS
        ) from None
    assert item is not None
    first, second = converted(frame, first, item), converted(frame, second, item)
    count = length(first) + length(second)
    result = _allocated(frame, item, count, count)
    _copy(frame, first, result)
    _copy(frame, second, result, length(first))
    return heap.new(frame, result.form, result.items)


def repeated(frame: Frame, held: Contents, item: abstract.Abstract, times: Value) -> Ref:
    """``held * times``, of which there is at least one item."""
    once = converted(frame, held, item)
    count = length(once) * times
    result = _allocated(frame, item, count, count)
    size = length(once)
    nest([times, size], lambda i: _write(frame, result, i[0] * size + i[1], load(once, i[1])))
    return heap.new(frame, result.form, result.items)


def unpack(held: Contents, wanted: int) -> list[AbstractValue]:
    """``a, b, c = items``."""
    fits = ops.cmpi(length(held), const_index(wanted), predicate="eq")
    trap_unless(fits, "ValueError", f"{{}} values cannot be unpacked into {wanted} variables", length(held))
    return [load(held, const_index(k)) for k in range(wanted)]


def windows(held: Contents) -> list[Array]:
    """The buffers as far as they hold items: views."""
    count, zero, one = length(held), const_index(0), const_index(1)
    found = []
    for b in buffers(held):
        view = build(ops.subview, [b.memref, zero, count, one], {"static_steps": (1,), "dropped": ()}).result
        found.append(Array(view, (count,), b.roots))
    return found


def of_windows(frame: Frame, held: Contents, views: Sequence[Array]) -> Ref:
    """A new list of what views of the buffers of ``held`` show."""
    item = row_of(held)
    count = dim_value(views[0].dims[0]) if views else length(held)
    result = _allocated(frame, item, count, count)
    for view, target in zip(views, buffers(result), strict=True):
        nest([count], partial(_copy_element, view.memref, target.memref))
    return heap.new(frame, result.form, result.items)


def _copy_element(source: Value, target: Value, place: list[Value]) -> None:
    build(ops.store, [ops.load(source, *place), target, *place])


def as_array(held: Contents) -> Array | None:
    """The numbers of a list, as a view; None where its items are no numbers."""
    return windows(held)[0] if isinstance(row_of(held), abstract.Scalar) else None


def exact(frame: Frame, v: AbstractValue) -> AbstractValue:
    """What a function leaves, with lists in buffers that are as long as they."""
    if isinstance(v, Contents) and is_growing(v):
        return replace(copy(frame, replace(v, form=v.form.plain())), form=v.form)
    items = getattr(v, "items", None)
    return compound(v.form, tuple(exact(frame, item) for item in items)) if isinstance(items, tuple) else v  # type: ignore[attr-defined]
