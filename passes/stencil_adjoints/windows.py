"""Gathering where the offset is the counter of an inner loop: ``for k in range(lo, hi): abar[i + k] += ...``.

Each element collects the terms of the window of iterations that reach it: for element ``x``, the ``k`` for which
``x - k`` is an iteration. If that is the whole window, its bounds are those of the inner loop, as in the primal loop;
near the ends of the domain they are clipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.nesting import enclosing, inside
from adc.ir.rewrite import Mapping
from adc.ir.types import MemRefType, index
from adc.passes.analysis.affine import Form, Symbol
from adc.passes.analysis.kinds import COUNTED
from adc.passes.building import choose, parallel_loop
from adc.passes.distribution.fission import Fission
from adc.passes.stencil_adjoints.gather import Axis, Subscripts, between, both


@dataclass(frozen=True)
class Window:
    """The inner loop whose counter is a dimension's offset: element = iteration + sign * counter + offset."""

    loop: Op
    sign: int


@dataclass
class Convolution:
    """One accumulation. ``outer`` are the outer loops. ``dims`` says for each dimension of ``base`` which of them it
    follows, through which window, and the rest of the subscript. ``inner`` are the inner loops, windows or not."""

    op: Op
    base: Value
    outer: tuple[Op, ...]
    inner: tuple[Op, ...]
    dims: tuple[tuple[int | None, Window | None, Form], ...]


def recognise_windows(fission: Fission, op: Op) -> Convolution | None:
    """``op`` as a convolution, if it is one and can be computed before the rest of the loop."""
    forms = fission.analysis.forms
    access = next(a for a in fission.accesses.found if a.op is op)
    chain = list(enclosing(op.parent))
    chain = chain[: chain.index(fission.loop) + 1][::-1]
    if access.where is None or any(o.opdef not in COUNTED for o in chain):
        return None
    for loop in chain:
        bounds = [s for v in loop.operands[:2] for s in forms.of(v).symbols()]
        if constant_of(loop.operands[2]) != 1 or any(inside(s.value, fission.loop) for s in bounds):
            return None
    counters: dict[Symbol, int] = {forms.symbol(o.regions[0].args[0]): k for k, o in enumerate(chain)}
    dims: list[tuple[int | None, Window | None, Form]] = []
    used: list[int] = []
    for form, _ in access.where:
        found = sorted((counters[s], s) for s in form.symbols() if s in counters)
        rest = form
        window: Window | None = None
        for place, (level, symbol) in enumerate(found):
            factor, rest = rest.split(symbol)
            if not factor.is_constant or (factor.constant != 1 if place == 0 else abs(factor.constant) != 1):
                return None
            if place == 1:
                window = Window(chain[level], factor.constant)
        if len(found) > 2 or any(inside(s.value, fission.loop) for s in rest.symbols()):
            return None
        used += [level for level, _ in found]
        dims.append((found[0][0] if found else None, window, rest))
    axes = sorted(level for level, _, _ in dims if level is not None)
    if axes != list(range(len(axes))) or not axes or len(set(used)) != len(used):
        return None
    outer, inner = tuple(chain[: len(axes)]), tuple(chain[len(axes) :])
    if not inner or any(o.opdef is not ops.parallel for o in outer):
        return None
    needed = fission.slice([op.operands[0]])
    carried = {a for o in inner for a in o.regions[0].args[1:]}
    if any(v in carried for o in (*needed, op) for v in o.operands) or needed & set(inner):
        return None
    if fission.obstacle(needed | {op}, [op]) is not None:
        return None
    return Convolution(op, access.base, outer, inner, tuple(dims))


class WindowGather:
    """Builds the nest of one convolution at the insertion point. What it needs is appended to ``before``."""

    def __init__(self, fission: Fission, convolution: Convolution, before: Block, *, threads: bool) -> None:
        self.fission = fission
        self.c = convolution
        self.threads = threads
        forms = fission.analysis.forms
        self.axes = [Axis(forms, loop, before) for loop in convolution.outer]
        self.inner = {loop: Axis(forms, loop, before) for loop in convolution.inner}
        self.needed = fission.slice([convolution.op.operands[0]])
        # For each axis: its dimension's window and the rest of the subscript, a shift of all elements.
        self.windows: list[Window | None] = [None] * len(self.axes)
        self.rest: list[Form] = [Form.ZERO] * len(self.axes)
        for level, window, rest in convolution.dims:
            if level is not None:
                self.windows[level], self.rest[level] = window, rest

    def build(self) -> None:
        runs: Value | None = None
        for axis in (*self.axes, *self.inner.values()):
            here = ops.cmpi(axis.value(axis.low), axis.value(axis.high), predicate="slt")
            runs = both(runs, here)
        assert runs is not None
        choose(runs, lambda: self._level([], None), lambda: None)

    def _reach(self, level: int) -> tuple[Form, Form]:
        """The least and greatest offset of the elements that an iteration adds to."""
        window = self.windows[level]
        if window is None:
            return Form.ZERO, Form.ZERO
        k = self.inner[window.loop]
        return (k.low, k.high - 1) if window.sign > 0 else (-k.high + 1, -k.low)

    def _level(self, at: Subscripts, core: Value | None) -> None:
        """The loop over the elements along one axis."""
        level = len(at)
        axis, (least, greatest) = self.axes[level], self._reach(level)
        start, end = axis.value(axis.low + least), axis.value(axis.high + greatest)
        first, last = axis.value(axis.low + greatest), axis.value(axis.high + least)
        attrs = {"threads": True} if self.threads and not at else {}
        if level < len(self.axes) - 1:

            def row(x: Value) -> None:
                self._level([*at, x], both(core, between(first, x, last)))

            parallel_loop(start, end, row, **attrs)
            return
        first, last = ops.minsi(first, end), ops.minsi(last, end)
        last = ops.maxsi(first, last)
        if core is not None:
            first, last = ops.select(core, first, end), ops.select(core, last, end)
        parallel_loop(start, first, lambda x: self._element([*at, x], clipped=True))
        parallel_loop(first, last, lambda x: self._element([*at, x], clipped=False), **attrs)
        parallel_loop(last, end, lambda x: self._element([*at, x], clipped=True))

    def _element(self, at: Subscripts, *, clipped: bool) -> None:
        """Add all terms of one element."""
        t = self.c.base.type
        assert isinstance(t, MemRefType)
        mapping: Mapping = {}
        total = self._sum(list(self.c.inner), at, mapping, const(0.0, t.element), clipped)
        subscripts = []
        for level, _, rest in self.c.dims:
            subscripts.append(self.axes[0].value(rest) if level is None else self.axes[level].plus(at[level], rest))
        old = ops.load(self.c.base, *subscripts)
        build(ops.store, [ops.addf(old, total), self.c.base, *subscripts])

    def _sum(self, loops: list[Op], at: Subscripts, mapping: Mapping, so_far: Value, clipped: bool) -> Value:
        """The sum over the remaining inner loops."""
        if not loops:
            return ops.addf(so_far, self._term(at, mapping), fastmath=ops.OWNED)
        loop, axis = loops[0], self.inner[loops[0]]
        lower, upper = axis.value(axis.low), axis.value(axis.high)
        level = next((m for m, w in enumerate(self.windows) if w is not None and w.loop is loop), None)
        if clipped and level is not None:
            around, window = self.axes[level], self.windows[level]
            assert window is not None
            if window.sign > 0:
                least = ops.addi(ops.subi(at[level], around.value(around.high)), const_index(1))
                most = ops.addi(ops.subi(at[level], around.value(around.low)), const_index(1))
            else:
                least = ops.subi(around.value(around.low), at[level])
                most = ops.subi(around.value(around.high), at[level])
            lower, upper = ops.maxsi(lower, least), ops.minsi(upper, most)
        block = Block([index, so_far.type], ["k"])
        mapping[loop.regions[0].args[0]] = block.args[0]
        with insert_at(block):
            build(ops.yield_, [self._sum(loops[1:], at, mapping, block.args[1], clipped)])
        bounds = [lower, upper, const_index(1), so_far]
        return build(ops.for_, bounds, {}, [so_far.type], [block]).result

    def _term(self, at: Subscripts, mapping: Mapping) -> Value:
        """The term of the iteration that the inner counters in ``mapping`` belong to."""
        mapping = dict(mapping)
        for loop, x, window in zip(self.c.outer, at, self.windows, strict=True):
            counter = x
            if window is not None:
                k = mapping[window.loop.regions[0].args[0]]
                counter = ops.subi(x, k) if window.sign > 0 else ops.addi(x, k)
            mapping[loop.regions[0].args[0]] = counter
        for loop in (*self.c.outer, *self.c.inner):
            self.fission.copy_ops(loop.regions[0], self.needed, mapping)
        return mapping.get(self.c.op.operands[0], self.c.op.operands[0])


def convolutions(fission: Fission, group: Sequence[Op]) -> list[Convolution] | None:
    """All of ``group`` as convolutions, if they are convolutions."""
    found = [recognise_windows(fission, op) for op in group]
    return [c for c in found if c is not None] if None not in found else None
