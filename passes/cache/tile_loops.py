"""Nests of loops run in blocks of their inner loops, so that what the outer loop reads again is still in cache.

A stencil reads a plane of an array in as many iterations of its outer loop as it has offsets there. If the planes that
are read meanwhile do not fit in cache, each of them comes from memory as many times. Here the inner loops are cut into
blocks, and the outer loop, on threads as before, runs once for each block: over less than a plane, of which enough fits
(Rivera and Tseng, Tiling optimizations for 3D scientific computations, SC 2000).

The length of blocks is computed before the nest, from the lengths of its loops and the size of caches; if everything
fits, there is one block. Two iterations of the outer loop never touch what the other one changes, and the work of each
iteration keeps its order, so no bit of a result depends on blocks. Code beside the loop that is cut runs with its first
block, or with its last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import ClassVar

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.arith import const_index, constant_of, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import TILES
from adc.ir.nesting import inside
from adc.ir.types import index
from adc.passes.analysis.affine import Form, Forms, nest_around
from adc.passes.analysis.cold import warm_regions
from adc.passes.analysis.form_conditions import Emitter
from adc.passes.analysis.machine import machine
from adc.passes.cache.tiling import Level, Nest, Part, Whole, find_nest
from adc.passes.choices import Tiles
from adc.passes.plans import NestPlan
from adc.passes.rewrite import put_before, put_instead

LEAST_OUTER = 4
"""Iterations of the outer loop; if there are fewer, little is read again."""
LEAST_ROWS = 4
"""Iterations of a block that contains other loops; twice the span of a stencil, if that is more."""
LEAST_POINTS = 2048
"""Iterations of a block of an innermost loop, which is SIMD."""
GRAIN = 64
"""Blocks of an innermost loop are a multiple of this. So each starts at the same place in its cache line as the first,
and all but the last are whole vectors: elementary functions of vectors may differ from scalar ones in the last bit."""


@dataclass(frozen=True)
class TileLoops:
    """``tile``: True for blocks of the loops next to outer ones, as described; False for none; or the lengths of blocks
    of these loops and of the loops inside."""

    tile: Tiles = True
    name: ClassVar[str] = "tile-loops"
    needs = frozenset({ops.parallel})

    def run(self, module: Module) -> Module:
        self.plan(module)
        return module

    def plan(self, module: Module) -> dict[str, list[NestPlan]]:
        """Run the pass, and report what was done and what was not."""
        if self.tile is False:
            return {}
        return {name: _Function(self, func, module).plans for name, func in module.funcs.items()}


class _Function:
    def __init__(self, options: TileLoops, func: Func, module: Module) -> None:
        self.sizes = options.tile if isinstance(options.tile, tuple) else None
        self.func, self.module = func, module
        self.forms = Forms()
        self.aliasing: Aliasing | None = None
        self.plans: list[NestPlan] = []
        self.visit(func.body)

    def visit(self, block: Block) -> None:
        for op in list(block.ops):
            if not (op.opdef is ops.parallel and self.tiled(op)):
                for region in warm_regions(op):
                    self.visit(region)

    def tiled(self, loop: Op) -> bool:
        counter = loop.regions[0].args[0].hint
        try:
            most = len(self.sizes) if self.sizes is not None else 1
            nest = find_nest(loop, self.forms, self.may_overlap, most)
        except Whole as reason:
            self.plans.append(NestPlan(loop.loc, counter, "whole", str(reason)))
            return False
        if nest is None:
            return False
        self.plans.append(NestPlan(loop.loc, counter, *self.described(nest)))
        _Tiling(nest, self.forms, self.sizes).build()
        return True

    def may_overlap(self, a: Value, b: Value) -> bool:
        if self.aliasing is None:
            self.aliasing = Aliasing.asked(self.func, self.module)
        return self.aliasing.may_overlap(a, b)

    def described(self, nest: Nest) -> tuple[str, str]:
        names = ", ".join(level.loops[0].regions[0].args[0].hint or "_" for level in nest.levels)
        arrays = " and ".join(f"{n} times {name}" for name, n in dict.fromkeys((a, n) for a, n in nest.arrays))
        if self.sizes is not None:
            sizes = ", ".join(map(str, self.sizes[: len(nest.levels)]))
            return f"blocks of {names}", f"of {sizes} iterations, as asked; reads {arrays}"
        size = f"{sum(nest.point.values())} bytes a point exceed {machine().cache_bytes >> 20} MB"
        return f"blocks of {names}", f"if {size}; reads {arrays}"


@dataclass(eq=False)
class _Range:
    """The range of one level: ``lower`` and ``upper`` of the loop that determines it, ``end`` for the loop over blocks,
    and the length of blocks; and for the block that runs, where it starts and stops, and whether it is the first or the
    last."""

    lower: Value
    upper: Value
    end: Value
    size: Value
    start: Value
    stop: Value
    first: Value
    last: Value


class _Tiling:
    """One nest that is being tiled."""

    def __init__(self, nest: Nest, forms: Forms, sizes: tuple[int, ...] | None) -> None:
        self.nest = nest
        self.forms = forms
        self.sizes = sizes

    def build(self) -> None:
        outer = self.nest.outer
        before, innermost = Block(), Block()
        with insert_at(before, outer.loc):
            bounds = self.bounds()
            lengths = [ops.maxsi(ops.subi(upper, lower), const_index(0)) for lower, upper in bounds]
            sizes = self.asked(lengths) if self.sizes is not None else self.fitting(lengths)
            # At least one block, even if the loop has no iterations: the code beside it runs with that block.
            ends = [ops.maxsi(upper, ops.addi(lower, const_index(1))) for lower, upper in bounds]
        made = set(before.ops)
        known = [v for op in before.ops for v in op.operands if v.op not in made]
        put_before(nest_around(outer, known), before.ops)
        starts = [innermost.add_arg(index, "block")]
        whole = self.loop(-1, bounds, ends, sizes, innermost)
        for n in reversed(range(len(bounds) - 1)):
            block = Block([index], ["block"])
            starts.insert(0, block.args[0])
            with insert_at(block, outer.loc):
                block.append(whole)
                build(ops.yield_, [])
            whole = self.loop(n, bounds, ends, sizes, block)
        put_instead(outer, [whole])
        with insert_at(innermost, outer.loc):
            ranges = [_range(*b, *rest) for b, *rest in zip(bounds, ends, sizes, starts, strict=True)]
            self.part(self.nest.body, 0, ranges)
            innermost.append(outer)
            build(ops.yield_, [])

    def loop(
        self, n: int, bounds: Sequence[tuple[Value, Value]], ends: Sequence[Value], sizes: Sequence[Value], block: Block
    ) -> Op:
        """The loop over the blocks of a level."""
        grain = GRAIN if self.nest.levels[n].innermost else 1
        return Op(ops.for_, [bounds[n][0], ends[n], sizes[n]], (), {TILES: grain}, [block], self.nest.outer.loc)

    # The lengths of blocks --------------------------------------------------------------------------------------------

    def bounds(self) -> list[tuple[Value, Value]]:
        """Append the ranges of the levels."""
        emitter = Emitter(self.forms)

        def outside(value: Value, form: Form) -> Value:
            return emitter.value(form) if inside(value, self.nest.outer) else value

        found = []
        for level in self.nest.levels:
            lower, upper = level.loops[0].operands[:2]
            found.append(_proper(outside(lower, level.lower), outside(upper, level.upper)))
        return found

    def asked(self, lengths: Sequence[Value]) -> list[Value]:
        assert self.sizes is not None
        runs = ops.cmpi(trip_count(*self.nest.outer.operands[:3]), const_index(0), predicate="sgt")
        sizes = [*lengths]
        for n, size in enumerate(self.sizes[: len(lengths)]):
            if self.nest.levels[n].innermost:
                size = -(-size // GRAIN) * GRAIN
            sizes[n] = ops.select(runs, const_index(size), lengths[n])
        return [ops.maxsi(size, const_index(1)) for size in sizes]

    def fitting(self, lengths: Sequence[Value]) -> list[Value]:
        """Sizes chosen for the cache: the outermost loop first, then the next one if the least blocks are still too
        large."""
        nest, one = self.nest, const_index(1)
        again = ops.cmpi(trip_count(*nest.outer.operands[:3]), const_index(LEAST_OUTER), predicate="sge")
        unit = self.point()  # bytes for an iteration of the loops that are cut already
        sizes: list[Value] = []
        for n, (level, length) in enumerate(zip(nest.levels, lengths, strict=True)):
            each = ops.maxsi(reduce(ops.muli, lengths[n + 1 :], unit), one)
            size = ops.maxsi(ops.floordivsi(const_index(machine().block_bytes), each), const_index(self.least(level)))
            exceeds = ops.cmpi(ops.muli(each, length), const_index(machine().cache_bytes), predicate="sgt")
            blocks = ops.maxsi(ops.ceildivsi(length, size), one)
            blocks = ops.select(ops.andi(again, exceeds), blocks, one)
            size = ops.ceildivsi(length, blocks)
            if level.innermost:
                size = ops.muli(ops.ceildivsi(size, const_index(GRAIN)), const_index(GRAIN))
            sizes.append(ops.maxsi(size, one))
            unit = ops.muli(unit, ops.minsi(ops.addi(size, const_index(level.span)), length))
        return sizes

    def point(self) -> Value:
        """Append the number of bytes that must stay in cache for a point of the levels."""
        emitter = Emitter(self.forms)
        parts = []
        for spans, size in self.nest.point.items():
            lengths = [ops.maxsi(emitter.value(upper - lower), const_index(1)) for lower, upper in spans]
            parts.append(reduce(ops.muli, lengths, const_index(size)))
        return reduce(ops.addi, parts)

    def least(self, level: Level) -> int:
        return LEAST_POINTS if level.innermost else max(LEAST_ROWS, 2 * level.span)

    # What runs for a block --------------------------------------------------------------------------------------------

    def part(self, part: Part, n: int, ranges: Sequence[_Range]) -> None:
        """Let the loops of level ``n`` in ``part`` run over the block, and the code beside them once."""
        first = reduce(ops.andi, (r.first for r in ranges[n:]))
        last = reduce(ops.andi, (r.last for r in ranges[n:]))
        made = [*part.shared, *_if(first, part.before)]
        if part.main.opdef is ops.if_:
            for side, region in zip(part.inner, part.main.regions, strict=True):
                if side is not None:
                    self.part(side, n, ranges)
                elif len(region.ops) > 1:
                    region.set_ops([*_if(first, region.ops[:-1]), region.terminator])
        else:
            made += self.cut(part.main, self.nest.levels[n], ranges[n])
            for inner in part.inner:
                assert inner is not None
                self.part(inner, n + 1, ranges)
        part.block.set_ops([*made, part.main, *_if(last, part.after), part.block.terminator])

    def cut(self, loop: Op, level: Level, block: _Range) -> list[Op]:
        """Restrict a loop to the block. Returns the operations that must run before it for that."""
        made = Block()
        lower, upper = loop.operands[:2]
        if (self.forms.of(lower), self.forms.of(upper)) == (level.lower, level.upper):
            loop.set_operand(0, block.start)
            loop.set_operand(1, block.stop)
            return []
        # If the range differs from that of the blocks, what exceeds it goes to the first block and to the last.
        with insert_at(made, loop.loc):
            loop.set_operand(0, ops.select(block.first, lower, ops.maxsi(lower, block.start)))
            loop.set_operand(1, ops.select(block.last, upper, ops.minsi(upper, block.stop)))
        return list(made.ops)


def _proper(lower: Value, upper: Value) -> tuple[Value, Value]:
    """Append bounds of the same iterations whose differences do not wrap around: both zero, if there are none."""
    runs = ops.cmpi(lower, upper, predicate="slt")
    if constant_of(lower) is not None:
        return lower, ops.select(runs, upper, lower)
    zero = const_index(0)
    return ops.select(runs, lower, zero), ops.select(runs, upper, zero)


def _range(lower: Value, upper: Value, end: Value, size: Value, start: Value) -> _Range:
    """Append everything about the block that starts at ``start``."""
    following = ops.addi(start, size)
    first = ops.cmpi(start, lower, predicate="eq")
    last = ops.cmpi(following, end, predicate="sge")
    return _Range(lower, upper, end, size, start, ops.minsi(following, upper), first, last)


def _if(flag: Value, body: Sequence[Op]) -> list[Op]:
    """A branch that runs ``body`` if the flag is set; nothing if ``body`` is empty."""
    if not body:
        return []
    then, other = Block(), Block()
    then.set_ops(body)
    for block in (then, other):
        with insert_at(block, body[0].loc):
            build(ops.yield_, [])
    return [Op(ops.if_, [flag], (), {}, [then, other], body[0].loc)]
