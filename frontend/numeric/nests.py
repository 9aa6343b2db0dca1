"""Loop nests over the elements of array expressions: computed into new arrays, or stored into existing ones.

A nest is one ``scf.parallel`` per dimension, the last innermost: its iterations are independent by construction.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from adc.frontend import abstract
from adc.frontend.data.dims import Dim, dim_value, same_value
from adc.frontend.data.roots import overlap
from adc.frontend.data.values import AbstractValue, Array, Lazy, Number, Read
from adc.frontend.frame import Frame
from adc.frontend.numeric import snapshots
from adc.frontend.numeric.convert import as_number, load_scalar, store_scalar
from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Value
from adc.ir.types import Type, index

Body = Callable[[list[Value]], None]


def lazy_of(v: Array | Lazy) -> Lazy:
    """An array in memory as an expression that reads it."""
    if isinstance(v, Lazy):
        return v
    memory, dtype = v.memref, v.dtype

    def element(subscripts: Sequence[Value], general: bool) -> Number:
        return load_scalar(memory, list(subscripts), dtype)

    return Lazy(v.dims, v.dims, v.dtype, element, (Read(v, pointwise=True),))


def constant_array(v: AbstractValue) -> Lazy:
    """A number as an expression of rank zero."""
    s = as_number(v)
    return Lazy((), (), s.dtype, lambda subscripts, general: s, ())


def nest(dims: Sequence[Dim], body: Body) -> None:
    """``body`` for all subscripts below ``dims``, in no particular order."""
    _parallel(list(dims), [], body)


def _parallel(dims: list[Dim], outer: list[Value], body: Body) -> None:
    if not dims:
        body(outer)
        return
    block = Block([index], [f"i{len(outer)}"])
    with insert_at(block):
        _parallel(dims[1:], [*outer, block.args[0]], body)
        build(ops.reduce, [])
    bounds = [const_index(0), dim_value(dims[0]), const_index(1)]
    build(ops.parallel, bounds, result_types=[], regions=[block])


def serial(dims: Sequence[Dim], body: Body) -> None:
    """Like ``nest``, but in order: for code that is seldom run and should be small."""
    _serial(list(dims), [], body)


def _serial(dims: list[Dim], outer: list[Value], body: Body) -> None:
    if not dims:
        body(outer)
        return
    block = Block([index], [f"i{len(outer)}"])
    with insert_at(block):
        _serial(dims[1:], [*outer, block.args[0]], body)
        build(ops.yield_, [])
    bounds = [const_index(0), dim_value(dims[0]), const_index(1)]
    build(ops.for_, bounds, result_types=[], regions=[block])


def reduced(
    dims: Sequence[Dim], kinds: tuple[str, ...], start: Sequence[Value], body: Callable[[list[Value]], list[Value]]
) -> list[Value]:
    """The results of ``body`` for all subscripts, combined as by ``scf.reduce`` for each kind."""
    return _reduced(list(dims), [], kinds, start, body)


def _reduced(
    dims: list[Dim],
    outer: list[Value],
    kinds: tuple[str, ...],
    start: Sequence[Value],
    body: Callable[[list[Value]], list[Value]],
) -> list[Value]:
    if not dims:
        return body(outer)
    block = Block([index], [f"i{len(outer)}"])
    with insert_at(block):
        found = _reduced(dims[1:], [*outer, block.args[0]], kinds, start, body)
        build(ops.reduce, found, {"kinds": kinds})
    bounds = [const_index(0), dim_value(dims[0]), const_index(1)]
    op = build(ops.parallel, [*bounds, *start], result_types=[v.type for v in start], regions=[block])
    return list(op.results)


def where(condition: Value, body: Callable[[], None]) -> None:
    """``body`` if the condition holds."""
    blocks = Block(), Block()
    with insert_at(blocks[0]):
        body()
    for block in blocks:
        with insert_at(block):
            build(ops.yield_, [])
    build(ops.if_, [condition], result_types=[], regions=blocks)


def versioned(value: Lazy, plain: Callable[[], Value | None], general: Callable[[], Value | None]) -> Value | None:
    """``plain`` if no operand is stretched by an extent of one that is known only at run time, else ``general``; and
    their result, if they have one."""
    if not value.equalities:
        return plain()
    condition = functools.reduce(ops.andi, value.equalities)
    blocks = Block(), Block()
    for block, path in zip(blocks, (plain, general), strict=True):
        with insert_at(block):
            made = path()
            build(ops.yield_, [] if made is None else [made])
    branch = build(ops.if_, [condition], {ops.LIKELY: True}, [] if made is None else [made.type], blocks)
    return None if made is None else branch.result


def store(frame: Frame, target: Array, value: Lazy) -> None:
    """``target[...] = value``, of equal shape; through a temporary if the target overlaps other elements that are
    read."""
    if conflicts(target, value):
        value = lazy_of(materialise(frame, value))
    memory, element_type = target.memref, target.dtype

    def body(general: bool) -> Body:
        return lambda i: store_scalar(value.element(i, general), memory, i, element_type)

    versioned(value, lambda: nest(target.dims, body(False)), lambda: serial(target.dims, body(True)))


def conflicts(target: Array, value: Lazy) -> bool:
    """Whether storing an element may change an element that is read later for another one."""
    return any(
        overlap(r.array.roots, target.roots) and not (r.pointwise and _same_or_apart(r.array.memref, target.memref))
        for r in value.reads
    )


def _same_or_apart(a: Value, b: Value) -> bool:
    """Whether two arrays are the same, or rows of one array that are either the same row or disjoint (``u[0]`` and
    ``u[-1]``)."""
    if same_value(a, b):
        return True
    x, y = a.op, b.op
    if x is None or y is None or not (x.opdef is y.opdef is ops.subview) or x.attrs != y.attrs:
        return False
    rank = len(x.attrs["static_steps"])
    kept = [p for p in range(3 * rank) if p % rank not in x.attrs["dropped"]]
    return all(same_value(x.operands[p], y.operands[p]) for p in (0, *(1 + p for p in kept)))


def materialise(frame: Frame, value: Lazy) -> Array:
    """The array expression computed into new memory."""
    result = allocate(frame, value.dims, value.dtype)
    memory = result.memref

    def body(general: bool) -> Body:
        def assign(i: list[Value]) -> None:
            store_scalar(value.element(i, general), memory, i, value.dtype)

        return assign

    versioned(value, lambda: nest(value.plain, body(False)), lambda: serial(value.dims, body(True)))
    return snapshots.keep(frame, result, value) if value.view else result


def allocate(frame: Frame, dims: Sequence[Dim], dtype: Type, name: str = "local") -> Array:
    """Uninitialised memory."""
    extents = [dim_value(d) for d in dims]
    kept = abstract.memref_type(abstract.Array(dtype, len(extents)))
    memory = ops.alloc(*extents, type=kept)
    return Array(memory, tuple(dims), frozenset({frame.new_root(name)}))
