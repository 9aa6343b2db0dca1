"""Gathering terms that are expensive to compute: each is computed once, kept in a small buffer, and added from there.

The elements are cut into tiles along the first axis. The terms of a tile, those of the iterations that reach into it,
are computed row by row into buffers, one for each shift, and then gathered from these. Iterations near the border of
two tiles are run for both. Tiles are independent: they run in parallel, and the sums do not depend on threads.
"""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build
from adc.ir.core import Value
from adc.ir.rewrite import Mapping
from adc.ir.types import MemRefType
from adc.passes.building import parallel_loop, sum_of
from adc.passes.distribution.fission import Fission
from adc.passes.stencil_adjoints.gather import Axis, Fresh, Gather, Subscripts, if_any
from adc.passes.stencil_adjoints.stencils import Stencil

TILE = {1: 1024, 2: 16}  # elements along the first axis, by the number of axes
SMALL_TILE = 4
LARGEST_TILE = 128
LEAST_SHARE = {1: 4, 2: 4}  # of a tile over what it shares with its neighbours; with more axes buffers are planes


def build_tiles(
    fission: Fission, stencil: Stencil, axes: Sequence[Axis], fresh: Fresh | None, *, threads: bool
) -> None:
    """Append the loop over the tiles."""
    tiles = _Tiles(fission, stencil, axes, fresh)
    first, (least, greatest) = axes[0], stencil.span(0)
    lower, upper = first.value(first.low + least), first.value(first.high + greatest)
    attrs = {"threads": True} if threads else {}

    def loop() -> None:
        parallel_loop(lower, upper, lambda x: tiles.one(x, upper), step=tiles.size, **attrs)

    if_any(axes, loop)


def size_of(stencil: Stencil) -> int:
    """The elements of a tile: more for wider stencils, so that few iterations are run for two tiles."""
    axes, span = len(stencil.loops), stencil.span(0)
    size = TILE.get(axes, SMALL_TILE)
    while size < LARGEST_TILE and size < LEAST_SHARE.get(axes, 2) * (span[1] - span[0]):
        size *= 2
    return size


class _Tiles:
    def __init__(self, fission: Fission, stencil: Stencil, axes: Sequence[Axis], fresh: Fresh | None) -> None:
        self.fission = fission
        self.stencil = stencil
        self.axes = axes
        self.fresh = fresh
        self.size = size_of(stencil)
        self.needed = fission.slice(t.value for t in stencil.terms)

    def one(self, start: Value, upper: Value) -> None:
        """Append the tile from ``start``."""
        first, (least, greatest) = self.axes[0], self.stencil.span(0)
        end = ops.minsi(ops.addi(start, const_index(self.size)), upper)
        origin = ops.subi(start, const_index(greatest))
        lower = ops.maxsi(first.value(first.low), origin)
        upper = ops.minsi(first.value(first.high), ops.subi(end, const_index(least)))
        base = self.stencil.base.type
        assert isinstance(base, MemRefType)
        inner = [axis.value(axis.high - axis.low) for axis in self.axes[1:]]
        inner = [ops.maxsi(extent, const_index(0)) for extent in inner]
        t = MemRefType((self.size + greatest - least, *(None for _ in inner)), base.element)
        buffers = {shift: ops.alloc(*inner, type=t) for shift in self.stencil.shifts}
        self._fill(buffers, origin, lower, upper)

        def kept(shift: tuple[int, ...], at: Subscripts) -> Value:
            moved = [axis.plus_number(x, -q) for axis, x, q in zip(self.axes, at, shift, strict=True)]
            return ops.load(buffers[shift], *self._place(moved, origin))

        gather = Gather(self.stencil, self.axes, kept, threads=False, fresh=self.fresh)
        if len(self.axes) > 1:
            gather.build_between(start, end)
            return
        if self.fresh is not None:
            e = self.fresh.shift[0]
            gather.overwrite([], *self._both(e, start, end), self.fresh.pending)
        for shift in self.stencil.shifts:
            parallel_loop(*self._both(shift[0], start, end), gather.adder([], [shift]))

    def _both(self, shift: int, start: Value, end: Value) -> tuple[Value, Value]:
        """The shifted range of the loop, as far as it lies in the tile."""
        axis = self.axes[0]
        return ops.maxsi(axis.value(axis.low + shift), start), ops.minsi(axis.value(axis.high + shift), end)

    def _place(self, at: Subscripts, origin: Value) -> Subscripts:
        """The subscripts, in a buffer, of the terms of iteration ``at``."""
        rest = [ops.subi(x, axis.value(axis.low)) for axis, x in zip(self.axes[1:], at[1:], strict=True)]
        return [ops.subi(at[0], origin), *rest]

    def _fill(self, buffers: dict[tuple[int, ...], Value], origin: Value, lower: Value, upper: Value) -> None:
        """Run the iterations from ``lower`` to ``upper`` and keep their terms."""

        def level(at: Subscripts) -> None:
            if len(at) == len(self.axes):
                self._keep(buffers, at, origin)
            elif not at:
                parallel_loop(lower, upper, lambda x: level([x]))
            else:
                axis = self.axes[len(at)]
                parallel_loop(axis.value(axis.low), axis.value(axis.high), lambda x: level([*at, x]))

        level([])

    def _keep(self, buffers: dict[tuple[int, ...], Value], at: Subscripts, origin: Value) -> None:
        mapping: Mapping = {}
        for loop, axis, x in zip(self.stencil.loops, self.axes, at, strict=True):
            mapping[loop.regions[0].args[0]] = axis.counter(x, 0)
        for loop in self.stencil.loops:
            self.fission.copy_ops(loop.regions[0], self.needed, mapping)
        place = self._place(at, origin)
        for shift, buffer in buffers.items():
            terms = [mapping.get(t.value, t.value) for t in self.stencil.terms if t.shift == shift]
            build(ops.store, [sum_of(terms), buffer, *place])
