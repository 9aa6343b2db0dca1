"""Positions of the least and greatest elements."""

from __future__ import annotations

from collections.abc import Callable

from adc.frontend.arrays.reductions import MIN, Over, Reduction, check_not_empty, each, nested, operand
from adc.frontend.data.dims import dim_value
from adc.frontend.data.values import AbstractValue, Array, Lazy, Scalar
from adc.frontend.frame import Frame
from adc.frontend.numeric import layouts, views
from adc.frontend.numeric.convert import INT64, as_scalar
from adc.frontend.numeric.float_tests import is_nan
from adc.frontend.numeric.nests import lazy_of
from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Value
from adc.ir.types import i64, index, memref

BLOCK = 2048  # elements of a vector that are examined together

Term = Callable[[Value], Value]


def first_extreme(frame: Frame, r: Reduction, value: Array, over: Over) -> AbstractValue:
    """The position of the least or greatest element: the first of those that are equal to it, or are NaN.

    Counted along the axis, or over all elements. Two SIMD sweeps take less time than one that is not SIMD; in a long
    vector the second sweep only visits the block that contains the extreme.
    """
    if over.is_number(value.rank) and value.rank > 1 and value.type.strides is None and not value.is_complex:
        value, over = views.grouped_view(value, [layouts.product(value.dims)], ((value.rank, 1),)), Over()
    lazy = lazy_of(value)
    axes = over.of(lazy.rank)
    for k in axes:
        check_not_empty(lazy.dims[k], f"attempt to get arg{r.name} of an empty sequence")
    if lazy.rank == 1 and over.is_number(1) and lazy.dtype.is_float:
        return Scalar(_in_vector(r, lazy), i64, weak=False)
    dims = [lazy.plain[k] for k in axes]

    def result(place: Callable[[list[Value]], list[Value]]) -> Value:
        def term(inner: list[Value]) -> Value:
            return operand(r, as_scalar(lazy.element(place(inner), False)), lazy.dtype)

        extreme = nested(dims, [], term, r, lazy.dtype)

        def position(inner: list[Value]) -> Value:
            number = const_index(0)
            for d, i in zip(dims, inner, strict=True):
                number = ops.addi(ops.muli(number, dim_value(d)), i)
            return _if_hit(term(inner), extreme, number)

        return nested(dims, [], position, MIN, i64)

    if over.is_number(lazy.rank):
        return Scalar(result(lambda inner: inner), i64, weak=False)
    return each(frame, lazy, over, i64, result)


def _in_vector(r: Reduction, lazy: Lazy) -> Value:
    """The same for a vector of floats, by extremes of blocks."""
    size, length = dim_value(lazy.plain[0]), const_index(BLOCK)
    blocks = ops.ceildivsi(size, length)
    found = ops.alloc(blocks, type=memref(lazy.dtype, 1))
    none = r.identity(lazy.dtype)

    def term(i: Value) -> Value:
        return operand(r, as_scalar(lazy.element([i], False)), lazy.dtype)

    def of_block(b: Value, body: Term, kind: str, start_with: Value) -> Value:
        first = ops.muli(b, length)
        count = ops.minsi(ops.subi(size, first), length)
        return _loop(count, lambda i: body(ops.addi(first, i)), kind, start_with)

    block = Block([index], ["block"])
    with insert_at(block):
        (b,) = block.args
        build(ops.store, [of_block(b, term, r.kind, none), found, b])
        build(ops.reduce, [])
    build(ops.parallel, [const_index(0), blocks, const_index(1)], result_types=[], regions=[block])
    extreme = _loop(blocks, lambda b: ops.load(found, b), r.kind, none)
    nowhere = const(INT64.max, index)
    where = _loop(blocks, lambda b: _if_hit(ops.load(found, b), extreme, b), "min", nowhere)
    return of_block(where, lambda i: _if_hit(term(i), extreme, i), "min", nowhere)


def _loop(count: Value, body: Term, kind: str, start_with: Value) -> Value:
    """A parallel loop that reduces the terms that ``body`` builds."""
    block = Block([index], ["i"])
    with insert_at(block):
        build(ops.reduce, [body(block.args[0])], {"kinds": (kind,)})
    operands = [const_index(0), count, const_index(1), start_with]
    return build(ops.parallel, operands, result_types=[start_with.type], regions=[block]).result


def _if_hit(x: Value, extreme: Value, number: Value) -> Value:
    """``number`` if ``x`` is the extreme or NaN, else something larger."""
    if x.type.is_float:
        hit = ops.ori(ops.cmpf(x, extreme, predicate="oeq"), is_nan(x))
    else:
        hit = ops.cmpi(x, extreme, predicate="eq")
    return ops.select(hit, number, const(INT64.max, index))
