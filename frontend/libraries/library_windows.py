"""NumPy's functions that return views in which one element has several subscripts: broadcast arrays, sliding
windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from adc.frontend.arrays import arrays
from adc.frontend.arrays.reductions import repeated_axes_of
from adc.frontend.data.dims import dim_value
from adc.frontend.data.values import AbstractValue, Lazy, Number, Read, Tuple, is_numeric
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.creation import shape_argument
from adc.frontend.libraries.library_shapes import in_memory
from adc.frontend.libraries.rules import Rule, static_of, take
from adc.frontend.numeric import nests
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.builder import current_loc
from adc.ir.core import Value

Args = Sequence[AbstractValue]
Keywords = Mapping[str, AbstractValue]
_SHAPES = "operands could not be broadcast together with remapped shapes [original->remapped]:", " and requested shape "


def _expression(frame: Frame, name: str, value: AbstractValue | None) -> Lazy:
    if value is not None and is_numeric(value):
        return nests.constant_array(value)
    return nests.lazy_of(value if isinstance(value, Lazy) else in_memory(frame, name, value))


def _broadcast_to(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    value, shape, _ = take("np.broadcast_to", ["array", "shape", "subok"], args, kwargs, 2)
    assert shape is not None
    lazy = _expression(frame, "np.broadcast_to", value)
    dims = tuple(shape_argument(shape))
    if lazy.rank > len(dims):
        message = "input operand has more dimensions than allowed by the axis remapping"
        raise refuse(current_loc(), message, kind=kinds.RANK_MISMATCH)
    made = arrays.fitted(replace(lazy, dims=dims, plain=dims), lazy, _SHAPES)
    return replace(made, view="np.broadcast_to(...)" if lazy.reads else "")


def _broadcast_arrays(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    take("np.broadcast_arrays", ["subok"], (), kwargs, 0)
    given = [_expression(frame, "np.broadcast_arrays", v) for v in args]
    if not given:
        return Tuple(())
    model = arrays.elementwise(lambda first, *_: first, *given)
    made = (arrays.fitted(model, v, _SHAPES) for v in given)
    return Tuple(tuple(replace(v, view="np.broadcast_arrays(...)" if v.reads else "") for v in made))


def _sliding(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    """``sliding_window_view``: the windows' own axes come last."""
    name = "sliding_window_view"
    value, shape, axis, writeable = take(name, ["x", "window_shape", "axis", "writeable"], args, kwargs, 2)
    assert shape is not None
    if static_of(writeable, "writeable"):
        help = "write to the array itself"
        raise refuse(current_loc(), "windows that overlap cannot be written to", help, kind=kinds.UNSUPPORTED_OPTION)
    owner = nests.lazy_of(in_memory(frame, name, value))
    sizes = shape_argument(shape)
    axes = repeated_axes_of(axis, owner.rank)
    if len(axes) != len(sizes):
        message = f"the window has {len(sizes)} extents for {len(axes)} axes"
        raise refuse(current_loc(), message, "name the axes: axis=...", kind=kinds.INVALID_VALUE)
    dims = list(owner.dims)
    for k, size in zip(axes, sizes, strict=True):
        left = ops.addi(ops.subi(dim_value(dims[k]), dim_value(size)), const_index(1))
        fits = ops.cmpi(left, const_index(1), predicate="sge")
        trap_unless(fits, "ValueError", "window shape cannot be larger than input array shape")
        dims[k] = left
    rank = owner.rank

    def element(subscripts: Sequence[Value], general: bool) -> Number:
        at = list(subscripts[:rank])
        for k, inside in zip(axes, subscripts[rank:], strict=True):
            at[k] = ops.addi(at[k], inside)
        return owner.element(at, general)

    made = (*dims, *sizes)
    reads = tuple(Read(r.array, pointwise=False) for r in owner.reads)
    return Lazy(made, made, owner.dtype, element, reads, owner.equalities, "sliding_window_view(...)")


TABLE: dict[Any, Rule] = {
    np.broadcast_to: _broadcast_to,
    np.broadcast_arrays: _broadcast_arrays,
    np.lib.stride_tricks.sliding_window_view: _sliding,
}
