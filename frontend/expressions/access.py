"""Attributes and subscripts."""

from __future__ import annotations

import ast
from collections.abc import Callable

from adc.frontend.arrays import arrays, gathers, places, structured
from adc.frontend.containers import indexing, records
from adc.frontend.control import options
from adc.frontend.data.compounds import OneOf, Structured, slice_object
from adc.frontend.data.values import NONE, AbstractValue, Flat, Lazy, Ref, Static, Stream, Tuple, is_array
from adc.frontend.expressions.evaluation import before_calls, evaluate
from adc.frontend.frame import Frame
from adc.frontend.libraries.attributes import attribute
from adc.frontend.numeric import slices
from adc.frontend.objects import pools


def attribute_reference(frame: Frame, node: ast.Attribute) -> AbstractValue:
    """``a.name``."""
    return attribute_of(frame, evaluate_owner(frame, node.value), node)


def attribute_of(frame: Frame, owner: AbstractValue, node: ast.Attribute) -> AbstractValue:
    """``a.name`` for an owner that has been evaluated."""

    def of(one: AbstractValue) -> AbstractValue:
        found = attribute(frame, one, node.attr)
        return found if isinstance(found, Stream) else arrays.settled(frame, found)

    with frame.at(node):
        return pools.pooled(frame, options.split(frame, owner, of))


def evaluate_owner(frame: Frame, node: ast.expr) -> AbstractValue:
    """The value before a dot or bracket: a ``Choice`` if it is one of the objects in a list."""
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice | ast.Tuple):
        owner = evaluate_owner(frame, node.value)
        if isinstance(owner, Ref | Tuple) and records.method(frame, owner, "__getitem__") is None:
            index = evaluate(frame, node.slice)
            with frame.at(node.slice):
                index = _there(owner, index)
                found = indexing.choice(frame, owner, index)
            if found is not None:
                return found
            with frame.at(node):
                items = [slices.Item(frame.loc(node.slice), _item(index))]
                return with_items(frame, items, lambda each: _read(frame, owner, each))
        with frame.at(node):
            return _subscript_of(frame, owner, node)
    return evaluate(frame, node)


def subscription(frame: Frame, node: ast.Subscript) -> AbstractValue:
    """``a[i]``."""
    return _subscript_of(frame, evaluate_owner(frame, node.value), node)


def _subscript_of(frame: Frame, owner: AbstractValue, node: ast.Subscript) -> AbstractValue:
    if isinstance(owner, Lazy):
        owner = before_calls(frame, owner, node.slice)
    items = items_of(frame, owner, node.slice)
    if indexing.is_table(frame, owner):
        return _read(frame, owner, items)
    return with_items(frame, items, lambda each: options.split(frame, owner, lambda one: _read(frame, one, each)))


def _read(frame: Frame, owner: AbstractValue, items: list[slices.Item]) -> AbstractValue:
    if isinstance(owner, Structured):
        return structured.read(frame, owner, items)
    return places.read(frame, owner, items)


def with_items(
    frame: Frame, items: list[slices.Item], use: Callable[[list[slices.Item]], AbstractValue]
) -> AbstractValue:
    """``use(items)``, for each of the constants that run-time choices in the subscripts may be."""
    values = [item.value if isinstance(item.value, AbstractValue) else NONE for item in items]
    if not any(isinstance(v, OneOf) for v in values):
        return use(items)

    def chosen(each: list[AbstractValue]) -> AbstractValue:
        pairs = zip(items, each, values, strict=True)
        return arrays.settled(frame, use([i if v is was else slices.Item(i.loc, _item(v)) for i, v, was in pairs]))

    return options.split_all(frame, values, chosen)


def _bound(frame: Frame, node: ast.expr) -> AbstractValue:
    """A part of a slice. An imaginary one is the number of values that ``np.r_`` and similar objects make."""
    if isinstance(node, ast.Constant) and isinstance(node.value, complex):
        return Static(node.value)
    return evaluate(frame, node)


def items_of(frame: Frame, owner: AbstractValue, node: ast.expr) -> list[slices.Item]:
    """The items between the brackets, evaluated, each with its source range."""
    nodes = node.elts if isinstance(node, ast.Tuple) else [node]
    items: list[slices.Item] = []
    for item in nodes:
        loc = frame.loc(item)
        if isinstance(item, ast.Slice):
            parts = [None if p is None else _bound(frame, p) for p in (item.lower, item.upper, item.step)]
            items.append(slices.Item(loc, slices.Slice(*parts)))
            continue
        value = evaluate(frame, item)
        with frame.at(item):
            value = _there(owner, value)
        if isinstance(owner, Structured):
            with frame.at(item):
                items += structured.items_of(frame, value, loc, alone=len(nodes) == 1)
        elif is_array(owner) or isinstance(owner, Flat):
            with frame.at(item):
                items += gathers.items_of(frame, value, loc, alone=len(nodes) == 1)
        else:
            items.append(slices.Item(loc, _item(value)))
    return items


def _there(owner: AbstractValue, index: AbstractValue) -> AbstractValue:
    """The subscript of a list, which may be None only where that is an error of the run."""
    if not isinstance(owner, Ref) or owner.kind != "list":
        return index
    return options.there(index, "list indices must be integers or slices, not NoneType")


def _item(v: AbstractValue) -> AbstractValue | slices.Slice:
    """The form of a value between brackets: a slice becomes its parts."""
    part = slice_object(v)
    return v if part is None else slices.Slice(*part.items)
