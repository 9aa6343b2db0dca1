"""Methods of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend.abstract import numpy_dtype
from adc.frontend.arrays import arrays, structured, subscripts
from adc.frontend.arrays.reductions import axes_of
from adc.frontend.data.compounds import Structured
from adc.frontend.data.dims import Dim, dim_value, static_dim
from adc.frontend.data.values import AbstractValue, Array, Complex, Lazy, Method, Scalar, Static, Tuple, is_array
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries import library_complex, reducing, scans
from adc.frontend.libraries.container_methods import call_container_method
from adc.frontend.libraries.creation import astype, casting_rule, dtype_argument
from adc.frontend.libraries.memory_order import copy, is_fortran
from adc.frontend.libraries.rules import Rule, static_of, take
from adc.frontend.numeric import complexes, nests, slices
from adc.frontend.numeric.convert import as_complex, as_python, cast
from adc.frontend.prelude import positions
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.builder import current_loc
from adc.ir.types import c128, f64, i64

Args = Sequence[AbstractValue]
Keywords = Mapping[str, AbstractValue]


def cumulative_axes(axes: AbstractValue, rank: int) -> tuple[int, ...]:
    """A permutation of all axes, checked."""
    found = axes_of(axes, rank)
    if found is None or len(found) != rank:
        raise refuse(current_loc(), f"the axes must name each of the {rank} dimensions once", kind=kinds.INVALID_AXIS)
    return found


def _nothing(name: str, args: Args, kwargs: Keywords) -> None:
    if args or kwargs:
        raise refuse(current_loc(), f"{name}() takes no arguments here", kind=kinds.UNSUPPORTED_OPTION)


def _copy(frame: Frame, owner: Array | Lazy, args: Args, kwargs: Keywords) -> AbstractValue:
    (order,) = take("copy", ["order"], args, kwargs, 0)
    return copy(frame, owner, is_fortran("copy", order))


def _dot(frame: Frame, owner: Array | Lazy, args: Args, kwargs: Keywords) -> AbstractValue:
    if len(args) != 1 or kwargs:
        raise refuse(current_loc(), "dot() takes one array", kind=kinds.UNSUPPORTED_OPTION)
    return arrays.operate(frame, "@" if is_array(args[0]) else "*", owner, args[0])


def _fill(frame: Frame, owner: Array | Lazy, args: Args, kwargs: Keywords) -> AbstractValue:
    if len(args) != 1 or kwargs or not isinstance(owner, Array):
        raise refuse(current_loc(), "fill() takes one number", kind=kinds.UNSUPPORTED_OPTION)
    arrays.store(frame, owner, args[0])
    return Static(None)


def _astype(frame: Frame, owner: Array | Lazy | Scalar | Complex, args: Args, kwargs: Keywords) -> AbstractValue:
    dtype, order, casting, subok, keep = take("astype", ["dtype", "order", "casting", "subok", "copy"], args, kwargs)
    wanted, rule = dtype_argument(dtype, f64), casting_rule(casting, "unsafe")
    fortran = is_fortran("astype", order)
    static_of(subok, "'subok'")
    before, after = numpy_dtype(owner.dtype), numpy_dtype(wanted)
    if not np.can_cast(before, after, rule):
        message = f"Cannot cast array data from {before!r} to {after!r} according to the rule {rule!r}"
        raise refuse(current_loc(), message, kind=kinds.CAST_NOT_SAFE)
    if isinstance(owner, Scalar | Complex):
        return cast(owner, wanted, weak=False)
    found = astype(owner, wanted)
    return found if static_of(keep, "'copy'") is False else copy(frame, found, fortran)


def _number(d: Dim) -> AbstractValue:
    known = static_dim(d)
    return Scalar(dim_value(d), i64) if known is None else Static(known)


def _need_one(owner: Array | Lazy | Scalar | Complex) -> None:
    """Refuse, or a run-time error, unless it has one element."""
    message = "can only convert an array of size 1 to a Python scalar"
    for d in owner.dims if isinstance(owner, Array | Lazy) else ():
        known = static_dim(d)
        if known is None:
            trap_unless(ops.cmpi(dim_value(d), const_index(1), predicate="eq"), "ValueError", message)
        elif known != 1:
            raise refuse(current_loc(), message, kind=kinds.SHAPE_MISMATCH)


def _item(frame: Frame, owner: Array | Lazy | Scalar | Complex, args: Args, kwargs: Keywords) -> AbstractValue:
    rank = len(owner.dims) if isinstance(owner, Array | Lazy) else 0
    if len(args) == 1 and isinstance(args[0], Tuple):
        args = args[0].items
    if not args:
        _need_one(owner)
        args = (Static(0),) * rank
    elif len(args) == 1 and rank > 1:
        assert isinstance(owner, Array | Lazy)
        shape = Tuple(tuple(map(_number, owner.dims)))
        at = frame.tracer.call(frame, Static(positions.element), [args[0], shape], {})
        assert isinstance(at, Tuple)
        args = at.items
    if kwargs or len(args) != rank:
        raise refuse(current_loc(), "item() takes one subscript per dimension", kind=kinds.UNSUPPORTED_OPTION)
    found: AbstractValue = nests.materialise(frame, owner) if isinstance(owner, Lazy) else owner
    if isinstance(found, Array):
        found = subscripts.read(frame, found, [slices.Item(current_loc(), a) for a in args])
    if isinstance(found, Complex):
        return as_complex(found, c128, weak=True)
    assert isinstance(found, Scalar)
    return as_python(found)


def _transpose(frame: Frame, owner: Array | Lazy, args: Args, kwargs: Keywords) -> AbstractValue:
    if kwargs:
        raise refuse(current_loc(), "transpose() takes axes only", kind=kinds.UNSUPPORTED_OPTION)
    if not args:
        return subscripts.transpose(owner, tuple(reversed(range(owner.rank))))
    axes = args[0] if len(args) == 1 and isinstance(args[0], Tuple) else Tuple(tuple(args))
    return subscripts.transpose(owner, cumulative_axes(axes, owner.rank))


def _reduction(rule: Rule) -> Callable[..., AbstractValue]:
    def method(frame: Frame, owner: Array | Lazy, args: Args, kwargs: Keywords) -> AbstractValue:
        return rule(frame, [owner, *args], kwargs)

    return method


def _conjugate(frame: Frame, owner: AbstractValue, args: Args, kwargs: Keywords) -> AbstractValue:
    _nothing("conjugate", args, kwargs)
    if isinstance(owner, Scalar | Complex):
        return owner if isinstance(owner, Scalar) else complexes.conjugate(owner)
    if isinstance(owner, Array) and not owner.is_complex:
        return owner  # the array itself, where np.conjugate makes another
    return library_complex.conjugate(frame, owner)


PARTS = {"real": library_complex.real, "imag": library_complex.imag}


def _as_function(function: Any) -> Callable[..., AbstractValue]:
    """A method that takes the same arguments as NumPy's function."""

    def method(frame: Frame, owner: Array | Lazy, args: Args, kwargs: Keywords) -> AbstractValue:
        return frame.tracer.call(frame, Static(function), [owner, *args], kwargs)

    return method


def _clip(frame: Frame, owner: AbstractValue, args: Args, kwargs: Keywords) -> AbstractValue:
    named = dict(zip(("min", "max", "out"), args, strict=False))
    if len(named) < len(args) or named.keys() & kwargs.keys():
        message = "clip() takes min, max and out, each once"
        raise refuse(current_loc(), message, kind=kinds.WRONG_CALL)
    return frame.tracer.call(frame, Static(np.clip), [owner], {**named, **kwargs})


METHODS: dict[str, Callable[..., AbstractValue]] = {
    **{name: _reduction(rule) for name, rule in (reducing.RULES | scans.RULES).items() if hasattr(np.ndarray, name)},
    "conj": _conjugate,
    "conjugate": _conjugate,
    "copy": _copy,
    "dot": _dot,
    "fill": _fill,
    "astype": _astype,
    "clip": _clip,
    "round": _as_function(np.round),
    "item": _item,
    "transpose": _transpose,
}


# Methods that NumPy's numbers have, too: for these, they are arrays of rank zero.
_FUNCTIONS = ("round", "sum", "prod", "mean", "min", "max", "any", "all", "std", "var")
OF_NUMBERS = {**{name: _as_function(getattr(np, name)) for name in _FUNCTIONS}, "clip": _clip}


def call_method(frame: Frame, method: Method, args: Args, kwargs: Keywords) -> AbstractValue:
    """Call a bound method of an array, or of a container."""
    if isinstance(method.owner, Structured):
        _nothing("copy", args, kwargs)
        return structured.copy(frame, method.owner)
    if not isinstance(method.owner, Array | Lazy | Scalar | Complex):
        return call_container_method(frame, method, args, kwargs)
    of_number = isinstance(method.owner, Scalar | Complex) and method.name in OF_NUMBERS
    return (OF_NUMBERS if of_number else METHODS)[method.name](frame, method.owner, args, kwargs)
