"""Assignment: to names, attributes, items and slices, plain and augmented."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from adc.frontend.arrays import arrays, flat, places, structured, subscripts
from adc.frontend.containers import indexing, keys, records, sequences
from adc.frontend.control import options
from adc.frontend.data.compounds import Contents, Handle, OneOf, Structured
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import NONE, AbstractValue, Array, Choice, Flat, Generator, Lazy, Ref, Static, Stream
from adc.frontend.errors import refuse
from adc.frontend.expressions.access import attribute_of, evaluate_owner, items_of, with_items
from adc.frontend.expressions.evaluation import before_calls, evaluate, evaluate_kept
from adc.frontend.expressions.operators import BINARY
from adc.frontend.expressions.targets import unpack
from adc.frontend.frame import Frame
from adc.frontend.libraries.attributes import attribute
from adc.frontend.libraries.container_methods import extend, pairs
from adc.frontend.names import lookup
from adc.frontend.numeric import slices
from adc.frontend.objects import cells, heap, pools, rows
from adc.frontend.prelude import python_lists
from adc.frontend.prelude.python_dicts import Dict
from adc.frontend.statements import owned_arrays
from adc.frontend.unsupported import refuse_expression
from adc.ir import kinds
from adc.ir.builder import current_loc

NO_ITEMS = "'NoneType' object is not subscriptable"


def assign(frame: Frame, statement: ast.Assign) -> None:
    if len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Subscript):
        value = evaluate(frame, statement.value)
        with frame.at(statement):
            value = before_calls(frame, value, statement.targets[0])
        _store(frame, statement.targets[0], value)
        return
    if statement in frame.in_place:
        _combine(frame, statement)
        return
    if len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name | ast.Tuple | ast.List):
        source = statement.value
        if isinstance(source, ast.GeneratorExp) and not isinstance(statement.targets[0], ast.Name):
            source = ast.copy_location(ast.ListComp(source.elt, source.generators), source)  # all are taken at once
        value = evaluate(frame, source)
        if isinstance(value, Stream | Generator) and _is_read_once(frame, statement.targets[0]):
            frame.env[statement.targets[0].id] = value  # type: ignore[union-attr]
            return
        with frame.at(statement.value):
            unpacked = isinstance(value, Stream | Generator) and not isinstance(statement.targets[0], ast.Name)
            value = value if unpacked else arrays.settled(frame, value)
    else:
        value = evaluate_kept(frame, statement.value)
    for target in statement.targets:
        bind(frame, target, value)


def _is_read_once(frame: Frame, target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id in frame.source.once and cells.cell_of(frame, target.id) is None


def _combine(frame: Frame, statement: ast.Assign) -> None:
    """``r = r + x`` or ``r = x + r`` as ``r += x`` instead."""
    target, value = statement.targets[0], statement.value
    assert isinstance(target, ast.Name) and isinstance(value, ast.BinOp)
    first = isinstance(value.left, ast.Name) and value.left.id == target.id
    with frame.at(statement):
        made = ast.AugAssign(target, value.op, value.right if first else value.left)
        augmented(frame, ast.copy_location(made, statement))


def annotated(frame: Frame, statement: ast.AnnAssign) -> None:
    if statement.value is not None:
        bind(frame, statement.target, evaluate_kept(frame, statement.value))


def bind(frame: Frame, target: ast.expr, value: AbstractValue) -> None:
    if isinstance(target, ast.Name):
        cells.bind(frame, target, value)
    elif isinstance(target, ast.Tuple | ast.List):
        items = unpack(frame, target, value)
        for part, item in zip(target.elts, items, strict=True):
            bind(frame, part, item)
    elif isinstance(target, ast.Subscript):
        _store(frame, target, value)
    elif isinstance(target, ast.Attribute):
        owner = evaluate_owner(frame, target.value)
        with frame.at(target):
            options.split(frame, owner, lambda one: _set_attribute(frame, one, target.attr, value))
    elif isinstance(target, ast.Starred):
        bind(frame, target.value, value)
    else:
        raise refuse_expression(frame.loc(target), target)


def _set_attribute(frame: Frame, owner: AbstractValue, name: str, value: AbstractValue) -> AbstractValue:
    """``owner.name = value``; the parts of a complex array are views."""
    if isinstance(owner, Array) and owner.is_complex and name in ("real", "imag"):
        arrays.store(frame, attribute(frame, owner, name), value)  # type: ignore[arg-type]
        return NONE
    if isinstance(owner, Array) and name == "shape":
        message = "the shape of an array cannot be set here"
        raise refuse(current_loc(), message, "give it another name: b = a.reshape(...)", kind=kinds.UNSUPPORTED_TARGET)
    if isinstance(owner, Structured):
        structured.store(frame, owner, structured.named(owner, name), arrays.settled(frame, value))
        return NONE
    return records.set_attribute(frame, owner, name, value)


def _store(frame: Frame, target: ast.Subscript, value: AbstractValue) -> None:
    found = _subscripted(frame, target, lambda one, name: owned_arrays.store(frame, one, target, name, value))
    if found is None:
        return
    owner = found
    items = items_of(frame, owner, target.slice)
    with frame.at(target):
        if isinstance(owner, Ref | Choice | OneOf) or records.is_instance(owner):
            settled = arrays.settled(frame, value)
            with_items(frame, items, lambda each: _store_items(frame, owner, each, settled))
            return
        if isinstance(owner, Structured):
            structured.store(frame, owner, items, arrays.settled(frame, value))
            return
        places.store(frame, _place(frame, owner, items), value)


def _subscripted(
    frame: Frame, target: ast.Subscript, change: Callable[[Handle, str], None]
) -> AbstractValue | None:
    """The object that a target subscripts, evaluated once. None if it is an array of an object in a pool: then
    ``change`` is called with the object and the attribute."""
    node = target.value
    if not isinstance(node, ast.Attribute):
        return options.there(evaluate_owner(frame, node), NO_ITEMS)
    owner = evaluate_owner(frame, node.value)
    if owned_arrays.has(owner, frame, node.attr):
        change(owner, node.attr)
        return None
    return options.there(attribute_of(frame, owner, node), NO_ITEMS)


def _store_items(
    frame: Frame, owner: AbstractValue, items: list[slices.Item], value: AbstractValue
) -> AbstractValue:
    return options.split(frame, owner, lambda one: _store_item(frame, one, items, value))


def _store_item(
    frame: Frame, owner: AbstractValue, items: list[slices.Item], value: AbstractValue, there: bool = False
) -> AbstractValue:
    """``owner[items] = value`` of a list, a dict or an object with ``__setitem__``. ``there``: it has such an item."""
    if isinstance(owner, Ref) and owner.cls is Dict:
        keys.store(frame, owner, subscripts.key_of(items), value, there)
        return NONE
    setter = records.method(frame, owner, "__setitem__")
    if setter is not None:
        frame.tracer.call(frame, setter, [subscripts.key_for(owner, items), value], {})
    elif not isinstance(owner, Ref) or owner.kind == "object":
        raise refuse(current_loc(), f"cannot store into {describe_type(owner)}", kind=kinds.UNSUPPORTED_TARGET)
    elif rows.grows(frame, owner) and isinstance(items[0].value, slices.Slice) and items[0].value.is_by_one():
        bounds = [NONE if p is None else p for p in (items[0].value.lower, items[0].value.upper)]
        made = frame.tracer.call(frame, Static(python_lists.with_part), [owner, *bounds, value], {})
        assert isinstance(made, Ref)
        held = heap.contents(frame, made)
        heap.assign(frame, owner, held.items, held.form)
    elif (part := subscripts.known_slice(items)) is not None:
        indexing.store_slice(frame, owner, part, value)
    else:
        indexing.store(frame, owner, subscripts.key_of(items), value, there)
    return NONE


def _place(frame: Frame, owner: AbstractValue, items: list[slices.Item]) -> places.Place:
    if isinstance(owner, Structured):
        return structured.field_place(frame, owner, items)
    if isinstance(owner, Flat):
        owner = flat.written(frame, owner, items)
    if not isinstance(owner, Array):
        what = "an array expression" if isinstance(owner, Lazy) else describe_type(owner)
        help = "only elements and slices of arrays can be stored to"
        raise refuse(current_loc(), f"cannot store into {what}", help, kind=kinds.UNSUPPORTED_TARGET)
    return places.locate(frame, owner, items)


def augmented(frame: Frame, statement: ast.AugAssign) -> None:
    symbol = BINARY[type(statement.op)]
    target = statement.target
    if isinstance(target, ast.Name):
        with frame.at(target):
            old = lookup(frame, target.id)
        then, cell = dict(frame.env), cells.cell_of(frame, target.id)
        value = evaluate(frame, statement.value)
        with frame.at(statement):
            new = updated(frame, old, symbol, value)
            if new is not old or _replaced(frame, then, cell):
                cells.bind(frame, target, new)
        return
    if isinstance(target, ast.Attribute):
        owner, name = evaluate_owner(frame, target.value), target.attr
        if owned_arrays.has(owner, frame, name):
            owned_arrays.update(frame, owner, name, symbol, statement)
            return
        with frame.at(target):
            owner = options.there(owner, f"'NoneType' object has no attribute '{name}'", "AttributeError")
            before = None if isinstance(owner, Choice) else attribute(frame, owner, name)
        then = dict(frame.env)
        value = arrays.settled(frame, evaluate(frame, statement.value))

        def update_attribute(one: AbstractValue) -> AbstractValue:
            old = _as_of(frame, then, lambda: attribute(frame, one, name)) if before is None else before
            new = updated(frame, old, symbol, value)
            kept = new is old and not _replaced(frame, then, one)
            return NONE if kept else _set_attribute(frame, one, name, new)

        with frame.at(statement):
            options.split(frame, owner, update_attribute)
        return

    def update_owned(one: Handle, name: str) -> None:
        owned_arrays.update_items(frame, one, target, name, symbol, statement)

    found = _subscripted(frame, target, update_owned)
    if found is None:
        return
    owner = found
    items = [_evaluated(frame, item, statement.value) for item in items_of(frame, owner, target.slice)]
    if isinstance(owner, Ref | Choice | OneOf) or records.is_instance(owner):
        several = isinstance(owner, Choice | OneOf) or any(isinstance(item.value, OneOf) for item in items)
        with frame.at(target):
            held = None if several else subscripts.read(frame, owner, items)
        then = dict(frame.env)
        value = arrays.settled(frame, evaluate(frame, statement.value))

        def update_item(one: AbstractValue, each: list[slices.Item]) -> AbstractValue:
            old = _as_of(frame, then, lambda: subscripts.read(frame, one, each)) if held is None else held
            new = updated(frame, old, symbol, value)
            kept = new is old and not _replaced(frame, then, one)
            return NONE if kept else _store_item(frame, one, each, new, _has_same_keys(frame, then, one))

        with frame.at(statement):
            with_items(
                frame, items, lambda each: options.split(frame, owner, lambda one: update_item(one, each))
            )
        return
    with frame.at(target):
        place = _place(frame, owner, items)
        now = places.current(place)
        current = before_calls(frame, now, statement.value)
    value = evaluate(frame, statement.value)
    with frame.at(target):
        if current is not now:  # the right side may have changed index arrays, which are read again for the store
            place = _place(frame, owner, items)
    with frame.at(statement):
        places.update(frame, place, symbol, current, value)


def _evaluated(frame: Frame, item: slices.Item, *rest: ast.expr) -> slices.Item:
    """A subscript, computed before calls in ``rest``."""
    if not isinstance(item.value, AbstractValue):
        return item
    return replace(item, value=before_calls(frame, item.value, *rest))


def _as_of(frame: Frame, then: dict[str, AbstractValue], read: Callable[[], AbstractValue]) -> AbstractValue:
    """``read()`` with the contents that objects had ``then``: before the right side of an assignment, which may change
    them."""
    now, frame.env = frame.env, dict(then)
    try:
        return read()
    finally:
        made = {k: v for k, v in frame.env.items() if then.get(k) is not v and now.get(k) is then.get(k)}
        frame.env = now
        frame.env.update(made)


def _replaced(frame: Frame, then: dict[str, AbstractValue], owner: AbstractValue | None) -> bool:
    """Whether the contents of an object are no longer those ``then``, so that a value changed in place must be stored
    again."""
    return isinstance(owner, Ref) and then.get(owner.key) is not frame.env.get(owner.key)


def _has_same_keys(frame: Frame, then: dict[str, AbstractValue], owner: AbstractValue) -> bool:
    """Whether a dict has the keys that it had ``then``."""
    if isinstance(owner, Ref) and owner.cls is Dict:
        names = keys.names_in(frame, owner)
        return then.get(names.key) is frame.env.get(names.key)
    if not isinstance(owner, Ref) or owner.kind != "dict":
        return False
    before, now = then.get(owner.key), frame.env.get(owner.key)
    return isinstance(before, Contents) and isinstance(now, Contents) and before.form.names == now.form.names


def updated(frame: Frame, old: AbstractValue, symbol: str, value: AbstractValue) -> AbstractValue:
    """The value of a variable after ``old symbol= value``: ``old`` itself if it is changed in place."""
    if isinstance(old, Array):
        arrays.update(frame, old, symbol, value)
        return old
    if isinstance(old, Ref) and old.kind == "list" and symbol == "+":
        extend(frame, old, value)
        return old
    if isinstance(old, Ref) and old.kind == "dict" and symbol == "|":
        sequences.assign_dict(frame, old, sequences.dict_items(frame, old) | pairs(frame, value))
        return old
    own = records.operate_in_place(frame, symbol, old, value)
    new = arrays.settled(frame, arrays.operate(frame, symbol, old, value) if own is None else own)
    return pools.pooled(frame, new)
