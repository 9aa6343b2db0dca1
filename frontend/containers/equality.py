"""``==`` and ``in`` of lists, tuples and dicts, item by item."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence

from adc.frontend.containers import letters, records
from adc.frontend.containers.sequences import (
    as_value,
    computed_key,
    constant_key,
    dict_items,
    is_computed,
    known_items,
)
from adc.frontend.control.branches import branch
from adc.frontend.control.options import split, split_all
from adc.frontend.data.compounds import Handle, OneOf, Structured, Text, slice_object
from adc.frontend.data.values import (
    AbstractValue,
    Array,
    Compound,
    Range,
    Ref,
    Scalar,
    Static,
    Tuple,
    is_list,
    is_numeric,
    is_static_number,
)
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.numeric import scalars
from adc.frontend.objects import heap, rows
from adc.frontend.objects.joining import identical
from adc.frontend.prelude import python_lists, python_ranges
from adc.ir import kinds, ops
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import i1


def equal(frame: Frame, a: AbstractValue, b: AbstractValue) -> AbstractValue | None:
    """``a == b`` of containers, item by item; None if neither is one."""
    if not any(isinstance(v, Compound | Ref) for v in (a, b)):
        return None
    if a is b:
        return Static(True)
    if isinstance(a, Handle) and isinstance(b, Handle) and records.generated(frame, a, "__eq__") is None:
        return same_object(frame, a, b)
    own = isinstance(a, Ref) and a.kind == "object" and records.generated(frame, a, "__eq__") is None
    if own and heap.may_be_one(frame, a, b):
        frame.want_pool(a)  # type: ignore[arg-type]
    elif own and isinstance(b, Ref) and all(records.method(frame, v, "__eq__") is None for v in (a, b)):
        return Static(False)
    if rows.grows(frame, a) or rows.grows(frame, b):
        if not (is_list(a) and is_list(b)):
            return Static(False)
        return frame.tracer.call(frame, Static(python_lists.equal), [a, b], {})
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
        known = scalars.truth(held_equal(frame, x, y))
        if known is False:
            return Static(False)
        if result is True:
            result = known
        elif not isinstance(known, bool):
            assert isinstance(result, Value)
            result = ops.andi(result, known)
    return Static(result) if isinstance(result, bool) else Scalar(result, i1)


def same_object(frame: Frame, a: Handle, b: Handle) -> AbstractValue:
    """``a is b`` of two objects in pools."""
    if heap.may_be_one(frame, a.pool, b.pool):
        raise refuse(
            current_loc(),
            "whether these are one object is not known when the function is compiled",
            "make all objects that are compared in one function",
            kind=kinds.UNSUPPORTED_OPERAND,
        )
    if a.pool is not b.pool:
        return Static(False)
    return Scalar(ops.cmpi(a.number, b.number, predicate="eq"), i1)


def _comparable(frame: Frame, v: AbstractValue) -> tuple[object, Sequence[AbstractValue], Sequence[object]] | None:
    """What must be equal for containers to be equal (besides items), their items, and the keys of a dict."""
    if isinstance(v, Ref) and v.kind != "object":
        held = heap.contents(frame, v)
        return (v.cls,), held.items, held.form.names
    if isinstance(v, Tuple):
        return (tuple,), v.items, ()
    if (part := slice_object(v)) is not None:
        return (slice,), part.items, ()
    if records.is_instance(v):
        cls, by = records.class_of(v), records.generated(frame, v, "__eq__")
        if by is None and isinstance(v, Handle):
            return None
        if by is not None:
            return (cls, by), _compared_fields(frame, v, by), ()
        raise refuse(
            current_loc(),
            f"whether two objects of {cls.__name__} are one is not known: it has no __eq__",
            kind=kinds.NOT_CONSTANT,
        )
    return None


def _compared_fields(frame: Frame, v: AbstractValue, by: type) -> list[AbstractValue]:
    """The fields that generated methods of the dataclass ``by`` compare."""
    return [records.attribute(frame, v, f.name) for f in dataclasses.fields(by) if f.compare]


_ORDER = {"<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}


def ordered(
    frame: Frame,
    symbol: str,
    a: AbstractValue,
    b: AbstractValue,
    compare: Callable[[AbstractValue, AbstractValue], AbstractValue],
) -> AbstractValue | None:
    """``a < b`` and similar comparisons of two tuples, lists, or instances of one dataclass with an order: the first
    items that differ decide, by ``compare``. None for others."""
    first, second = _in_order(frame, symbol, a), _in_order(frame, symbol, b)
    if first is None or second is None or first[0] != second[0]:
        return None
    pairs = list(zip(first[1], second[1], strict=False))

    def from_(k: int) -> AbstractValue:
        if k == len(pairs):
            return Static(bool(scalars.PYTHON[symbol](len(first[1]), len(second[1]))))
        x, y = pairs[k]
        same = scalars.truth(held_equal(frame, x, y))
        if isinstance(same, bool):
            return from_(k + 1) if same else compare(x, y)
        result = branch(frame, same, lambda: from_(k + 1), lambda: compare(x, y))
        assert result is not None
        return result

    return from_(0)


def _in_order(frame: Frame, symbol: str, v: AbstractValue) -> tuple[object, Sequence[AbstractValue]] | None:
    """What two values must have in common to be comparable by order, and their items."""
    by = records.generated(frame, v, _ORDER[symbol])
    if by is not None:
        return records.class_of(v), _compared_fields(frame, v, by)
    if isinstance(v, Tuple) and v.form.kind in ("tuple", "namedtuple"):
        return tuple, v.items
    if isinstance(v, Ref) and v.kind == "list":
        items = known_items(frame, v)
        return None if items is None else (list, items)
    return None


def held_equal(frame: Frame, x: AbstractValue, y: AbstractValue) -> AbstractValue:
    """Whether two items are equal as items of containers: an object equals itself, even NaN."""
    one = x is y if isinstance(x, Compound) else identical(x, y)
    return Static(True) if one else item_equal(frame, x, y)


def item_equal(frame: Frame, x: AbstractValue, y: AbstractValue) -> AbstractValue:
    """``x == y`` of two items."""
    if isinstance(x, OneOf) or isinstance(y, OneOf):
        same = letters.equal(x, y)
        return same if same is not None else split_all(frame, (x, y), lambda one: item_equal(frame, *one))
    if is_numeric(x) and is_numeric(y):
        return scalars.binary("==", x, y)
    if isinstance(x, Text) or isinstance(y, Text):
        message = "a text with run-time numbers in it cannot be compared"
        raise refuse(current_loc(), message, "compare the numbers", kind=kinds.UNSUPPORTED_OPERAND)
    if isinstance(x, Structured) or isinstance(y, Structured):
        message = "structured arrays and their elements cannot be compared"
        raise refuse(current_loc(), message, "compare their fields", kind=kinds.UNSUPPORTED_OPERAND)
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
    """``value in owner`` for containers; None for others."""
    if isinstance(value, OneOf) and isinstance(owner, Ref) and owner.kind == "dict":
        return split(frame, value, lambda one: Static(constant_key(one) in dict_items(frame, owner)))
    if isinstance(owner, Ref) and owner.kind == "dict":
        if is_computed(value):
            return any_equal(frame, map(as_value, dict_items(frame, owner)), value)
        return Static(computed_key(frame, owner, value) in dict_items(frame, owner))
    if isinstance(owner, Range):
        if not isinstance(value, Scalar) and not is_static_number(value):
            return None
        bounds = (owner.start, owner.stop, owner.step)
        return frame.tracer.call(frame, Static(python_ranges.contains), [*bounds, value], {})
    if rows.grows(frame, owner) and not is_numeric(value):
        return frame.tracer.call(frame, Static(python_lists.contains), [owner, value], {})
    items = known_items(frame, owner)
    if items is None or (isinstance(owner, Static) and isinstance(owner.value, str)):
        return None
    return any_equal(frame, items, value)


def check_not_nan(value: AbstractValue, item: AbstractValue | None = None) -> None:
    """Refuse to look for NaN among numbers of the run: Python finds it if it is the same object."""
    is_nan = isinstance(value, Static) and isinstance(value.value, float) and math.isnan(value.value)
    if is_nan and (item is None or isinstance(item, Scalar)):
        message = "whether a container of numbers has NaN in it depends on which object it is, and is not known here"
        help = "any(math.isnan(v) for v in xs)"
        raise refuse(current_loc(), message, help, kind=kinds.UNSUPPORTED_OPERAND)


def any_equal(frame: Frame, items: Iterable[AbstractValue], value: AbstractValue) -> AbstractValue:
    """Whether one of the items is equal to a value, for a container that holds them."""
    result: bool | Value = False
    for item in items:
        known = scalars.truth(held_equal(frame, item, value))
        if known is True:
            return Static(True)
        check_not_nan(value, item)
        if not isinstance(known, bool):
            result = known if isinstance(result, bool) else ops.ori(result, known)
    return Static(result) if isinstance(result, bool) else Scalar(result, i1)
