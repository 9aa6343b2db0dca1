"""Finite differences of a function of one number, at zero.

Central differences are extrapolated (Richardson); the difference of the last two extrapolations estimates the error. If
it is large, smaller steps are tried, because a kink may be near. One-sided differences detect a kink at zero itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

from adc.ir.lazy_dataclass import dataclass

Along = Callable[[float], float]  # a function of the step along a direction

_STEPS = (2e-3, 4e-5, 8e-7)
_SINGLE = (4e-2,)
_LEVELS = 4
_TRUSTED = 1e-8  # a relative error for which no smaller step is tried


@dataclass(frozen=True)
class Difference:
    """A derivative, an estimate of the extrapolation error, and the smallest step."""

    value: float
    error: float
    step: float


def derivative(f: Along, *, single: bool = False) -> Difference:
    """The derivative at zero. ``single``: values are in single precision."""
    best: Difference | None = None
    for step in _SINGLE if single else _STEPS:
        found = _extrapolated(f, step, single)
        if best is None or found.error < best.error or not math.isfinite(best.error):
            best = found
        if best.error <= _TRUSTED * max(1.0, abs(best.value)):
            break
    assert best is not None
    return best


def _extrapolated(f: Along, step: float, single: bool) -> Difference:
    steps = [step / 2**k for k in range(_LEVELS)]
    row = [(f(h) - f(-h)) / (2.0 * h) for h in steps]
    if single:  # rounding errors dominate, so the widest steps are best
        first = (4.0 * row[1] - row[0]) / 3.0
        return Difference(first, abs(first - row[0]) / 3.0, steps[1])
    last = row
    for order in range(1, _LEVELS):
        factor = 4.0**order
        last, row = row, [(factor * b - a) / (factor - 1.0) for a, b in pairwise(row)]
    error = abs(row[-1] - last[-1])
    return Difference(row[-1], error if math.isfinite(error) else math.inf, steps[-1])


def noise(f: Along, step: float) -> float:
    """An estimate of the rounding noise in ``f``, from sixth differences over steps in which it is smooth."""
    row = [f(k * 0.25 * step) for k in range(-5, 6)]
    largest = max(map(abs, row))
    for _ in range(6):
        row = [b - a for a, b in pairwise(row)]
    return max(*map(abs, row)) / math.sqrt(924.0) + 2.2e-16 * largest


def one_sided(f: Along, h: float) -> tuple[float, float]:
    """The slopes to the left and to the right of zero, over a step, the smaller first."""
    middle = f(0.0)
    left, right = (middle - f(-h)) / h, (f(h) - middle) / h
    return min(left, right), max(left, right)


def kinked(f: Along, found: float, *, single: bool = False) -> bool:
    """Whether ``f`` has a kink or a jump at zero, and ``found`` lies between its one-sided slopes.

    At a smooth point the difference of the slopes is proportional to the step.
    """
    h = 1e-2 if single else 1e-6
    (first, last), (low, high) = one_sided(f, h), one_sided(f, 0.1 * h)
    if not all(map(math.isfinite, (first, last, low, high, found))):
        return False
    near = (1e-2 if single else 1e-4) * max(abs(low), abs(high))
    stays = high - low > 0.5 * (last - first)
    return stays and high - low > 2.0 * near and low - near <= found <= high + near


def kink(f: Along, *, single: bool = False) -> tuple[float, float] | None:
    """The slopes on both sides of zero, the smaller first, if they stay apart however small the steps are; else None.

    At a kink central differences give the mean of the two, which may well be the derivative there. Gaps due to
    rounding, or to an iteration that stops at a tolerance, grow as the step falls, and do not count as kinks.
    """
    steps = (4e-2, 1e-2, 4e-3) if single else (1e-4, 1e-5, 1e-6)
    slopes = [one_sided(f, h) for h in steps]
    gaps = [high - low for low, high in slopes]
    if not all(map(math.isfinite, gaps)):
        return None
    low, high = slopes[-1]
    apart = min(gaps) > (5e-2 if single else 1e-3) * max(abs(low), abs(high))
    if not (apart and max(gaps) < 1.5 * min(gaps)):
        return None
    h = steps[-1]
    rough = max(noise(lambda t, side=side: f(side + t), h) for side in (-4.0 * h, 4.0 * h))  # type: ignore[misc]
    return (low, high) if min(gaps) * h > 20.0 * rough else None


def isolated(derivative: Along, expected: float, *, single: bool = False) -> bool:
    """Whether a derivative agrees with differences on both sides of zero, whatever it is at zero itself."""
    h, near = (1e-2, 5e-2) if single else (1e-5, 1e-3)
    return all(abs(derivative(step) - expected) <= near * max(1.0, abs(expected)) for step in (-h, h))


def jumps(f: Along) -> bool:
    """Whether ``f`` jumps at zero: slopes grow as the step falls."""
    wide, narrow = ((f(h) - f(-h)) / (2.0 * h) for h in (1e-4, 1e-6))
    return abs(narrow) > 50.0 * abs(wide)


def taylor_slope(f: Along, found: float, size: float) -> float | None:
    """The power of the step ``h`` with which the remainder ``f(h) - f(0) - h * found`` falls: 2 or more for a
    derivative.

    None if the remainder is at rounding level; ``size`` is the size of the terms in ``f``. The power is fitted to the
    four smallest steps above that level.
    """
    middle = f(0.0)
    points: list[tuple[float, float]] = []
    for k in range(3, 24):
        h = 2.0**-k
        value = f(h)
        remainder = abs(value - middle - h * found)
        if not remainder > 4e3 * 2.2e-16 * max(size, abs(middle), abs(value)):
            break
        points.append((math.log(h), math.log(remainder)))
    points = points[-4:]
    if len(points) < 3:
        return None
    x = sum(p[0] for p in points) / len(points)
    y = sum(p[1] for p in points) / len(points)
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)
