"""Lists whose length is known only at run time.

The contents of such a list are a ``Contents`` whose form has a ``Row``: the length, then one buffer for each number in
an item. Loops carry these and branches merge them like the items of any object. The buffers belong to the list: nothing
else refers to their memory, and elements beyond the length have no meaning.

A list becomes one where a loop or branch changes the number of its items. ``append`` makes a new buffer, of twice the
size, when there is no room; if a loop appends in every iteration, room for all items is made before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from adc.frontend import abstract
from adc.frontend.data.compounds import Contents, compound
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import NONE, AbstractValue, Array, Ref, Scalar, Static, array
from adc.frontend.errors import refuse
from adc.frontend.forms import LIST
from adc.frontend.frame import Frame
from adc.frontend.numeric.bits import logical_not
from adc.frontend.numeric.nests import nest
from adc.frontend.objects import columns, counts, heap, item_shapes, rows
from adc.frontend.objects.alternatives import NONE_TYPE
from adc.frontend.objects.merge import Clash, join
from adc.frontend.prelude import python_lists
from adc.frontend.sites import OtherPools
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import build, current_block, current_loc, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.diagnostics import AdcError

FIRST_ROOM = 8  # items, when a list begins to grow

PREALLOCATE = "make an array with np.zeros() before the loop, and store into its elements"


def uneven(a: AbstractValue | None, b: AbstractValue | None) -> bool:
    """Whether these are two lists of different structure."""
    if not isinstance(a, Contents) or not isinstance(b, Contents) or a.form.kind != "list" or b.form.kind != "list":
        return False
    return a.form != b.form or len(a.items) != len(b.items)


# Items ----------------------------------------------------------------------------------------------------------------


def load(frame: Frame, held: Contents, k: Value) -> AbstractValue:
    """Item ``k``, which must exist."""
    return columns.load(frame, rows.buffers(held), rows.row_of(held), k, rows.pools(held))


def write(frame: Frame, held: Contents, k: Value, item: AbstractValue) -> None:
    rows.check_pools(held, item)
    columns.write(frame, rows.buffers(held), k, columns.parts(frame, item, rows.row_of(held)))


def move(frame: Frame, source: Contents, k: Value, target: Contents, to: Value) -> None:
    """Set an item of ``target`` to item ``k`` of ``source``, which has the same type of items."""
    into = rows.buffers(target)
    columns.write(frame, into, to, columns.loaded_parts(rows.buffers(source), k, into), moved=True)


def copy_all(frame: Frame, source: Contents, target: Contents, shift: Value | None = None) -> None:
    """Copy all items of ``source`` into ``target``, from position ``shift`` on."""
    nest([rows.length(source)], lambda i: move(frame, source, i[0], target, i[0] if shift is None else i[0] + shift))


def allocated(
    frame: Frame,
    item: abstract.Abstract,
    room: Value | int,
    count: Value,
    shapes: Sequence[columns.Shape],
    pools: Sequence[Ref] = (),
) -> Contents:
    return rows.held_of(item, count, columns.allocated(frame, item, room, shapes), pools)


def _room(held: Contents) -> Value:
    """For how many items there is memory."""
    return ops.dim(rows.buffers(held)[0].memref, dim=0)


def converted(
    frame: Frame,
    held: Contents,
    item: abstract.Abstract,
    like: Contents | None = None,
    around: Mapping[str, AbstractValue] | None = None,
) -> Contents:
    """The contents of a list as those of a list of run-time length, with items of a type from ``join``. If it is empty,
    arrays in items have the shapes of those in ``like``, as far as these are known here. ``around``: the variables, if
    not those of the frame. Where there was room for more items, there still is: loops rely on it."""
    if rows.is_growing(held):
        if rows.row_of(held) == item:
            return held
        shapes = item_shapes.shapes_for(frame, held, item, like)
        room = _room(held) if rows.buffers(held) else rows.length(held)
        result = allocated(frame, item, room, rows.length(held), shapes, rows.pools(held))
        if rows.has_arrays(held) and len(rows.buffers(held)) == len(shapes):
            copy_all(frame, held, result)
        else:
            nest([rows.length(held)], lambda i: write(frame, result, i[0], load(frame, held, i[0])))
        return result
    count = len(held.items)
    for value in held.items:
        check_unshared(frame, value, held, around)
    runs = item_shapes.runs(held.items)
    items = [columns.parts(frame, held.items[start], item) for start, _ in runs]
    known = [found for found in map(columns.shapes, items) if None not in found]
    shapes = known[0] if known else item_shapes.like_those(frame, like, item)
    result = allocated(frame, item, count, const_index(count), shapes, _pools_for(held, like))
    for value in held.items:
        rows.check_pools(result, value)
    for (start, end), found in zip(runs, items, strict=True):
        columns.check_shapes(rows.buffers(result), columns.shapes(found))
        _write_run(frame, rows.buffers(result), start, end, found)
    return result


def shaped(frame: Frame, key: str, held: Contents, wanted: Sequence[columns.Shape]) -> Contents:
    """The list ``key`` of run-time length, where items may be None, in buffers for arrays of these shapes. If it has
    other buffers, all items must be None. Of other lists the shapes are checked later."""
    old, item = rows.buffers(held), rows.row_of(held)
    other = None if columns.beside_none(item) is None else columns.differ(old, wanted)
    if other is None:
        return held
    if item_shapes.are_uneven(frame, key, columns.shapes_of(old), wanted):
        raise columns.several_kinds()
    count, made, same = rows.length(held), Block(), Block()
    with insert_at(made):
        trap_unless(_are_all(frame, held, NONE_TYPE), "ValueError", columns.UNEVEN)
        result = allocated(frame, item, _room(held), count, wanted, rows.pools(held))
        nest([count], lambda i: write(frame, result, i[0], NONE))
        build(ops.yield_, [b.memref for b in rows.buffers(result)])
    with insert_at(same):
        build(ops.yield_, [b.memref for b in old])
    return _either(held, result, build(ops.if_, [other], result_types=[b.type for b in old], regions=(made, same)))


def _are_all(frame: Frame, held: Contents, kind: abstract.Abstract) -> Value:
    """Whether all items of a list are of one kind, where some may be None."""
    row = rows.row_of(held)
    assert isinstance(row, abstract.Tuple)
    wanted = Static(row.items[1:].index(kind))
    found = frame.tracer.call(frame, Static(python_lists.are_all), [windows(held)[0], wanted], {})
    assert isinstance(found, Scalar)
    return found.value


def _either(held: Contents, other: Contents, chosen: Op) -> Contents:
    """The list in the buffers of one of the two, which ``chosen`` yields, for arrays like those of ``other``."""
    made = []
    for v, b, c in zip(chosen.results, rows.buffers(held), rows.buffers(other), strict=True):
        made.append(array(v, b.roots | c.roots, (None, *c.dims[1:]), pairs=b.is_complex))
    return rows.held_of(rows.row_of(held), rows.length(held), made, rows.pools(held))


def _write_run(frame: Frame, buffers: Sequence[Array], start: int, end: int, parts: Sequence[columns.Part]) -> None:
    if end - start == 1:
        columns.write(frame, buffers, const_index(start), parts)
    else:
        count, first = const_index(end - start), const_index(start)
        nest([count], lambda i: columns.write(frame, buffers, i[0] + first, parts))


def _pools_for(held: Contents, like: Contents | None) -> list[Ref]:
    """The pools of the items of a list. If it has no items yet, those of ``like``, whose items will be added."""
    if held.items or like is None:
        return rows.pools_in(held.items[0]) if held.items else []
    return rows.pools(like) if rows.is_growing(like) else rows.pools_in(like.items[0]) if like.items else []


def copy(frame: Frame, held: Contents) -> Contents:
    """The same items in new memory, without room for more."""
    if not rows.is_growing(held):
        return held
    count = rows.length(held)
    result = allocated(frame, rows.row_of(held), count, count, item_shapes.shapes_in(held), rows.pools(held))
    copy_all(frame, held, result)
    return result


def with_room(
    frame: Frame, held: Contents, more: Value, least: int = 0, shapes: Sequence[columns.Shape] | None = None
) -> Contents:
    """The contents of a list of run-time length in buffers with room for ``more`` items, whose arrays have these
    shapes."""
    old = rows.buffers(held)
    if not old:
        return held
    count, item = rows.length(held), rows.row_of(held)
    own = item_shapes.shapes_in(held)
    wanted = own if shapes is None else [b if a is None else a for a, b in zip(shapes, own, strict=True)]
    other = columns.differ(old, wanted)
    if constant_of(count) is not None and not least:
        result = allocated(frame, item, count + more, count, wanted, rows.pools(held))
        copy_all(frame, held, result)
        return result
    needed, have = count + more, _room(held)
    full = ops.cmpi(needed, have, predicate="sgt")
    if other is not None:  # the first item determines the shapes
        empty = ops.cmpi(count, const_index(0), predicate="eq")
        trap_unless(ops.ori(logical_not(other), empty), "ValueError", columns.UNEVEN)
        full = ops.ori(full, other)
    larger, same = Block(), Block()
    with insert_at(larger):
        room = ops.maxsi(needed, ops.maxsi(have + have, const_index(least)))
        result = allocated(frame, item, room, count, wanted, rows.pools(held))
        copy_all(frame, held, result)
        build(ops.yield_, [b.memref for b in rows.buffers(result)])
    with insert_at(same):
        build(ops.yield_, [b.memref for b in old])
    return _either(held, result, build(ops.if_, [full], result_types=[b.type for b in old], regions=(larger, same)))


# What programs do with lists ------------------------------------------------------------------------------------------


def assign(frame: Frame, ref: Ref, held: Contents) -> None:
    """Assign new contents to a list."""
    heap.assign(frame, ref, held.items, held.form)


def widened(frame: Frame, held: Contents, item: AbstractValue) -> Contents:
    """The list with a type of items that also fits ``item``."""
    try:
        like = Contents((item,), LIST)
        return converted(frame, held, join(rows.row_of(held), rows.item_type(frame, item)), like)
    except Clash as clash:
        message = f"{describe_type(item)} cannot become an item of this list: {clash}"
        raise not_together(frame, message, clash.help) from None


def append(frame: Frame, ref: Ref, item: AbstractValue) -> None:
    """``ref.append(item)`` for any list."""
    held = heap.contents(frame, ref)
    appends = _around(frame)
    place = appends.place(ref.key, held) if appends is not None else None
    if rows.is_growing(held):
        check_unshared(frame, item)
        now = widened(frame, held, item)
        rows.check_pools(now, item)
        found = columns.parts(frame, item, rows.row_of(now))
        shapes = columns.shapes(found)
        counts.check_append(frame, ref, now, shapes)
        now = shaped(frame, ref.key, now, shapes)
        if appends is None or place is None or now is not held or not appends.has_room(ref.key, place):
            now = with_room(frame, now, const_index(1), FIRST_ROOM, shapes)
        else:
            columns.check_shapes(rows.buffers(now), shapes)
        end = rows.length(now)
        columns.write(frame, rows.buffers(now), end, found)
        assign(frame, ref, rows.resized(now, end + 1))
    else:
        heap.assign(frame, ref, [*held.items, item])
    if appends is not None and place is not None:
        appends.note(ref.key, place, heap.contents(frame, ref))


def let_grow(frame: Frame, ref: Ref, more: Sequence[AbstractValue] = ()) -> None:
    """Make a list one of run-time length, whose items can also be ``more``."""
    held = heap.contents(frame, ref)
    try:
        wanted = rows.type_of_items(frame, held)
        for item in more:
            one = rows.item_type(frame, item)
            wanted = one if wanted is None else join(wanted, one)
    except Clash as clash:
        raise not_together(frame, str(clash), clash.help) from None
    assert wanted is not None
    like = Contents(tuple(more), LIST) if more else None
    assign(frame, ref, converted(frame, held, wanted, like))


def check_unshared(
    frame: Frame,
    item: AbstractValue,
    owner: Contents | None = None,
    around: Mapping[str, AbstractValue] | None = None,
) -> None:
    """Check that nothing but ``owner`` refers to a list that becomes an item, since it is copied."""
    for ref in heap.refs_of(item):
        frame.want_pool(ref)
    kept = rows.pools_in(item)
    inside = [r for r in heap.refs_of(item) if r not in kept and not (r.kind == "dict" and r.protected == heap.ITEM)]
    variables = frame.env if around is None else around
    outside = next((ref for ref in inside if ref.kind == "object"), None)
    if outside is not None:
        raise not_made_here(outside)
    last = heap.parting(frame, item) if around is None else ""
    others = [v for name, v in variables.items() if v is not owner and name != last] if inside else []
    either = {ref.key for ref in inside}.union(*(frame.heap.kin.get(ref.key, ()) for ref in inside))
    if any(ref.key in either for value in others for ref in heap.refs_of(value)):
        for ref in inside:
            frame.want_list(ref)
        raise refuse(
            current_loc(),
            f"{describe_type(item)}, which has a name, cannot become an item of a list of run-time length",
            "append a copy: rows.append(dict(row))"
            if any(ref.kind == "dict" for ref in inside)
            else "append a tuple of the numbers, or an array: M.append(np.array(row))",
            kind=kinds.TYPE_DIFFERS,
        )


def not_made_here(ref: Ref) -> AdcError:
    """The refusal of an object that belongs to the caller of the program."""
    name = ref.cls.__name__
    message = f"this {name} was made outside: it cannot become an item of a list whose length depends on the run"
    return refuse(current_loc(), message, "append a copy: xs.append(copy.copy(x))", kind=kinds.TYPE_DIFFERS)


def not_together(frame: Frame, message: str, help: str) -> Exception:
    """What to raise where items of a list have no common type. If some are lists that it was to have copies of, these
    are kept in pools instead."""
    refusal = refuse(current_loc(), message, help or PREALLOCATE, kind=kinds.TYPE_DIFFERS)
    return OtherPools(lambda pools: pools.want_lists(pools.by_value), refusal) if frame.pools.copies() else refusal


def not_alike() -> AdcError:
    """The refusal of lists that cannot be kept together, since one of them is not made by the program."""
    message = "a list that was made outside cannot be kept together with lists that are made here"
    return refuse(current_loc(), message, "append a copy: rows.append(list(row))", kind=kinds.TYPE_DIFFERS)


class _Appends(Protocol):
    """What every iteration of a loop appends; there may already be room for all of it."""

    body: Block | None

    def place(self, key: str, held: Contents) -> int | None: ...

    def has_room(self, key: str, place: int) -> bool: ...

    def note(self, key: str, place: int, now: Contents) -> None: ...


def _around(frame: Frame) -> _Appends | None:
    """The appends of the loop whose every iteration reaches the insertion point, if there is one."""
    appends: _Appends | None = frame.loops[-1].appends if frame.loops else None
    return appends if appends is not None and appends.body is current_block() else None


def windows(held: Contents) -> list[Array]:
    """Views of the used part of the buffers."""
    return [columns.window(b, rows.length(held)) for b in rows.buffers(held)]


def as_array(held: Contents) -> Array | None:
    """The numbers or arrays of a list, as a view; None if its items are neither."""
    if isinstance(rows.row_of(held), abstract.Array):
        some = ops.cmpi(rows.length(held), const_index(0), predicate="sgt")
        trap_unless(some, "ValueError", "need at least one array to stack")
    return windows(held)[0] if isinstance(rows.row_of(held), abstract.Scalar | abstract.Array) else None


def without_none(frame: Frame, held: Contents) -> Array | None:
    """The numbers or arrays of a list whose items may be None, which none of them must be when the run comes here."""
    value = columns.beside_none(rows.row_of(held))
    if not isinstance(value, abstract.Scalar | abstract.Array):
        return None
    error = "ValueError" if isinstance(value, abstract.Array) else "TypeError"  # as in NumPy
    trap_unless(_are_all(frame, held, value), error, "an item of this list is None, so no array can be made of it")
    return windows(held)[1]


def check_given(frame: Frame) -> None:
    """Refuse to leave copies of arrays in a list of the caller's in place of the arrays."""
    for ref, before in frame.heap.given:
        now = heap.contents(frame, ref)
        if now is not before and rows.is_growing(now) and rows.has_arrays(now):
            raise refuse(
                frame.assigned_at.get(ref.key, current_loc()),
                "a list of arrays that was passed to the function cannot change its length in a loop",
                "append to a copy, ys = list(xs), and return it",
                kind=kinds.UNSUPPORTED_CALL,
            )


def exact(frame: Frame, v: AbstractValue) -> AbstractValue:
    """A function's outcome, with lists in buffers of exactly their length."""
    if isinstance(v, Contents) and rows.is_growing(v):
        made = copy(frame, replace(v, form=v.form.plain()))
        inner = (exact(frame, pool) for pool in v.items if isinstance(pool, Contents))
        return Contents((*made.items, *inner), v.form)
    items = getattr(v, "items", None)
    return compound(v.form, tuple(exact(frame, item) for item in items)) if isinstance(items, tuple) else v  # type: ignore[attr-defined]
