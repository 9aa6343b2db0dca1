"""NumPy's functions that flip or rotate arrays: views with axes reversed or exchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from adc.frontend.arrays import subscripts
from adc.frontend.arrays.reductions import axes_of, listed, repeated_axes_of
from adc.frontend.data.dims import dim_value
from adc.frontend.data.values import AbstractValue, Array, Lazy, Number, Read, Static, Tuple, needed_int
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.library_shapes import in_memory
from adc.frontend.libraries.rules import Rule, take
from adc.frontend.numeric import division, nests, slices, views
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import current_loc
from adc.ir.core import Value

Args = Sequence[AbstractValue]
Keywords = Mapping[str, AbstractValue]


def backwards(owner: Array, axes: Sequence[int]) -> Array:
    """The view with some axes reversed."""
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


# Rolled ---------------------------------------------------------------------------------------------------------------


def rolled(owner: Array | Lazy, shift: Value, axis: int) -> Lazy:
    """An expression for the elements moved along an axis; those that leave it re-enter at the other end.

    The subscripts are of the form ``u[(i - shift) % n]``, which the compiler splits into the interior and the rims.
    """
    base = nests.lazy_of(owner)
    n = dim_value(base.dims[axis])
    known = constant_of(shift)
    back = None if known is None else const_index(-int(known))
    moved = division.int_modulo(shift, ops.maxsi(n, const_index(1)))
    rest = ops.subi(n, moved)

    def source(i: Value) -> Value:
        if back is not None:
            return division.int_modulo(ops.addi(i, back), n)
        return ops.select(ops.cmpi(i, moved, predicate="slt"), ops.addi(i, rest), ops.subi(i, moved))

    def element(subscripts: Sequence[Value], general: bool) -> Number:
        return base.element([source(i) if k == axis else i for k, i in enumerate(subscripts)], general)

    reads = tuple(Read(r.array, pointwise=False) for r in base.reads)
    return Lazy(base.dims, base.plain, base.dtype, element, reads, base.equalities)


def _roll(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    value, shift, axis = take("np.roll", ["a", "shift", "axis"], args, kwargs, 2)
    owner: Array | Lazy = value if isinstance(value, Lazy) else in_memory(frame, "np.roll", value)
    assert shift is not None
    flattened = axis is None or (isinstance(axis, Static) and axis.value is None)
    expected = 1 if flattened else len(repeated_axes_of(axis, owner.rank))
    by = [slices.integer(s, current_loc()) for s in _shifts(shift, expected)]
    if flattened:
        whole = in_memory(frame, "np.roll", owner)
        flat = views.reshape(frame, whole, [1], 0)
        made = nests.materialise(frame, rolled(flat, reduce(ops.addi, by), 0))
        return views.reshape(frame, made, whole.dims)
    axes = repeated_axes_of(axis, owner.rank)
    if len(by) != len(axes) and 1 not in (len(by), len(axes)):
        message = "shape mismatch: objects cannot be broadcast to a single shape"
        raise refuse(current_loc(), message, kind=kinds.INVALID_VALUE)
    for k in range(max(len(by), len(axes))):
        owner = rolled(owner, by[k if len(by) > 1 else 0], axes[k if len(axes) > 1 else 0])
    return owner


def _shifts(shift: AbstractValue, expected: int) -> Sequence[AbstractValue]:
    """The items of ``shift``. An array of a run-time length must have one, or as many as are expected."""
    if not isinstance(shift, Array | Lazy) or not shift.rank:
        return listed(shift)
    if shift.rank > 1:
        message = "np.roll() by a shift of several dimensions is not supported"
        raise refuse(current_loc(), message, "pass a tuple of ints", kind=kinds.UNSUPPORTED_OPTION)
    count, one, element = dim_value(shift.dims[0]), const_index(1), nests.lazy_of(shift).element
    known = constant_of(count)
    if known is not None:
        return [element([const_index(k)], False) for k in range(int(known))]
    fits = ops.ori(*(ops.cmpi(count, n, predicate="eq") for n in (const_index(expected), one)))
    trap_unless(fits, "ValueError", "shape mismatch: objects cannot be broadcast to a single shape")
    last = ops.subi(count, one)
    return [element([ops.minsi(const_index(k), last)], False) for k in range(expected)]


TABLE: dict[Any, Rule] = {
    np.roll: _roll,
    np.flip: _flip,
    np.flipud: _flipped("np.flipud", 0),
    np.fliplr: _flipped("np.fliplr", 1),
    np.rot90: _rot90,
}
