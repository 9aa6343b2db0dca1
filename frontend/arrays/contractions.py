"""Sums of products of elements of arrays, along labelled axes: the basis of ``@`` and ``np.einsum``."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from adc.frontend.arrays import complex_reductions
from adc.frontend.arrays.reductions import SUM, nested
from adc.frontend.data.dims import SHAPE_ERROR, Dim, dim_value, equal_dims, is_one, representative, same_dim
from adc.frontend.data.type_names import describe_type, for_array
from adc.frontend.data.values import AbstractValue, Array, Complex, Lazy, Number, Scalar, Static, Tuple
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.numeric import scalars
from adc.frontend.numeric.complex_functions import parts
from adc.frontend.numeric.convert import (
    accumulator,
    as_complex,
    cast,
    complex_of,
    convert,
    kind,
    nonzero,
    promote_types,
    store_scalar,
)
from adc.frontend.numeric.nests import allocate, lazy_of, materialise, nest
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.builder import contractible, current_loc
from adc.ir.core import Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import Type, i1, i64

Labels = tuple[Hashable, ...]


@dataclass(frozen=True, eq=False)
class Labelled:
    """An array in memory, with a label for each of its axes."""

    array: Lazy
    labels: Labels


def in_memory(frame: Frame, name: str, v: AbstractValue) -> Lazy:
    """An operand, in memory since it is read several times."""
    if isinstance(v, Tuple) and name.startswith("np."):  # operators take no lists
        v = frame.tracer.call(frame, Static(np.asarray), [v], {})
    if not isinstance(v, Array | Lazy):
        raise refuse(
            current_loc(), f"{name} takes arrays, not {describe_type(v)}", for_array(v), kind=kinds.WRONG_TYPE
        )
    return lazy_of(materialise(frame, v) if isinstance(v, Lazy) else v)


def contract(
    frame: Frame,
    name: str,
    operands: Sequence[Labelled],
    out: Labels,
    stretched: frozenset[Hashable] = frozenset(),
    message: str = "",
) -> AbstractValue:
    """The products of elements at equal labels, summed over the labels that are not in ``out``.

    Axes of one label have one extent; those in ``stretched`` may also be 1. ``message`` is the error for two extents
    that differ.
    """
    message = message or f"{name}: extents differ, {{}} and {{}}"
    extents: dict[Hashable, Dim] = {}
    for operand in operands:
        for label, d in zip(operand.labels, operand.array.dims, strict=True):
            known = extents.get(label)
            extents[label] = d if known is None else _meet(known, d, label in stretched, message)
    dtype = _dtype(operands)
    summed = [label for label in extents if label not in out]

    def total(place: dict[Hashable, Value]) -> Number:
        def term(inner: list[Value]) -> Number:
            at = place | dict(zip(summed, inner, strict=True))
            elements = [_wide(_element(operand, at, extents)) for operand in operands]
            found = elements[0]
            for other in elements[1:]:
                found = product(found, other)
            return found

        dims = [extents[label] for label in summed]
        if kind(dtype) == 3:
            pairs = complex_reductions.total(dims, lambda inner: parts(as_complex(term(inner), dtype)), dtype)
            return complex_of(*pairs)
        wide = _summed(dtype)
        found = Scalar(nested(dims, [], lambda inner: convert(term(inner), wide), SUM, wide), wide, weak=False)
        return Scalar(nonzero(found), i1, weak=False) if dtype == i1 else cast(found, dtype, weak=False)

    if not out:
        return total({})
    result = allocate(frame, [extents[label] for label in out], dtype)

    def assign(i: list[Value]) -> None:
        store_scalar(total(dict(zip(out, i, strict=True))), result.memref, i, dtype)

    nest(result.dims, assign)
    return result


def _wide(s: Number) -> Number:
    """An element as a factor: half precision is computed in single, and bools are counted."""
    wide = _summed(s.dtype)
    return s if wide == s.dtype else cast(s, wide, weak=False)


def _summed(dtype: Type) -> Type:
    return i64 if dtype == i1 else accumulator(dtype)


def product(a: AbstractValue, b: AbstractValue) -> Number:
    """A product in a sum of the library's own: product and sum may be rounded once."""
    with contractible():
        found = scalars.binary("*", a, b)
    assert isinstance(found, Scalar | Complex)
    return found


def squared(x: AbstractValue) -> AbstractValue:
    """The square of the absolute value, in such a sum."""
    if not isinstance(x, Complex):
        return product(x, x)
    with contractible():
        return scalars.binary("+", product(x.real, x.real), product(x.imag, x.imag))


def _element(operand: Labelled, at: dict[Hashable, Value], extents: dict[Hashable, Dim]) -> Number:
    subscripts = []
    for label, own in zip(operand.labels, operand.array.dims, strict=True):
        i, whole = at[label], extents[label]
        if is_one(own):
            i = const_index(0)
        elif is_one(own) is None and not same_dim(own, whole):
            i = ops.select(ops.cmpi(dim_value(own), const_index(1), predicate="eq"), const_index(0), i)
        subscripts.append(i)
    return operand.array.element(subscripts, False)


def _meet(a: Dim, b: Dim, stretched: bool, message: str) -> Dim:
    """The common extent of two axes with one label."""
    if same_dim(a, b):
        return a
    if stretched and (is_one(a) or is_one(b)):
        return b if is_one(a) else a
    x, y = dim_value(a), dim_value(b)
    fits = equal_dims(a, b)
    unknown = [d for d in (a, b) if stretched and is_one(d) is None]
    for d in unknown:
        fits = ops.ori(fits, ops.cmpi(dim_value(d), const_index(1), predicate="eq"))
    trap_unless(fits, SHAPE_ERROR, message, x, y)
    if not unknown or is_one(a) is False:
        return representative(a)
    return ops.select(ops.cmpi(x, const_index(1), predicate="eq"), y, x)


def _dtype(operands: Sequence[Labelled]) -> Type:
    dtype = operands[0].array.dtype
    for operand in operands[1:]:
        dtype = promote_types(dtype, False, operand.array.dtype, False)
    return dtype
