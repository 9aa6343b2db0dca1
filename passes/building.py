"""Loops and branches, appended at the insertion point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from types import MappingProxyType

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Attr, Block, Op, Value
from adc.ir.opdef import OpDef
from adc.ir.types import MemRefType, index


def sum_of(terms: Sequence[Value]) -> Value:
    """Append the sum of floats, from the first to the last."""
    return reduce(ops.addf, terms)


def loop_of(
    opdef: OpDef,
    lower: Value,
    upper: Value,
    step: Value,
    body: Callable[[Value], object],
    counter: str,
    attrs: Mapping[str, Attr] = MappingProxyType({}),
) -> Op:
    """Append an ``scf.for`` or ``scf.parallel`` without results; ``body`` builds what it does for a counter."""
    block = Block([index], [counter])
    with insert_at(block):
        body(block.args[0])
        build(ops.yield_ if opdef is ops.for_ else ops.reduce, ())
    return build(opdef, [lower, upper, step], dict(attrs), [], [block])


def parallel_loop(lower: Value, upper: Value, body: Callable[[Value], None], *, step: int = 1, **attrs: bool) -> Op:
    """Append a parallel loop; ``body`` builds what it does for a counter."""
    return loop_of(ops.parallel, lower, upper, const_index(step), body, "x", attrs)


def strip(number: Value, size: Value, upper: Value, lower: Value | None = None) -> tuple[Value, Value]:
    """Append where strip ``number`` begins and how long it is. The numbers from ``lower`` (None: zero) to ``upper`` are
    cut into strips of ``size``; the last one may be shorter."""
    start = ops.muli(number, size)
    if lower is not None:
        start = ops.addi(lower, start)
    # The length that is left is compared, not the end of the strip: that could wrap around.
    return start, ops.minsi(ops.subi(upper, start), size)


def parallel_extreme(
    lower: Value, upper: Value, body: Callable[[Value], Value], neutral: Value, *, kind: str, counter: str
) -> Value:
    """Append a parallel loop that finds the extreme ("min" or "max") of the integers that ``body`` builds for a counter
    of that name."""
    block = Block([index], [counter])
    with insert_at(block):
        build(ops.reduce, [body(block.args[0])], {"kinds": (kind,)})
    return build(ops.parallel, [lower, upper, const_index(1), neutral], {}, [neutral.type], [block]).result


def choose(condition: Value, then: Callable[[], object], otherwise: Callable[[], object], **attrs: str) -> None:
    """Append a branch without results."""

    def nothing(part: Callable[[], object]) -> Sequence[Value]:
        part()
        return ()

    chosen(condition, lambda: nothing(then), lambda: nothing(otherwise), **attrs)


def chosen(
    condition: Value, then: Callable[[], Sequence[Value]], otherwise: Callable[[], Sequence[Value]], **attrs: str
) -> Sequence[Value]:
    """Append a branch that returns what its parts return."""
    blocks = []
    for part in (then, otherwise):
        block = Block()
        with insert_at(block):
            build(ops.yield_, part())
        blocks.append(block)
    types = [v.type for v in blocks[0].terminator.operands]
    return build(ops.if_, [condition], dict(attrs), types, blocks).results


def window(memref: Value, offsets: Sequence[Value], sizes: Sequence[Value], dropped: tuple[int, ...] = ()) -> Value:
    """Append a view of a part of an array, without the dimensions ``dropped``, in which the part has one element."""
    steps = [1] * len(sizes)
    operands = [memref, *offsets, *sizes, *map(const_index, steps)]
    return build(ops.subview, operands, {"static_steps": tuple(steps), "dropped": dropped}).result


def nest(extents: Sequence[Value], body: Callable[[list[Value]], object]) -> None:
    """A nest of parallel loops over a box; ``body`` gets the subscripts."""
    subscripts: list[Value] = []

    def level(rest: Sequence[Value]) -> None:
        if not rest:
            body(subscripts)
            return
        from_to = [const_index(0), rest[0], const_index(1)]
        block = Block((rest[0].type,))
        subscripts.append(block.args[0])
        with insert_at(block):
            level(rest[1:])
            build(ops.reduce, [], {"kinds": ()})
        build(ops.parallel, from_to, result_types=(), regions=[block])

    level(extents)


def copy(
    source: Value,
    target: Value,
    source_at: tuple[Value, ...] = (),
    target_at: tuple[Value, ...] = (),
    extents: Sequence[Value] | None = None,
) -> None:
    """Append a copy of an array to another one. First subscripts of either may be given, and the extents to be
    copied."""
    t = source.type
    assert isinstance(t, MemRefType)
    rank = t.rank - len(source_at)

    def level(at: tuple[Value, ...]) -> None:
        if len(at) == rank:
            build(ops.store, [ops.load(source, *source_at, *at), target, *target_at, *at])
            return
        extent = extents[len(at)] if extents is not None else ops.dim(source, dim=len(source_at) + len(at))
        attrs = {} if at else {"threads": True}
        parallel_loop(const_index(0), extent, lambda x: level((*at, x)), **attrs)

    level(())
