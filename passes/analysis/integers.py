"""Facts about integer values: linear forms over other values, intervals, and proofs of ``a >= b``.

A *linear form* writes a value as ``sum of coefficient * value + constant``. It can be read in two ways. Modulo
2**width every ``addi``, ``subi`` and ``muli`` is linear: good for rewriting. As true integers only those are linear
that provably do not overflow: good for comparing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Block, Op, Value
from adc.ir.evaluate.evaluate_integers import EXACT_RESULTS
from adc.ir.nesting import enclosing
from adc.ir.types import IntType, MemRefType, Type, index, scalar_bytes
from adc.passes.analysis import carried
from adc.passes.analysis.kinds import COUNTED
from adc.passes.analysis.linear import Linear
from adc.passes.analysis.prospects import Prospect

MAX_TERMS = 8
MAX_DEPTH = 24
MAX_SUBSTITUTIONS = 8
_HOPELESS = -(1 << 60)
"""If a term has no greater lower bound, nothing is shown of a form unless another term cancels it."""

_INDEX_LIMITS = -(1 << 63), (1 << 63) - 1
_LINEAR = frozenset({ops.addi, ops.subi, ops.muli})
EXTREMES = frozenset({ops.maxsi, ops.minsi})

Interval = tuple[int, int]


def width(t: Type) -> int:
    """Bits of an integer type; an index has 64."""
    return t.width if isinstance(t, IntType) else 64


def is_unsigned(t: Type) -> bool:
    return isinstance(t, IntType) and t.unsigned


def wrap(value: int, t: Type) -> int:
    """The integer of type ``t`` that equals ``value`` modulo two to the width of ``t``."""
    bits = width(t)
    if bits == 1:
        return value & 1
    if is_unsigned(t):
        return value & ((1 << bits) - 1)
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def limits(t: Type) -> Interval:
    if type(t) is not IntType:
        return _INDEX_LIMITS
    bits = t.width
    if t.unsigned:
        return 0, (1 << bits) - 1
    return (0, 1) if bits == 1 else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def _same_range(a: Type, b: Type) -> bool:
    return width(a) == width(b) and is_unsigned(a) == is_unsigned(b)


class Integers:
    """Facts about the integer values of one function, found when asked for and remembered.

    What is remembered of a value stays true while passes replace values by equal ones.
    """

    def __init__(self) -> None:
        self._modular: dict[Value, Linear] = {}
        self._exact: dict[Value, Linear] = {}
        self._intervals: dict[Value, Interval] = {}
        self._in_place: dict[Value, frozenset[Value]] = {}

    # Linear forms -----------------------------------------------------------------------------------------------------

    def linear(self, value: Value, *, exact: bool = False, depth: int = MAX_DEPTH) -> Linear:
        """The linear form of ``value``, modulo its width or (``exact``) as an integer."""
        memo = self._exact if exact else self._modular
        known = memo.get(value)
        if known is not None:
            return known
        if depth == 0:
            return Linear({value: 1}, 0)
        memo[value] = form = self._linear(value, exact, depth - 1)
        return form

    def _linear(self, value: Value, exact: bool, depth: int) -> Linear:
        op = value.op
        if op is not None:
            if op.opdef is ops.constant:
                return Linear({}, op.attrs["value"])
            if op.opdef in _LINEAR and width(value.type) > 1 and not (exact and self._overflows(value, depth)):
                a, b = [self.linear(v, exact=exact, depth=depth) for v in op.operands]
                form: Linear | None = None
                if op.opdef is ops.muli:
                    if not b.terms:
                        form = a.times(b.constant)
                    elif not a.terms:
                        form = b.times(a.constant)
                else:
                    form = a.plus(b, 1 if op.opdef is ops.addi else -1)
                if form is not None and len(form.terms) <= MAX_TERMS:
                    return form if exact else _reduce(form, value.type)
            elif op.opdef is ops.index_cast and _same_range(value.type, op.operands[0].type):
                return self.linear(op.operands[0], exact=exact, depth=depth)
        return Linear({value: 1}, 0)

    def _overflows(self, value: Value, depth: int) -> bool:
        low, high = self._unchecked(value, depth)
        least, most = limits(value.type)
        return low < least or high > most

    def difference_fits(self, a: Value, b: Value) -> bool:
        """Whether ``a - b`` is computed without wrapping around, whatever the two are."""
        (low, high), (least, most) = self.interval(a), self.interval(b)
        smallest, largest = limits(a.type)
        return low - most >= smallest and high - least <= largest

    def fits(self, kind: str, a: Value, b: Value) -> bool:
        """Whether the result of ``kind`` (see ``adc.fits``) on two integers always fits into 64 bits."""
        least, most = limits(a.type)
        (low, high), (c, d) = self.interval(a), self.interval(b)
        if kind == "pow":
            return c >= 0 and ((low >= -1 and high <= 1) or (d < 64 and max(abs(low), abs(high)) ** d <= most))
        if kind == "shl":
            if c < 0:
                return False
            kind, (c, d) = "mul", (0, 1 << min(d, 64))  # a negative count shifts by 63, or has been refused
        corners = [EXACT_RESULTS[kind](x, y) for x in (low, high) for y in (c, d)]
        if least <= min(corners) and max(corners) <= most:
            return True
        if kind == "mul":
            return False
        form = self.linear(a, exact=True).plus(self.linear(b, exact=True), 1 if kind == "add" else -1)
        below = Linear(form.terms, form.constant - least)
        above = Linear({}, most).plus(form, -1)
        return self.least(below) >= 0 and self.least(above) >= 0

    # Intervals --------------------------------------------------------------------------------------------------------

    def interval(self, value: Value, depth: int = MAX_DEPTH) -> Interval:
        """Two integers between which ``value`` lies, both included."""
        known = self._intervals.get(value)
        if known is not None:
            return known
        least, most = limits(value.type)
        if depth == 0:
            return least, most
        low, high = self._unchecked(value, depth - 1)
        if low < least or high > most:
            low, high = least, most
        self._intervals[value] = low, high
        return low, high

    def _unchecked(self, value: Value, depth: int) -> Interval:
        """The interval that ``value`` would have if integers had no width."""
        op = value.op
        if op is None:
            return self._of_counter(value, depth)
        kind = op.opdef
        if kind is ops.constant:
            return op.attrs["value"], op.attrs["value"]
        if kind is ops.dim:
            return 0, _largest_extent(op.operands[0])
        if kind in _LINEAR or kind is ops.maxsi or kind is ops.minsi:
            (a, b), (c, d) = [self.interval(v, depth) for v in op.operands]
            if kind is ops.addi:
                return a + c, b + d
            if kind is ops.subi:
                return a - d, b - c
            if kind is ops.maxsi:
                return max(a, c), max(b, d)
            if kind is ops.minsi:
                return min(a, c), min(b, d)
            corners = (a * c, a * d, b * c, b * d)
            return min(corners), max(corners)
        if kind is ops.index_cast or kind is ops.extsi:
            return self.interval(op.operands[0], depth)
        if kind is ops.index_castui or kind is ops.extui:
            low, high = self.interval(op.operands[0], depth)
            return (low, high) if low >= 0 else limits(value.type)
        if kind is ops.select:
            (a, b), (c, d) = (self.interval(v, depth) for v in op.operands[1:])
            return min(a, c), max(b, d)
        if kind is ops.bound:
            return 0, limits(value.type)[1] - 1
        if kind is ops.xori and all(self.proves_ge_zero(v) for v in op.operands):
            return 0, limits(value.type)[1]
        if kind is ops.floordivsi or kind is ops.divsi or kind is ops.remsi:
            return self._of_division(value, depth)
        return carried.of_result(self, value, depth, limits(value.type)) if op.regions else limits(value.type)

    @contextlib.contextmanager
    def taking(self, value: Value, interval: Interval) -> Iterator[None]:
        """Inside, take ``value`` to lie in ``interval``; what is found meanwhile is forgotten."""
        known = dict(self._intervals), dict(self._exact)
        self._intervals[value] = interval
        try:
            yield
        finally:
            self._intervals, self._exact = known

    def _of_division(self, value: Value, depth: int) -> Interval:
        op = value.op
        assert op is not None
        low, high = self.interval(op.operands[0], depth)
        divisor = constant_of(op.operands[1])
        if not isinstance(divisor, int) or divisor <= 0:
            return limits(value.type)
        if op.opdef is ops.floordivsi:
            return low // divisor, high // divisor
        if op.opdef is ops.remsi:
            return (0 if low >= 0 else 1 - divisor), (0 if high <= 0 else divisor - 1)
        return _towards_zero(low, divisor), _towards_zero(high, divisor)

    def _of_counter(self, value: Value, depth: int) -> Interval:
        bounds = counter_bounds(value)
        if bounds is None:
            return carried.of_argument(self, value, depth, limits(value.type))
        low = self.interval(bounds[0], depth)[0]
        high = self.interval(bounds[1], depth)[1] - 1
        return low, max(low, high)

    # Proofs -----------------------------------------------------------------------------------------------------------

    def difference(self, a: Value, b: Value) -> int | None:
        """``a - b`` modulo the width, if it is known, as a signed number."""
        form = _reduce(self.linear(a).plus(self.linear(b), -1), a.type)
        return None if form.terms else form.constant

    def least(self, form: Linear, substitutions: int = MAX_SUBSTITUTIONS) -> int:
        """A lower bound of an exact linear form: zero or more if that can be shown, else the first that was found."""
        total = form.constant
        hopeless = []
        for value, coefficient in form.terms.items():
            low, high = self._intervals.get(value) or self.interval(value)
            lowest = coefficient * (low if coefficient > 0 else high)
            total += lowest
            if lowest <= _HOPELESS:
                hopeless.append(value)
        if total >= 0 or not substitutions or any(self._is_alone(value, form) for value in hopeless):
            return total
        candidates = [value for value in form.terms if _is_substituted(value)]
        if not candidates:
            return total
        inner = candidates[0] if len(candidates) == 1 else max(candidates, key=_depth)
        bounds = counter_bounds(inner)
        if bounds is not None:
            coefficient, rest = form.terms[inner], form.without(inner)
            # A counter is at least its lower bound and at most its upper bound minus one.
            limit = self.linear(bounds[coefficient < 0], exact=True)
            found = self.least(rest.plus(limit, coefficient, -min(coefficient, 0)), substitutions - 1)
            return found if found >= 0 else total
        return 0 if self.by_operands(form, inner, lambda part: self.least(part, substitutions // 2) >= 0) else total

    def prospect(self, form: Linear, sign: int = 1) -> Prospect:
        """What may show, together with another form, that ``sign`` times this form is not negative."""
        needed = [
            self._substitutes(value)
            for value, coefficient in form.terms.items()
            if sign * coefficient * self.interval(value)[sign * coefficient < 0] <= _HOPELESS
            and self._is_alone(value, form)
        ]
        return Prospect(needed, frozenset().union(*map(self._substitutes, form.terms)))

    def _is_alone(self, value: Value, form: Linear) -> bool:
        """Whether no other value of a form can cancel one of them, nor what may come to stand in its place."""
        if len(form.terms) == 1:
            return True
        own = self._substitutes(value)
        return all(other is value or own.isdisjoint(self._substitutes(other)) for other in form.terms)

    def _substitutes(self, value: Value) -> frozenset[Value]:
        """A value, and all those that may come to stand in its place when ``least`` puts others there."""
        known = self._in_place.get(value)
        if known is None:
            known = self._in_place[value] = frozenset({value})  # it may be among them, in a loop
            if parts := counter_bounds(value) or _operands(value)[1]:
                found = {v for part in parts for v in self.linear(part, exact=True).terms}
                known = self._in_place[value] = known.union(found, *map(self._substitutes, found))
        return known

    def by_operands(self, form: Linear, extreme: Value, holds: Callable[[Linear], bool]) -> bool:
        """Whether ``form`` is not negative by what ``holds`` says of it with the operands of ``extreme``, a minimum or
        a maximum, in its place: it is at least one of these forms, or all. Of the extremes of a loop, operands are the
        value in front of it and, where it runs, that of an iteration."""
        assert extreme.op is not None
        coefficient, rest = form.terms[extreme], form.without(extreme)
        loop = extreme.op if extreme.op.regions else None
        is_max, operands = _operands(extreme)
        parts = [rest.plus(self.linear(v, exact=True), coefficient) for v in operands]
        if is_max == (coefficient > 0):
            return any(map(holds, parts if loop is None else parts[:1]))
        if loop is None:
            return all(map(holds, parts))
        return holds(parts[0]) and (holds(parts[1]) or self._follows(parts[1], loop))

    def proves_ge_zero(self, a: Value) -> bool:
        """Whether ``a >= 0`` always, as an integer."""
        return self.interval(a)[0] >= 0 or self.least(self.linear(a, exact=True)) >= 0

    def proves_ge_zero_in(self, a: Value, block: Block | None) -> bool:
        """The same where ``block`` runs, so that the loops around it run."""
        return self.holds(self.linear(a, exact=True), (op for op in enclosing(block) if op.opdef in COUNTED))

    def proves_ge(self, a: Value, b: Value, margin: int = 0) -> bool:
        """Whether ``a >= b + margin`` always, as integers."""
        return self.least(self.linear(a, exact=True).plus(self.linear(b, exact=True), -1, -margin)) >= 0

    def holds(self, form: Linear, loops: Iterable[Op]) -> bool:
        """Whether an exact form is not negative inside ``loops``, which run: lower limits are below upper ones."""
        return self.least(form) >= 0 or any(self._follows(form, loop) for loop in loops)

    def _follows(self, form: Linear, loop: Op) -> bool:
        """Whether an exact form is not negative because ``loop`` runs."""
        upper = self.linear(loop.operands[1], exact=True)
        if not any(_concerns(limit, form.terms) for limit in upper.terms):
            return False
        return self.least(form.plus(upper, -1).plus(self.linear(loop.operands[0], exact=True), 1, 1)) >= 0


def _largest_extent(memref: Value) -> int:
    """NumPy makes no array, not even an empty or broadcast one, whose elements would take more than 2**63 bytes."""
    t = memref.type
    assert isinstance(t, MemRefType)
    return int(limits(index)[1]) // scalar_bytes(t.element)


def counter_bounds(value: Value) -> tuple[Value, Value] | None:
    """The lower and upper bound of the loop whose counter ``value`` is; None if it is not a counter."""
    block = value.owner
    if not isinstance(block, Block) or value.index != 0:
        return None
    loop = block.parent_op
    if loop is None or (loop.opdef is not ops.for_ and loop.opdef is not ops.parallel):
        return None
    return loop.operands[0], loop.operands[1]


def _is_substituted(value: Value) -> bool:
    return counter_bounds(value) is not None if value.op is None else bool(_operands(value)[1])


def _operands(value: Value) -> tuple[bool, Sequence[Value]]:
    """Whether ``value`` is a maximum, and the values of which it is the extreme: of an operation's, or of the first and
    those of the iterations of a loop; no values if it is no extreme."""
    op = value.op
    if op is not None and op.opdef in EXTREMES:
        return op.opdef is ops.maxsi, op.operands
    if op is not None and op.opdef is ops.parallel:
        reduce = op.regions[0].terminator
        kind = reduce.attrs["kinds"][value.index]
        if kind in ("min", "max"):
            return kind == "max", (op.operands[3 + value.index], reduce.operands[value.index])
    return False, ()


def _concerns(limit: Value, terms: Mapping[Value, int]) -> bool:
    """Whether ``limit``, or a value that it is an extreme of, is among ``terms``."""
    if limit in terms:
        return True
    op = limit.op
    return op is not None and op.opdef in EXTREMES and any(v in terms for v in op.operands)


def _depth(value: Value) -> int:
    depth, block = 0, value.block
    while block is not None:
        parent = block.parent_op
        block = parent.parent if parent is not None else None
        depth += 1
    return depth


def _reduce(form: Linear, t: Type) -> Linear:
    """The same form with coefficients and constant wrapped to the width of ``t``."""
    terms = {v: w for v, c in form.terms.items() if (w := wrap(c, t))}
    return Linear(terms, wrap(form.constant, t))


def _towards_zero(a: int, b: int) -> int:
    return a // b if a >= 0 else -(-a // b)


def says_more(a: Value, b: Value) -> bool:
    """Of equal integers: whether ``a`` is the better one to keep, as a constant, or as no choice between others."""
    return _vagueness(a) < _vagueness(b)


def _vagueness(value: Value) -> int:
    kind = value.op.opdef if value.op is not None else None
    return 0 if kind is ops.constant else 2 if kind is ops.select else 1
