"""NumPy's objects that are subscripted to make arrays: ``r_``, ``c_``, ``mgrid``, ``ogrid``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adc.frontend.arrays import arrays
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Lazy, Range, Static, Tuple, is_list, is_numeric
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.attributes import extent
from adc.frontend.numeric import views
from adc.frontend.numeric.slices import Item, Slice, is_none
from adc.ir import kinds
from adc.ir.builder import at_loc, current_loc


def _call(frame: Frame, function: object, *args: AbstractValue, **kwargs: AbstractValue) -> AbstractValue:
    return frame.tracer.call(frame, Static(function), list(args), kwargs)


def _points(frame: Frame, s: Slice) -> AbstractValue:
    """The numbers that a slice stands for: by the step, or, if the step is imaginary, that many, including the end."""
    lower = Static(0) if s.lower is None or is_none(s.lower) else s.lower
    if s.upper is None or is_none(s.upper):
        message = "this slice needs an end"
        raise refuse(current_loc(), message, "write its end: np.r_[0:5]", kind=kinds.INVALID_VALUE)
    step = s.step
    if isinstance(step, Static) and isinstance(step.value, complex):
        return _call(frame, np.linspace, lower, s.upper, Static(int(abs(step.value))))
    return _call(frame, np.arange, lower, s.upper, Static(1) if step is None or is_none(step) else step)


def _part(frame: Frame, item: Item) -> AbstractValue:
    """One item of ``np.r_`` as an array."""
    v = item.value
    with at_loc(item.loc):
        if isinstance(v, Slice):
            return _points(frame, v)
        if isinstance(v, Array | Lazy) and v.rank:
            return v
        if isinstance(v, Tuple | Range) or is_list(v):
            return _call(frame, np.array, v)
        if isinstance(v, Array | Lazy) or is_numeric(v):
            return _call(frame, np.array, Tuple((v,)))
        message = f"{describe_type(v)} is not supported between these brackets"
        raise refuse(item.loc, message, "join arrays with np.concatenate or np.stack", kind=kinds.UNSUPPORTED_INDEXING)


def _rows(frame: Frame, items: Sequence[Item]) -> AbstractValue:
    return _call(frame, np.concatenate, Tuple(tuple(_part(frame, item) for item in items)))


def _columns(frame: Frame, items: Sequence[Item]) -> AbstractValue:
    parts = [_part(frame, item) for item in items]
    columns = [_call(frame, np.reshape, v, Tuple((Static(-1), Static(1)))) if _rank(v) == 1 else v for v in parts]
    return _call(frame, np.concatenate, Tuple(tuple(columns)), axis=Static(-1))


def _rank(v: AbstractValue) -> int:
    assert isinstance(v, Array | Lazy)
    return v.rank


def _evenly(frame: Frame, s: Slice) -> AbstractValue:
    """The numbers of a grid along an axis, as multiples of the step from the first one."""
    points = _points(frame, s)
    assert isinstance(points, Array)
    if not points.dtype.is_float:
        return points
    lower = Static(0) if s.lower is None or is_none(s.lower) else s.lower
    step = Static(1) if s.step is None else s.step
    if isinstance(step, Static) and isinstance(step.value, complex):
        count = int(abs(step.value))
        assert s.upper is not None
        step = arrays.operate(frame, "-", s.upper, lower)
        if count > 1:
            step = arrays.operate(frame, "/", step, Static(float(count - 1)))
    counted = _call(frame, np.arange, Static(0), extent(points.dims[0]))
    return arrays.settled(frame, arrays.operate(frame, "+", arrays.operate(frame, "*", counted, step), lower))


def _axes(frame: Frame, items: Sequence[Item]) -> list[AbstractValue]:
    found = []
    for item in items:
        if not isinstance(item.value, Slice):
            message = "a grid is made of slices"
            raise refuse(item.loc, message, "write np.mgrid[0:3, 0:4]", kind=kinds.UNSUPPORTED_INDEXING)
        with at_loc(item.loc):
            found.append(_evenly(frame, item.value))
    dtype = _call(frame, np.result_type, *found)
    return [_call(frame, np.asarray, v, dtype=dtype) for v in found]


def _filled_grid(frame: Frame, items: Sequence[Item]) -> AbstractValue:
    axes = _axes(frame, items)
    if len(axes) == 1:
        return axes[0]
    return _call(frame, np.stack, _call(frame, np.meshgrid, *axes, indexing=Static("ij")))


def _open_grid(frame: Frame, items: Sequence[Item]) -> AbstractValue:
    axes = _axes(frame, items)
    if len(axes) == 1:
        return axes[0]
    made = []
    for k, v in enumerate(axes):
        assert isinstance(v, Array)
        made.append(views.with_new_axes(v, [k != n for n in range(len(axes))]))
    return Tuple(tuple(made))


SUBSCRIPTED = {id(np.r_): _rows, id(np.c_): _columns, id(np.mgrid): _filled_grid, id(np.ogrid): _open_grid}
