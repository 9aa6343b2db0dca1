"""Index-set splitting: loops over points that treat those at the boundary differently become several loops.

    for i in range(n):                           for i in range(0, 1): ...
        left = u[i - 1] if i > 0 else u[n - 1]   for i in range(1, n): left = u[i - 1] ...

A condition that compares the counter with something constant in the loop has one value on each side of a *threshold*.
The range is cut there, so that the large part in the middle has neither the condition nor wrapped subscripts: it can be
shown to stay within bounds, made SIMD, and its adjoint gathered. ``(i + 1) % n`` is such a condition as well, and so
are subscripts ``max(i - 1, 0)`` and ``min(i + 1, n - 1)``. ``u[i - 1]`` where ``i`` begins at 0 counts as one only
where arrays are distributed among ranks: elsewhere two loops would be more code, and it would no longer be known that
together they write each element once. A loop is also cut where it reaches an element that all its iterations read
(``meetings``).

The parts run in order, so a loop whose order matters keeps its meaning. But only loops that may turn out to be parallel
are cut: those in which everything that is stored to is subscripted by the counter. There is at most one cut near each
end, and the few iterations outside it keep their conditions.

Reference: Griebl, Feautrier and Lengauer, Index set splitting, Int. J. Parallel Programming 28, 2000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const, constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.moments import strip_views
from adc.ir.nesting import inside
from adc.ir.opdef import OpDef
from adc.ir.rewrite import Mapping, clone_block
from adc.ir.types import MemRefType, i1, index
from adc.passes.analysis.attributes import MIRRORED
from adc.passes.analysis.cold import warm_regions
from adc.passes.analysis.integers import Integers
from adc.passes.analysis.kinds import TARGET, unchecked
from adc.passes.analysis.linear import Linear
from adc.passes.bounds.meetings import meetings
from adc.passes.rewrite import replace_op

_TESTS = frozenset({ops.cmpi, ops.minsi, ops.maxsi, ops.remsi, ops.bound})
_OF_SUBSCRIPTS = frozenset({ops.bound, ops.minsi, ops.maxsi, ops.load, ops.store})

_OTHER_EXTREME = {ops.minsi: ops.maxsi, ops.maxsi: ops.minsi}

MAX_INNER_CUTS = 2  # cuts that are near neither end
MAX_GROWTH = 1000
NEAR = 64  # iterations that still count as near the end
LARGEST = (1 << 63) - 1
_ONE = Linear({}, 1)


@dataclass(frozen=True)
class SplitIndexSets:
    """Cut loops at the thresholds of their conditions. ``rims``: also in the few iterations near the ends, and where
    subscripts begin to count from the end; this is for arrays that are distributed among ranks."""

    rims: bool = False
    name: ClassVar[str] = "split-index-sets"

    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            _Splitting(self.rims).block(func.body)
        return module


@dataclass(frozen=True)
class _Test:
    """An operation that is simpler on one side of each of its thresholds, which are in order.

    ``sides``: its value where the counter has passed none of them, one, and so on; None where it stays as it is.
    ``ends``: whether a threshold counts only near the end of the loop.
    """

    op: Op
    thresholds: tuple[Linear, ...]
    sides: tuple[Value | bool | None, ...]
    ends: bool = False


@dataclass
class _Cuts:
    low: Linear | None = None
    inner: list[Linear] = field(default_factory=list)
    high: Linear | None = None

    def all(self) -> list[Linear]:
        return [t for t in (self.low, *self.inner, self.high) if t is not None]


class _Splitting:
    def __init__(self, rims: bool) -> None:
        self._integers = Integers()
        self._rims = rims

    def block(self, block: Block) -> None:
        new = block.in_place_of()
        for op in block.ops:
            cuts = self._cuts(op)
            if cuts is not None:
                self._cut(op, *cuts, new)
                continue
            new.append(op)
            for region in warm_regions(op):
                self.block(region)
        block.set_ops(new.ops)

    # What to do -------------------------------------------------------------------------------------------------------

    def _cuts(self, loop: Op) -> tuple[list[_Test], _Cuts] | None:
        """The tests in a loop that is to be cut, and the places to cut."""
        if loop.opdef not in (ops.for_, ops.parallel) or constant_of(loop.operands[2]) != 1:
            return None
        tests = [test for op in loop.regions[0].walk() if (test := self._test(loop, op)) is not None]
        tests += [_Test(op, (at, at.plus(_ONE, 1)), (None,) * 3) for op, at in meetings(loop, self._integers)]
        if not tests or not may_be_parallel(loop, self._integers):
            return None
        lower, upper = (self._integers.linear(v, exact=True) for v in loop.operands[:2])
        cuts = _Cuts()
        for test, threshold in ((each, t) for each in tests for t in each.thresholds):
            above, below = _known(threshold.plus(lower, -1)), _known(upper.plus(threshold, -1))
            if (above is not None and above <= 0) or (below is not None and below <= 0):
                continue  # one side is empty
            if not self._computable(threshold):
                continue
            if above is not None and above <= NEAR:
                if cuts.low is None or above > (_known(cuts.low.plus(lower, -1)) or 0):
                    cuts.low = threshold
            elif below is not None and below <= NEAR:
                if cuts.high is None or below > (_known(upper.plus(cuts.high, -1)) or 0):
                    cuts.high = threshold
            elif not test.ends and all(_known(threshold.plus(t, -1)) != 0 for t in cuts.inner):
                cuts.inner.append(threshold)
        if len(cuts.inner) > MAX_INNER_CUTS:
            cuts.inner = []
        count = len(cuts.all())
        if not count or count * sum(1 for _ in loop.regions[0].walk()) > MAX_GROWTH:
            return None
        trips = _known(upper.plus(lower, -1))
        return None if trips is not None and trips <= NEAR else (tests, cuts)

    def _test(self, loop: Op, op: Op) -> _Test | None:
        kind = op.opdef
        if kind not in _TESTS or op.operands[0].type != index or (kind is ops.bound and not self._rims):
            return None
        counter = loop.regions[0].args[0]
        inner = [self._unclamped(v, kind, counter) for v in op.operands]
        a, b = (self._integers.linear(v, exact=True) for v in inner)
        form = a if kind in (ops.remsi, ops.bound) else a.plus(b, -1)
        sign = form.terms.get(counter)
        if sign not in (1, -1):
            return None
        rest = Linear({v: c for v, c in form.terms.items() if v is not counter}, form.constant)
        at = rest.times(-sign)
        after = at.plus(Linear({}, 1))
        if kind is ops.cmpi:
            predicate = op.attrs["predicate"] if sign == 1 else MIRRORED[op.attrs["predicate"]]
            found = {
                "slt": _Test(op, (at,), (True, False)),
                "sge": _Test(op, (at,), (False, True)),
                "sle": _Test(op, (after,), (True, False)),
                "sgt": _Test(op, (after,), (False, True)),
                "eq": _Test(op, (at, after), (False, True, False)),
                "ne": _Test(op, (at, after), (True, False, True)),
            }[predicate]
        elif kind is ops.minsi or kind is ops.maxsi:
            if not all(user.opdef in _OF_SUBSCRIPTS for user, _ in op.result.uses):
                return None
            sides = [v if v is same else None for v, same in zip(op.operands, inner, strict=True)]
            sides = sides if (kind is ops.minsi) == (sign == 1) else sides[::-1]
            found = _Test(op, (after if kind is ops.minsi else at,), tuple(sides), ends=True)
        elif sign == -1:
            return None
        elif kind is ops.remsi:
            if (_known(b) or LARGEST) <= NEAR:
                return None  # a parity, or which of a few colours: most iterations are beyond the first period
            found = _Test(op, (at, at.plus(b, 1)), (None, op.operands[0], None))
        else:
            found = _Test(op, (at,), (None, None), ends=True)
        varies = any(inside(value, loop) for t in found.thresholds for value in t.terms)
        return None if varies else found

    def _unclamped(self, v: Value, kind: OpDef, counter: Value) -> Value:
        """``f`` where ``v`` is ``max(f, c)`` and within a minimum, or the other way round, as in ``min(max(f, 0), n)``:
        where ``f`` is at least ``n``, so is ``v``."""
        if v.op is None or v.op.opdef is not _OTHER_EXTREME.get(kind):
            return v
        varying = [f for f in v.op.operands if counter in self._integers.linear(f, exact=True).terms]
        return varying[0] if len(varying) == 1 else v

    def _computable(self, threshold: Linear) -> bool:
        """Whether a threshold fits into 64 bits, certainly or as ``materialise`` makes it."""
        signs = (threshold, threshold.times(-1))
        return _is_value_or_next(threshold) or all(self._integers.least(form) >= -LARGEST for form in signs)

    # Doing it ---------------------------------------------------------------------------------------------------------

    def _cut(self, loop: Op, tests: Sequence[_Test], cuts: _Cuts, block: Block) -> None:
        """Append the parts of ``loop``, which is dropped, to ``block``."""
        places = cuts.all()
        lower, upper, step, *carried = loop.operands
        ends = [self._integers.linear(v, exact=True) for v in (lower, upper)]
        borders = [ends[0], *places, ends[1]]
        with insert_at(block, loop.loc):
            values = [materialise(t) for t in places]
            start = lower
            for part in range(len(places) + 1):
                end = upper if part == len(places) else ops.minsi(values[part], upper)
                mapping: Mapping = {}
                body = clone_block(loop.regions[0], mapping)
                for test in tests:
                    self._simplify(test, mapping, borders[: part + 1], borders[part + 1])
                attrs = dict(loop.attrs)
                types = [r.type for r in loop.results]
                made = build(loop.opdef, [start, end, step, *carried], attrs, types, [body])
                for old, new in zip(loop.results, made.results, strict=True):
                    new.hint = old.hint
                carried = list(made.results)
                rim = (part == 0 and cuts.low is not None) or (part == len(places) and cuts.high is not None)
                if self._rims or not rim:
                    self.block(body)
                if part < len(places):
                    start = ops.maxsi(start, values[part])
        replace_op(loop, carried)

    def _simplify(self, test: _Test, mapping: Mapping, before: Sequence[Linear], after: Linear) -> None:
        """In a copy of the loop, use that its counter is at least all of ``before`` and less than ``after``."""
        passed = []
        for threshold in test.thresholds:
            if any(_at_most(threshold, t) for t in before):
                passed.append(True)
            elif _at_most(after, threshold):
                passed.append(False)
            else:
                return
        side = test.sides[sum(passed)]
        if side is None or passed != sorted(passed, reverse=True):
            return
        found = const(side, i1) if isinstance(side, bool) else mapping.get(side, side)
        mapping[test.op.result].replace_uses(found)


def may_be_parallel(loop: Op, integers: Integers) -> bool:
    """Whether iterations are not certain to write what others write."""
    if any(isinstance(r.type, MemRefType) for r in loop.results):
        return False
    counter = loop.regions[0].args[0]
    for op in loop.regions[0].walk():
        if op.opdef is ops.call and any(isinstance(v.type, MemRefType) for v in op.operands):
            return False
        if op.opdef not in TARGET or inside(strip_views(op.operands[1]), loop):
            continue
        if not any(counter in _follows(v, integers) for v in op.operands[2:]):
            return False
    return True


def _follows(subscript: Value, integers: Integers) -> dict[Value, int]:
    """The values that a subscript, with or without counting from the end, is a linear form of."""
    return integers.linear(unchecked(subscript)).terms


def _known(form: Linear) -> int | None:
    return None if form.terms else form.constant


def _at_most(a: Linear, b: Linear) -> bool:
    known = _known(b.plus(a, -1))
    return known is not None and known >= 0


def _is_value_or_next(form: Linear) -> bool:
    return list(form.terms.values()) == [1] and form.constant in (0, 1)


def materialise(form: Linear) -> Value:
    """The value of a threshold. No counter reaches the largest integer, so ``x + 1`` may stop there."""
    if form.constant == 1 and _is_value_or_next(form):
        (value,) = form.terms
        return ops.addi(ops.minsi(_as_index(value), const(LARGEST - 1, index)), const(1, index))
    total: Value | None = None
    for value, coefficient in sorted(form.terms.items(), key=lambda item: item[1] < 0):
        term = _as_index(value)
        if abs(coefficient) != 1:
            term = ops.muli(term, const(abs(coefficient), index))
        if total is None:
            total = term if coefficient > 0 else ops.subi(const(0, index), term)
        else:
            total = (ops.addi if coefficient > 0 else ops.subi)(total, term)
    if total is None:
        return const(form.constant, index)
    return ops.addi(total, const(form.constant, index)) if form.constant else total


def _as_index(value: Value) -> Value:
    return value if value.type == index else ops.index_cast(value, type=index)
