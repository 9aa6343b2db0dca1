"""Subscripts: elements, and basic slices as views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adc.frontend import looks
from adc.frontend.containers import indexing, keys, letters, records
from adc.frontend.control import options
from adc.frontend.data.compounds import SliceObject
from adc.frontend.data.dims import dim_value
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import (
    NONE,
    AbstractValue,
    Array,
    Lazy,
    Number,
    Range,
    Read,
    Ref,
    Static,
    Stream,
    Tuple,
    is_array,
    is_numeric,
    needed_int,
)
from adc.frontend.errors import refuse
from adc.frontend.forms import SLICE
from adc.frontend.frame import Frame
from adc.frontend.names import external
from adc.frontend.numeric import views
from adc.frontend.numeric.convert import assigned, load_scalar, store_scalar
from adc.frontend.numeric.nests import lazy_of, materialise
from adc.frontend.numeric.slices import Item, Slice, Window, bound, is_full, is_none, window
from adc.frontend.objects import growing, heap, list_changes, list_pools, rows
from adc.frontend.prelude import python_ranges
from adc.frontend.prelude.python_collections import Held, LongTuple
from adc.frontend.prelude.python_dicts import DefaultDict
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.builder import at_loc, build, current_loc
from adc.ir.core import Loc, Value
from adc.ir.lazy_dataclass import dataclass

SUBSCRIPTED: dict[int, Callable[[Frame, Sequence[Item]], AbstractValue]] = {}
"""Library objects that are subscripted, by the identity of the object."""


def read(frame: Frame, owner: AbstractValue, items: list[Item]) -> AbstractValue:
    """``owner[items]`` as an expression."""
    if isinstance(owner, Array):
        place = locate(owner, items)
        return place.load() if isinstance(place, Element) else place
    if isinstance(owner, Lazy):
        return read(frame, materialise(frame, owner), items)
    if isinstance(owner, Tuple | Ref) or records.is_instance(owner):
        return _read_container(frame, owner, items)
    if isinstance(owner, Static) and id(owner.value) in SUBSCRIPTED:
        return SUBSCRIPTED[id(owner.value)](frame, items)
    if isinstance(owner, Range) and len(items) == 1 and not owner.parallel:
        return _read_range(frame, owner, items[0])
    if isinstance(owner, Static) and owner.value is not None and len(items) == 1 and isinstance(items[0].value, Static):
        return _read_static(frame, owner.value, items[0].value.value, items[0].loc)
    if isinstance(owner, Static) and isinstance(owner.value, str | tuple) and (part := known_slice(items)) is not None:
        return Static(owner.value[part])
    if isinstance(owner, Static) and isinstance(owner.value, str) and len(items) == 1:
        at = items[0].value
        if isinstance(at, AbstractValue) and is_numeric(at):
            return letters.letter(owner.value, indexing.subscript(at))
    message = f"{describe_type(owner)} cannot be subscripted"
    if isinstance(owner, Static) and owner.value is None:
        message = "'NoneType' object is not subscriptable"
        raise options.of_none(frame, refuse(current_loc(), message, kind=kinds.NOT_SUBSCRIPTABLE), owner)
    if isinstance(owner, Stream):
        message += " here"
        help = f"make a list of it first: list({owner.name}(...))[k]"
        raise refuse(current_loc(), message, help, kind=kinds.NOT_SUBSCRIPTABLE)
    raise refuse(current_loc(), message, kind=kinds.NOT_SUBSCRIPTABLE)


def _read_range(frame: Frame, owner: Range, item: Item) -> AbstractValue:
    """An item of a range, or the range that a slice of it is."""
    bounds = [owner.start, owner.stop, owner.step]
    if not isinstance(item.value, Slice):
        return frame.tracer.call(frame, Static(python_ranges.item), [*bounds, item.value], {})
    parts = [NONE if p is None else p for p in (item.value.lower, item.value.upper, item.value.step)]
    found = frame.tracer.call(frame, Static(python_ranges.part), [*bounds, *parts], {})
    assert isinstance(found, Tuple)
    first, last, step = found.items
    return Range(first, last, step)


_IMMUTABLE = (str, bytes, tuple, range, type)  # their items never change


def _read_static(frame: Frame, owner: Any, key: Any, loc: Loc) -> AbstractValue:
    """An item of an object that is known when tracing. If the object is mutable, the item is read again at each
    call."""
    try:
        value = owner[key]
    except (TypeError, LookupError) as error:
        raise refuse(loc, str(error), kind=kinds.NOT_SUBSCRIPTABLE) from None
    if isinstance(owner, _IMMUTABLE):
        return Static(value)
    name = f"{type(owner).__name__}[{key!r}]"
    return external(frame, value, ("item", id(owner), key), name, looks.Item(looks.Object(owner), key))


def _read_container(frame: Frame, owner: AbstractValue, items: list[Item]) -> AbstractValue:
    getter = records.method(frame, owner, "__getitem__")
    if isinstance(owner, Ref) and owner.cls is DefaultDict:
        found = keys.of_default(frame, owner, key_of(items))
        if found is not None:
            return found
    if getter is not None:
        return frame.tracer.call(frame, getter, [key_for(owner, items)], {})
    if not isinstance(owner, Tuple) and records.is_instance(owner):
        raise refuse(current_loc(), f"{describe_type(owner)} cannot be subscripted", kind=kinds.NOT_SUBSCRIPTABLE)
    found = _of_list(frame, owner, items)
    if isinstance(found, Ref) and isinstance(items[0].value, Slice):  # a list that this expression makes
        frame.heap.sites[found.key] = current_loc()
    return found


def _of_list(frame: Frame, owner: AbstractValue, items: list[Item]) -> AbstractValue:
    with at_loc(items[0].loc if len(items) == 1 else current_loc()):
        if rows.grows(frame, owner) and len(items) == 1 and isinstance(items[0].value, Slice):
            assert isinstance(owner, Ref)
            held = heap.contents(frame, owner)
            return list_changes.of_windows(frame, held, [view(w, expand(w.rank, items)) for w in growing.windows(held)])
        part = known_slice(items)
        if part is not None:
            return indexing.slice_of(frame, owner, part)
        return indexing.read(frame, owner, key_of(items))


def key_for(owner: AbstractValue, items: list[Item]) -> AbstractValue:
    """The subscript that a method of an object is given, which may be or contain slices."""
    cls = records.class_of(owner)
    if issubclass(cls, Held) and cls is not LongTuple and not list_pools.is_row(owner):
        return key_of(items)
    values = [_slice_of(item.value) if isinstance(item.value, Slice) else item.value for item in items]
    return values[0] if len(values) == 1 else Tuple(tuple(values))


def _slice_of(part: Slice) -> AbstractValue:
    bounds = [NONE if p is None else p for p in (part.lower, part.upper, part.step)]
    if all(isinstance(p, Static) for p in bounds):
        return Static(slice(*(p.value for p in bounds)))  # type: ignore[attr-defined]
    return SliceObject(tuple(bounds), SLICE)


def key_of(items: list[Item]) -> AbstractValue:
    """The subscript of a container."""
    values = [item.value for item in items]
    found = [v for v in values if not isinstance(v, Slice)]
    if len(found) != len(values):
        raise refuse(items[0].loc, "a slice cannot be used here", kind=kinds.UNSUPPORTED_INDEXING)
    return found[0] if len(found) == 1 else Tuple(tuple(found))


def known_slice(items: list[Item]) -> slice | None:
    """The slice between the brackets, None if there is none; its bounds must be known."""
    value = items[0].value
    if len(items) != 1 or not isinstance(value, Slice):
        return None
    parts = [value.lower, value.upper, value.step]
    numbers = [None if p is None or is_none(p) else needed_int(p) for p in parts]
    if any(n is None and p is not None and not is_none(p) for n, p in zip(numbers, parts, strict=True)):
        raise refuse(
            items[0].loc,
            "the slice of a tuple or list must be known when the function is compiled",
            "use constants, or an array in its place",
            kind=kinds.NOT_CONSTANT,
        )
    if numbers[2] == 0:
        raise refuse(items[0].loc, "slice step cannot be zero", kind=kinds.INVALID_VALUE)
    return slice(*numbers)


@dataclass(frozen=True)
class Element:
    """One element of an array, with its subscripts checked."""

    array: Array
    subscripts: tuple[Value, ...]

    def load(self) -> Number:
        return load_scalar(self.array.memref, self.subscripts, self.array.dtype)

    def store(self, value: AbstractValue) -> None:
        if isinstance(value, Array | Lazy) and not value.rank:
            value = lazy_of(value).element([], False)
        if is_array(value) or not is_numeric(value):
            raise refuse(
                current_loc(), f"cannot store {describe_type(value)} into an array element", kind=kinds.WRONG_TYPE
            )
        store_scalar(assigned(value, self.array.dtype), self.array.memref, list(self.subscripts), self.array.dtype)


def locate(owner: Array, items: list[Item]) -> Element | Array:
    """The element or the view that ``owner[items]`` names: with an ellipsis, always a view."""
    ellipsis = any(isinstance(item.value, Static) and item.value.value is ... for item in items)
    items = expand(owner.rank, items)
    if any(is_newaxis(item) for item in items):
        kept = [item for item in items if not is_newaxis(item)]
        new = [is_newaxis(item) for item in items if is_newaxis(item) or isinstance(item.value, Slice)]
        return views.with_new_axes(view(owner, kept), new)
    if not ellipsis and all(not isinstance(item.value, Slice) for item in items):
        return Element(owner, tuple(bound(item, d) for item, d in zip(items, owner.dims, strict=True)))
    return view(owner, items)


def is_newaxis(item: Item) -> bool:
    return not isinstance(item.value, Slice) and is_none(item.value)


def consumed(item: Item) -> int:
    """How many dimensions of the array a subscript consumes."""
    ellipsis = isinstance(item.value, Static) and item.value.value is ...
    return 0 if ellipsis or is_newaxis(item) else 1


def expand(rank: int, items: Sequence[Item], consumed: Callable[[Item], int] = consumed) -> list[Item]:
    """``items`` with full slices for an ellipsis, or for missing dimensions at the end."""
    ellipses = [k for k, item in enumerate(items) if isinstance(item.value, Static) and item.value.value is ...]
    count = sum(map(consumed, items))
    if len(ellipses) > 1:
        raise refuse(
            items[ellipses[1]].loc, "an index can only have a single ellipsis ('...')", kind=kinds.INVALID_SUBSCRIPT
        )
    if count > rank:
        raise refuse(
            current_loc(),
            f"too many indices: the array has {rank} dimension{'s' * (rank != 1)}, but {count} were given",
            kind=kinds.INVALID_SUBSCRIPT,
        )
    loc = items[-1].loc if items else current_loc()
    fill = [Item(loc, Slice())] * (rank - count)
    at = ellipses[0] if ellipses else len(items)
    return [*items[:at], *fill, *items[at + 1 :]]


def view(owner: Array, items: list[Item]) -> Array:
    if all(isinstance(item.value, Slice) and is_full(item.value) for item in items):
        return owner
    windows = [window(item, dim) for item, dim in zip(items, owner.dims, strict=True)]
    if owner.is_complex:
        windows.append(Window(const_index(0), 2, 1))
    operands = [
        owner.memref,
        *(w.offset for w in windows),
        *(dim_value(w.size) for w in windows),
        *(w.step if isinstance(w.step, Value) else const_index(w.step) for w in windows),
    ]
    steps = tuple(w.step if isinstance(w.step, int) else None for w in windows)
    dropped = tuple(k for k, w in enumerate(windows) if w.dropped)
    view = build(ops.subview, operands, {"static_steps": steps, "dropped": dropped}).result
    return Array(view, tuple(w.size for w in windows[: owner.rank] if not w.dropped), owner.roots)


def part(owner: Array, k: int) -> Array:
    """The view of the real or imaginary parts of an array of complex numbers."""
    zero, one = const_index(0), const_index(1)
    offsets = [*[zero] * owner.rank, const_index(k)]
    operands = [owner.memref, *offsets, *map(dim_value, owner.dims), one, *[one] * (owner.rank + 1)]
    attrs = {"static_steps": (1,) * (owner.rank + 1), "dropped": (owner.rank,)}
    return Array(build(ops.subview, operands, attrs).result, owner.dims, owner.roots)


def transpose(owner: Array | Lazy, permutation: tuple[int, ...]) -> Array | Lazy:
    """The view with its dimensions in another order."""
    if permutation == tuple(range(owner.rank)):
        return owner
    dims = tuple(owner.dims[p] for p in permutation)
    if isinstance(owner, Array):
        whole = (*permutation, owner.rank) if owner.is_complex else permutation
        return Array(ops.transpose(owner.memref, permutation=whole), dims, owner.roots)
    inverse = [permutation.index(k) for k in range(owner.rank)]

    def element(subscripts: Sequence[Value], general: bool) -> Number:
        return owner.element([subscripts[k] for k in inverse], general)

    plain = tuple(owner.plain[p] for p in permutation)
    reads = tuple(Read(r.array, pointwise=False) for r in owner.reads)
    return Lazy(dims, plain, owner.dtype, element, reads, owner.equalities, owner.view)
