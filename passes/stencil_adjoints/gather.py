"""Gathering: each element collects the terms that neighbouring iterations would scatter to it.

A term that iteration ``i`` adds to element ``i + s`` is, seen from the element ``x``, what iteration ``x - s``
computes, if there is such an iteration. In the *core* there is one for all shifts, and one loop adds all terms; it runs
in parallel and vectorises. At the two ends of a row some terms are missing: if a row is longer than the stencil, the
few elements there are done one by one, each with the terms that it has. For shorter rows, and for rows that are
themselves at the rim, each term is added by a loop of its own over exactly the elements that get it. So nothing is
touched that the scattering loops did not touch, whatever the extents, gaps and steps.

Loops with a step other than one are counted from zero in steps of one; shifts are in steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of
from adc.ir.builder import build, current_block, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.rewrite import Mapping
from adc.ir.types import MemRefType, Type
from adc.passes.analysis.affine import Form, Forms
from adc.passes.analysis.cold import COLD
from adc.passes.analysis.form_conditions import Emitter
from adc.passes.building import choose, parallel_loop, sum_of
from adc.passes.distribution.fission import Fission
from adc.passes.stencil_adjoints.stencils import Stencil

MAX_CELLS = 64  # terms that are written out one by one for the ends of a row

Subscripts = list[Value]
Evaluate = Callable[[tuple[int, ...], Subscripts], Value]  # the terms of one shift, for an element


class Axis:
    """One loop of the nest, seen from elements: ``low <= x < high``. Values are computed before the nest."""

    def __init__(self, forms: Forms, loop: Op, before: Block) -> None:
        self._emitter = Emitter(forms)
        self._before = before
        lower, upper = (forms.of(v) for v in loop.operands[:2])
        step = constant_of(loop.operands[2])
        assert step is not None
        self.step = int(step)
        self.safe = all(s.dim is not None for form in (lower, upper) for s in form.symbols())
        self.start = lower
        if self.step == 1:
            self.low, self.high = lower, upper
        else:
            with insert_at(before):
                trips = ops.ceildivsi(self._emitter.value(upper - lower), const_index(self.step))
            self.low, self.high = Form.ZERO, Form.symbol(forms.symbol(trips))

    def runs(self) -> Value | None:
        """Whether there are iterations, if bounds may be so large that sums with shifts wrap around; else None."""
        if self.safe:
            return None
        return ops.cmpi(self.value(self.low), self.value(self.high), predicate="slt")

    def value(self, form: Form) -> Value:
        """A form of values known before the nest, computed there."""
        with insert_at(self._before):
            return self._emitter.value(form)

    def plus(self, x: Value, form: Form) -> Value:
        return ops.addi(x, self.value(form)) if form.terms else x

    def plus_number(self, x: Value, number: int) -> Value:
        return self.plus(x, Form.number(number))

    def counter(self, x: Value, shift: int) -> Value:
        """The loop's counter in the iteration ``shift`` before ``x``."""
        if self.step == 1:
            return self.plus(x, Form.number(-shift))
        return self.plus(ops.muli(x, const_index(self.step)), self.start - shift * self.step)

    def subscript(self, x: Value, origin: Form) -> Value:
        if self.step == 1:
            return self.plus(x, origin)
        return self.plus(ops.muli(x, const_index(self.step)), self.start + origin)


def if_any(axes: Sequence[Axis], body: Callable[[], None]) -> None:
    """Append what ``body`` builds, if need be in a branch that is taken only if there are iterations."""
    runs: Value | None = None
    for axis in axes:
        runs = both(runs, axis.runs())
    if runs is None:
        body()
    else:
        choose(runs, body, lambda: None)


def between(low: Value, x: Value, high: Value) -> Value:
    return ops.andi(ops.cmpi(low, x, predicate="sle"), ops.cmpi(x, high, predicate="slt"))


def both(a: Value | None, b: Value | None) -> Value | None:
    """The conjunction; None is true."""
    return b if a is None else a if b is None else ops.andi(a, b)


@dataclass(frozen=True)
class Fresh:
    """If ``pending``, elements of the loops' domain, moved by ``shift``, count as zero, or as ``factor`` times their
    value (see ``zeroing``); ``scale`` is then ``factor`` if ``pending``, else one."""

    pending: Value
    shift: tuple[int, ...]
    factor: Value | None = None
    scale: Value | None = None

    @staticmethod
    def of(pending: Value, shift: tuple[int, ...], factor: Value | None) -> Fresh:
        """Appends what ``scale`` needs."""
        if factor is None:
            return Fresh(pending, shift)
        return Fresh(pending, shift, factor, ops.select(pending, factor, const(1.0, factor.type)))

    def counted(self, old: Value) -> Value:
        """What an element with the value ``old`` counts as."""
        if self.scale is not None:
            return ops.mulf(old, self.scale)
        return ops.select(self.pending, const(0.0, old.type), old)


@dataclass
class Gather:
    """Builds the nest of one stencil at the insertion point, right before which ``axes`` compute what they need."""

    stencil: Stencil
    axes: Sequence[Axis]
    evaluate: Evaluate
    threads: bool
    fresh: Fresh | None = None

    def __post_init__(self) -> None:
        # Whether this row is among those that count as zero.
        self._zeroed = None if self.fresh is None else self.fresh.pending

    def build(self) -> None:
        """Add all terms to all elements."""
        if_any(self.axes, lambda: self._rows([], None, dict.fromkeys(self.stencil.shifts)))

    def build_between(self, lower: Value, upper: Value) -> None:
        """Add the terms of the elements of a nest of two or more loops whose first coordinate is in a range."""
        self._row_loop(lower, upper, [], None, dict.fromkeys(self.stencil.shifts))

    def _rows(self, at: Subscripts, core: Value | None, valid: dict[tuple[int, ...], Value | None]) -> None:
        level = len(at)
        if level == len(self.axes) - 1:
            self._row(at, core, valid)
            return
        axis, (least, greatest) = self.axes[level], self.stencil.span(level)
        self._row_loop(axis.value(axis.low + least), axis.value(axis.high + greatest), at, core, valid)

    def _row_loop(
        self, lower: Value, upper: Value, at: Subscripts, core: Value | None, valid: dict[tuple[int, ...], Value | None]
    ) -> None:
        """The loop over one coordinate other than the last: for each, which terms there are, and whether all."""
        level = len(at)
        axis, (least, greatest) = self.axes[level], self.stencil.span(level)

        def body(x: Value) -> None:
            inner = core
            if self.fresh is not None and least != greatest:
                e = self.fresh.shift[level]
                self._zeroed = both(self._zeroed, between(axis.value(axis.low + e), x, axis.value(axis.high + e)))
            present: dict[int, Value | None] = {least: None}
            if least != greatest:
                here = between(axis.value(axis.low + greatest), x, axis.value(axis.high + least))
                inner = both(core, here)
                for q in sorted({shift[level] for shift in valid}):
                    present[q] = between(axis.value(axis.low + q), x, axis.value(axis.high + q))
            self._rows([*at, x], inner, {s: both(v, present[s[level]]) for s, v in valid.items()})

        attrs = {"threads": True} if self.threads and not at else {}
        zeroed = self._zeroed
        parallel_loop(lower, upper, body, **attrs)
        self._zeroed = zeroed

    # Rows -------------------------------------------------------------------------------------------------------------

    def _row(self, at: Subscripts, core: Value | None, valid: dict[tuple[int, ...], Value | None]) -> None:
        axis, (least, greatest) = self.axes[-1], self.stencil.span(len(at))
        if least != greatest:
            long_enough = ops.cmpi(axis.value(axis.low + (greatest - least)), axis.value(axis.high), predicate="slt")
            core = both(core, long_enough)
        if core is None:
            self._core(at)
        else:
            # A single row is rarely shorter than the stencil.
            rare = {} if at else {COLD: "else"}
            choose(core, lambda: self._full_row(at), lambda: self._term_by_term(at, valid), **rare)

    def _full_row(self, at: Subscripts) -> None:
        self._ends(at)
        self._core(at)

    def _core(self, at: Subscripts) -> None:
        """All terms, for the elements that get them all."""
        axis, (least, greatest) = self.axes[-1], self.stencil.span(len(at))
        lower, upper = axis.value(axis.low + greatest), axis.value(axis.high + least)
        attrs = {"threads": True} if self.threads and not at else {}
        shifts = self.stencil.shifts

        def add() -> None:
            parallel_loop(lower, upper, self.adder(at, shifts), **attrs)

        def store() -> None:
            parallel_loop(lower, upper, lambda x: self._store([*at, x], self._total([*at, x], shifts)), **attrs)

        if self.fresh is None:
            add()
        elif self.fresh.scale is not None:
            parallel_loop(lower, upper, lambda x: self._add([*at, x], shifts, fresh=True), **attrs)
        else:
            choose(self.fresh.pending, store, add)

    def _ends(self, at: Subscripts) -> None:
        """The elements before and after the core, each with the terms that it gets."""
        axis, (least, greatest) = self.axes[-1], self.stencil.span(len(at))
        shifts = self.stencil.shifts
        e = greatest if self.fresh is None else self.fresh.shift[-1]
        if (greatest - least) * len(shifts) <= MAX_CELLS:
            for t in range(least, greatest):
                for place, terms, inner in (
                    (axis.low + t, [s for s in shifts if s[-1] <= t], t >= e),
                    (axis.high + t, [s for s in shifts if s[-1] > t], t < e),
                ):
                    self._add([*at, axis.value(place)], terms, fresh=inner)
            return
        if self.fresh is not None:
            self.overwrite(at, axis.value(axis.low + e), axis.value(axis.low + greatest), self.fresh.pending)
            self.overwrite(at, axis.value(axis.high + least), axis.value(axis.high + e), self.fresh.pending)
        for shift in shifts:
            q = shift[-1]
            for lower, upper in ((q, greatest), (None, None)):
                start = axis.low + lower if lower is not None else axis.high + least
                end = axis.low + upper if upper is not None else axis.high + q
                parallel_loop(axis.value(start), axis.value(end), self.adder(at, [shift]))

    def _term_by_term(self, at: Subscripts, valid: dict[tuple[int, ...], Value | None]) -> None:
        """For a row at the rim, or one shorter than the stencil: a loop for each term."""
        axis = self.axes[-1]
        if self.fresh is not None:
            assert self._zeroed is not None
            e = self.fresh.shift[-1]
            self.overwrite(at, axis.value(axis.low + e), axis.value(axis.high + e), self._zeroed)
        for shift, present in valid.items():
            lower, upper = axis.value(axis.low + shift[-1]), axis.value(axis.high + shift[-1])
            if present is not None:
                upper = ops.select(present, upper, lower)
            parallel_loop(lower, upper, self.adder(at, [shift]))

    def adder(self, at: Subscripts, shifts: Sequence[tuple[int, ...]]) -> Callable[[Value], None]:
        """A function that adds the terms of ``shifts`` to an element of the row ``at``."""
        return lambda x: self._add([*at, x], shifts)

    def overwrite(self, at: Subscripts, lower: Value, upper: Value, condition: Value) -> None:
        """Store what elements count as in a part of a row, if the condition holds."""
        parallel_loop(lower, ops.select(condition, upper, lower), lambda x: self.overwrite_one([*at, x]))

    def overwrite_one(self, at: Subscripts) -> None:
        """Store what the element at ``at`` counts as if that is pending."""
        assert self.fresh is not None
        subscripts = self.element(at)
        if self.fresh.factor is None:
            value = const(0.0, self._element_type)
        else:
            value = ops.mulf(ops.load(self.stencil.base, *subscripts), self.fresh.factor)
        build(ops.store, [value, self.stencil.base, *subscripts])

    @property
    def _element_type(self) -> Type:
        t = self.stencil.base.type
        assert isinstance(t, MemRefType)
        return t.element

    def _total(self, at: Subscripts, shifts: Sequence[tuple[int, ...]]) -> Value:
        return sum_of([self.evaluate(shift, at) for shift in shifts])

    def _store(self, at: Subscripts, value: Value) -> None:
        build(ops.store, [value, self.stencil.base, *self.element(at)])

    def _add(self, at: Subscripts, shifts: Sequence[tuple[int, ...]], *, fresh: bool = False) -> None:
        """Add the terms of ``shifts`` to the element at ``at``; with ``fresh``, to what it counts as."""
        total = self._total(at, shifts)
        subscripts = self.element(at)
        old = ops.load(self.stencil.base, *subscripts)
        if fresh and self.fresh is not None:
            old = self.fresh.counted(old)
        build(ops.store, [ops.addf(old, total), self.stencil.base, *subscripts])

    def element(self, at: Subscripts) -> Subscripts:
        """The subscripts of the element at ``at``, whose coordinates are in the order of the loops."""
        found = []
        for axis, origin in zip(self.stencil.axes, self.stencil.origin, strict=True):
            if axis is None:
                found.append(self.axes[0].value(origin))
            else:
                found.append(self.axes[axis].subscript(at[axis], origin))
        return found


def by_recomputation(fission: Fission, stencil: Stencil, axes: Sequence[Axis]) -> Evaluate:
    """Evaluate the terms of a shift by repeating what the loop computes for them in their iteration."""
    needed = {s: fission.slice(t.value for t in stencil.terms if t.shift == s) for s in stencil.shifts}

    def evaluate(shift: tuple[int, ...], at: Subscripts) -> Value:
        mapping: Mapping = {}
        for loop, axis, x, q in zip(stencil.loops, axes, at, shift, strict=True):
            mapping[loop.regions[0].args[0]] = axis.counter(x, q)
            with insert_at(current_block(), loop.loc):
                fission.copy_ops(loop.regions[0], needed[shift], mapping)
        return sum_of([mapping.get(t.value, t.value) for t in stencil.terms if t.shift == shift])

    return evaluate


def overwrite(stencil: Stencil, base: Value, fresh: Fresh, forms: Forms) -> None:
    """Append loops that store in ``base`` what the elements of ``fresh`` count as, if that is pending."""
    axes = [Axis(forms, loop, current_block()) for loop in stencil.loops]
    place = Stencil(stencil.loops, base, stencil.axes, stencil.origin)
    builder = Gather(place, axes, lambda s, at: at[0], threads=False, fresh=fresh)

    def level(at: Subscripts) -> None:
        if len(at) == len(axes):
            builder.overwrite_one(at)
            return
        axis, e = axes[len(at)], fresh.shift[len(at)]
        parallel_loop(
            axis.value(axis.low + e),
            axis.value(axis.high + e),
            lambda x: level([*at, x]),
            **({} if at else {"threads": True}),
        )

    for axis, e in zip(axes, fresh.shift, strict=True):
        axis.value(axis.low + e)
        axis.value(axis.high + e)
    choose(fresh.pending, lambda: level([]), lambda: None)
