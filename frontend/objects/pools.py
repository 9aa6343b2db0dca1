"""Objects in lists of run-time length: they are kept in a pool, and a list has their numbers there.

A pool is itself a list of run-time length, of the contents of the objects of one class; a ``Handle`` is one of these
objects: the pool, and a number in it. So two items may be the same object, an object may be in several lists and have
several names, and an assignment to an attribute is visible under all of them, as in Python.

Tracing finds out which objects are in a pool: if one becomes an item, or is merged with one, the place where it was
made is noted (``Pools.sites``), and the function is traced again. From then on, objects made there go to the pool at
once. The pools of a function are empty at its beginning; a callee uses those of the objects that it is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from adc.frontend import abstract
from adc.frontend.data.compounds import Contents, Handle, Record
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Compound, Ref, Scalar, Unbound
from adc.frontend.errors import refuse
from adc.frontend.forms import Form, is_frozen
from adc.frontend.frame import Frame, NeedsPool
from adc.frontend.numeric.views import row as row_of_array
from adc.frontend.objects import columns, growing, heap, list_pools, owned, rows
from adc.frontend.objects.merge import Clash, join
from adc.ir import kinds
from adc.ir.arith import const_index
from adc.ir.builder import current_loc
from adc.ir.types import i64


def begin(frame: Frame) -> None:
    """Make the pools of a function at its beginning: those that it was given, and new ones."""
    known = frame.heap.pools
    for held in list(frame.env.values()):
        whole = isinstance(held, Contents) and rows.is_growing(held)
        for pool in rows.pools(held) if whole else rows.pools_in(held):  # type: ignore[arg-type]
            cls = _class_of(rows.row_of(heap.contents(frame, pool)))
            known.setdefault(cls, pool)
    for cls in frame.pools.rows:
        _begin_one(frame, cls)


def _begin_one(frame: Frame, cls: type) -> Ref:
    """The pool of the objects of a class."""
    known, row = frame.heap.pools, frame.pools.rows.get(cls)
    if cls not in known and row is not None:
        shapes: list[columns.Shape] = [None for _ in columns.leaves(row)]
        inner = [_begin_one(frame, _class_of(t)) for t in columns.handles(row)]
        held = growing.allocated(frame, row, 0, const_index(0), shapes, inner)
        known[cls] = heap.new(frame, held.form, held.items)
    return known[cls]


def _class_of(row: abstract.Abstract) -> type:
    assert isinstance(row, abstract.Tuple)
    return row.form.cls


def pooled(frame: Frame, v: AbstractValue) -> AbstractValue:
    """The value of the expression here, with the objects that it made in their pools, if they must be there."""
    site = current_loc()
    if not frame.pools.has_site(site):
        return v
    made: dict[str, AbstractValue | None] = {}
    for key, ref in list(frame.heap.refs.items()):
        wanted = (site, ref.cls) in frame.pools.sites and frame.heap.sites.get(key) == site
        held = frame.env.get(key)
        if wanted and isinstance(held, Contents) and not _is_pool(held):
            _moved(frame, ref, made)
    return exchanged(frame, v, made) if made else v


def _is_pool(held: Contents) -> bool:
    row = rows.row_of(held) if rows.is_growing(held) else None
    return isinstance(row, abstract.Tuple) and row.form.kind == "record" and not is_frozen(row.form.cls)


def exchanged(frame: Frame, v: AbstractValue, made: Mapping[str, AbstractValue | None]) -> AbstractValue:
    """A value with others in the place of objects, by their keys; so do the variables of the frame have them."""
    for name, value in frame.env.items():
        frame.env[name] = _replaced(value, made)
    return _replaced(v, made)


def _moved(frame: Frame, v: AbstractValue, made: dict[str, AbstractValue | None]) -> AbstractValue:
    """A value with its objects moved to their pools, if they were made at a site for that. ``made``: the objects
    already there, by key, and None for those whose attributes are being moved."""
    if isinstance(v, Compound) and not isinstance(v, Handle):
        return v.of(_moved(frame, item, made) for item in v.items)
    if not isinstance(v, Ref) or (frame.heap.sites.get(v.key), v.cls) not in frame.pools.sites:
        return v
    if v.key in made:
        known = made[v.key]
        if known is None:
            raise refuse(
                current_loc(),
                f"this {v.cls.__name__} is made with an attribute that leads back to itself",
                "keep the number of the object in its list instead",
                kind=kinds.TYPE_DIFFERS,
            )
        return known
    if frame.heap.kin.get(v.key):
        raise refuse(
            current_loc(),
            f"this call gives one {v.cls.__name__} under several names, and which one depends on the run",
            "make the objects where they are used, or give back the number of the chosen one",
            kind=kinds.NOT_CONSTANT,
        )
    made[v.key] = None
    if v.kind == "list":
        listed = list_pools.record(frame, v)
        del frame.env[v.key]
        made[v.key] = handle = _appended(frame, v, listed)
        return handle
    held = heap.contents(frame, v)
    items = tuple(_moved(frame, item, made) for item in held.items)
    del frame.env[v.key]
    made[v.key] = handle = _appended(frame, v, Record(items, Form("record", v.cls, held.form.names)))
    return handle


def _replaced(v: AbstractValue, made: Mapping[str, AbstractValue | None]) -> AbstractValue:
    """A value with handles instead of the objects that went to pools."""
    if isinstance(v, Ref):
        return made.get(v.key) or v
    if isinstance(v, Unbound):
        return Unbound(v.flag, _replaced(v.value, made))
    if not any(ref.key in made for ref in heap.refs_of(v)):
        return v
    assert isinstance(v, Compound)
    return v.of(_replaced(item, made) for item in v.items)


def _appended(frame: Frame, v: Ref, record: Record) -> Handle:
    """The object with these attributes, in its pool."""
    try:
        row = rows.item_type(frame, record)
    except Clash as clash:
        raise refuse(
            current_loc(),
            f"{describe_type(v)} cannot become an item of a list whose length depends on the run: {clash}",
            "give its attributes numbers, arrays, or tuples of these",
            kind=kinds.TYPE_DIFFERS,
        ) from None
    cls = record.form.cls
    pool = frame.heap.pools.get(cls)
    if pool is None:
        frame.pools.rows[cls] = row
        raise NeedsPool(frame)
    now = heap.contents(frame, pool)
    if not _same_fields(rows.row_of(now), row):
        raise _other_fields(cls)
    number, before = rows.length(now), len(frame.held)
    growing.append(frame, pool, record)
    wanted, had = row, rows.row_of(now)
    assert isinstance(wanted, abstract.Tuple) and isinstance(had, abstract.Tuple)
    owned.note_given(frame, before, record, wanted, _row_of(frame, pool), had)
    return Handle((pool, Scalar(number, i64)), Form("handle", cls))


def _same_fields(a: abstract.Abstract, b: abstract.Abstract) -> bool:
    return isinstance(a, abstract.Tuple) and isinstance(b, abstract.Tuple) and a.form == b.form


def _other_fields(cls: type) -> Exception:
    return refuse(
        current_loc(),
        f"the objects of {cls.__name__} in a list whose length depends on the run have other attributes than this",
        f"give every {cls.__name__} all its attributes where it is made, in __init__ or as fields of a dataclass",
        kind=kinds.TYPE_DIFFERS,
    )


# Attributes -----------------------------------------------------------------------------------------------------------


def _row(frame: Frame, v: Handle) -> abstract.Tuple:
    return _row_of(frame, v.pool)


def _row_of(frame: Frame, pool: Ref) -> abstract.Tuple:
    found = rows.row_of(heap.contents(frame, pool))
    assert isinstance(found, abstract.Tuple)
    return found


def names(frame: Frame, v: Handle) -> tuple[str, ...]:
    """The attributes that an object has."""
    return tuple(map(str, _row(frame, v).form.names))


def _part(frame: Frame, v: Handle, name: str) -> tuple[abstract.Abstract, slice, slice]:
    """The type of an attribute, its columns, and its pools."""
    row = _row(frame, v)
    at = row.form.names.index(name)
    first = sum(len(columns.leaves(item)) for item in row.items[:at])
    inner = sum(_handles(item) for item in row.items[:at])
    item = row.items[at]
    return item, slice(first, first + len(columns.leaves(item))), slice(inner, inner + _handles(item))


def _handles(item: abstract.Abstract) -> int:
    return len(columns.handles(item))


def field(frame: Frame, v: Handle, name: str) -> AbstractValue:
    """The present value of an attribute."""
    held = heap.contents(frame, v.pool)
    item, own, inner = _part(frame, v, name)
    found = columns.load(frame, rows.buffers(held)[own], item, v.number, rows.pools(held)[inner])
    owned.note_read(frame, v.form.cls, name, found)
    return found


def has_array(frame: Frame, v: Handle, name: str) -> bool:
    """Whether an attribute is an array."""
    return isinstance(_part(frame, v, name)[0], abstract.Array)


def array_of(frame: Frame, v: Handle, name: str) -> Array:
    """The array in an attribute, to be changed at once: a window on its column."""
    held = heap.contents(frame, v.pool)
    _, own, _ = _part(frame, v, name)
    growing.assign(frame, v.pool, replace(held))
    return row_of_array(rows.buffers(held)[own][0], v.number)


def fields(frame: Frame, v: Handle) -> Record:
    """The present values of all attributes."""
    row = _row(frame, v)
    form = Form("object", v.form.cls, row.form.names)
    return Record(tuple(field(frame, v, str(name)) for name in form.names), form)


def store(frame: Frame, v: Handle, name: str, value: AbstractValue) -> None:
    """``v.name = value``."""
    row = _row(frame, v)
    if name not in row.form.names:
        raise _other_fields(v.form.cls)
    at = row.form.names.index(name)
    growing.check_unshared(frame, value)
    try:
        items = tuple(join(t, rows.item_type(frame, value)) if k == at else t for k, t in enumerate(row.items))
    except Clash as clash:
        raise refuse(
            current_loc(),
            f"{describe_type(value)} cannot become the attribute '{name}' of the objects in a list: {clash}",
            "give the attribute values of one type",
            kind=kinds.TYPE_DIFFERS,
        ) from None
    now = growing.converted(frame, heap.contents(frame, v.pool), abstract.Tuple(items, row.form))
    growing.assign(frame, v.pool, now)
    item, own, inner = _part(frame, v, name)
    rows.check_one_pool(rows.pools(now)[inner], rows.pools_in(value))
    found, into = columns.parts_inside(frame, value, item), rows.buffers(now)[own]
    columns.check_shapes(into, columns.shapes(found))
    before = len(frame.held)
    columns.write(frame, into, v.number, found)
    record = Record((value,), Form("record", v.form.cls, (name,)))
    one = Form("object", v.form.cls, (name,))
    types = (rows.item_type(frame, value), item, row.items[at])
    owned.note_given(frame, before, record, *(abstract.Tuple((t,), one) for t in types))
