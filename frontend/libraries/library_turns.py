"""NumPy's functions that turn arrays round: views with axes backwards, or exchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend.data.values import AbstractValue, Array, Static, Tuple
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.library_shapes import in_memory
from adc.frontend.libraries.reductions import axes_of
from adc.frontend.names import needed_int
from adc.frontend.numeric import slices, subscripts
from adc.frontend.numeric.rules import Rule, take
from adc.ir import kinds
from adc.ir.builder import current_loc

Args = Sequence[AbstractValue]
Keywords = Mapping[str, AbstractValue]


def backwards(owner: Array, axes: Sequence[int]) -> Array:
    """The view with some axes counted from the end."""
    whole, turned = slices.Slice(), slices.Slice(step=Static(-1))
    items = [slices.Item(current_loc(), turned if k in axes else whole) for k in range(owner.rank)]
    return subscripts.view(owner, items) if axes else owner


def _flip(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    value, axis = take("np.flip", ["m", "axis"], args, kwargs)
    owner = in_memory(frame, "np.flip", value)
    axes = axes_of(axis, owner.rank)
    return backwards(owner, range(owner.rank) if axes is None else axes)


def _flipped(name: str, axis: int) -> Rule:
    def rule(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
        (value,) = take(name, ["m"], args, kwargs)
        owner = in_memory(frame, name, value)
        if owner.rank <= axis:
            raise refuse(current_loc(), f"Input must be >= {axis + 1}-d.", kind=kinds.INVALID_VALUE)
        return backwards(owner, [axis])

    return rule


def _rot90(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    value, k, axes = take("np.rot90", ["m", "k", "axes"], args, kwargs)
    owner = in_memory(frame, "np.rot90", value)
    turns = 1 if k is None else needed_int(k)
    if turns is None:
        message = "how often np.rot90() turns must be known when the function is compiled"
        raise refuse(current_loc(), message, "write it as a constant", kind=kinds.NOT_CONSTANT)
    plane = axes_of(Tuple((Static(0), Static(1))) if axes is None else axes, owner.rank) or ()
    if len(plane) != 2:
        raise refuse(current_loc(), "len(axes) must be 2.", kind=kinds.INVALID_AXIS)
    first, second = plane
    order = list(range(owner.rank))
    order[first], order[second] = second, first
    if turns % 2 == 0:
        return backwards(owner, plane if turns % 4 else ())
    exchanged = subscripts.transpose(owner, tuple(order))
    assert isinstance(exchanged, Array)
    return backwards(exchanged, [first if turns % 4 == 1 else second])


TABLE: dict[Any, Rule] = {
    np.flip: _flip,
    np.flipud: _flipped("np.flipud", 0),
    np.fliplr: _flipped("np.fliplr", 1),
    np.rot90: _rot90,
}
