"""Lists, tuples and dicts: items, subscripts, operators."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from functools import reduce

from adc.frontend.abstract import Scalar as Number
from adc.frontend.abstract import Tuple as Several
from adc.frontend.control.branches import branch
from adc.frontend.control.lengths import unroll_counted
from adc.frontend.data import growing, heap, records
from adc.frontend.data.compounds import Contents, OneOf, Text
from adc.frontend.data.forms import LIST, Form
from adc.frontend.data.merge import Clash, coerce, describe, join
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import (
    AbstractValue,
    Array,
    Choice,
    Compound,
    Range,
    Ref,
    Scalar,
    Static,
    Stream,
    Tuple,
    View,
    is_numeric,
    is_static_number,
)
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.names import known_int, needed_int
from adc.frontend.numeric import scalars
from adc.frontend.numeric.convert import as_scalar, convert, kind
from adc.frontend.numeric.nests import lazy_of
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import i1, i64


def is_list(v: AbstractValue) -> bool:
    return isinstance(v, Ref) and v.kind == "list"


def is_dict(v: AbstractValue) -> bool:
    return isinstance(v, Ref) and v.kind == "dict"


def known_items(frame: Frame, v: AbstractValue) -> list[AbstractValue] | None:
    """What iterating over ``v`` gives, where the number of items is known when tracing; else None."""
    if isinstance(v, View):
        return list(v.now())
    if isinstance(v, Tuple):
        return list(v.items)
    if isinstance(v, Stream):
        found: list[AbstractValue] | None = v.items.all()
        return found
    if isinstance(v, Ref) and v.kind == "list":
        held = heap.contents(frame, v)
        return None if growing.is_growing(held) else list(held.items)
    if isinstance(v, Ref) and v.kind == "dict":
        return [Static(name) for name in heap.contents(frame, v).form.names]
    if isinstance(v, Range):
        bounds = [known_int(b) for b in (v.start, v.stop, v.step)]
        if not v.parallel and None not in bounds and bounds[2] != 0:
            return [Static(k) for k in range(*bounds)]  # type: ignore[arg-type]
    if isinstance(v, Static) and (isinstance(v.value, str | tuple | range) or _is_enum(v.value)):
        return [Static(item) for item in v.value]
    return None


def _is_enum(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, enum.Enum)


def snapshot(frame: Frame, v: AbstractValue) -> AbstractValue:
    """Lists as tuples of what they hold, at every depth: for library functions, which only look."""
    if isinstance(v, View):
        v = Tuple(v.now())
    if growing.grows(frame, v):
        assert isinstance(v, Ref)
        numbers = growing.as_array(heap.contents(frame, v))
        return v if numbers is None else lazy_of(numbers)
    if isinstance(v, Ref) and v.kind == "list":
        return Tuple(tuple(snapshot(frame, item) for item in heap.contents(frame, v).items), LIST)
    if isinstance(v, Tuple):
        return v.of(snapshot(frame, item) for item in v.items)
    return v


def new_list(frame: Frame, items: Sequence[AbstractValue]) -> Ref:
    return heap.new(frame, LIST, items)


def new_dict(frame: Frame, items: dict[object, AbstractValue]) -> Ref:
    return heap.new(frame, Form("dict", dict, tuple(items)), items.values())


def dict_items(frame: Frame, ref: Ref) -> dict[object, AbstractValue]:
    """A dict's items by key, in order."""
    held = heap.contents(frame, ref)
    return dict(zip(held.form.names, held.items, strict=True))


def assign_dict(frame: Frame, ref: Ref, items: dict[object, AbstractValue]) -> None:
    heap.assign(frame, ref, items.values(), Form("dict", dict, tuple(items)))


def constant_key(v: AbstractValue) -> object:
    """A key of a dict: it must be known when tracing."""
    if isinstance(v, Tuple):
        return tuple(constant_key(item) for item in v.items)
    if isinstance(v, Static):
        try:
            hash(v.value)
        except TypeError:
            raise refuse(current_loc(), f"{describe_type(v)} cannot be a key", kind=kinds.WRONG_TYPE) from None
        return v.value
    if isinstance(v, Scalar) and not v.dtype.is_float and v.pin is not None:
        return v.pin()
    raise refuse(
        current_loc(),
        f"the key of a dict must be known when the function is compiled; this is {describe_type(v)}",
        "use a constant, or a list or array with a run-time index",
        kind=kinds.NOT_CONSTANT,
    )


# Subscripts -----------------------------------------------------------------------------------------------------------


def read(frame: Frame, owner: AbstractValue, index: AbstractValue) -> AbstractValue:
    """``owner[index]`` of a tuple, list or dict; the index is no slice."""
    if isinstance(owner, Ref) and owner.kind == "dict":
        items, key = dict_items(frame, owner), constant_key(index)
        if key not in items:
            raise refuse(
                current_loc(), f"KeyError: the dict has no key {key!r}", _keys(items), kind=kinds.CONSTANT_OUT_OF_RANGE
            )
        return items[key]
    held = owner if isinstance(owner, Tuple) else heap.contents(frame, owner)  # type: ignore[arg-type]
    if isinstance(held, Contents) and growing.is_growing(held):
        return growing.load(held, growing.position(held, subscript(index)))
    position = _position(frame, held, index)
    if isinstance(position, int):
        return held.items[position]
    selected = _selected(held.items, position)
    return selected or _chosen(frame, held.items, position, 0, len(held.items))


def _keys(items: dict[object, AbstractValue]) -> str:
    return f"it has {', '.join(map(repr, items))}" if items else "it is empty"


def _position(frame: Frame, held: Compound, index: AbstractValue) -> int | Value:
    """A checked position: known, or a run-time index."""
    what, n = held.form.cls.__name__ if held.form.kind == "list" else "tuple", len(held.items)
    known = known_int(index)
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
        if not -n <= known < n:
            raise refuse(
                current_loc(), f"{what} index {known} is out of range for {n} items", kind=kinds.CONSTANT_OUT_OF_RANGE
            )
        return known % n
    at = subscript(index)
    unroll_counted(frame, at)
    return ops.bound(at, const_index(n))


def subscript(index: AbstractValue) -> Value:
    """An integer between brackets."""
    if not is_numeric(index) or kind(as_scalar(index).dtype) == 2:
        raise refuse(
            current_loc(),
            f"a subscript must be an integer, not {describe_type(index)}",
            "write x[i][j]; or make an array of it first, np.asarray(x)" if isinstance(index, Tuple) else "",
            kind=kinds.INVALID_SUBSCRIPT,
        )
    return convert(as_scalar(index), i64)


def _alike(items: Sequence[AbstractValue]) -> bool:
    """Whether any of the items can be the value of one expression."""
    try:
        specs = [describe(item) for item in items]
        for spec in specs[1:]:
            join(specs[0], spec)
    except Clash:
        return all(isinstance(item, Ref) for item in items) and len({item.cls for item in items}) == 1  # type: ignore[attr-defined]
    return bool(items) and not any(isinstance(i, Static) and not is_static_number(i) for i in items)


def _constants(items: Sequence[AbstractValue]) -> bool:
    """Whether the items are constants of which one may be chosen at run time."""
    try:
        spec = reduce(join, map(describe, items))
    except Clash:
        return False
    return isinstance(spec, Several) and spec.form.kind == "choice"


_FEW_INTEGERS, _FEW_FLOATS = 32, 8


def _selected(items: Sequence[AbstractValue], at: Value) -> Scalar | None:
    """Item number ``at`` of a few numbers, without branches: loops can be SIMD, and ranges of integers are seen."""
    spec = reduce(join, map(describe, items))
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
    """``owner[index]`` where that is one of several objects, depending on a run-time index."""
    if not isinstance(owner, Tuple) and not is_list(owner):
        return None
    items = known_items(frame, owner) or []
    if len(items) < 2 or known_int(index) is not None or not isinstance(index, Scalar) or not _alike(items):
        return None
    refs = [item for item in items if isinstance(item, Ref)]
    if len(refs) != len(items):
        return None
    position = _position(frame, Tuple(tuple(items)), index)
    return None if isinstance(position, int) else Choice(tuple(refs), position)


def split(frame: Frame, owner: AbstractValue, use: Callable[[AbstractValue], AbstractValue]) -> AbstractValue:
    """What is done with an object, done with each that it may be, under the condition that it is that one."""
    if not isinstance(owner, Choice | OneOf):
        return use(owner)
    options: Sequence[AbstractValue] = owner.refs if isinstance(owner, Choice) else owner.options
    at = owner.position

    def between(low: int, high: int) -> AbstractValue:
        if high - low == 1:
            return use(options[low])
        middle = (low + high) // 2
        first = ops.cmpi(at, const_index(middle), predicate="slt")
        result = branch(frame, first, lambda: between(low, middle), lambda: between(middle, high))
        assert result is not None
        return result

    return between(0, len(options))


def split_all(
    frame: Frame, values: Sequence[AbstractValue], use: Callable[[list[AbstractValue]], AbstractValue]
) -> AbstractValue:
    """``use(values)``, for each of the constants that those may be which are chosen at run time."""
    for k, v in enumerate(values):
        if isinstance(v, OneOf):
            rest = lambda one, k=k: split_all(frame, [*values[:k], one, *values[k + 1 :]], use)  # noqa: E731
            return split(frame, v, rest)
    return use(list(values))


def slice_of(frame: Frame, owner: AbstractValue, part: slice) -> AbstractValue:
    """``owner[a:b:c]`` with known bounds: a new tuple or list."""
    if isinstance(owner, Tuple):
        return Tuple(owner.items[part])
    assert isinstance(owner, Ref)
    return new_list(frame, heap.contents(frame, owner).items[part])


def store(frame: Frame, owner: Ref, index: AbstractValue, value: AbstractValue) -> None:
    """``owner[index] = value`` of a list or dict."""
    if owner.kind == "dict":
        items = dict_items(frame, owner)
        items[constant_key(index)] = value
        assign_dict(frame, owner, items)
        return
    held = heap.contents(frame, owner)
    if growing.is_growing(held):
        growing.store(frame, owner, subscript(index), value)
        return
    position = _position(frame, held, index)
    if isinstance(position, int):
        heap.assign(frame, owner, (*held.items[:position], value, *held.items[position + 1 :]))
        return
    found: list[AbstractValue] = []
    for k, item in enumerate(held.items):
        here = ops.cmpi(position, const_index(k), predicate="eq")
        chosen = branch(frame, here, _returning(value), _returning(item))
        assert chosen is not None
        found.append(chosen)
    heap.assign(frame, owner, found)


def _returning(value: AbstractValue) -> Callable[[], AbstractValue]:
    return lambda: value


def store_slice(frame: Frame, owner: Ref, part: slice, value: AbstractValue) -> None:
    """``owner[a:b] = items`` of a list."""
    items = known_items(frame, value)
    if items is None or owner.kind != "list" or growing.grows(frame, owner):
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


# Operators ------------------------------------------------------------------------------------------------------------


def operate(frame: Frame, symbol: str, a: AbstractValue, b: AbstractValue) -> AbstractValue | None:
    """``+`` and ``*`` of lists and tuples; None for others."""
    if symbol == "+" and is_list(a) and is_list(b):
        if growing.grows(frame, a) or growing.grows(frame, b):
            assert isinstance(a, Ref) and isinstance(b, Ref)
            return growing.joined(frame, a, b)
        return new_list(frame, [*_items(frame, a), *_items(frame, b)])
    if symbol == "+" and isinstance(a, Tuple) and isinstance(b, Tuple):
        return Tuple(a.items + b.items)
    if symbol == "|" and is_dict(a) and is_dict(b):
        assert isinstance(a, Ref) and isinstance(b, Ref)
        return new_dict(frame, dict_items(frame, a) | dict_items(frame, b))
    if symbol == "*":
        for v, n in ((a, b), (b, a)):
            if (is_list(v) or isinstance(v, Tuple)) and is_numeric(n) and kind(as_scalar(n).dtype) < 2:
                many = is_list(v) and (known_int(n) is None or growing.grows(frame, v))
                repeated = _repeated(frame, v, n) if many else None
                if repeated is not None:
                    return repeated
                times = needed_int(n)
                if times is None:
                    raise refuse(
                        current_loc(),
                        "how often a list or tuple is repeated must be known when the function is compiled",
                        "make an array with np.full() or np.zeros()",
                        kind=kinds.NOT_CONSTANT,
                    )
                items = _items(frame, v) * times
                return new_list(frame, items) if is_list(v) else Tuple(tuple(items))
    return None


def _repeated(frame: Frame, v: AbstractValue, n: AbstractValue) -> AbstractValue | None:
    """A list repeated a run-time number of times; None if its items must be known one by one."""
    assert isinstance(v, Ref)
    held = heap.contents(frame, v)
    try:
        item = growing.type_of_items(held)
    except Clash:
        return None
    if item is None:
        return None
    return growing.repeated(frame, held, item, ops.maxsi(subscript(n), const_index(0)))


def _items(frame: Frame, v: AbstractValue) -> list[AbstractValue]:
    items = known_items(frame, v)
    assert items is not None
    return items


def equal(frame: Frame, a: AbstractValue, b: AbstractValue) -> AbstractValue | None:
    """``a == b`` of containers, item by item; None where neither is one."""
    if not any(isinstance(v, Compound | Ref) for v in (a, b)):
        return None
    if a is b:
        return Static(True)
    first, second = _comparable(frame, a), _comparable(frame, b)
    if first is None or second is None or first[0] != second[0] or len(first[1]) != len(second[1]):
        return Static(False)
    pairs = list(zip(first[1], second[1], strict=True))
    if isinstance(first[0], tuple) and first[0][0] is dict:
        other = dict(zip(second[2], second[1], strict=True))
        if set(first[2]) != set(other):
            return Static(False)
        pairs = [(x, other[name]) for name, x in zip(first[2], first[1], strict=True)]
    result: bool | Value = True
    for x, y in pairs:
        one = item_equal(frame, x, y)
        known = scalars.truth(one)
        if known is False:
            return Static(False)
        if result is True:
            result = known
        elif not isinstance(known, bool):
            assert isinstance(result, Value)
            result = ops.andi(result, known)
    return Static(result) if isinstance(result, bool) else Scalar(result, i1)


def _comparable(frame: Frame, v: AbstractValue) -> tuple[object, Sequence[AbstractValue], Sequence[object]] | None:
    """What containers must have in common to be equal, their items, and the keys of a dict."""
    if isinstance(v, Ref) and v.kind != "object":
        held = heap.contents(frame, v)
        if growing.is_growing(held):
            raise refuse(
                current_loc(),
                "a list whose length is known at run time only cannot be compared",
                "compare the lengths, and the items in a loop",
                kind=kinds.UNSUPPORTED_OPERAND,
            )
        return (v.cls,), held.items, held.form.names
    if isinstance(v, Tuple):
        return (tuple,), v.items, ()
    if records.is_instance(v):
        cls = records.class_of(v)
        if getattr(getattr(cls, "__dataclass_params__", None), "eq", False):
            held_ = records.held_by(frame, v)
            return (cls, held_.form.names), held_.items, ()
        raise refuse(
            current_loc(),
            f"whether two objects of {cls.__name__} are one is not known: it has no __eq__",
            kind=kinds.NOT_CONSTANT,
        )
    return None


def item_equal(frame: Frame, x: AbstractValue, y: AbstractValue) -> AbstractValue:
    """``x == y`` of two items."""
    if isinstance(x, OneOf) or isinstance(y, OneOf):
        return split_all(frame, (x, y), lambda one: item_equal(frame, *one))
    if is_numeric(x) and is_numeric(y):
        return scalars.binary("==", x, y)
    if isinstance(x, Text) or isinstance(y, Text):
        message = "a text with run-time numbers in it cannot be compared"
        raise refuse(current_loc(), message, "compare the numbers", kind=kinds.UNSUPPORTED_OPERAND)
    found = records.operate(frame, "==", x, y)
    if found is None:
        found = equal(frame, x, y)
    if found is not None:
        return found
    if isinstance(x, Static) and isinstance(y, Static):
        return Static(bool(x.value == y.value))
    if isinstance(x, Array) or isinstance(y, Array):
        raise refuse(
            current_loc(),
            "arrays within containers cannot be compared",
            "compare them element by element",
            kind=kinds.UNSUPPORTED_OPERAND,
        )
    return Static(False)


def contains(frame: Frame, owner: AbstractValue, value: AbstractValue) -> AbstractValue | None:
    """``value in owner`` of containers; None for others."""
    if isinstance(value, OneOf) and isinstance(owner, Ref) and owner.kind == "dict":
        return split(frame, value, lambda one: Static(constant_key(one) in dict_items(frame, owner)))
    if isinstance(owner, Ref) and owner.kind == "dict":
        return Static(constant_key(value) in dict_items(frame, owner))
    if isinstance(owner, Range):
        return None
    items = known_items(frame, owner)
    if items is None or (isinstance(owner, Static) and isinstance(owner.value, str)):
        return None
    result: bool | Value = False
    for item in items:
        known = True if item is value else scalars.truth(item_equal(frame, item, value))
        if known is True:
            return Static(True)
        if not isinstance(known, bool):
            result = known if isinstance(result, bool) else ops.ori(result, known)
    return Static(result) if isinstance(result, bool) else Scalar(result, i1)
