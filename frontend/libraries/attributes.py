"""Attributes of values: extents and methods of arrays, members of modules."""

from __future__ import annotations

import operator

import numpy as np

from adc.frontend import abstract
from adc.frontend.arrays import structured, subscripts
from adc.frontend.containers import making, records
from adc.frontend.data.callables import Bound, bound
from adc.frontend.data.compounds import Structured, slice_object
from adc.frontend.data.dims import Dim, dim_value, static_dim
from adc.frontend.data.type_names import describe_type, for_array
from adc.frontend.data.values import AbstractValue, Array, Complex, Lazy, Method, Ref, Scalar, Static, Tuple, is_complex
from adc.frontend.errors import refuse
from adc.frontend.forms import SLICE
from adc.frontend.frame import Frame
from adc.frontend.iteration import flat
from adc.frontend.libraries.container_methods import method_of, names_of
from adc.frontend.libraries.library_shapes import turned
from adc.frontend.libraries.methods import METHODS, OF_NUMBERS, PARTS
from adc.frontend.names import attribute_of
from adc.frontend.numeric.convert import as_number
from adc.frontend.prelude import python_math, stand_in
from adc.frontend.suggestions import SCALAR_ATTRIBUTES, for_array_attribute
from adc.ir import kinds, ops
from adc.ir.builder import current_loc
from adc.ir.types import i64, scalar_bytes

_OF_NUMBERS = ("dtype", "itemsize", "nbytes", "ndim", "shape", "size")  # what all NumPy numbers of one type share


def attribute(frame: Frame, owner: AbstractValue, name: str) -> AbstractValue:
    """``owner.name``."""
    if isinstance(owner, Array | Lazy):
        return _of_array(frame, owner, name)
    if isinstance(owner, Structured):
        return _of_structured(owner, name)
    if isinstance(owner, Bound) and name in ("grad", "value_and_grad"):
        return _of_method(frame, owner, name)
    if records.is_instance(owner) or isinstance(owner, records.Super):
        return records.attribute(frame, owner, name)
    if isinstance(owner, Ref | Tuple):
        if name == "__getitem__":
            return bound(owner, Static(operator.getitem))
        found = method_of(owner, name)
        if found is None:
            known = ", ".join(names_of(owner))
            raise refuse(
                current_loc(),
                f"a {describe_type(owner).split('(')[0]} has no attribute '{name}' here",
                (hasattr(np.ndarray, name) and for_array(owner)) or f"supported are {known}",
                kind=kinds.UNKNOWN_ATTRIBUTE,
            )
        return found
    if (part := slice_object(owner)) is not None and name in (*SLICE.names, "indices"):
        return part.items[SLICE.names.index(name)] if name in SLICE.names else bound(part, Static(slice.indices))
    if is_complex(owner):
        owner = as_number(owner)
    if isinstance(owner, Static) and making.is_class(owner.value):
        return records.class_attribute(frame, owner.value, name)
    if isinstance(owner, Static):
        return attribute_of(frame, owner.value, name)
    if isinstance(owner, Scalar | Complex):
        if not owner.weak and name in _OF_NUMBERS:
            known = getattr(abstract.numpy_dtype(owner.dtype).type(0), name)
            return Tuple(()) if name == "shape" else Static(known)
        if not owner.weak and (name in ("astype", "item") or name in OF_NUMBERS):
            return Method(owner, name)
        if name in PARTS:
            return PARTS[name](frame, owner)
        if isinstance(owner, Scalar) and name in _PROGRAMS and hasattr(_class_of(owner), name):
            return bound(owner, Static(_PROGRAMS[name]))
        if name == "conjugate" or (name == "conj" and not owner.weak):
            return Method(owner, "conjugate")
    raise refuse(
        current_loc(),
        f"{describe_type(owner)} has no attribute '{name}' here",
        SCALAR_ATTRIBUTES.get(name, "") if isinstance(owner, Scalar) else "",
        kind=kinds.UNKNOWN_ATTRIBUTE,
    )


_PROGRAMS = {p.__name__: p for p in (python_math.is_integer, python_math.bit_length, python_math.bit_count)}


def _class_of(owner: Scalar) -> type:
    if not owner.weak:
        return abstract.numpy_dtype(owner.dtype).type
    return float if owner.dtype.is_float else int


def _of_method(frame: Frame, method: Bound, name: str) -> AbstractValue:
    """A derivative of a method decorated with ``jit_grad``, with its options, as a method of the same object."""
    function = method.function
    if isinstance(function, Static) and hasattr(function.value, name):
        # The meaning of argnums depends on whether there is an object, not on which one it is.
        return bound(method.owner, Static(getattr(function.value.__get__(method), name).func))
    raise refuse(
        current_loc(),
        f"{describe_type(method)} has no attribute '{name}' here",
        f"write adc.{name}(...), or decorate the method with jit_grad",
        kind=kinds.UNKNOWN_ATTRIBUTE,
    )


def _of_array(frame: Frame, owner: Array | Lazy, name: str) -> AbstractValue:
    if name == "shape":
        return Tuple(tuple(extent(d) for d in owner.dims))
    if name == "ndim":
        return Static(owner.rank)
    if name == "size":
        return size(owner.dims)
    if name == "itemsize":
        return Static(scalar_bytes(owner.dtype))
    if name == "nbytes":
        return size((scalar_bytes(owner.dtype), *owner.dims))
    if name == "dtype":
        return Static(abstract.numpy_dtype(owner.dtype))
    if name == "T":
        return subscripts.transpose(owner, tuple(reversed(range(owner.rank))))
    if name == "mT":
        return turned(owner)
    if name == "flat":
        return flat(frame, owner)
    if name in ("real", "imag"):
        return PARTS[name](frame, owner)
    if name in METHODS:
        return Method(owner, name)
    for function in (getattr(np.ndarray, name, None), getattr(np, name, None)):
        if callable(function) and hasattr(np.ndarray, name) and stand_in(function) is not None:
            return bound(owner, Static(function))
    known = ["shape", "size", "ndim", "dtype", "itemsize", "nbytes", "T", "real", "imag", *METHODS]
    help = for_array_attribute(name, known)
    raise refuse(current_loc(), f"arrays have no attribute '{name}' here", help, kind=kinds.UNKNOWN_ATTRIBUTE)


def _of_structured(owner: Structured, name: str) -> AbstractValue:
    """An attribute of a structured array; fields of a record array are attributes too."""
    if name in owner.form.names and issubclass(owner.form.cls, np.recarray | np.record):
        return structured.field(owner, name)
    if name == "dtype":
        return Static(owner.form.dtype)
    if name == "shape":
        return Tuple(tuple(extent(d) for d in owner.dims))
    if name == "ndim":
        return Static(len(owner.dims))
    if name == "size":
        return size(owner.dims)
    if name == "itemsize":
        return Static(owner.form.dtype.itemsize)
    if name == "nbytes":
        return size((owner.form.dtype.itemsize, *owner.dims))
    if name == "T":
        return structured.transposed(owner)
    if name == "copy":
        return Method(owner, name)
    if name in ("sort", "argsort") and owner.rank:
        return bound(owner, Static(getattr(np.ndarray, name)))
    fields = ", ".join(map(repr, owner.form.names))
    raise refuse(
        current_loc(),
        f"structured arrays have no attribute '{name}' here",
        f"use a field of it, as in a[{owner.form.names[0]!r}].{name}; it has {fields}",
        kind=kinds.UNKNOWN_ATTRIBUTE,
    )


def extent(d: Dim) -> AbstractValue:
    """An extent as a Python int."""
    known = static_dim(d)
    return Static(known) if known is not None else Scalar(dim_value(d), i64)


def size(dims: tuple[Dim, ...]) -> AbstractValue:
    """The number of elements."""
    total: Dim = 1
    for d in dims:
        total = d if total == 1 and isinstance(total, int) else ops.muli(dim_value(total), dim_value(d))
    return extent(total)
