"""Which loops around a value one rectangular buffer serves, and how long its rows are.

The extents of a buffer are known before the outermost of its loops. Most nests are rectangular: their loops run equally
often whatever the counters of others are. In some, what is not known outside moves the ends of a loop by a few
iterations only, as in ``range(1 + (i + colour) % 2, n, 2)`` or ``range(max(i - 2, 0), min(i + 3, n))``. These count as
rectangular, with rows as long as the longest can be: a row of its own for each outer iteration would take as much room,
and be allocated each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from adc.ir import ops
from adc.ir.arith import const_index, constant_of, trip_count
from adc.ir.core import Block, Op, Value
from adc.ir.opdef import OpDef
from adc.ir.types import index
from adc.passes.analysis.integers import Integers
from adc.passes.analysis.kinds import LOOPS
from adc.passes.analysis.linear import Linear

SLACK = 8  # iterations by which loops of a nest may differ, for each value that is not known outside
SHORT = 16  # iterations of loops that may be as long as that, or have none


class Rectangles:
    """The rectangular parts of the nests of one function."""

    def __init__(self) -> None:
        self._integers = Integers()
        self._spans: dict[tuple[Op, Op], Linear | None] = {}

    def around(self, loops: Sequence[Op], fixed: Iterable[Value] = ()) -> list[Op]:
        """The innermost of ``loops`` that one block of memory can serve: their extents, and the values ``fixed``, are
        known outside of them."""
        found: list[Op] = []
        for loop in reversed(loops):
            if loop.opdef is ops.while_ or not all(visible_outside(v, loop) for v in fixed):
                break
            if not all(self._is_known(inner, loop) for inner in (loop, *found)):
                break
            found.insert(0, loop)
        return found

    def trips(self, loop: Op, before: Op) -> Value:
        """How often ``loop`` runs at most, appended at the insertion point, which is outside ``before``."""
        if _is_fixed(loop, before):
            return trip_count(*loop.operands[:3])
        span = self._span(loop, before)
        assert span is not None
        total: Value = const_index(span.constant)
        for value, factor in span.terms.items():
            term = value if value.type == index else ops.index_cast(value, type=index)
            total = ops.addi(total, term if factor == 1 else ops.muli(term, const_index(factor)))
        step = constant_of(loop.operands[2])
        assert isinstance(step, int)
        return trip_count(const_index(0), total, const_index(step))

    def _is_known(self, loop: Op, outer: Op) -> bool:
        return _is_fixed(loop, outer) or self._span(loop, outer) is not None

    def _span(self, loop: Op, outer: Op) -> Linear | None:
        """A form in values from outside ``outer`` that the distance between the ends of ``loop`` does not exceed."""
        if (loop, outer) not in self._spans:
            known = constant_of(loop.operands[2]) is not None
            self._spans[loop, outer] = next(self._possible_spans(loop, outer), None) if known else None
        return self._spans[loop, outer]

    def _possible_spans(self, loop: Op, outer: Op) -> Iterator[Linear]:
        ends = [
            (low, high)
            for low in _operands_of(loop.operands[0], ops.maxsi)
            for high in _operands_of(loop.operands[1], ops.minsi)
        ]
        for low, high in ends:
            are_ends = low is loop.operands[0] and high is loop.operands[1]
            for exact in (True, False):
                a, b = (self._integers.linear(v, exact=exact) for v in (low, high))
                span = self._most(b.plus(a, -1), outer)
                # What may wrap around is the distance only if it is a number.
                if span is not None and ((exact and are_ends) or (not span.terms and span.constant <= SHORT)):
                    yield span

    def _most(self, form: Linear, outer: Op) -> Linear | None:
        """The form with what is not known outside ``outer`` at its extremes; None if these are far apart."""
        most = Linear({}, form.constant)
        for value, factor in form.terms.items():
            if visible_outside(value, outer):
                most = most.plus(Linear({value: factor}, 0))
                continue
            low, high = self._integers.interval(value)
            if (high - low) * abs(factor) > SLACK:
                return None
            most = most.plus_number(factor * (high if factor > 0 else low))
        return most


def _is_fixed(loop: Op, outer: Op) -> bool:
    return all(visible_outside(v, outer) for v in loop.operands[:3])


def _operands_of(value: Value, kind: OpDef) -> Iterator[Value]:
    """A value, and those of which it is the minimum or the maximum, by ``kind``."""
    yield value
    if value.op is not None and value.op.opdef is kind:
        for operand in value.op.operands:
            yield from _operands_of(operand, kind)


def loops_above(block: Block) -> list[Op]:
    """The loops around a block, outermost first."""
    loops: list[Op] = []
    op = block.parent_op
    while op is not None:
        if op.opdef in LOOPS:
            loops.append(op)
        op = op.parent.parent_op if op.parent is not None else None
    return loops[::-1]


def visible_outside(value: Value, loop: Op) -> bool:
    """Whether ``value`` is defined outside ``loop``."""
    block = value.block
    while block is not None:
        op = block.parent_op
        if op is loop:
            return False
        block = op.parent if op is not None else None
    return True
