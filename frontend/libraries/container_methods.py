"""Methods of lists, dicts and namedtuples."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from adc.frontend import iteration
from adc.frontend.containers import equality, indexing, keys, making, records, sequences
from adc.frontend.control.branches import branch
from adc.frontend.data.dims import dim_value
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import (
    NONE,
    AbstractValue,
    Method,
    Ref,
    Static,
    Tuple,
    View,
    is_array,
    is_static_number,
    needed_int,
)
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame, discard
from adc.frontend.libraries.rules import no_keywords
from adc.frontend.numeric import scalars
from adc.frontend.objects import growing, heap, list_changes, rows
from adc.frontend.prelude import python_lists
from adc.frontend.prelude.python_dicts import Dict
from adc.ir import kinds
from adc.ir.builder import current_loc, insert_at
from adc.ir.core import Block

Args = Sequence[AbstractValue]
Keywords = Mapping[str, AbstractValue]


def _held(frame: Frame, owner: Ref) -> list[AbstractValue]:
    return list(heap.contents(frame, owner).items)


def _index(owner: Ref, v: AbstractValue) -> int:
    position = needed_int(v)
    if position is None:
        raise refuse(
            current_loc(),
            "where a list is changed in length must be known when the function is compiled",
            "use a constant, or an array",
            kind=kinds.NOT_CONSTANT,
        )
    return position


def _append(frame: Frame, owner: Ref, item: AbstractValue) -> AbstractValue:
    growing.append(frame, owner, item)
    return NONE


def _extend(frame: Frame, owner: Ref, more: AbstractValue) -> AbstractValue:
    extend(frame, owner, more)
    return NONE


def extend(frame: Frame, owner: Ref, more: AbstractValue) -> None:
    """``owner += more``, in place."""
    items = sequences.known_items(frame, more)
    if items is not None and rows.grows(frame, owner):
        for item in items:
            growing.append(frame, owner, item)
        return
    found = iteration.sequence(frame, more) if items is None else None
    if isinstance(found, iteration.Indexed):
        list_changes.extend(frame, owner, dim_value(found.length), iteration.unchanging(frame, found.item))
        return
    if isinstance(found, iteration.Known) and _mixes(found):
        heap.assign(frame, owner, [*_held(frame, owner), *found.whole()])
        return
    if isinstance(found, iteration.Known):
        for k in range(found.count):
            branch(frame, found.has(k), partial(_append_item, frame, owner, found, k), lambda: None)
        return
    if items is None:
        raise refuse(current_loc(), f"a list cannot be extended by {describe_type(more)} here", kind=kinds.NOT_ITERABLE)
    heap.assign(frame, owner, [*_held(frame, owner), *items])


def _mixes(items: iteration.Known) -> bool:
    """Whether there are both arrays and values that no run-time variable can hold: no list of run-time length has
    both."""
    scratch = Block()
    with insert_at(scratch):
        leaves = [leaf for k in range(items.count) for leaf in _leaves(items.item(k))]
    discard(scratch)
    constant = any(isinstance(v, Static) and not is_static_number(v) for v in leaves)
    return constant and any(map(is_array, leaves))


def _leaves(v: AbstractValue) -> Iterator[AbstractValue]:
    if isinstance(v, Tuple):
        for item in v.items:
            yield from _leaves(item)
    else:
        yield v


def _append_item(frame: Frame, owner: Ref, items: iteration.Known, k: int) -> None:
    growing.append(frame, owner, items.item(k))


def _known_place(frame: Frame, owner: Ref, position: AbstractValue | None, *more: AbstractValue) -> bool:
    """Whether a list has a known length and is changed at a known position. At a run-time position it becomes a list of
    run-time length, and so does a list of many numbers that shift with each iteration. ``more``: the items that it
    gets."""
    if rows.grows(frame, owner):
        return False
    held = heap.contents(frame, owner)
    k = 0 if position is None else needed_int(position)
    if not (held.items or more) or (k is not None and (position is None or not _shifts_many(frame, owner, k, more))):
        return True
    growing.let_grow(frame, owner, more)
    return False


def _shifts_many(frame: Frame, owner: Ref, k: int, more: tuple[AbstractValue, ...]) -> bool:
    held = heap.contents(frame, owner)
    again = bool(frame.loops) or frame.given_number(owner) is not None
    return again and 0 <= k < len(held.items) - indexing.FEW_STORES and indexing.are_numbers(held, *more)


def _pop(frame: Frame, owner: Ref, position: AbstractValue | None = None) -> AbstractValue:
    if not _known_place(frame, owner, position):
        return list_changes.pop(frame, owner, None if position is None else indexing.subscript(position))
    items, k = _held(frame, owner), -1 if position is None else _index(owner, position)
    if not -len(items) <= k < len(items):
        what = "pop from empty list" if not items else f"pop index {k} is out of range for {len(items)} items"
        raise refuse(current_loc(), what, kind=kinds.CONSTANT_OUT_OF_RANGE)
    found = items.pop(k)
    heap.assign(frame, owner, items)
    return found


def _insert(frame: Frame, owner: Ref, position: AbstractValue, item: AbstractValue) -> AbstractValue:
    if not _known_place(frame, owner, position, item):
        list_changes.insert(frame, owner, indexing.subscript(position), item)
        return NONE
    items = _held(frame, owner)
    items.insert(_index(owner, position), item)
    heap.assign(frame, owner, items)
    return NONE


def _clear(frame: Frame, owner: Ref) -> AbstractValue:
    if rows.grows(frame, owner):
        list_changes.clear(frame, owner)
        return NONE
    heap.assign(frame, owner, [])
    return NONE


def _reverse(frame: Frame, owner: Ref) -> AbstractValue:
    if rows.grows(frame, owner):
        list_changes.reverse(frame, owner)
        return NONE
    heap.assign(frame, owner, _held(frame, owner)[::-1])
    return NONE


def _sort(frame: Frame, owner: Ref, *, key: AbstractValue = NONE, reverse: AbstractValue = NONE) -> AbstractValue:
    options = {n: v for n, v in (("key", key), ("reverse", reverse)) if v is not NONE}
    ordered = frame.tracer.call(frame, Static(sorted), [owner], options)
    assert isinstance(ordered, Ref)
    growing.assign(frame, owner, heap.contents(frame, ordered))
    return NONE


def _copy(frame: Frame, owner: Ref) -> AbstractValue:
    held = growing.copy(frame, heap.contents(frame, owner))
    return heap.new(frame, held.form, held.items)


def _find(
    frame: Frame,
    owner: AbstractValue,
    value: AbstractValue,
    start: AbstractValue = NONE,
    stop: AbstractValue = NONE,
    *,
    text: AbstractValue = NONE,
) -> AbstractValue:
    whole = start is NONE and stop is NONE
    for k, item in enumerate((sequences.known_items(frame, owner) or ()) if whole else ()):
        same = scalars.truth(equality.held_equal(frame, item, value))
        if not isinstance(same, bool):
            equality.check_not_nan(value, item)
            break
        if same:
            return Static(k)
    else:
        if whole and not rows.grows(frame, owner):
            raise refuse(current_loc(), "ValueError: the value is not in the list", kind=kinds.INVALID_VALUE)
    if rows.grows(frame, owner):
        equality.check_not_nan(value)
    if records.is_instance(value) and text is NONE:
        text = Static("the object is not in the list")  # Python shows this
    text = Static("tuple.index(x): x not in tuple") if isinstance(owner, Tuple) else text
    bounds = [Static(0) if start is NONE else start, stop, text]
    return frame.tracer.call(frame, Static(python_lists.index), [owner, value, *bounds], {})


def _count(frame: Frame, owner: AbstractValue, value: AbstractValue) -> AbstractValue:
    if rows.grows(frame, owner):
        equality.check_not_nan(value)
        return frame.tracer.call(frame, Static(python_lists.count), [owner, value], {})
    total: AbstractValue = Static(0)
    for item in sequences.known_items(frame, owner) or ():
        same = equality.held_equal(frame, item, value)
        if not isinstance(same, Static):
            equality.check_not_nan(value, item)
        total = scalars.binary("+", total, same)
    return total


def _remove(frame: Frame, owner: Ref, value: AbstractValue) -> AbstractValue:
    """``owner.remove(value)``: the first item that is equal to it."""
    place = _find(frame, owner, value, text=Static("list.remove(x): x not in list"))
    _pop(frame, owner, place)
    return NONE


_LIST: dict[str, Callable[..., AbstractValue]] = {
    "append": _append,
    "extend": _extend,
    "pop": _pop,
    "insert": _insert,
    "clear": _clear,
    "remove": _remove,
    "reverse": _reverse,
    "sort": _sort,
    "copy": _copy,
    "index": _find,
    "count": _count,
}


def _get(frame: Frame, owner: Ref, key: AbstractValue, default: AbstractValue = NONE) -> AbstractValue:
    items = sequences.dict_items(frame, owner)
    if not sequences.is_computed(key):
        return items.get(sequences.computed_key(frame, owner, key), default)
    if items:
        there, _ = keys.place(frame, items, key)
        found = branch(frame, there, lambda: indexing.read(frame, owner, key), lambda: default)
        assert found is not None
        return found
    return default


def _keys(frame: Frame, owner: Ref) -> AbstractValue:
    return Tuple(tuple(map(sequences.as_value, heap.contents(frame, owner).form.names)))


def _values(frame: Frame, owner: Ref) -> AbstractValue:
    return _view(lambda: heap.contents(frame, owner).items)


def _items(frame: Frame, owner: Ref) -> AbstractValue:
    def now() -> tuple[AbstractValue, ...]:
        return tuple(Tuple((sequences.as_value(k), v)) for k, v in sequences.dict_items(frame, owner).items())

    return _view(now)


def _view(now: Callable[[], tuple[AbstractValue, ...]]) -> AbstractValue:
    return View(now(), now=now)


def _update(frame: Frame, owner: Ref, other: AbstractValue | None = None, **more: AbstractValue) -> AbstractValue:
    items = sequences.dict_items(frame, owner)
    if other is not None:
        items |= pairs(frame, other)
    items.update(more)
    sequences.assign_dict(frame, owner, items)
    return NONE


def pairs(frame: Frame, v: AbstractValue) -> dict[object, AbstractValue]:
    """The items of a dict, or of a sequence of pairs."""
    v = sequences.plain(frame, v)
    if isinstance(v, Ref) and v.cls is Dict:
        message = "the keys of this dict are computed by the run, and have to be known here"
        raise refuse(current_loc(), message, "write a for statement: for k, v in d.items()", kind=kinds.NOT_CONSTANT)
    if isinstance(v, Ref) and v.kind == "dict":
        return sequences.dict_items(frame, v)
    found: dict[object, AbstractValue] = {}
    items = iteration.all_of(frame, v)
    if items is None:
        raise refuse(
            current_loc(),
            f"a dict cannot be made of {describe_type(v)}: its keys must be known when the function is compiled",
            "write the keys out: {'a': x[0], 'b': x[1]}",
            kind=kinds.NOT_CONSTANT,
        )
    for pair in items:
        two = sequences.known_items(frame, pair)
        if two is None or len(two) != 2:
            raise refuse(
                current_loc(), f"a dict is made of pairs, not of {describe_type(pair)}", kind=kinds.NOT_ITERABLE
            )
        found[sequences.constant_key(two[0])] = two[1]
    return found


def _dict_pop(frame: Frame, owner: Ref, key: AbstractValue, default: AbstractValue | None = None) -> AbstractValue:
    items, name = sequences.dict_items(frame, owner), sequences.computed_key(frame, owner, key)
    if name not in items:
        if default is None:
            indexing.no_key(frame, name, items)
        return default
    found = items.pop(name)
    sequences.assign_dict(frame, owner, items)
    return found


def _setdefault(frame: Frame, owner: Ref, key: AbstractValue, default: AbstractValue = NONE) -> AbstractValue:
    items, name = sequences.dict_items(frame, owner), sequences.computed_key(frame, owner, key)
    if name not in items:
        items[name] = default
        sequences.assign_dict(frame, owner, items)
    return items[name]


def _clear_dict(frame: Frame, owner: Ref) -> AbstractValue:
    sequences.assign_dict(frame, owner, {})
    return NONE


_DICT: dict[str, Callable[..., AbstractValue]] = {
    "get": _get,
    "keys": _keys,
    "values": _values,
    "items": _items,
    "update": _update,
    "pop": _dict_pop,
    "setdefault": _setdefault,
    "copy": _copy,
    "clear": _clear_dict,
}


def _replace(frame: Frame, owner: Tuple, **changes: AbstractValue) -> AbstractValue:
    return making.replaced(frame, owner, changes)


def _asdict(frame: Frame, owner: Tuple) -> AbstractValue:
    return sequences.new_dict(frame, dict(zip(owner.form.names, owner.items, strict=True)))


_TUPLE: dict[str, Callable[..., AbstractValue]] = {
    "index": _find,
    "count": _count,
    "_replace": _replace,
    "_asdict": _asdict,
}


def method_of(owner: AbstractValue, name: str) -> Method | None:
    """The bound method of a container; None if there is none of this name."""
    return Method(owner, name) if name in _table(owner) else None


def _table(owner: AbstractValue) -> dict[str, Callable[..., AbstractValue]]:
    if isinstance(owner, Ref):
        return _LIST if owner.kind == "list" else _DICT if owner.kind == "dict" else {}
    return _TUPLE if isinstance(owner, Tuple) else {}


def names_of(owner: AbstractValue) -> list[str]:
    return sorted(_table(owner))


def call_container_method(frame: Frame, method: Method, args: Args, kwargs: Keywords) -> AbstractValue:
    """Call a bound method of a list, dict or tuple."""
    rule = _table(method.owner)[method.name]
    if method.name not in ("_replace", "update", "sort"):
        no_keywords(method.name, kwargs)
    try:
        inspect.signature(rule).bind(frame, method.owner, *args, **kwargs)
    except TypeError:
        raise refuse(
            current_loc(), f"{method.name}() cannot be called with these arguments", kind=kinds.WRONG_CALL
        ) from None
    return rule(frame, method.owner, *args, **kwargs)
