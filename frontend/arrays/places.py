"""Any object with brackets: read, located, stored to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from adc.frontend.arrays import arrays, flat, gathers, subscripts
from adc.frontend.arrays.gathers import Indexed, Masked
from adc.frontend.arrays.nested import array_of
from adc.frontend.arrays.subscripts import Element
from adc.frontend.containers import sequences
from adc.frontend.control import options
from adc.frontend.data.dims import SHAPE_ERROR, dim_value
from adc.frontend.data.roots import overlap
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Flat, Lazy, Static, Tuple, is_array, is_numeric
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.numeric import nests
from adc.frontend.numeric.convert import assigned, load_scalar, store_scalar
from adc.frontend.numeric.selections import Mask, Selected, first_whole
from adc.frontend.numeric.slices import Item
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.builder import current_loc
from adc.ir.core import Value

Combine = Callable[[AbstractValue, AbstractValue], AbstractValue]
Place = Element | Array | Indexed | Masked

_INDEXED = "shape mismatch: value array of shape", " could not be broadcast to indexing result of shape "
_TOO_MANY = (
    "NumPy boolean array indexing assignment cannot assign {} input values to the {} output values "
    "where the mask is true"
)


def read(frame: Frame, owner: AbstractValue, items: list[Item]) -> AbstractValue:
    """``owner[items]`` as an expression."""
    if isinstance(owner, Flat):
        return flat.read(frame, owner, items)
    if not is_array(owner) or not gathers.by_arrays(items):
        return subscripts.read(frame, owner, items)
    if isinstance(owner, Lazy):
        mask = items[0].value
        if len(items) == 1 and isinstance(mask, Array | Lazy) and gathers.selects_from(owner, mask):
            return Selected(Mask.of(frame, mask), owner, 0)
        owner = nests.materialise(frame, owner)
    assert isinstance(owner, Array)
    return gathers.locate(frame, owner, items).read()


def locate(frame: Frame, owner: Array, items: list[Item]) -> Place:
    """The element, view or selection that ``owner[items]`` names."""
    return gathers.locate(frame, owner, items) if gathers.by_arrays(items) else subscripts.locate(owner, items)


def current(place: Place) -> AbstractValue:
    """The present value of a place."""
    if isinstance(place, Array):
        return place
    return place.load() if isinstance(place, Element) else place.read()


def store(frame: Frame, place: Place, value: AbstractValue) -> None:
    """``place = value``; a list or tuple of numbers is stored as the array of them."""
    value = options.there(value, "cannot store None into an array")
    if not isinstance(place, Element) and isinstance(value := sequences.snapshot(frame, value), Tuple):
        value = array_of(frame, value, None)
    if isinstance(place, Array):
        arrays.store(frame, place, value)
        return
    arrays.check_writable(frame, place.array)
    if isinstance(place, Element):
        place.store(value)
        return
    if is_array(value):
        lazy = nests.lazy_of(value)  # type: ignore[arg-type]
    elif is_numeric(value):
        lazy = nests.constant_array(assigned(value, place.array.dtype))
    else:
        raise refuse(current_loc(), f"cannot store {describe_type(value)} into an array", kind=kinds.WRONG_TYPE)
    if isinstance(place, Masked):
        _store_masked(frame, place, lazy)
    else:
        _store_indexed(frame, place, lazy)


def update(frame: Frame, place: Place, symbol: str, now: AbstractValue, value: AbstractValue) -> None:
    """``place symbol= value``, where ``now`` is its present value: everything is read before anything is stored, so
    that repeated elements count once."""
    if isinstance(place, Array):
        arrays.update(frame, place, symbol, value)
        return
    result = arrays.operate(frame, symbol, now, value)
    if isinstance(now, Array | Lazy):
        arrays.check_updated(symbol, now, result)
    store(frame, place, result)


def _store_masked(frame: Frame, place: Masked, value: Lazy) -> None:
    """Store under a condition where the value is known for all elements, else at the positions that the mask
    selects."""
    region, mask = place.base, place.mask
    whole = first_whole(place.read(), value)
    if whole is not None and not nests.conflicts(region, fitting := arrays.fitted(region, nests.lazy_of(whole))):  # type: ignore[arg-type]
        if nests.conflicts(region, mask.lazy) or (region.rank > mask.rank and _overlaps(region, mask.lazy)):
            mask = Mask.of(frame, nests.materialise(frame, mask.lazy))
        _store_where(region, mask, place.before, fitting)
        return
    if region.rank == mask.rank and value.rank == 1:
        count = dim_value(value.dims[0])
        one = ops.cmpi(count, const_index(1), predicate="eq")
        fits = ops.ori(one, ops.cmpi(count, mask.count, predicate="eq"))
        trap_unless(fits, SHAPE_ERROR, _TOO_MANY, count, mask.count)
    _store_indexed(frame, place.indexed, value)


def _overlaps(target: Array, value: Lazy) -> bool:
    return any(overlap(r.array.roots, target.roots) for r in value.reads)


def _store_where(region: Array, mask: Mask, before: int, value: Lazy) -> None:
    def body(general: bool, nest: Callable[..., None]) -> Callable[[list[Value]], None]:
        def visit(outer: list[Value]) -> None:
            def rest(inner: list[Value]) -> None:
                place = [*outer, *inner]
                store_scalar(value.element(place, general), region.memref, place, region.dtype)

            nests.where(mask.holds(outer[before:]), lambda: nest(region.dims[len(outer) :], rest))

        return visit

    dims = region.dims[: before + mask.rank]
    nests.versioned(
        value,
        lambda: nests.nest(dims, body(False, nests.nest)),
        lambda: nests.serial(dims, body(True, nests.serial)),
    )


def _store_indexed(frame: Frame, place: Indexed, value: Lazy) -> None:
    """Store one element after the other: if a subscript is repeated, the last one remains."""
    value = arrays.fitted(place.read(), value, _INDEXED)
    if _overlaps(place.base, value):
        value = nests.lazy_of(nests.materialise(frame, value))
    place = settled(frame, place)
    general = bool(value.equalities or place.equalities)

    def body(i: list[Value]) -> None:
        store_scalar(value.element(i, general), place.base.memref, place.at(i, general), place.base.dtype)

    nests.serial(place.dims, body)


def settled(frame: Frame, place: Indexed) -> Indexed:
    """The same place, with subscripts that do not change when it is stored to."""

    def kept(by: int | Lazy) -> int | Lazy:
        if isinstance(by, Lazy) and _overlaps(place.base, by):
            return nests.lazy_of(nests.materialise(frame, by))
        return by

    source = map(kept, place.source)
    return replace(place, source=tuple(source))


def at(frame: Frame, place: Indexed, value: AbstractValue, combine: Combine) -> None:
    """``place = combine(place, value)`` one element after the other: repeated elements are combined each time."""
    now = place.read()
    lazy = nests.lazy_of(value) if isinstance(value, Array | Lazy) else nests.constant_array(value)
    lazy = arrays.fitted(now, lazy, _INDEXED)
    if _overlaps(place.base, lazy):
        lazy = nests.lazy_of(nests.materialise(frame, lazy))
    place = settled(frame, place)
    general = bool(lazy.equalities or place.equalities)
    memory, dtype = place.base.memref, place.base.dtype

    def body(i: list[Value]) -> None:
        where = place.at(i, general)
        store_scalar(combine(load_scalar(memory, where, dtype), lazy.element(i, general)), memory, where, dtype)

    nests.serial(place.dims, body)


def unpack(frame: Frame, value: Array, count: int) -> list[AbstractValue]:
    """``a, b, c = array``: its elements or rows."""
    if not value.rank:
        raise refuse(current_loc(), "cannot unpack an array without dimensions", kind=kinds.NOT_ITERABLE)
    fits = ops.cmpi(dim_value(value.dims[0]), const_index(count), predicate="eq")
    trap_unless(fits, "ValueError", f"{{}} values cannot be unpacked into {count} variables", dim_value(value.dims[0]))
    loc = current_loc()
    return [subscripts.read(frame, value, [Item(loc, Static(k))]) for k in range(count)]
