"""Which loops around a value one rectangular buffer serves, and how long its rows are.

The extents of a buffer are known before the outermost of its loops. Most nests are rectangular: their loops run equally
often whatever the counters of others are. In some, what is not known outside moves the ends of a loop by a few
iterations only, as in ``range(1 + (i + colour) % 2, n, 2)`` or ``range(max(i - 2, 0), min(i + 3, n))``. These count as
rectangular, with rows as long as the longest can be, if there is little room that is never used: a row of its own for
each outer iteration would take as much, and be allocated each time. So it does not pay where a loop runs often only now
and then, as in ``range(8 if step % 50 == 0 else 1)``, and there are others inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from adc.ir import ops
from adc.ir.arith import const_index, constant_of, trip_count
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, inside
from adc.ir.opdef import OpDef
from adc.ir.types import i1, index
from adc.passes.analysis.costs import trips
from adc.passes.analysis.integers import Integers, counter_bounds
from adc.passes.analysis.kinds import COUNTED, LOOPS
from adc.passes.analysis.linear import Linear

SLACK = 8  # iterations by which loops of a nest may differ, for each value that is not known outside
SHORT = 16  # iterations of loops that may be as long as that, or have none
FEW = 8  # elements that a row may have too many: a row of its own takes more, as it needs a descriptor and a header
SHARE = 0.75  # of the room of longer rows, what is used at least
_LENGTH = 8  # iterations that loops are taken to have whose number is known when the function runs, besides the slack


@dataclass(frozen=True)
class _Span:
    """``most``: a form in values from outside a nest that the distance between the ends of one of its loops does not
    exceed. ``least`` and ``longest``: how often the loop runs, estimated, when it runs least or most often; both are
    equal if only the first or the last few times are shorter."""

    most: Linear
    least: float
    longest: float


class Rectangles:
    """The rectangular parts of the nests of one function."""

    def __init__(self) -> None:
        self._integers = Integers()
        self._spans: dict[tuple[Op, Op], _Span | None] = {}

    def around(self, loops: Sequence[Op], fixed: Iterable[Value] = (), elements: float = 1.0) -> list[Op]:
        """The innermost of ``loops`` that one block of memory can serve: their extents, and the values ``fixed``, are
        known outside of them. ``elements``: how many an iteration of all of them keeps."""
        found: list[Op] = []
        for loop in reversed(loops):
            if loop.opdef is ops.while_ or any(inside(v, loop) for v in fixed):
                break
            if not self._is_rectangle([loop, *found], elements):
                break
            found.insert(0, loop)
        return found

    def trips(self, loop: Op, before: Op) -> Value:
        """How often ``loop`` runs at most, appended at the insertion point, which is outside ``before``."""
        if _is_fixed(loop, before):
            return trip_count(*loop.operands[:3])
        span = self._span(loop, before)
        assert span is not None
        total: Value = const_index(span.most.constant)
        for value, factor in span.most.terms.items():
            term = value if value.type == index else ops.index_cast(value, type=index)
            total = ops.addi(total, term if factor == 1 else ops.muli(term, const_index(factor)))
        step = constant_of(loop.operands[2])
        assert isinstance(step, int)
        return trip_count(const_index(0), total, const_index(step))

    def _is_rectangle(self, nest: Sequence[Op], elements: float) -> bool:
        """Whether the extents of ``nest`` are known outside of it, and most of the room is used wherever it is too
        long: slack of several loops multiplies, and that of an outer one takes as much as all that is inside."""
        room = used = elements
        for loop in reversed(nest):
            if _is_fixed(loop, nest[0]):
                least = longest = trips(loop)
            else:
                span = self._span(loop, nest[0])
                if span is None:
                    return False
                least, longest = span.least, span.longest
            room, used = longest * room, least * used
            if least < longest and room - used > FEW and used < SHARE * room:
                return False
        return True

    def _span(self, loop: Op, outer: Op) -> _Span | None:
        if (loop, outer) not in self._spans:
            step = constant_of(loop.operands[2])
            found = list(self._possible_spans(loop, outer, step)) if isinstance(step, int) and step > 0 else []
            # A number is better than what is known only when the function runs.
            self._spans[loop, outer] = min(found, key=lambda s: (bool(s.most.terms), s.longest, -s.least), default=None)
        return self._spans[loop, outer]

    def _possible_spans(self, loop: Op, outer: Op, step: int) -> Iterator[_Span]:
        lows = list(_operands_of(loop.operands[0], ops.maxsi))
        highs = list(_operands_of(loop.operands[1], ops.minsi))
        for low, high in product(lows, highs):
            are_ends = low is loop.operands[0] and high is loop.operands[1]
            for exact in (True, False):
                form = self._distance(low, high, exact=exact)
                most, slack = self._most(form, outer)
                if most is None:
                    continue
                if most.terms and exact and are_ends:
                    more = _iterations(slack, step)
                    rare = any(_is_choice(v) and inside(v, outer) for v in form.terms)
                    least = 0 if rare else _LENGTH
                    yield _Span(most, least, least + more)
                if most.terms:
                    continue
                # What may wrap around is the distance only if it is a number.
                longest = _iterations(most.constant, step)
                if exact and are_ends:
                    yield _Span(most, _iterations(most.constant - slack, step), longest)
                elif most.constant <= SHORT:
                    is_full = not slack and self._is_clipped_at_ends(lows, highs, loop, outer)
                    yield _Span(most, longest if is_full else 0, longest)

    def _distance(self, low: Value, high: Value, *, exact: bool) -> Linear:
        return self._integers.linear(high, exact=exact).plus(self._integers.linear(low, exact=exact), -1)

    def _most(self, form: Linear, outer: Op) -> tuple[Linear | None, int]:
        """The form with what is not known outside ``outer`` at its extremes, and by how much it can be less; None if
        these are far apart."""
        most, slack = Linear({}, form.constant), 0
        for value, factor in form.terms.items():
            if not inside(value, outer):
                most = most.plus(Linear({value: factor}, 0))
                continue
            low, high = self._integers.interval(value)
            distance = (high - low) * abs(factor)
            if distance > SLACK:
                return None, 0
            slack += distance
            most = most.plus_number(factor * (high if factor > 0 else low))
        return most, slack

    def _is_clipped_at_ends(self, lows: Sequence[Value], highs: Sequence[Value], loop: Op, outer: Op) -> bool:
        """Whether ``loop`` always runs from the largest of ``lows`` to the smallest of ``highs``, and is as long as two
        of them allow, but for a few iterations at the ends of another loop."""
        around = [op for op in enclosing(loop.parent) if op.opdef in COUNTED]
        for low, high in product(lows, highs):
            if _is_extreme(low, ops.maxsi) or _is_extreme(high, ops.minsi):
                continue  # its operands are among them
            form = self._distance(low, high, exact=True)
            if not _moves_steadily(form, outer) or not self._integers.holds(form.plus_number(-1), around):
                return False
        return True


def _moves_steadily(form: Linear, outer: Op) -> bool:
    """Whether a form is known outside ``outer``, or changes with each iteration of a loop, and not otherwise in it."""
    if not any(inside(v, outer) for v in form.terms):
        return True
    return any(
        counter_bounds(v) is not None and all(w is v or not inside(w, _loop_of(v)) for w in form.terms)
        for v in form.terms
    )


def _loop_of(counter: Value) -> Op:
    assert counter.block is not None and counter.block.parent_op is not None
    return counter.block.parent_op


def _is_choice(value: Value) -> bool:
    """Whether a condition chooses ``value``: which of its values is the usual one is not known."""
    op = value.op
    if op is None or op.opdef in (ops.select, ops.if_):
        return op is not None
    return any(v.type == i1 for v in op.operands)


def _iterations(distance: int, step: int) -> int:
    return max(0, -(-distance // step))


def _is_fixed(loop: Op, outer: Op) -> bool:
    return not any(inside(v, outer) for v in loop.operands[:3])


def _operands_of(value: Value, kind: OpDef) -> Iterator[Value]:
    """A value, and those of which it is the minimum or the maximum, by ``kind``."""
    yield value
    if _is_extreme(value, kind):
        assert value.op is not None
        for operand in value.op.operands:
            yield from _operands_of(operand, kind)


def _is_extreme(value: Value, kind: OpDef) -> bool:
    return value.op is not None and value.op.opdef is kind


def loops_above(block: Block) -> list[Op]:
    """The loops around a block, outermost first."""
    return [op for op in enclosing(block) if op.opdef in LOOPS][::-1]
