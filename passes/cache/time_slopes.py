"""How far the edge of a block of rows moves from statement to statement when a block does several steps at once.

Statement ``i`` of step ``s`` depends on rows of statements before it, in the same step or in others: it reads what they
wrote, or overwrites what they read or wrote. Say a block does rows from ``a + lower[i] + s * lower_slope`` to
``b - upper[i] - s * upper_slope``. Everything it depends on is in the same block if, for each dependence of row
``x + distance`` of the later one on row ``x`` of the earlier one, ``steps`` steps before::

    lower[later] + steps * lower_slope >= lower[earlier] + distance
    upper[later] + steps * upper_slope >= upper[earlier] - distance

The least slopes are those for which no cycle of dependences gains rows, and the least offsets follow by longest paths
(Wonnacott, Achieving scalable locality with time skewing, IJPP 2002). What blocks leave out, the seams between them,
comes after all blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

from adc.ir.lazy_dataclass import dataclass
from adc.passes.analysis.dependence import Analysis
from adc.passes.cache.time_steps import NO_AXIS, Steps, Touch, Unfit, varies

STEEPEST = 64  # rows for each step


@dataclass(frozen=True)
class Dependence:
    """A dependence between the statements with the numbers ``later`` and ``earlier``."""

    earlier: int
    later: int
    steps: int
    distance: int


@dataclass(frozen=True)
class Slopes:
    """The rows by which blocks shrink at their lower and upper ends: the slope per step, and offsets of each statement.

    ``reach``: the greatest distance of a dependence.
    """

    lower: int
    upper: int
    lower_offsets: tuple[int, ...]
    upper_offsets: tuple[int, ...]
    reach: int


def find_slopes(analysis: Analysis, steps: Steps) -> Slopes:
    """The least slopes that all dependences allow. Raises ``Unfit`` if there are none."""
    found = list(dict.fromkeys(dependences(analysis, steps)))
    count = len(steps.statements)
    lower, lower_offsets = _least(count, [(d.earlier, d.later, d.steps, d.distance) for d in found])
    upper, upper_offsets = _least(count, [(d.earlier, d.later, d.steps, -d.distance) for d in found])
    return Slopes(lower, upper, lower_offsets, upper_offsets, max((abs(d.distance) for d in found), default=0))


def _least(count: int, edges: list[tuple[int, int, int, int]]) -> tuple[int, tuple[int, ...]]:
    for slope in range(STEEPEST + 1):
        offsets = [0] * count
        for _ in range(count + 1):
            changed = False
            for earlier, later, steps, distance in edges:
                least = offsets[earlier] + distance - steps * slope
                if offsets[later] < least:
                    offsets[later] = least
                    changed = True
            if not changed:
                return slope, tuple(offsets)
    raise Unfit(f"a step reaches further than {STEEPEST} rows")


def dependences(analysis: Analysis, steps: Steps) -> Iterator[Dependence]:
    """The dependences between statements; those on a later step with the least number of steps between."""
    for earlier in steps.statements:
        for later in steps.statements:
            for a in earlier.touches:
                for b in later.touches:
                    if a.field == b.field and (a.access.changes or b.access.changes):
                        least = 0 if earlier.number < later.number else 1
                        apart = _steps_apart(analysis, steps, a, b, least)
                        if apart is not None:
                            if steps.rows[a.field] == NO_AXIS and earlier.lower != later.lower:
                                raise Unfit("what has no rows is used at several", later.op)
                            yield Dependence(earlier.number, later.number, apart, a.shift - b.shift)


def _steps_apart(analysis: Analysis, steps: Steps, a: Touch, b: Touch, least: int) -> int | None:
    """The least number of steps after which ``b`` may touch what ``a`` touched; None if it never does."""
    exact = _by_time(analysis, steps, a, b)
    if exact is not None and exact < least:
        return None
    cycle = a.field.cycle
    if not cycle:
        return least if exact is None or exact < 0 else exact
    # A step later, a buffer is where the one before it in the cycle was.
    args = steps.body.args
    own, other = (cycle.index(args.index(touch.access.base) - 1) for touch in (a, b))
    apart = (own - other) % len(cycle)
    if exact is not None:
        return exact if exact % len(cycle) == apart else None
    while apart < least:
        apart += len(cycle)
    return apart


def _by_time(analysis: Analysis, steps: Steps, a: Touch, b: Touch) -> int | None:
    """The only number of steps after which the subscripts may be equal; -1 for none; None if they do not tell."""
    counter = analysis.forms.symbol(steps.body.args[0])
    row = steps.rows[a.field]
    found: int | None = None
    assert a.access.where is not None and b.access.where is not None
    for axis, ((p, end), (q, last)) in enumerate(zip(a.access.where, b.access.where, strict=True)):
        if axis == row or p is not end or q is not last:
            continue
        (factor, own), (other_factor, other) = p.split(counter), q.split(counter)
        difference = own - other
        if factor != other_factor or not factor.is_constant or not difference.is_constant:
            continue
        if any(varies(form, steps.loop) for form in (own, other)):
            continue
        if not factor.terms:
            if difference.terms:
                return -1
            continue
        number, remainder = divmod(difference.constant, factor.constant)
        if remainder or number < 0 or (found is not None and found != number):
            return -1
        found = number
    return found
