"""Lists in pools: how one gets there, and the type of the items of all lists of a pool. See ``prelude.python_rows``."""

from __future__ import annotations

from adc.frontend import abstract
from adc.frontend.data.compounds import Contents, Handle, Record
from adc.frontend.data.values import AbstractValue, Array, Ref, Scalar
from adc.frontend.elements import from_element
from adc.frontend.errors import refuse
from adc.frontend.forms import LIST, Form
from adc.frontend.frame import Frame, NeedsPool
from adc.frontend.numeric.nests import allocate, nest, serial
from adc.frontend.numeric.views import row as row_of
from adc.frontend.objects import columns, growing, heap, item_shapes, rows
from adc.frontend.objects.merge import Clash, join
from adc.frontend.prelude.python_rows import PooledList
from adc.frontend.sites import OtherPools, Pools
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import i64

NAMES = ("first", "size", "room")
NOTHING = abstract.Static(Ellipsis)  # the type of the items of lists that never get any


def is_row(v: AbstractValue | None) -> bool:
    """Whether this is a list in a pool."""
    return isinstance(v, Handle) and issubclass(v.form.cls, PooledList)


def record(frame: Frame, ref: Ref) -> Record:
    """What the pool holds of a list, whose items go to the pool's cells."""
    cls = frame.pools.class_of((frame.heap.sites[ref.key], frame.heap.parts.get(ref.key, "")))
    held = heap.contents(frame, ref)
    item = type_of(frame, held)
    pool = frame.heap.pools.get(cls.cell)
    if pool is None:
        row, elsewhere = _row(cls, item or NOTHING), frame.tracer.elsewhere
        if cls in elsewhere.lists.values():
            row = elsewhere.rows.setdefault(cls.cell, row)
        frame.pools.rows[cls.cell] = row
        raise NeedsPool(frame)
    if item is not None:
        let_hold(frame, cls, pool, item)
    count = rows.length(held) if rows.is_growing(held) else const_index(len(held.items))
    first = reserved(frame, pool, count, _shapes(frame, held, pool))
    fill(frame, pool, first, held)
    place = Handle((pool, Scalar(first, i64)), Form("handle", cls.cell))
    return Record((place, Scalar(count, i64), Scalar(count, i64)), Form("record", cls, NAMES))


def type_of(frame: Frame, held: Contents) -> abstract.Abstract | None:
    try:
        return rows.type_of_items(frame, held)
    except Clash as clash:
        raise growing.not_together(frame, str(clash), clash.help) from None


def _row(cls: type[PooledList], item: abstract.Abstract) -> abstract.Abstract:
    return abstract.Tuple((item,), Form("record", cls.cell, ("value",)))


def item_of(frame: Frame, pool: Ref) -> abstract.Abstract:
    """The type of the items of all lists of a pool."""
    row = rows.row_of(heap.contents(frame, pool))
    assert isinstance(row, abstract.Tuple)
    return row.items[0]


def let_hold(frame: Frame, cls: type[PooledList], pool: Ref, item: abstract.Abstract) -> None:
    """Have the items of lists be of a type that fits ``item`` too. If they are not, the function is traced again."""
    before = item_of(frame, pool)
    if _leads_to(frame, item, cls):
        message = "objects that hold lists of such objects, or lists of such lists, are not supported here"
        help = "append the number that the object has in a list of all: node.children.append(k)"
        raise refuse(current_loc(), message, help, kind=kinds.TYPE_DIFFERS)
    try:
        wanted = item if before == NOTHING else join(before, item)
    except Clash as clash:
        message = f"lists that are kept together have items of different types: {clash}"
        raise refuse(current_loc(), message, clash.help or rows.TABLE, kind=kinds.TYPE_DIFFERS) from None
    if wanted == before:
        return

    def widen(pools: Pools) -> bool:
        if cls.cell not in pools.rows:
            return False
        pools.rows[cls.cell] = _row(cls, wanted)
        return True

    raise OtherPools(widen, growing.not_alike())


def _leads_to(frame: Frame, item: abstract.Abstract, cls: type) -> bool:
    """Whether items have lists of a class in them, however deeply."""
    for handle in columns.handles(item):
        pool = frame.heap.pools.get(handle.form.cls)
        inside = pool is not None and _leads_to(frame, rows.row_of(heap.contents(frame, pool)), cls)
        if inside or handle.form.cls is cls:
            return True
    return False


def reserved(frame: Frame, pool: Ref, count: Value, shapes: list[columns.Shape] | None) -> Value:
    """The place of the first of ``count`` new cells."""
    now = growing.with_room(frame, heap.contents(frame, pool), count, growing.FIRST_ROOM, shapes)
    first = rows.length(now)
    growing.assign(frame, pool, rows.resized(now, first + count))
    return first


def _shapes(frame: Frame, held: Contents, pool: Ref) -> list[columns.Shape] | None:
    """The shapes of arrays in the items of a list, if it has some."""
    item = item_of(frame, pool)
    if not columns.has_arrays(item):
        return None
    if rows.is_growing(held):
        return list(item_shapes.shapes_for(frame, held, item, None))
    return columns.shapes(columns.parts_inside(frame, held.items[0], item)) if held.items else None


def fill(frame: Frame, pool: Ref, first: Value, held: Contents) -> None:
    """Set cells to the items of a list."""
    cells = heap.contents(frame, pool)
    if item_of(frame, pool) == NOTHING:
        return
    if rows.is_growing(held):
        rows.check_one_pool(rows.pools(cells), rows.pools(held))
        count = rows.length(held)
        if rows.row_of(held) == item_of(frame, pool):
            nest([count], lambda i: growing.move(frame, held, i[0], cells, first + i[0]))
        else:
            nest([count], lambda i: _write(frame, cells, first + i[0], growing.load(frame, held, i[0])))
        return
    for k, item in enumerate(held.items):
        _write(frame, cells, first + k, item)


def _write(frame: Frame, cells: Contents, k: Value, item: AbstractValue) -> None:
    row = rows.row_of(cells)
    assert isinstance(row, abstract.Tuple)
    growing.write(frame, cells, k, Record((item,), row.form))


def as_table(frame: Frame, held: Contents) -> Array | None:
    """The array of the numbers or arrays in a list of lists that are in a pool; None for other lists. The lists must be
    of one length."""
    row = rows.row_of(held)
    if not isinstance(row, abstract.Tuple) or row.form.kind != "handle" or not issubclass(row.form.cls, PooledList):
        return None
    (pool,), count = rows.pools(held), rows.length(held)
    some = ops.cmpi(count, const_index(0), predicate="sgt")
    trap_unless(some, "ValueError", "an array of a list of lists needs at least one")
    numbers, (_, sizes, _) = rows.buffers(held)[0], rows.buffers(heap.contents(frame, pool))
    length = _at(sizes, _at(numbers, const_index(0)))
    inner = rows.pools(heap.contents(frame, pool))[0]
    cells = heap.contents(frame, inner)
    item = item_of(frame, inner)
    if not isinstance(item, abstract.Scalar | abstract.Array):
        message = "an array of a list of lists can be made if these hold numbers, or arrays"
        raise refuse(current_loc(), message, rows.TABLE, kind=kinds.TYPE_DIFFERS)
    source = rows.buffers(cells)[0]
    made = allocate(frame, [count, length, *source.dims[1:]], source.dtype, "table")

    def fill_row(at: list[Value]) -> None:
        first, size, _ = (_at(column, _at(numbers, at[0])) for column in places)
        same = ops.cmpi(size, length, predicate="eq")
        trap_unless(same, "ValueError", "the lists in a list have different lengths: they make no array")
        into = row_of(made, at[0])

        def copy(j: list[Value]) -> None:
            columns.write(frame, [into], j[0], columns.loaded_parts([source], first + j[0], [into]), moved=True)

        serial([length], copy)

    places = rows.buffers(heap.contents(frame, pool))
    serial([count], fill_row)
    return made


def _at(column: Array, k: Value) -> Value:
    return from_element(ops.load(column.memref, k))


def items(frame: Frame, v: AbstractValue) -> Ref:
    """The items of a list in a pool, as a list that is a copy."""
    assert isinstance(v, Handle)
    pool = v.pool
    held = heap.contents(frame, pool)
    row = rows.row_of(held)
    assert isinstance(row, abstract.Tuple)
    first, size, _ = columns.load(frame, rows.buffers(held), row, v.number, rows.pools(held)).items  # type: ignore[attr-defined]
    cells = heap.contents(frame, first.pool)
    item, count = item_of(frame, first.pool), size.value
    if item == NOTHING:
        return heap.new(frame, LIST, ())
    made = growing.allocated(frame, item, count, count, item_shapes.shapes_in(cells), rows.pools(cells))
    nest([count], lambda i: growing.move(frame, cells, first.number + i[0], made, i[0]))
    return heap.new(frame, made.form, made.items)
