"""What records and arrays of arrays hold, by their types alone, so that packing and unpacking agree."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from adc.ir.core import Attr, Op, Value
from adc.ir.types import MemRefType, RecordType, Type


def may_have_tangent(t: Type) -> bool:
    """Whether there are floats in values of this type, or may be."""
    return may_have_tangent(t.element) if isinstance(t, MemRefType) else t.is_float or isinstance(t, RecordType)


def is_container(t: Type) -> bool:
    """Whether a value of this type holds memrefs or records that may have a tangent."""
    if isinstance(t, MemRefType):
        return isinstance(t.element, MemRefType | RecordType) and may_have_tangent(t.element)
    return isinstance(t, RecordType)


def held(values: Sequence[Value]) -> list[int]:
    """The positions of the values of a record that a record of their tangents, or shadows, has something for."""
    return [k for k, v in enumerate(values) if may_have_tangent(v.type)]


def unpack_beside(unpack: Op, places: Mapping[int, Value], types: Sequence[Type]) -> dict[str, Attr]:
    """The attributes of the ``adc.unpack`` of such a record, whose values have these types. It holds memory in the same
    way as the record beside it, and memory of its own where that one has a number.

    ``places``: for positions of arguments of the function, those of the arguments that hold their tangents or shadows.
    """
    positions = held(unpack.results)
    given = {name: unpack.attrs.get(name) or ((),) * len(unpack.results) for name in ("roots", "contents")}
    if not unpack.attrs.get("roots"):
        given["roots"] = ((-1,),) * len(unpack.results)
    numbers = itertools.count(1 - min([0, *(n for lists in given.values() for ns in lists for n in ns)]))
    elsewhere: dict[int, int] = {}

    def beside(n: int) -> int:
        if n < 0:
            return n
        if n in places:
            return places[n].index
        return elsewhere[n] if n in elsewhere else elsewhere.setdefault(n, -next(numbers))

    attrs: dict[str, Attr] = {"types": tuple(types)}
    for name, lists in given.items():
        attrs[name] = tuple(tuple(map(beside, lists[k])) for k in positions)
    own = [isinstance(t, MemRefType) and unpack.results[k].type.is_float for k, t in zip(positions, types, strict=True)]
    attrs["roots"] = tuple((-next(numbers),) if new else ns for new, ns in zip(own, attrs["roots"], strict=True))
    at = {k: n for n, k in enumerate(positions)}
    attrs["apart"] = tuple((at[m], at[n]) for m, n in unpack.attrs.get("apart", ()) if m in at and n in at)
    return attrs
