"""The contents of a list of run-time length, and the types of its items.

Such a list consists of its length, a buffer for each number or array in an item, and the pools of the objects among
these. See ``growing``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from adc.frontend import abstract
from adc.frontend.data.compounds import Contents, Handle
from adc.frontend.data.described import describe, widen
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Compound, Ref, Scalar
from adc.frontend.errors import refuse
from adc.frontend.forms import Form
from adc.frontend.frame import Frame
from adc.frontend.objects import columns, heap
from adc.frontend.objects.merge import Clash, join
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import i64

TABLE = (
    "make one array of all rows, M = np.zeros((m, n)), and write M[i, j]; rows that are only read, and have one "
    "length, can be appended as arrays, M.append(np.array(row))"
)


def is_growing(held: AbstractValue | None) -> bool:
    """Whether this is the contents of a list of run-time length."""
    return isinstance(held, Contents) and held.form.grows


def grows(frame: Frame, v: AbstractValue | None) -> bool:
    """Whether ``v`` is a list of run-time length."""
    return isinstance(v, Ref) and v.kind == "list" and is_growing(heap.contents(frame, v))


def row_of(held: Contents) -> abstract.Abstract:
    """The type of the items of a list of run-time length."""
    row = held.form.names[0]
    assert isinstance(row, abstract.Row)
    return row.item


def length(held: Contents) -> Value:
    found = held.items[0]
    assert isinstance(found, Scalar)
    return found.value


def has_arrays(held: Contents) -> bool:
    """Whether items of a list of run-time length are arrays, or contain some."""
    return columns.has_arrays(row_of(held))


def buffers(held: Contents) -> list[Array]:
    return [b for b in held.items[1:] if isinstance(b, Array)]


def pools(held: Contents) -> list[Ref]:
    """The pools of the objects that items are, or contain."""
    return [p for p in held.items[1:] if isinstance(p, Ref)]


def pools_in(v: AbstractValue | None) -> list[Ref]:
    """The pools of the objects in an item."""
    if isinstance(v, Handle):
        return [v.pool]
    return [p for item in v.items for p in pools_in(item)] if isinstance(v, Compound) else []


def nested(env: Mapping[str, AbstractValue | None], v: AbstractValue | None) -> bool:
    """Whether this is the contents of a list of known length, where an item is a list of run-time length, or a tuple
    with one. ``env``: the variables."""
    if not isinstance(v, Contents) or v.form.kind != "list" or is_growing(v):
        return False
    inside = [ref for item in v.items for ref in heap.refs_of(item) if ref not in pools_in(item)]
    return any(is_growing(env.get(ref.key)) for ref in inside)


def of_objects(frame: Frame, v: AbstractValue) -> bool:
    """Whether this is a list of run-time length whose items are objects."""
    if not grows(frame, v):
        return False
    row = row_of(heap.contents(frame, v))  # type: ignore[arg-type]
    return isinstance(row, abstract.Tuple) and row.form.kind == "handle"


def check_pools(held: Contents, item: AbstractValue) -> None:
    """Check that all objects of a list are in one pool."""
    check_one_pool(pools(held), pools_in(item))


def check_one_pool(first: Sequence[Ref], second: Sequence[Ref]) -> None:
    if len(first) != len(second):
        message = "a list whose length depends on the run cannot hold None, or numbers, beside these lists or objects"
        help = "set its items to tuples or arrays: xs[k] = tuple(row)"
        raise refuse(current_loc(), message, help, kind=kinds.TYPE_DIFFERS)
    for a, b in zip(first, second, strict=True):
        if a is not b:
            raise refuse(
                current_loc(),
                "these objects were made in different calls, each of which keeps its own",
                "make all objects of a list in one function, or append copies: xs.append(copy.copy(x))",
                kind=kinds.TYPE_DIFFERS,
            )


def _form(item: abstract.Abstract) -> Form:
    return Form("list", list, (abstract.Row(item),))


def held_of(item: abstract.Abstract, count: Value, buffers: Sequence[Array], pools: Sequence[Ref] = ()) -> Contents:
    return Contents((Scalar(count, i64), *buffers, *pools), _form(item))


def resized(held: Contents, count: Value) -> Contents:
    """The list with another length, in the same buffers."""
    return replace(held, items=(Scalar(count, i64), *held.items[1:]))


# Types of items -------------------------------------------------------------------------------------------------------


def item_type(frame: Frame, v: AbstractValue) -> abstract.Abstract:
    """The type of an item. Raises ``Clash`` if it cannot be one. Literals do not become float32: NumPy makes a float64
    array of both."""
    for ref in heap.refs_of(v):
        frame.want_pool(ref)
        if ref.kind == "list" and ref not in pools_in(v) and grows(frame, ref):
            frame.want_list(ref)
        if ref.kind == "dict" or (ref.kind == "list" and not grows(frame, ref)):
            for item in heap.contents(frame, ref).items:
                item_type(frame, item)
    found = widen(_described(frame, v))
    _check(frame, found, v)
    return abstract.map_abstract(found, _plain)


def _described(frame: Frame, v: AbstractValue) -> abstract.Abstract:
    """The type of an item. For an object in a pool it is that of its number, for a list or dict that is known that of
    its items."""
    if isinstance(v, Handle):
        return abstract.Tuple((abstract.Scalar(i64),), v.form)
    if isinstance(v, Ref) and v.kind == "list" and not grows(frame, v):
        frame.note_copied(v)
    if isinstance(v, Ref) and (held := heap.contents(frame, v)).form.plain().copied:
        return abstract.Tuple(tuple(_described(frame, item) for item in held.items), held.form.plain())
    if isinstance(v, Compound) and next(heap.refs_of(v), None) is not None:
        return abstract.Tuple(tuple(_described(frame, item) for item in v.items), v.form)
    return describe(v)


def _plain(leaf: abstract.Abstract) -> abstract.Abstract:
    """Arrays in items are copies."""
    return abstract.Array(leaf.element, leaf.rank) if isinstance(leaf, abstract.Array) else leaf


def _check(frame: Frame, a: abstract.Abstract, v: AbstractValue) -> None:
    if isinstance(a, abstract.Tuple) and a.form.kind == "choice" and columns.handles(a):
        raise Clash("in a list whose length is not known when the function is compiled an object cannot be None")
    if isinstance(a, abstract.Tuple) and (not a.form.mutable or a.form.copied) and a.form.kind != "function":
        for item in a.items:
            _check(frame, item, v)
    elif isinstance(v, Ref) and grows(frame, v):
        raise Clash("both lengths are not known when the function is compiled", TABLE)
    elif not isinstance(a, abstract.Scalar | abstract.Static | abstract.Array):
        raise Clash(
            f"the items of a list whose length is not known when the function is compiled are numbers, arrays of one "
            f"shape, or tuples of these, not {describe_type(v)}"
        )


def type_of_items(frame: Frame, held: Contents) -> abstract.Abstract | None:
    """The type that all items of a list can have, None for an empty list. Raises ``Clash``."""
    if is_growing(held):
        return row_of(held)
    found: abstract.Abstract | None = None
    for item in held.items:
        one = item_type(frame, item)
        found = one if found is None else join(found, one)
    return found


def common_type(frame: Frame, a: Contents, b: Contents) -> abstract.Abstract | None:
    """The common type of items of both lists, None if they have none."""
    first, second = type_of_items(frame, a), type_of_items(frame, b)
    return join(first, second) if first is not None and second is not None else first or second
