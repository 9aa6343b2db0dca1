"""Sums and products of arrays of complex numbers: two accumulators. Sums have the order of real ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.frontend.data.dims import Dim, dim_value
from adc.frontend.data.values import AbstractValue, Complex, Lazy
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.numeric import complexes, nests
from adc.frontend.numeric.complex_functions import parts
from adc.frontend.numeric.convert import as_complex, complex_of, store_scalar
from adc.ir import kinds, ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, current_loc, insert_at
from adc.ir.core import Block, Value
from adc.ir.types import ComplexType, Type, index

Body = Callable[[list[Value]], complexes.Pair]


def reduce(frame: Frame, name: str, value: Lazy, axes: Sequence[int], result_dims: Sequence[Dim]) -> AbstractValue:
    """The sum or product over ``axes``; ``result_dims``: the extents that remain, including kept ones."""
    if name not in ("sum", "prod"):
        raise refuse(
            current_loc(),
            f"{name}() of complex numbers is not supported",
            f"take that of the absolute values, np.{name}(np.abs(z))",
            kind=kinds.WRONG_TYPE,
        )
    if value.equalities:
        value = nests.lazy_of(nests.materialise(frame, value))
    along = total if name == "sum" else product
    kept = [k for k in range(value.rank) if k not in axes]
    dims = [value.plain[k] for k in axes]

    def element(outer: list[Value], inner: list[Value]) -> complexes.Pair:
        place = dict(zip((*kept, *axes), (*outer, *inner), strict=True))
        return parts(as_complex(value.element([place[k] for k in range(value.rank)], False), value.dtype))

    def reduced(outer: list[Value]) -> Complex:
        return complex_of(*along(dims, lambda inner: element(outer, inner), value.dtype))

    if not result_dims:
        return reduced([])
    result = nests.allocate(frame, result_dims, value.dtype)
    keeps = len(result_dims) == value.rank

    def assign(outer: list[Value]) -> None:
        place = dict(zip(kept, outer, strict=True))
        at = [place.get(k, const_index(0)) for k in range(value.rank)] if keeps else outer
        store_scalar(reduced(outer), result.memref, at, value.dtype)

    nests.nest([value.plain[k] for k in kept], assign)
    return result


def total(dims: Sequence[Dim], body: Body, dtype: Type, outer: tuple[Value, ...] = ()) -> complexes.Pair:
    """The sum of ``body`` over all subscripts below ``dims``."""
    assert isinstance(dtype, ComplexType)
    if not dims:
        return body(list(outer))
    block = Block([index], [f"i{len(outer)}"])
    with insert_at(block):
        inner = total(dims[1:], body, dtype, (*outer, block.args[0]))
        build(ops.reduce, list(inner), {"kinds": ("add", "add")})
    zero = const(0.0, dtype.part)
    bounds = [const_index(0), dim_value(dims[0]), const_index(1), zero, zero]
    real, imag = build(ops.parallel, bounds, result_types=[dtype.part] * 2, regions=[block]).results
    return real, imag


def product(dims: Sequence[Dim], body: Body, dtype: Type) -> complexes.Pair:
    """The product of the results of ``body``, one factor after the other."""
    assert isinstance(dtype, ComplexType)
    return in_order(dims, body, complexes.product, (const(1.0, dtype.part), const(0.0, dtype.part)))


def in_order(
    dims: Sequence[Dim],
    body: Body,
    combine: Callable[[complexes.Pair, complexes.Pair], complexes.Pair],
    first: complexes.Pair,
    outer: tuple[Value, ...] = (),
) -> complexes.Pair:
    """The fold of ``combine`` over the results of ``body`` for all subscripts, in order, starting with ``first``."""
    if not dims:
        return combine(first, body(list(outer)))
    block = Block([index, first[0].type, first[1].type], [f"i{len(outer)}", "real", "imag"])
    with insert_at(block):
        so_far = block.args[1], block.args[2]
        build(ops.yield_, list(in_order(dims[1:], body, combine, so_far, (*outer, block.args[0]))))
    bounds = [const_index(0), dim_value(dims[0]), const_index(1), *first]
    types = [v.type for v in first]
    real, imag = build(ops.for_, bounds, result_types=types, regions=[block]).results
    return real, imag
