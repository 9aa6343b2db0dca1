"""Lists whose length is known at run time only.

What such a list holds is a ``Contents`` of a form that has a ``Row``: the length, then one buffer for each number that
an item is made of. Loops carry these and branches merge them like the items of any object. The buffers are the list's
own: nothing else refers to their memory, and what lies behind the length means nothing.

A list becomes such a one where a loop or branch changes how many items it has. ``append`` makes a new buffer, of twice
the size, when there is no room; where a loop appends in every iteration, room for all is made in front of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from adc.frontend import abstract
from adc.frontend.data.compounds import Contents, compound
from adc.frontend.data.described import describe, widen
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Ref, Scalar, array
from adc.frontend.errors import refuse
from adc.frontend.forms import LIST, Form
from adc.frontend.frame import Frame
from adc.frontend.numeric.bits import logical_not
from adc.frontend.numeric.nests import nest
from adc.frontend.objects import columns, heap
from adc.frontend.objects.merge import Clash, join
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import build, current_block, current_loc, insert_at
from adc.ir.core import Block, Value
from adc.ir.types import i64

FIRST_ROOM = 8  # items, of a list that begins to grow

PREALLOCATE = "make an array with np.zeros() before the loop, and store into its elements"


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


def has_arrays(held: Contents) -> bool:
    """Whether items of a list of run-time length are arrays, or have some in them."""
    return columns.has_arrays(row_of(held))


def buffers(held: Contents) -> list[Array]:
    return [b for b in held.items[1:] if isinstance(b, Array)]


def _form(item: abstract.Abstract) -> Form:
    return Form("list", list, (abstract.Row(item),))


def held_of(item: abstract.Abstract, count: Value, buffers: Sequence[Array]) -> Contents:
    return Contents((Scalar(count, i64), *buffers), _form(item))


# Types of items -------------------------------------------------------------------------------------------------------


def item_type(frame: Frame, v: AbstractValue) -> abstract.Abstract:
    """The type of an item. Raises ``Clash`` for what cannot be one, and literals are no float32: NumPy makes a float64
    array of both."""
    if isinstance(v, Ref) and v.kind == "list" and not grows(frame, v):
        return abstract.Tuple(tuple(item_type(frame, item) for item in heap.contents(frame, v).items), LIST)
    found = widen(describe(v))
    _check(found, v)
    return abstract.map_abstract(found, _plain)


def _plain(leaf: abstract.Abstract) -> abstract.Abstract:
    """Arrays in items are copies."""
    return abstract.Array(leaf.element, leaf.rank) if isinstance(leaf, abstract.Array) else leaf


def _check(a: abstract.Abstract, v: AbstractValue) -> None:
    if isinstance(a, abstract.Tuple) and (not a.form.mutable or a.form == LIST) and a.form.kind != "function":
        for item in a.items:
            _check(item, v)
    elif not isinstance(a, abstract.Scalar | abstract.Static | abstract.Array):
        raise Clash(
            f"the items of a list whose length is not known when the function is compiled are numbers, arrays of one "
            f"shape, or tuples of these, not {describe_type(v)}"
        )


def type_of_items(frame: Frame, held: Contents) -> abstract.Abstract | None:
    """The type that all items of a list can have, None of an empty list. Raises ``Clash``."""
    if is_growing(held):
        return row_of(held)
    found: abstract.Abstract | None = None
    for item in held.items:
        one = item_type(frame, item)
        found = one if found is None else join(found, one)
    return found


def common_type(frame: Frame, a: Contents, b: Contents) -> abstract.Abstract | None:
    """The type of items for both lists, None if they have none."""
    first, second = type_of_items(frame, a), type_of_items(frame, b)
    return join(first, second) if first is not None and second is not None else first or second


def uneven(a: AbstractValue | None, b: AbstractValue | None) -> bool:
    """Whether these are two lists of different structure."""
    if not isinstance(a, Contents) or not isinstance(b, Contents) or a.form.kind != "list" or b.form.kind != "list":
        return False
    return a.form != b.form or len(a.items) != len(b.items)


# Items ----------------------------------------------------------------------------------------------------------------


def load(frame: Frame, held: Contents, k: Value) -> AbstractValue:
    """Item ``k``, which is there."""
    return columns.load(frame, buffers(held), row_of(held), k)


def write(frame: Frame, held: Contents, k: Value, item: AbstractValue) -> None:
    columns.write(frame, buffers(held), k, columns.parts(frame, item, row_of(held)))


def move(frame: Frame, source: Contents, k: Value, target: Contents, to: Value) -> None:
    """Let an item of ``target`` be item ``k`` of ``source``, which has the same type of items."""
    into = buffers(target)
    columns.write(frame, into, to, columns.loaded_parts(buffers(source), k, into), moved=True)


def copy_all(frame: Frame, source: Contents, target: Contents, shift: Value | None = None) -> None:
    """Copy all items of ``source`` into ``target``, from the place ``shift`` on."""
    nest([length(source)], lambda i: move(frame, source, i[0], target, i[0] if shift is None else i[0] + shift))


def allocated(
    frame: Frame, item: abstract.Abstract, room: Value | int, count: Value, shapes: Sequence[columns.Shape]
) -> Contents:
    return held_of(item, count, columns.allocated(frame, item, room, shapes))


def shapes_in(held: Contents) -> list[columns.Shape]:
    return columns.shapes_of(buffers(held))


def converted(
    frame: Frame,
    held: Contents,
    item: abstract.Abstract,
    like: Contents | None = None,
    around: Mapping[str, AbstractValue] | None = None,
) -> Contents:
    """What a list holds, as a list of run-time length with items of a type that ``join`` gave. If it is empty, arrays
    in items have the shapes of those in ``like``, as far as these are known here. ``around``: the variables, if not
    those of the frame."""
    if is_growing(held):
        if row_of(held) == item:
            return held
        before, after = len(columns.leaves(row_of(held))), len(columns.leaves(item))
        if before != after and columns.has_arrays(item):
            raise columns.several_kinds()
        shapes = shapes_in(held) if before == after else [()] * after
        result = allocated(frame, item, length(held), length(held), shapes)
        if has_arrays(held):
            copy_all(frame, held, result)
        else:
            nest([length(held)], lambda i: write(frame, result, i[0], load(frame, held, i[0])))
        return result
    count = len(held.items)
    for value in held.items:
        check_unshared(frame, value, held, around)
    items = [columns.parts(frame, value, item) for value in held.items]
    shapes = columns.shapes(items[0]) if items else _like(frame, like, item)
    result = allocated(frame, item, count, const_index(count), shapes)
    for k, found in enumerate(items):
        columns.check_shapes(buffers(result), columns.shapes(found))
        columns.write(frame, buffers(result), const_index(k), found)
    return result


def _like(frame: Frame, like: Contents | None, item: abstract.Abstract) -> list[columns.Shape]:
    """The shapes of arrays in the items of a list, as far as they are known at the insertion point."""
    if like is not None and is_growing(like):
        return columns.usable(shapes_in(like))
    if like is not None and like.items:
        return columns.usable(columns.shapes(columns.parts(frame, like.items[0], item)))
    return [None for _ in columns.leaves(item)]


def copy(frame: Frame, held: Contents) -> Contents:
    """The same items in memory of their own, with no room for more."""
    if not is_growing(held):
        return held
    result = allocated(frame, row_of(held), length(held), length(held), shapes_in(held))
    copy_all(frame, held, result)
    return result


def with_room(
    frame: Frame, held: Contents, more: Value, least: int = 0, shapes: Sequence[columns.Shape] | None = None
) -> Contents:
    """What a list of run-time length holds, in buffers that have room for ``more`` items, whose arrays have these
    shapes."""
    old = buffers(held)
    if not old:
        return held
    count, item = length(held), row_of(held)
    wanted = shapes_in(held) if shapes is None else shapes
    other = columns.differ(old, wanted)
    if constant_of(count) is not None and not least:
        result = allocated(frame, item, count + more, count, wanted)
        copy_all(frame, held, result)
        return result
    needed, have = count + more, ops.dim(old[0].memref, dim=0)
    full = ops.cmpi(needed, have, predicate="sgt")
    if other is not None:  # the first item says what shapes there are
        empty = ops.cmpi(count, const_index(0), predicate="eq")
        trap_unless(ops.ori(logical_not(other), empty), "ValueError", columns.UNEVEN)
        full = ops.ori(full, other)
    larger, same = Block(), Block()
    with insert_at(larger):
        room = ops.maxsi(needed, ops.maxsi(have + have, const_index(least)))
        result = allocated(frame, item, room, count, wanted)
        copy_all(frame, held, result)
        build(ops.yield_, [b.memref for b in buffers(result)])
    with insert_at(same):
        build(ops.yield_, [b.memref for b in old])
    types = [b.type for b in old]
    op = build(ops.if_, [full], result_types=types, regions=(larger, same))
    made = []
    for v, b, c, shape in zip(op.results, old, buffers(result), wanted, strict=True):
        made.append(array(v, b.roots | c.roots, (None, *(shape or ())), pairs=b.is_complex))
    return held_of(item, count, made)


# What programs do with lists ------------------------------------------------------------------------------------------


def assign(frame: Frame, ref: Ref, held: Contents) -> None:
    """Let a list hold something else."""
    heap.assign(frame, ref, held.items, held.form)


def widened(frame: Frame, held: Contents, item: AbstractValue) -> Contents:
    """The list with items of a type that suits ``item`` as well."""
    try:
        return converted(frame, held, join(row_of(held), item_type(frame, item)))
    except Clash as clash:
        raise refuse(
            current_loc(),
            f"{describe_type(item)} cannot become an item of this list: {clash}",
            PREALLOCATE,
            kind=kinds.TYPE_DIFFERS,
        ) from None


def append(frame: Frame, ref: Ref, item: AbstractValue) -> None:
    """``ref.append(item)`` of any list."""
    held = heap.contents(frame, ref)
    appends = _around(frame)
    place = appends.place(ref.key, held) if appends is not None else None
    if is_growing(held):
        check_unshared(frame, item)
        now = widened(frame, held, item)
        found = columns.parts(frame, item, row_of(now))
        shapes = columns.shapes(found)
        if appends is None or place is None or now is not held or not appends.has_room(ref.key, place):
            now = with_room(frame, now, const_index(1), FIRST_ROOM, shapes)
        else:
            columns.check_shapes(buffers(now), shapes)
        end = length(now)
        columns.write(frame, buffers(now), end, found)
        assign(frame, ref, held_of(row_of(now), end + 1, buffers(now)))
    else:
        heap.assign(frame, ref, [*held.items, item])
    if appends is not None and place is not None:
        appends.note(ref.key, place, heap.contents(frame, ref))


def let_grow(frame: Frame, ref: Ref, more: Sequence[AbstractValue] = ()) -> None:
    """Let a list be one of run-time length, which can have ``more`` as its items."""
    held = heap.contents(frame, ref)
    try:
        wanted = type_of_items(frame, held)
        for item in more:
            one = item_type(frame, item)
            wanted = one if wanted is None else join(wanted, one)
    except Clash as clash:
        raise refuse(current_loc(), str(clash), PREALLOCATE, kind=kinds.TYPE_DIFFERS) from None
    assert wanted is not None
    assign(frame, ref, converted(frame, held, wanted))


def check_unshared(
    frame: Frame,
    item: AbstractValue,
    owner: Contents | None = None,
    around: Mapping[str, AbstractValue] | None = None,
) -> None:
    """A list that becomes an item is copied: nothing but ``owner`` may refer to it."""
    inside = list(heap.refs_of(item))
    variables = frame.env if around is None else around
    others = [value for value in variables.values() if value is not owner] if inside else []
    if any(ref in inside for value in others for ref in heap.refs_of(value)):
        raise refuse(
            current_loc(),
            f"{describe_type(item)}, which has a name, cannot become an item of a list of run-time length",
            "append a tuple of the numbers, or an array",
            kind=kinds.TYPE_DIFFERS,
        )


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


def windows(held: Contents) -> list[Array]:
    """The buffers as far as they hold items: views."""
    return [columns.window(b, length(held)) for b in buffers(held)]


def as_array(held: Contents) -> Array | None:
    """The numbers or arrays of a list, as a view; None where its items are neither."""
    if isinstance(row_of(held), abstract.Array):
        some = ops.cmpi(length(held), const_index(0), predicate="sgt")
        trap_unless(some, "ValueError", "need at least one array to stack")
    return windows(held)[0] if isinstance(row_of(held), abstract.Scalar | abstract.Array) else None


def check_given(frame: Frame) -> None:
    """Refuse to let a list of the caller's have copies of the arrays that were in it."""
    for ref, before in frame.heap.given:
        now = heap.contents(frame, ref)
        if now is not before and is_growing(now) and has_arrays(now):
            raise refuse(
                frame.assigned_at.get(ref.key, current_loc()),
                "a list of arrays that was passed to the function cannot change its length in a loop",
                "append to a copy, ys = list(xs), and return it",
                kind=kinds.UNSUPPORTED_CALL,
            )


def exact(frame: Frame, v: AbstractValue) -> AbstractValue:
    """What a function leaves, with lists in buffers that are as long as they."""
    if isinstance(v, Contents) and is_growing(v):
        return replace(copy(frame, replace(v, form=v.form.plain())), form=v.form)
    items = getattr(v, "items", None)
    return compound(v.form, tuple(exact(frame, item) for item in items)) if isinstance(items, tuple) else v  # type: ignore[attr-defined]
