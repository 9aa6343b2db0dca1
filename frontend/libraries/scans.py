"""Running sums and products: all partial results along an axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend.arrays import reductions, subscripts
from adc.frontend.arrays.reductions import Reduction
from adc.frontend.data.dims import dim_value
from adc.frontend.data.values import AbstractValue, Array, Lazy, Scalar
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.creation import astype
from adc.frontend.libraries.reducing import call_of
from adc.frontend.libraries.rules import Rule
from adc.frontend.numeric import nests
from adc.frontend.numeric.convert import as_scalar, kind, load_scalar, store_scalar
from adc.ir import kinds, ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, current_loc, insert_at
from adc.ir.core import Block, Value
from adc.ir.types import Type, index


def scan(frame: Frame, r: Reduction, value: Array | Lazy, axis: int | None) -> Array:
    """The partial results along ``axis``, or over all elements, combined one after the other as in NumPy."""
    lazy = nests.lazy_of(value)
    if kind(lazy.dtype) == 3:
        return _complex_scan(frame, r, lazy, axis)
    if lazy.equalities:
        lazy = nests.lazy_of(nests.materialise(frame, lazy))
    if axis is None and lazy.rank != 1:
        return _through_all(frame, r, lazy)
    axis = axis or 0
    result = nests.allocate(frame, lazy.plain, lazy.dtype)
    along, rest = lazy.plain[axis], lazy.plain[axis + 1 :]

    def element(at: list[Value]) -> Scalar:
        return as_scalar(lazy.element(at, False))

    def lane(before: list[Value]) -> None:
        """The innermost axis: the running result is a number."""

        def step(i: Value, so_far: Scalar) -> Scalar:
            total = r.combine(so_far, element([*before, i]))
            store_scalar(total, result.memref, [*before, i], lazy.dtype)
            return total

        _carrying(const_index(0), dim_value(along), Scalar(_start(r, lazy.dtype), lazy.dtype, weak=False), step)

    def slabs(before: list[Value]) -> None:
        """Another axis: whole slabs are combined, each with the previous one."""
        one = const_index(1)

        def first(after: list[Value]) -> None:
            at = [*before, const_index(0), *after]
            store_scalar(element(at), result.memref, at, lazy.dtype)

        def begin(i: Value) -> None:
            nests.nest(rest, first)

        def step(i: Value) -> None:
            def one_more(after: list[Value]) -> None:
                so_far = as_scalar(load_scalar(result.memref, [*before, ops.subi(i, one), *after], lazy.dtype))
                total = r.combine(so_far, element([*before, i, *after]))
                store_scalar(total, result.memref, [*before, i, *after], lazy.dtype)

            nests.nest(rest, one_more)

        _loop(const_index(0), ops.minsi(dim_value(along), one), begin)
        _loop(one, dim_value(along), step)

    nests.nest(lazy.plain[:axis], slabs if rest else lane)
    return result


def _complex_scan(frame: Frame, r: Reduction, value: Lazy, axis: int | None) -> Array:
    """The running sums of complex numbers: those of both parts."""
    if r is not reductions.SUM:
        message = f"the running {r.name} of complex numbers is not supported"
        raise refuse(current_loc(), message, "multiply in a loop", kind=kinds.UNSUPPORTED_OPTION)
    whole = nests.materialise(frame, value)
    scanned = [scan(frame, r, subscripts.part(whole, k), axis) for k in (0, 1)]
    result = nests.allocate(frame, scanned[0].dims, whole.dtype)
    for k, found in enumerate(scanned):
        nests.store(frame, subscripts.part(result, k), nests.lazy_of(found))
    return result


def _through_all(frame: Frame, r: Reduction, lazy: Lazy) -> Array:
    sizes = [dim_value(d) for d in lazy.plain]
    total = const_index(1)
    for n in sizes:
        total = ops.muli(total, n)
    result = nests.allocate(frame, [total], lazy.dtype)

    def level(at: list[Value], position: Value, so_far: Scalar) -> Scalar:
        if len(at) == lazy.rank:
            found = r.combine(so_far, as_scalar(lazy.element(at, False)))
            store_scalar(found, result.memref, [position], lazy.dtype)
            return found
        size = sizes[len(at)]

        def step(i: Value, so_far: Scalar) -> Scalar:
            return level([*at, i], ops.addi(ops.muli(position, size), i), so_far)

        return _carrying(const_index(0), size, so_far, step)

    level([], const_index(0), Scalar(_start(r, lazy.dtype), lazy.dtype, weak=False))
    return result


def _start(r: Reduction, dtype: Type) -> Value:
    """The neutral element, which does not even change the sign of a zero."""
    return const(-0.0, dtype) if r is reductions.SUM and dtype.is_float else r.identity(dtype)


def _carrying(lower: Value, upper: Value, start: Scalar, step: Callable[[Value, Scalar], Scalar]) -> Scalar:
    block = Block([index, start.value.type], ["i", "total"])
    with insert_at(block):
        found = step(block.args[0], Scalar(block.args[1], start.dtype, weak=False))
        build(ops.yield_, [found.value])
    operands = [lower, upper, const_index(1), start.value]
    loop = build(ops.for_, operands, result_types=[start.value.type], regions=[block])
    return Scalar(loop.result, start.dtype, weak=False)


def _loop(lower: Value, upper: Value, body: Callable[[Value], None]) -> None:
    block = Block([index], ["i"])
    with insert_at(block):
        body(block.args[0])
        build(ops.yield_, [])
    build(ops.for_, [lower, upper, const_index(1)], result_types=[], regions=[block])


def _scan(name: str, r: Reduction) -> Rule:
    def rule(
        frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]
    ) -> AbstractValue:
        call = call_of(f"np.{name}", ["axis", "dtype", "out"], frame, args, kwargs)
        value = astype(call.value, call.dtype(r.accumulator(call.value.dtype)))
        axes = call.over.axes
        return call.stored(scan(frame, r, value, None if axes is None else axes[0]))

    return rule


RULES: dict[str, Rule] = {"cumsum": _scan("cumsum", reductions.SUM), "cumprod": _scan("cumprod", reductions.PROD)}
TABLE: dict[Any, Rule] = {getattr(np, name): rule for name, rule in RULES.items()}
