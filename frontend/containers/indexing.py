"""Subscripts of lists, tuples and dicts: reads and stores."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import NamedTuple, NoReturn

from adc.frontend.abstract import Scalar as Number
from adc.frontend.abstract import Tuple as Several
from adc.frontend.containers import keys
from adc.frontend.containers.sequences import (
    assign_dict,
    computed_key,
    constant_key,
    dict_items,
    is_computed,
    known_items,
    new_list,
)
from adc.frontend.control import options
from adc.frontend.control.branches import branch
from adc.frontend.control.lengths import unroll_counted
from adc.frontend.control.thrown import raise_if_run, raise_now
from adc.frontend.data.compounds import Contents, Handle, OneOf
from adc.frontend.data.described import describe
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import (
    NONE,
    AbstractValue,
    Choice,
    Compound,
    Ref,
    Scalar,
    Static,
    Tuple,
    is_dict,
    is_list,
    is_numeric,
    is_static_number,
    known_int,
    needed_int,
)
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.numeric.convert import as_scalar, convert, kind, unboxed
from adc.frontend.objects import columns, growing, heap, joining, list_changes, rows
from adc.frontend.objects.merge import Clash, coerce, join
from adc.frontend.prelude import python_lists
from adc.frontend.traps import handled, trap_unless, within
from adc.ir import kinds, ops
from adc.ir.arith import const, const_index
from adc.ir.builder import current_block, current_loc
from adc.ir.core import Value
from adc.ir.raising import escape
from adc.ir.types import i1, i64


def read(frame: Frame, owner: AbstractValue, index: AbstractValue) -> AbstractValue:
    """``owner[index]`` of a tuple, list or dict; the index is not a slice."""
    if isinstance(owner, Ref) and owner.kind == "dict":
        items = dict_items(frame, owner)
        if items and is_computed(index):
            found = list(items.values())
            number = _place(frame, items, index)
            return found[0] if len(found) == 1 else _item(frame, found, number)
        key = computed_key(frame, owner, index)
        if key not in items:
            no_key(frame, key, items)
        return items[key]
    held = owner if isinstance(owner, Tuple) else heap.contents(frame, owner)  # type: ignore[arg-type]
    if isinstance(held, Contents) and rows.is_growing(held):
        return growing.load(frame, held, list_changes.position(held, subscript(index)))
    position = _position(frame, held, index)
    if isinstance(position, int):
        return held.items[position]
    return _item(frame, held.items, position)


def _place(frame: Frame, items: dict[object, AbstractValue], key: AbstractValue) -> Value:
    """The checked number of a key that the run computes."""
    if not _alike(list(items.values())) and not _constants(list(items.values())):
        constant_key(key)  # which says so
    there, position = keys.place(frame, items, key)
    messages = list(_shown(key))
    if len(messages) == 1:
        trap_unless(there, "KeyError", messages[0].text, *messages[0].numbers)
    else:
        branch(frame, there, lambda: None, lambda: _no_such_key(messages))
    return position


def is_table(frame: Frame, owner: AbstractValue) -> bool:
    """Whether it is a dict with known keys, an item of which is taken by the number of its key: so the run may find
    that there is no such key."""
    if not isinstance(owner, Ref) or owner.kind != "dict":
        return False
    items = list(dict_items(frame, owner).values())
    return bool(items) and (_alike(items) or _constants(items))


class _Shown(NamedTuple):
    """A key as the message of a KeyError has it, the numbers in it, and the choices that it is for."""

    text: str
    numbers: list[Value]
    choices: tuple[tuple[OneOf, int], ...] = ()


def _shown(key: AbstractValue) -> Iterator[_Shown]:
    if isinstance(key, Tuple):
        for parts in itertools.product(*map(_shown, key.items)):
            inside = ", ".join(p.text for p in parts) + ("," if len(parts) == 1 else "")
            numbers = [v for p in parts for v in p.numbers]
            yield _Shown(f"({inside})", numbers, tuple(c for p in parts for c in p.choices))
    elif isinstance(key, OneOf):
        for k, one in enumerate(key.options):
            for p in _shown(one):
                yield p._replace(choices=((key, k), *p.choices))
    elif isinstance(key, Scalar):
        yield _Shown("{}", [key.value])
    else:
        yield _Shown(escape(repr(getattr(key, "value", key))), [])


def _no_such_key(messages: Sequence[_Shown]) -> None:
    """The KeyError of a key some part of which is one of several constants."""
    for m in messages:
        differs: Value = const(False, i1)
        for choice_, k in m.choices:
            differs = ops.ori(differs, ops.cmpi(choice_.position, const_index(k), predicate="ne"))
        trap_unless(differs, "KeyError", m.text, *m.numbers)


def no_key(frame: Frame, key: object, items: dict[object, AbstractValue]) -> NoReturn:
    if handled(KeyError):
        raise_now(frame, "KeyError", (escape(str(key)),))
    raise refuse(current_loc(), f"the dict has no key {key!r}", keys_of(items), kind=kinds.MISSING_KEY)


def keys_of(items: dict[object, AbstractValue]) -> str:
    return f"it has {', '.join(map(repr, items))}" if items else "it is empty"


def _position(frame: Frame, held: Compound, index: AbstractValue) -> int | Value:
    """A checked position: known, or a run-time index."""
    what, n = held.form.cls.__name__ if held.form.kind == "list" else "tuple", len(held.items)
    known = known_int(index)
    if known is None and not held.items and isinstance(index, Scalar) and not index.dtype.is_float:
        _nothing_there(frame, what)
    if known is None:
        for item in held.items[1:]:
            joining.want_pools(frame, held.items[0], item)
    if known is None and isinstance(index, Scalar) and not index.dtype.is_float and not _alike(held.items):
        known = needed_int(index)
        if known is None and not _constants(held.items):
            raise refuse(
                current_loc(),
                f"the subscript of a {what} with items of several types must be known when the function is compiled",
                "use a constant, or an array in place of it",
                kind=kinds.NOT_CONSTANT,
            )
    if known is not None:
        if -n <= known < n:
            return known % n
        raise_if_run(frame, IndexError, f"{what} index out of range")
        if current_block() is frame.func.body or not _alike(held.items):
            message = f"{what} index {known} is out of range for {n} items"
            raise refuse(current_loc(), message, kind=kinds.CONSTANT_OUT_OF_RANGE)
    at = subscript(index)
    unroll_counted(frame, at)
    return within(at, const_index(n))


def _nothing_there(frame: Frame, what: str) -> NoReturn:
    """A subscript of an empty container: a run-time error on this path, which may not be taken, as in Python."""
    if current_block() is not frame.func.body:
        raise_now(frame, "IndexError", f"{what} index out of range")
    raise refuse(current_loc(), f"an empty {what} has no items", kind=kinds.CONSTANT_OUT_OF_RANGE)


def subscript(index: AbstractValue) -> Value:
    """An integer between brackets."""
    index = unboxed(index)
    if not is_numeric(index) or kind(as_scalar(index).dtype) == 2:
        raise refuse(
            current_loc(),
            f"a subscript must be an integer, not {describe_type(index)}",
            "write x[i][j]; or make an array of it first, np.asarray(x)" if isinstance(index, Tuple) else "",
            kind=kinds.INVALID_SUBSCRIPT,
        )
    return convert(as_scalar(index), i64)


def _alike(items: Sequence[AbstractValue]) -> bool:
    """Whether one expression can have each of the items as its value."""
    try:
        specs = [describe(item) for item in items]
        for spec in specs[1:]:
            join(specs[0], spec)
    except Clash:
        alike = all(isinstance(item, Ref) for item in items) and len({item.cls for item in items}) == 1  # type: ignore[attr-defined]
        return alike or _pool(items) is not None
    return bool(items) and not any(isinstance(i, Static) and not is_static_number(i) for i in items)


def _constants(items: Sequence[AbstractValue]) -> bool:
    """Whether the items are constants, one of which may be chosen at run time."""
    try:
        spec = reduce(join, map(describe, items))
    except Clash:
        return False
    return isinstance(spec, Several) and spec.form.kind == "choice"


_FEW_INTEGERS, _FEW_FLOATS = 32, 8
FEW_STORES = 16  # the most items of a list that stay variables where a run-time position is set, or all shift in a loop


def _pool(items: Sequence[AbstractValue]) -> Ref | None:
    """The pool that contains all items, if they are objects of one pool."""
    pools = {item.pool if isinstance(item, Handle) else None for item in items}
    return pools.pop() if len(pools) == 1 else None


def _item(frame: Frame, items: Sequence[AbstractValue], at: Value) -> AbstractValue:
    """Item number ``at``."""
    pool = _pool(items)
    if pool is not None:
        handles = [item for item in items if isinstance(item, Handle)]
        return handles[0].of((pool, _item(frame, [handle.items[1] for handle in handles], at)))
    return _selected(items, at) or _chosen(frame, items, at, 0, len(items))


def _selected(items: Sequence[AbstractValue], at: Value) -> Scalar | None:
    """Item number ``at`` of a few numbers, without branches: so loops can be SIMD, and the range of an integer is
    known."""
    try:
        spec = reduce(join, map(describe, items))
    except Clash:  # objects, which are chosen by branches
        return None
    if not isinstance(spec, Number) or len(items) > (_FEW_FLOATS if spec.type.is_float else _FEW_INTEGERS):
        return None
    values = []
    for item in items:
        number = coerce(item, spec)
        assert isinstance(number, Scalar)
        values.append(number.value)

    def between(low: int, high: int) -> Value:
        if high - low == 1:
            return values[low]
        middle = (low + high) // 2
        first = ops.cmpi(at, const_index(middle), predicate="slt")
        return ops.select(first, between(low, middle), between(middle, high))

    return Scalar(between(0, len(values)), spec.type, spec.weak)


def item_at(frame: Frame, items: Sequence[AbstractValue], at: Value) -> AbstractValue | None:
    """Item number ``at``, which is in range; None if the items are so different that it must be known which one."""
    for item in items[1:]:
        joining.want_pools(frame, items[0], item)
    return _item(frame, items, at) if _alike(items) or _constants(items) else None


def _chosen(frame: Frame, items: Sequence[AbstractValue], at: Value, low: int, high: int) -> AbstractValue:
    """Item number ``at``, which is one of ``low``, ..., ``high - 1``, by halving."""
    if high - low == 1:
        return items[low]
    middle = (low + high) // 2
    first = ops.cmpi(at, const_index(middle), predicate="slt")
    result = branch(
        frame,
        first,
        lambda: _chosen(frame, items, at, low, middle),
        lambda: _chosen(frame, items, at, middle, high),
    )
    assert result is not None
    return result


def choice(frame: Frame, owner: AbstractValue, index: AbstractValue) -> Choice | None:
    """``owner[index]`` if it is one of several objects, by a run-time index or key."""
    by_key = is_dict(owner) and is_computed(index)
    if not isinstance(owner, Tuple) and not is_list(owner) and not by_key:
        return None
    items = list(heap.contents(frame, owner).items) if by_key else known_items(frame, owner) or []  # type: ignore[arg-type]
    if by_key and len(items) > 1 and all(isinstance(item, Ref) for item in items) and _alike(items):
        named = dict_items(frame, owner)  # type: ignore[arg-type]
        return Choice(tuple(items), _place(frame, named, index))  # type: ignore[arg-type]
    if by_key or len(items) < 2 or known_int(index) is not None or not isinstance(index, Scalar) or not _alike(items):
        return None
    refs = [item for item in items if isinstance(item, Ref)]
    if len(refs) != len(items):
        return None
    position = _position(frame, Tuple(tuple(items)), index)
    return None if isinstance(position, int) else Choice(tuple(refs), position)


def slice_of(frame: Frame, owner: AbstractValue, part: slice) -> AbstractValue:
    """``owner[a:b:c]`` with known bounds: a new tuple or list."""
    if isinstance(owner, Tuple):
        return Tuple(owner.items[part])
    assert isinstance(owner, Ref)
    return new_list(frame, heap.contents(frame, owner).items[part])


def store(frame: Frame, owner: Ref, index: AbstractValue, value: AbstractValue, there: bool = False) -> None:
    """``owner[index] = value`` of a list or dict. ``there``: it has such an item."""
    if owner.kind == "dict":
        items = dict_items(frame, owner)
        if there and is_computed(index):
            heap.assign(frame, owner, _with(frame, list(items.values()), keys.place(frame, items, index)[1], value))
            return
        items[computed_key(frame, owner, index)] = value
        assign_dict(frame, owner, items)
        return
    held = heap.contents(frame, owner)
    if rows.is_growing(held):
        _store_one(frame, owner, subscript(index), value)
        return
    position = _position(frame, held, index)
    if isinstance(position, int):
        heap.assign(frame, owner, (*held.items[:position], value, *held.items[position + 1 :]))
        return
    if len(held.items) > FEW_STORES and are_numbers(held, value):
        growing.let_grow(frame, owner, (value,))
        list_changes.store(frame, owner, position, value)
        return
    heap.assign(frame, owner, _with(frame, held.items, position, value))


def _store_one(frame: Frame, owner: Ref, at: Value, value: AbstractValue) -> AbstractValue:
    """``owner[at] = value`` of a list of run-time length. An array that may be None is stored where it is not."""
    if isinstance(value, OneOf) and columns.has_arrays(describe(value)):
        return options.split(frame, value, lambda one: _store_one(frame, owner, at, one))
    list_changes.store(frame, owner, at, value)
    return NONE


def are_numbers(held: Contents, *more: AbstractValue) -> bool:
    """Whether a list can be one array in memory, in place of a variable for each item, any of which a store at a
    run-time position may change."""
    return all(is_numeric(item) for item in (*held.items, *more))


def _with(frame: Frame, items: Sequence[AbstractValue], at: Value, value: AbstractValue) -> list[AbstractValue]:
    """The items with ``value`` as number ``at``."""
    found: list[AbstractValue] = []
    for k, item in enumerate(items):
        here = ops.cmpi(at, const_index(k), predicate="eq")
        chosen = branch(frame, here, _returning(value), _returning(item))
        assert chosen is not None
        found.append(chosen)
    return found


def _returning(value: AbstractValue) -> Callable[[], AbstractValue]:
    return lambda: value


def store_slice(frame: Frame, owner: Ref, part: slice, value: AbstractValue) -> None:
    """``owner[a:b] = items`` of a list."""
    items = known_items(frame, value)
    if items is None and owner.kind == "list" and part.step is None and not rows.grows(frame, owner):
        held = list(heap.contents(frame, owner).items)
        first, stop, _ = part.indices(len(held))
        around = Tuple(tuple(held[:first])), value, Tuple(tuple(held[max(first, stop) :]))
        ref = frame.tracer.call(frame, Static(python_lists.joined), around, {})
        assert isinstance(ref, Ref)
        made = heap.contents(frame, ref)
        heap.assign(frame, owner, made.items, made.form)
        return
    if owner.kind == "list" and (items is None or rows.grows(frame, owner)):
        bounds = [Static(b) for b in (part.start, part.stop, part.step)]
        frame.tracer.call(frame, Static(python_lists.slice_stored), [owner, value, *bounds], {})
        return
    if items is None or owner.kind != "list":
        raise refuse(
            current_loc(),
            f"cannot assign {describe_type(value)} to a slice of {describe_type(owner)}",
            kind=kinds.UNSUPPORTED_TARGET,
        )
    held = list(heap.contents(frame, owner).items)
    try:
        held[part] = items
    except ValueError as error:
        raise refuse(current_loc(), str(error), kind=kinds.WRONG_TYPE) from None
    heap.assign(frame, owner, held)
