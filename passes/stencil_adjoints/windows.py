"""Gathering where the offset is the counter of another loop: ``for k in range(lo, hi): abar[i + k] += ...``.

Each element collects the terms of the window of iterations that reach it: for element ``x``, the ``k`` for which
``x - k`` is an iteration. If that is the whole window, its bounds are those of the loop over ``k``, as in the primal
loop; near the ends of the domain they are clipped.

Either of the two loops may be the window, whichever is around the other: a convolution is written as windows times
weights or as a sum of shifted images. Elements away from the ends are SIMD, so the window should be the shorter loop:
the one with few iterations, or that which does not grow with the array; where this is not known, the program asks.

What an iteration computes once for all its terms, at some cost (a sum over its window, a quotient), is computed in a
nest of its own first and kept: the windows of one element's terms would compute it as often as they are long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, inside
from adc.ir.rewrite import Mapping
from adc.ir.types import MemRefType, index
from adc.passes.analysis.affine import Form, Symbol
from adc.passes.analysis.costs import cost_of
from adc.passes.analysis.kinds import COUNTED
from adc.passes.analysis.spans import Span
from adc.passes.building import choose, parallel_loop
from adc.passes.distribution.fission import Fission
from adc.passes.stencil_adjoints.gather import Axis, Subscripts, between, both
from adc.passes.stencil_adjoints.interchange import REPEATED, TWICE, cost_once


@dataclass(frozen=True)
class Window:
    """The loop whose counter is a dimension's offset: element = iteration + sign * counter + offset."""

    loop: Op
    sign: int


@dataclass
class Convolution:
    """One accumulation. ``axes`` are the loops that elements follow, the last dimension's last. ``dims`` says for each
    dimension of ``base`` which of them it follows, through which window, and the rest of the subscript. ``inner`` are
    the other loops, windows or not."""

    op: Op
    base: Value
    axes: tuple[Op, ...]
    inner: tuple[Op, ...]
    dims: tuple[tuple[int | None, Window | None, Form], ...]
    other: Convolution | None = None
    """The same with axes and windows exchanged, which is better if these windows are longer than their axes."""


@dataclass(frozen=True)
class _Dim:
    """One dimension: the loops whose counters its subscript adds, the outer one first, their signs, and the rest."""

    loops: tuple[Op, ...]
    signs: tuple[int, ...]
    rest: Form


def recognise_windows(fission: Fission, op: Op) -> Convolution | None:
    """``op`` as a convolution, if it is one and can be computed before the rest of the loop."""
    access = next(a for a in fission.accesses.found if a.op is op)
    chain = list(enclosing(op.parent))
    chain = chain[: chain.index(fission.loop) + 1][::-1]
    dims = None if access.where is None else _dims(fission, access.where, chain)
    if dims is None or not _may_be_reordered(fission, op, chain):
        return None
    longer = [_is_longer(fission, access.base, k, dim) for k, dim in enumerate(dims)]
    found = _convolution(fission, op, access.base, chain, dims, [bool(v) for v in longer])
    if found is not None and None not in longer:
        return found
    exchanged = _convolution(fission, op, access.base, chain, dims, [v is not False for v in longer])
    if found is not None:
        found.other = exchanged
    return found or exchanged


def _dims(fission: Fission, where: tuple[Span, ...], chain: list[Op]) -> list[_Dim] | None:
    """The dimensions of an access, if each follows at most two loops of the chain, and no two the same."""
    forms = fission.analysis.forms
    for loop in chain:
        if loop.opdef not in COUNTED or constant_of(loop.operands[2]) != 1:
            return None
        if any(inside(s.value, fission.loop) for v in loop.operands[:2] for s in forms.of(v).symbols()):
            return None
    counters: dict[Symbol, int] = {forms.symbol(o.regions[0].args[0]): k for k, o in enumerate(chain)}
    dims: list[_Dim] = []
    used: list[int] = []
    for form, _ in where:
        found = sorted((counters[s], s) for s in form.symbols() if s in counters)
        rest, signs = form, []
        for _, symbol in found:
            factor, rest = rest.split(symbol)
            if not factor.is_constant or abs(factor.constant) != 1:
                return None
            signs.append(factor.constant)
        if len(found) > 2 or any(inside(s.value, fission.loop) for s in rest.symbols()):
            return None
        used += [level for level, _ in found]
        dims.append(_Dim(tuple(chain[level] for level, _ in found), tuple(signs), rest))
    return dims if used and len(set(used)) == len(used) else None


def _may_be_reordered(fission: Fission, op: Op, chain: list[Op]) -> bool:
    """Whether the terms can be computed before the rest of the loop, one by one, in any order."""
    needed = fission.slice([op.operands[0]])
    carried = {a for o in chain for a in o.regions[0].args[1:]}
    if any(v in carried for o in (*needed, op) for v in o.operands) or needed & set(chain):
        return False
    return fission.obstacle(needed | {op}, [op]) is None


def _convolution(
    fission: Fission, op: Op, base: Value, chain: list[Op], dims: list[_Dim], exchanged: list[bool]
) -> Convolution | None:
    """The convolution whose axes are the outer loops of the dimensions or, where ``exchanged``, the inner ones."""
    axes: list[Op] = []
    windows: list[Window | None] = []
    for dim, inside_out in zip(dims, exchanged, strict=True):
        if not dim.loops:
            windows.append(None)
            continue
        axis = len(dim.loops) - 1 if inside_out else 0
        if dim.signs[axis] != 1:
            return None
        axes.append(dim.loops[axis])
        windows.append(Window(dim.loops[1 - axis], dim.signs[1 - axis]) if len(dim.loops) == 2 else None)
    last = axes[-1]
    order = [o for o in chain if o in axes and o is not last] + [last]
    inner = tuple(o for o in chain if o not in axes)
    as_written = order == chain[: len(order)]
    if not inner or (as_written and any(o.opdef is not ops.parallel for o in order)):
        return None
    if not as_written and not any(windows):
        return None  # an interchange
    if not as_written:
        # What loops around the terms compute once is computed for each term then.
        needed = fission.slice([op.operands[0]]) - set(chain[-1].regions[0].walk())
        if sum(cost_of(o.opdef) for o in needed) > REPEATED:
            return None
    at = iter(axes)
    described = [(order.index(next(at)) if d.loops else None, w, d.rest) for d, w in zip(dims, windows, strict=True)]
    return Convolution(op, base, tuple(order), inner, tuple(described))


def _is_longer(fission: Fission, base: Value, number: int, dim: _Dim) -> bool | None:
    """Whether the inner loop of a dimension has more iterations than the outer one, which is then better as its window;
    None if nothing tells. A loop whose length grows with the array's extent is taken to be long."""
    if len(dim.loops) < 2 or -1 in dim.signs:
        return dim.signs[:1] == (-1,)  # an axis is counted upwards
    forms = fission.analysis.forms
    outer, inner = (forms.of(o.operands[1]) - forms.of(o.operands[0]) for o in dim.loops)
    difference = inner - outer
    if difference.is_constant:
        return difference.constant > 0
    if outer.is_constant or inner.is_constant:
        return outer.is_constant
    primal = fission.analysis.shadowed.get(base, base)
    extents = forms.extent(base, number).symbols() | forms.extent(primal, number).symbols()
    grows = [any(form.coefficient(s) == Form.number(1) for s in extents) for form in (outer, inner)]
    return None if grows[0] == grows[1] else grows[1]


class WindowGather:
    """Builds the nest of one convolution at the insertion point. What it needs is appended to ``before``."""

    def __init__(self, fission: Fission, convolution: Convolution, before: Block, *, threads: bool) -> None:
        self.fission = fission
        self.c = convolution
        self.threads = threads
        forms = fission.analysis.forms
        self.axes = [Axis(forms, loop, before) for loop in convolution.axes]
        self.inner = {loop: Axis(forms, loop, before) for loop in convolution.inner}
        chain = list(enclosing(convolution.op.parent))
        self.chain = chain[: chain.index(fission.loop) + 1][::-1]
        # For each axis: its dimension's window and the rest of the subscript, a shift of all elements.
        self.windows: list[Window | None] = [None] * len(self.axes)
        self.rest: list[Form] = [Form.ZERO] * len(self.axes)
        for level, window, rest in convolution.dims:
            if level is not None:
                self.windows[level], self.rest[level] = window, rest
        self.kept: dict[Value, Value | None] = dict.fromkeys(self._costly())  # arrays, when they have been computed
        self.needed = fission.slice([convolution.op.operands[0]], self.kept)

    def _costly(self) -> list[Value]:
        """What the terms use of what an iteration of the axes computes once, at some cost."""
        if list(self.c.axes) != self.chain[: len(self.c.axes)]:
            return []
        needed = self.fission.slice([self.c.op.operands[0]])
        last = self.c.axes[-1].regions[0]
        inner = [op for op in self.fission.position if op in needed and op.parent is not last and last in _blocks(op)]
        used = dict.fromkeys(v for op in (*inner, self.c.op) for v in op.operands)
        found = [v for v in used if v.op is not None and v.op.parent is last and v.type.is_float]
        return [v for v in found if sum(map(cost_once, self.fission.slice([v]))) >= TWICE]

    def build(self) -> None:
        runs: Value | None = None
        for axis in (*self.axes, *self.inner.values()):
            here = ops.cmpi(axis.value(axis.low), axis.value(axis.high), predicate="slt")
            runs = both(runs, here)
        assert runs is not None

        def nest() -> None:
            self._keep()
            self._level([], None)

        choose(runs, nest, lambda: None)

    def _keep(self) -> None:
        """The nest that computes what is kept."""
        sizes = [axis.value(axis.high - axis.low) for axis in self.axes]
        for value in self.kept:
            self.kept[value] = ops.alloc(*sizes, type=MemRefType((None,) * len(sizes), value.type))
        if self.kept:
            self._keep_level([], self.fission.slice(self.kept))

    def _keep_level(self, at: Subscripts, needed: set[Op]) -> None:
        axis, loops = self.axes[len(at)], self.c.axes

        def body(x: Value) -> None:
            if len(at) + 1 < len(loops):
                self._keep_level([*at, x], needed)
                return
            mapping = {loop.regions[0].args[0]: v for loop, v in zip(loops, [*at, x], strict=True)}
            for loop in loops:
                self.fission.copy_ops(loop.regions[0], needed, mapping)
            for value, array in self.kept.items():
                assert array is not None
                build(ops.store, [mapping[value], array, *self._places([*at, x])])

        attrs = {"threads": True} if self.threads and not at else {}
        parallel_loop(axis.value(axis.low), axis.value(axis.high), body, **attrs)

    def _places(self, counters: Subscripts) -> list[Value]:
        return [a.plus(x, -a.low) for a, x in zip(self.axes, counters, strict=True)]

    def windows_are_short(self) -> Value:
        """Append whether each axis has at least as many iterations as its window."""
        short: Value | None = None
        for axis, window in zip(self.axes, self.windows, strict=True):
            if window is not None:
                k = self.inner[window.loop]
                length, size = axis.value(axis.high - axis.low), axis.value(k.high - k.low)
                short = both(short, ops.cmpi(size, length, predicate="sle"))
        assert short is not None
        return short

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
        core_size = ops.subi(last, first)

        def near_an_end(x: Value) -> None:
            x = ops.select(ops.cmpi(x, first, predicate="slt"), x, ops.addi(x, core_size))
            self._element([*at, x], clipped=True)

        parallel_loop(first, last, lambda x: self._element([*at, x], clipped=False), **attrs)
        parallel_loop(start, ops.subi(end, core_size), near_an_end)

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
        counters: list[Value] = []
        for loop, x, window in zip(self.c.axes, at, self.windows, strict=True):
            counter = x
            if window is not None:
                k = mapping[window.loop.regions[0].args[0]]
                counter = ops.subi(x, k) if window.sign > 0 else ops.addi(x, k)
            counters.append(counter)
            mapping[loop.regions[0].args[0]] = counter
        for value, array in self.kept.items():
            assert array is not None
            mapping[value] = ops.load(array, *self._places(counters))
        for loop in self.chain:
            self.fission.copy_ops(loop.regions[0], self.needed, mapping)
        return mapping.get(self.c.op.operands[0], self.c.op.operands[0])


def _blocks(op: Op) -> Iterator[Block | None]:
    """The blocks that ``op`` is in, the innermost first."""
    yield op.parent
    yield from (outer.parent for outer in enclosing(op.parent))


def convolutions(fission: Fission, group: Sequence[Op]) -> list[Convolution] | None:
    """All of ``group`` as convolutions, if they are convolutions."""
    found = [recognise_windows(fission, op) for op in group]
    return [c for c in found if c is not None] if None not in found else None


def build_gather(fission: Fission, convolution: Convolution, before: Block, *, threads: bool) -> None:
    """Append the nest of a convolution, or that with axes and windows exchanged, whichever has the shorter windows."""
    one = WindowGather(fission, convolution, before, threads=threads)
    if convolution.other is None:
        one.build()
        return
    other = WindowGather(fission, convolution.other, before, threads=threads)
    choose(one.windows_are_short(), one.build, other.build)
