"""NumPy's functions of index arrays and masks that are not written in Python: such as ``np.add.at`` and
``np.nonzero``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend.arrays import arrays, gathers, places
from adc.frontend.arrays.reductions import normal_axes
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import NONE, AbstractValue, Array, Lazy, Static, Tuple, is_array
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries import library_numpy
from adc.frontend.libraries.creation import astype, need_array
from adc.frontend.libraries.reducing import as_array
from adc.frontend.libraries.rules import Rule, positional, static_of, take
from adc.frontend.numeric import nests
from adc.frontend.numeric.convert import kind
from adc.frontend.numeric.selections import Mask
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.types import i1

Args = Sequence[AbstractValue]
Keywords = Mapping[str, AbstractValue]


def _at(function: np.ufunc) -> Rule:
    """``np.add.at(a, k, v)``: repeated subscripts count each time, in order."""
    name, rule = f"np.{function.__name__}", library_numpy.TABLE[function]

    def call(frame: Frame, a: AbstractValue, indices: AbstractValue, *values: AbstractValue) -> AbstractValue:
        if not isinstance(a, Array):
            message = f"{name}.at() stores into an array, not into {describe_type(a)}"
            raise refuse(current_loc(), message, kind=kinds.WRONG_TYPE)
        value = as_array(frame, f"{name}.at", values[0]) if values else nests.constant_array(Static(0))
        items = gathers.items_of(frame, indices, current_loc(), alone=True)
        place = places.locate(frame, a, items)
        arrays.check_writable(frame, a)

        def combine(old: AbstractValue, *new: AbstractValue) -> AbstractValue:
            return rule(frame, [old, *new][: function.nin], {})

        now = places.current(place)
        made = arrays.elementwise(combine, now, value) if is_array(now) else None
        if made is not None and kind(made.dtype) > kind(a.dtype):
            message = f"{name}.at() cannot store its results, {describe_type(made)}, into {describe_type(a)}"
            help = "use an array of floats: x = x.astype(float)"
            raise refuse(current_loc(), message, help, kind=kinds.CAST_NOT_SAFE)
        if isinstance(place, gathers.Indexed):
            places.at(frame, place, value, combine)
        else:  # no element is named twice
            places.store(frame, place, combine(now, *values) if made is None else made)
        return NONE

    return positional(f"{name}.at", range(function.nin + 1, function.nin + 2), call)


def _nonzero(frame: Frame, a: AbstractValue) -> AbstractValue:
    """The subscripts, in each dimension, of the elements that are not zero."""
    value = as_array(frame, "np.nonzero", a)
    if not value.rank:
        message = "np.nonzero() of a number is not supported"
        raise refuse(current_loc(), message, "make it an array of one element", kind=kinds.WRONG_TYPE)
    return Tuple(Mask.of(frame, astype(value, i1)).positions)


def _where(frame: Frame, condition: AbstractValue, *both: AbstractValue) -> AbstractValue:
    return library_numpy.where(frame, condition, *both) if both else _nonzero(frame, condition)


def _along(name: str, args: Args, kwargs: Keywords, frame: Frame, *more: str) -> tuple[gathers.Indexed, list[Any]]:
    array, indices, *rest = take(name, ["arr", "indices", *more, "axis"], args, kwargs, 2 + len(more))
    owner = need_array(name, array)
    owner = nests.materialise(frame, owner) if isinstance(owner, Lazy) else owner
    where = as_array(frame, name, indices) if indices is not None else indices
    axis = -1 if rest[-1] is None else static_of(rest[-1], "the axis")
    assert isinstance(where, Array | Lazy)
    if not isinstance(axis, int) or where.rank != owner.rank:
        message = "`indices` and `arr` must have the same number of dimensions"
        raise refuse(current_loc(), message, "flatten the array for axis=None", kind=kinds.RANK_MISMATCH)
    return gathers.along(frame, owner, where, normal_axes([axis], owner.rank)[0]), rest


def _take_along_axis(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    return _along("np.take_along_axis", args, kwargs, frame)[0].read()


def _put_along_axis(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    place, rest = _along("np.put_along_axis", args, kwargs, frame, "values")
    places.store(frame, place, rest[0])
    return NONE


def _select(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    """``np.select``: the expression of the first condition that holds."""
    conditions, choices, default = take("np.select", ["condlist", "choicelist", "default"], args, kwargs, 2)
    if not isinstance(conditions, Tuple) or not isinstance(choices, Tuple) or not conditions.items:
        message = "np.select() takes a list of conditions and a list of choices"
        raise refuse(current_loc(), message, kind=kinds.WRONG_TYPE)
    if len(conditions.items) != len(choices.items):
        message = "list of cases must be same length as list of conditions"
        raise refuse(current_loc(), message, kind=kinds.INVALID_VALUE)
    result: AbstractValue = Static(0) if default is None else default
    for condition, choice in zip(reversed(conditions.items), reversed(choices.items), strict=True):
        result = library_numpy.where(frame, condition, choice, result)
    return result


def _ix(frame: Frame, *lists: AbstractValue) -> AbstractValue:
    """Index arrays that select all combinations of their elements."""
    found: list[AbstractValue] = []
    for k, item in enumerate(lists):
        v = gathers.as_subscripts(frame, as_array(frame, "np.ix_", item))
        if v.rank != 1:
            raise refuse(current_loc(), "Cross index must be 1 dimensional", kind=kinds.RANK_MISMATCH)
        found.append(gathers.spread(v, k, len(lists)))
    return Tuple(tuple(found))


TABLE: dict[Any, Rule] = {
    **{f.at: _at(f) for f in library_numpy.TABLE if isinstance(f, np.ufunc) and f.nout == 1 and f.nin <= 2},
    np.where: positional("np.where", range(1, 4, 2), _where, "np.where(c, a, b) chooses, np.where(c) finds"),
    np.select: _select,
    np.nonzero: positional("np.nonzero", 1, _nonzero),
    np.take_along_axis: _take_along_axis,
    np.put_along_axis: _put_along_axis,
    np.ix_: positional("np.ix_", range(33), _ix),
}
