"""Keys of dicts that the run computes: looked for among those that are known, or kept with what they are keys of."""

from __future__ import annotations

from collections.abc import Iterable

from adc.frontend.containers.equality import held_equal
from adc.frontend.containers.sequences import as_value, dict_items
from adc.frontend.control.branches import branch
from adc.frontend.data.compounds import Contents
from adc.frontend.data.values import AbstractValue, Ref, Static
from adc.frontend.errors import refuse
from adc.frontend.forms import LIST, Form
from adc.frontend.frame import Frame
from adc.frontend.numeric import scalars
from adc.frontend.numeric.convert import as_scalar, convert
from adc.frontend.objects import growing, heap, list_changes, pools, rows
from adc.frontend.prelude.python_collections import Held
from adc.frontend.prelude.python_dicts import Dict, place_of
from adc.ir import kinds, ops
from adc.ir.arith import const, const_index
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import i1, i64


def place(frame: Frame, names: Iterable[object], key: AbstractValue) -> tuple[Value, Value]:
    """Whether a key is among those that are known, and the number of which one it is."""
    there, at = const(False, i1), const_index(0)
    for k, name in enumerate(names):
        same = scalars.truth(held_equal(frame, as_value(name), key))
        if same is False:
            continue
        here = const(True, i1) if same is True else same
        at = ops.select(here, const_index(k), at)
        there = ops.ori(there, here)
    return there, at


def names_in(frame: Frame, owner: Ref) -> Ref:
    """The list of the keys of a dict that gets them at run time."""
    names = heap.contents(frame, owner).items[0]
    assert isinstance(names, Ref)
    return names


def store(frame: Frame, owner: Ref, key: AbstractValue, value: AbstractValue, there: bool = False) -> None:
    """``owner[key] = value`` of a dict that gets keys at run time: here, so that a new array is known to be one.
    ``there``: it has the key."""
    _check_value(frame, value)
    names, held = heap.contents(frame, owner).items
    assert isinstance(names, Ref) and isinstance(held, Ref)
    at = frame.tracer.call(frame, Static(place_of), [names, key], {})

    def append() -> None:
        growing.append(frame, names, key)
        growing.append(frame, held, value)

    def replace() -> None:
        list_changes.store(frame, held, convert(as_scalar(at), i64), value)

    is_there = scalars.truth(scalars.binary(">=", at, Static(0)))
    if is_there is False and not there:
        append()
        return
    if not rows.grows(frame, held):
        growing.let_grow(frame, held, [value])
    if there or isinstance(is_there, bool):
        replace()
    else:
        branch(frame, is_there, replace, append)


def of_default(frame: Frame, owner: Ref, key: AbstractValue) -> AbstractValue | None:
    """``owner[key]`` of a ``defaultdict`` that gets keys at run time and makes lists: they are made here, since a
    function that is called would have pools of its own. None for others."""
    held_by, factory = heap.contents(frame, owner).items
    if not isinstance(held_by, Ref) or held_by.cls is not Dict or getattr(factory, "value", None) is not list:
        return None
    names, held = heap.contents(frame, held_by).items
    assert isinstance(names, Ref) and isinstance(held, Ref)
    at = convert(as_scalar(frame.tracer.call(frame, Static(place_of), [names, key], {})), i64)
    there = ops.cmpi(at, const_index(0), predicate="sge")

    def append() -> None:
        made = heap.new(frame, LIST, ())
        frame.want_list(made)
        value = pools.pooled(frame, made)
        growing.append(frame, names, key)
        growing.append(frame, held, value)

    branch(frame, there, lambda: None, append)
    last = rows.length(heap.contents(frame, held)) - 1
    return growing.load(frame, heap.contents(frame, held), ops.select(there, at, last))


def _check_value(frame: Frame, value: AbstractValue) -> None:
    """Refuse what changes its length in a dict that gets keys at run time."""
    if not isinstance(value, Ref):
        return
    fixed = value.kind == "list" and not rows.grows(frame, value) and heap.contents(frame, value).items
    if not fixed:
        frame.want_list(value)
    if value.kind == "dict" or issubclass(value.cls, Held) or (value.kind == "list" and not fixed):
        name = getattr(value.cls, "stands_for", value.cls).__name__
        raise refuse(
            current_loc(),
            f"a dict with keys that the run computes cannot have a {name} for each of them",
            "append pairs of a key and an item to one list, and go through it for each key; or use rows of an array",
            kind=kinds.TYPE_DIFFERS,
        )


def keyed(frame: Frame, v: AbstractValue) -> AbstractValue:
    """What the call here gave, with dicts that get keys at run time in the place of those that it made, if they have to
    be such."""
    if not frame.pools.keyed or not frame.pools.has_keyed(current_loc()):
        return v
    site = current_loc()
    made: dict[str, AbstractValue | None] = {}
    for key, ref in list(frame.heap.refs.items()):
        if ref.kind == "dict" and frame.heap.sites.get(key) == site and isinstance(frame.env.get(key), Contents):
            items = dict_items(frame, ref)
            made[key] = new(frame, [(as_value(name), item) for name, item in items.items()])
    return pools.exchanged(frame, v, made) if made else v


def new(frame: Frame, pairs: Iterable[tuple[AbstractValue, AbstractValue]]) -> Ref:
    """A dict that gets its keys at run time."""
    empty = [heap.new(frame, LIST, ()) for _ in range(2)]
    made = heap.new(frame, Form("object", Dict, ("names", "held")), empty)
    for key, value in pairs:
        frame.tracer.call(frame, Static(Dict.__setitem__), [made, key, value], {})
    return made
