"""The order of a new array's elements in memory: that of C, or that of Fortran, which is a transposed view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from adc.frontend.arrays import subscripts
from adc.frontend.arrays.nested import new_array
from adc.frontend.data.dims import Dim
from adc.frontend.data.values import AbstractValue, Array, Lazy
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.rules import static_of
from adc.frontend.numeric import nests
from adc.ir import kinds, ops
from adc.ir.builder import build, current_loc
from adc.ir.types import Type

T = TypeVar("T", bound=Array | Lazy)


def is_fortran(name: str, order: AbstractValue | None) -> bool:
    """Whether a new array is to be in Fortran's order; where it is that of another array ("K", "A"), it is C's."""
    wanted = static_of(order, "the order")
    if wanted not in (None, "C", "F", "K", "A"):
        message = f"{name}() with order={wanted!r} is not supported"
        raise refuse(current_loc(), message, "leave it out, or say order='F'", kind=kinds.UNSUPPORTED_OPTION)
    return str(wanted) == "F"


def allocated(frame: Frame, dims: Sequence[Dim], dtype: Type, fortran: bool) -> Array:
    """A new array whose elements are not set."""
    return turned(new_array(frame, dims[::-1], dtype)) if fortran else new_array(frame, dims, dtype)


def copy(frame: Frame, value: Array | Lazy, fortran: bool = False) -> Array:
    """A new array with the same elements."""
    if fortran:
        return turned(copy(frame, turned(value)))
    if isinstance(value, Lazy):
        return nests.materialise(frame, replace(value, view=""))
    result = nests.allocate(frame, value.dims, value.dtype)
    build(ops.copy, [value.memref, result.memref])
    return result


def turned(value: T) -> T:
    """The transposed view."""
    return subscripts.transpose(value, tuple(reversed(range(value.rank))))  # type: ignore[return-value]
