"""NumPy's functions, and the methods of arrays, that return the same elements in another shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend.arrays import subscripts
from adc.frontend.arrays.reductions import axes_of, normal_axes
from adc.frontend.containers import sequences
from adc.frontend.data.dims import Dim, is_one
from adc.frontend.data.type_names import describe_type, for_array
from adc.frontend.data.values import AbstractValue, Array, Lazy, Static, Tuple, is_numeric, needed_int
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.creation import shape_argument
from adc.frontend.libraries.memory_order import copy
from adc.frontend.libraries.methods import METHODS, cumulative_axes
from adc.frontend.libraries.rules import Rule, static_of, take
from adc.frontend.numeric import nests, slices, views
from adc.ir import kinds
from adc.ir.builder import current_loc

Args = Sequence[AbstractValue]
Keywords = Mapping[str, AbstractValue]


def in_memory(frame: Frame, name: str, v: AbstractValue | None) -> Array:
    """An argument that may be a number, an array, or an expression, as an array."""
    if isinstance(v, Array):
        return v
    if isinstance(v, Lazy):
        return nests.materialise(frame, v)
    if v is not None and is_numeric(v):
        return nests.materialise(frame, nests.constant_array(v))
    shown = "nothing" if v is None else describe_type(v)
    raise refuse(current_loc(), f"{name}() takes an array, not {shown}", for_array(v), kind=kinds.WRONG_TYPE)


def _shape(frame: Frame, name: str, owner: Array, shape: AbstractValue) -> tuple[list[Dim], int | None]:
    """The extents, and the position of the one to be inferred from the others."""
    shape = sequences.snapshot(frame, shape)
    if isinstance(shape, Static) and isinstance(shape.value, tuple):
        shape = Tuple(tuple(map(Static, shape.value)))
    items = shape.items if isinstance(shape, Tuple) else (shape,)
    unknown = [k for k, item in enumerate(items) if isinstance(item, Static) and item.value == -1]
    if len(unknown) > 1:
        raise refuse(current_loc(), "can only specify one unknown dimension", kind=kinds.INVALID_VALUE)
    dims = shape_argument(Tuple(tuple(Static(1) if k in unknown else item for k, item in enumerate(items))))
    return dims, unknown[0] if unknown else None


def _in_order(name: str, order: AbstractValue | None) -> str:
    wanted = static_of(order, "the order") or "C"
    if wanted not in ("C", "F"):
        help = "leave the order out, or say order='C'"
        message = f"{name}() with order='{wanted}' is not supported"
        raise refuse(current_loc(), message, help, kind=kinds.UNSUPPORTED_OPTION)
    return str(wanted)


def reshaped(frame: Frame, name: str, owner: Array, shape: AbstractValue, order: AbstractValue | None) -> Array:
    """``shape`` may have one -1. In the order "F", the transposed array is reshaped to the reverse of ``shape``, and
    transposed."""
    dims, inferred = _shape(frame, name, owner, shape)
    if _in_order(name, order) == "C":
        return views.reshape(frame, owner, dims, inferred)
    backwards = None if inferred is None else len(dims) - 1 - inferred
    turned = _transposed(owner)
    return _transposed(views.reshape(frame, turned, dims[::-1], backwards))


def _transposed(owner: Array) -> Array:
    turned = subscripts.transpose(owner, tuple(reversed(range(owner.rank))))
    assert isinstance(turned, Array)
    return turned


def _reshape(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    value, shape, order = take("np.reshape", ["a", "shape", "order"], args, kwargs, 2)
    assert shape is not None
    return reshaped(frame, "np.reshape", in_memory(frame, "np.reshape", value), shape, order)


def _reshape_method(frame: Frame, owner: Array | Lazy, args: Args, kwargs: Keywords) -> AbstractValue:
    (order,) = take("reshape", ["order"], (), kwargs, 0)
    if not args:
        raise refuse(current_loc(), "reshape() takes a shape", kind=kinds.WRONG_CALL)
    return reshaped(
        frame, "reshape", in_memory(frame, "reshape", owner), args[0] if len(args) == 1 else Tuple(tuple(args)), order
    )


def _ravel(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    value, order = take("np.ravel", ["a", "order"], args, kwargs)
    owner = in_memory(frame, "np.ravel", value)
    if owner.rank == 1 and _in_order("np.ravel", order):
        return views.vector_in_one_run(frame, owner)
    return reshaped(frame, "np.ravel", owner, Static(-1), order)


def _flatten(frame: Frame, owner: Array | Lazy, args: Args, kwargs: Keywords) -> AbstractValue:
    (order,) = take("flatten", ["order"], args, kwargs, 0)
    turned = subscripts.transpose(owner, tuple(reversed(range(owner.rank))))
    made = copy(frame, owner if _in_order("flatten", order) == "C" else turned)
    return views.reshape(frame, made, [1], 0)


def _squeeze(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    value, axis = take("np.squeeze", ["a", "axis"], args, kwargs)
    owner = in_memory(frame, "np.squeeze", value)
    axes = axes_of(axis, owner.rank, ranges=False)
    if axes is None:
        if any(is_one(d) is None for d in owner.dims):
            message = "which extents are 1 is known at run time only, so np.squeeze() needs an axis"
            raise refuse(current_loc(), message, "name the axis: np.squeeze(a, axis=0)", kind=kinds.NOT_CONSTANT)
        axes = tuple(k for k, d in enumerate(owner.dims) if is_one(d))
    return views.without_axes(owner, axes)


def _expand_dims(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    value, axis = take("np.expand_dims", ["a", "axis"], args, kwargs, 2)
    owner = in_memory(frame, "np.expand_dims", value)
    rank = owner.rank + (len(axis.items) if isinstance(axis, Tuple) else len(_tuple(axis)))
    axes = axes_of(axis, rank, ranges=False) or ()
    return views.with_new_axes(owner, [k in axes for k in range(rank)])


def _tuple(v: AbstractValue | None) -> tuple[Any, ...]:
    known = v.value if isinstance(v, Static) else None
    return known if isinstance(known, tuple) else (known,)


# Axes in another order ------------------------------------------------------------------------------------------------


def _need(name: str, v: AbstractValue | None) -> Array | Lazy:
    if isinstance(v, Array | Lazy):
        return v
    shown = "nothing" if v is None else describe_type(v)
    raise refuse(current_loc(), f"{name}() takes an array, not {shown}", for_array(v), kind=kinds.WRONG_TYPE)


def _transpose(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    value, axes = take("np.transpose", ["a", "axes"], args, kwargs)
    owner = _need("np.transpose", value)
    if axes is None or (isinstance(axes, Static) and axes.value is None):
        return subscripts.transpose(owner, tuple(reversed(range(owner.rank))))
    return subscripts.transpose(owner, cumulative_axes(axes, owner.rank))


def _number(name: str, v: AbstractValue | None) -> int:
    known = None if v is None else needed_int(v)
    if known is None:
        message = f"the axis of {name}() must be known when the function is compiled"
        raise refuse(current_loc(), message, "write it as a constant", kind=kinds.NOT_CONSTANT)
    return known


def _swapaxes(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    value, first, second = take("np.swapaxes", ["a", "axis1", "axis2"], args, kwargs, 3)
    owner = _need("np.swapaxes", value)
    (i,), (j,) = (normal_axes([_number("np.swapaxes", v)], owner.rank) for v in (first, second))
    order = list(range(owner.rank))
    order[i], order[j] = j, i
    return subscripts.transpose(owner, tuple(order))


def _moveaxis(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    value, source, destination = take("np.moveaxis", ["a", "source", "destination"], args, kwargs, 3)
    owner = _need("np.moveaxis", value)
    here, there = (axes_of(v, owner.rank) or () for v in (source, destination))
    if len(here) != len(there):
        message = "`source` and `destination` arguments must have the same number of elements"
        raise refuse(current_loc(), message, kind=kinds.INVALID_VALUE)
    order = [k for k in range(owner.rank) if k not in here]
    for to, axis in sorted(zip(there, here, strict=True)):
        order.insert(to, axis)
    return subscripts.transpose(owner, tuple(order))


def _rollaxis(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    value, axis, start = take("np.rollaxis", ["a", "axis", "start"], args, kwargs, 2)
    owner = _need("np.rollaxis", value)
    (here,) = normal_axes([_number("np.rollaxis", axis)], owner.rank)
    to = 0 if start is None else _number("np.rollaxis", start)
    to = to + owner.rank if to < 0 else to
    if not 0 <= to <= owner.rank:
        raise refuse(current_loc(), f"start {to} is out of bounds for a {owner.rank}-D array", kind=kinds.INVALID_AXIS)
    order = [k for k in range(owner.rank) if k != here]
    order.insert(to - 1 if here < to else to, here)
    return subscripts.transpose(owner, tuple(order))


def _diagonal(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    value, offset, first, second = take("np.diagonal", ["a", "offset", "axis1", "axis2"], args, kwargs)
    owner = in_memory(frame, "np.diagonal", value)
    if owner.rank < 2:
        message = "diag requires an array of at least two dimensions"
        raise refuse(current_loc(), message, kind=kinds.INVALID_VALUE)
    given = (Static(0) if first is None else first, Static(1) if second is None else second)
    axes = normal_axes([_number("np.diagonal", v) for v in given], owner.rank)
    by = slices.integer(Static(0) if offset is None else offset, current_loc())
    return views.diagonal(frame, owner, by, *axes)


def turned(owner: Array | Lazy) -> Array | Lazy:
    """``owner`` with its last two axes exchanged."""
    if owner.rank < 2:
        raise refuse(current_loc(), "matrix transpose with ndim < 2 is undefined", kind=kinds.INVALID_AXIS)
    return subscripts.transpose(owner, (*range(owner.rank - 2), owner.rank - 1, owner.rank - 2))


def _matrix_transpose(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    (value,) = take("np.matrix_transpose", ["x"], args, kwargs)
    return turned(_need("np.matrix_transpose", value))


def _at_least(rank: int, name: str) -> Rule:
    """The rule for ``np.atleast_1d`` and similar functions: one array, or several as a tuple."""

    def one(frame: Frame, v: AbstractValue) -> AbstractValue:
        owner = in_memory(frame, name, v)
        missing = max(0, rank - owner.rank)
        before = 1 if rank == 3 and owner.rank in (0, 1) else 0 if rank == 3 else missing
        new = [True] * before + [False] * owner.rank + [True] * (missing - before)
        return views.with_new_axes(owner, new) if missing else owner

    def rule(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
        take(name, [], (), kwargs, 0)
        found = [one(frame, v) for v in args]
        return found[0] if len(found) == 1 else Tuple(tuple(found))

    return rule


def as_method(rule: Rule) -> Callable[..., AbstractValue]:
    """The rule for a function as one for a method."""
    return lambda frame, owner, args, kwargs: rule(frame, [owner, *args], kwargs)


TABLE: dict[Any, Rule] = {
    np.reshape: _reshape,
    np.ravel: _ravel,
    np.squeeze: _squeeze,
    np.expand_dims: _expand_dims,
    np.transpose: _transpose,
    np.permute_dims: _transpose,
    np.swapaxes: _swapaxes,
    np.moveaxis: _moveaxis,
    np.rollaxis: _rollaxis,
    np.diagonal: _diagonal,
    np.matrix_transpose: _matrix_transpose,
    np.atleast_1d: _at_least(1, "np.atleast_1d"),
    np.atleast_2d: _at_least(2, "np.atleast_2d"),
    np.atleast_3d: _at_least(3, "np.atleast_3d"),
}
METHODS.update(
    reshape=_reshape_method,
    ravel=as_method(_ravel),
    flatten=_flatten,
    squeeze=as_method(_squeeze),
    swapaxes=as_method(_swapaxes),
    diagonal=as_method(_diagonal),
)
