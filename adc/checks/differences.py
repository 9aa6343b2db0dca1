"""Derivatives by finite differences of a function of one number, at zero.

Central differences are extrapolated (Richardson); how much the last two extrapolations differ is how far they can be
trusted. Where they cannot, smaller steps are tried: a kink may be near. At a kink the one-sided differences tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

Along = Callable[[float], float]  # a function along a direction, by the step

_STEPS = (2e-3, 4e-5, 8e-7)
_SINGLE = (4e-2,)
_LEVELS = 4
_TRUSTED = 1e-8  # an error, relative to the derivative, with which no smaller step is tried


@dataclass(frozen=True)
class Difference:
    """A derivative, about how far the extrapolation is off at most, and the smallest step."""

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
    if single:  # rounding is what is wrong with them, so the widest steps
        first = (4.0 * row[1] - row[0]) / 3.0
        return Difference(first, abs(first - row[0]) / 3.0, steps[1])
    last = row
    for order in range(1, _LEVELS):
        factor = 4.0**order
        last, row = row, [(factor * b - a) / (factor - 1.0) for a, b in pairwise(row)]
    error = abs(row[-1] - last[-1])
    return Difference(row[-1], error if math.isfinite(error) else math.inf, steps[-1])


def noise(f: Along, step: float) -> float:
    """About how much rounding changes ``f``: by sixth differences over steps in which it is smooth."""
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
    """Whether ``f`` has a kink, or jumps, at zero, and ``found`` lies between its one-sided slopes.

    Without one, the slopes come closer in proportion to the step.
    """
    h = 1e-2 if single else 1e-6
    (first, last), (low, high) = one_sided(f, h), one_sided(f, 0.1 * h)
    if not all(map(math.isfinite, (first, last, low, high, found))):
        return False
    near = (1e-2 if single else 1e-4) * max(abs(low), abs(high))
    stays = high - low > 0.5 * (last - first)
    return stays and high - low > 2.0 * near and low - near <= found <= high + near


def kink(f: Along, *, single: bool = False) -> tuple[float, float] | None:
    """The slopes to both sides of zero, the smaller first, if they stay apart however small the steps; else None.

    Central differences have the middle of them, which a derivative at a kink may well be. What rounding does, or an
    iteration that ends where it is accurate enough, grows as the step falls, and is none.
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
    """Whether a derivative is what differences say on both sides of zero, whatever it is at zero itself."""
    h, near = (1e-2, 5e-2) if single else (1e-5, 1e-3)
    return all(abs(derivative(step) - expected) <= near * max(1.0, abs(expected)) for step in (-h, h))


def jumps(f: Along) -> bool:
    """Whether ``f`` has another value on the left of zero than on the right: slopes grow as the step falls."""
    wide, narrow = ((f(h) - f(-h)) / (2.0 * h) for h in (1e-4, 1e-6))
    return abs(narrow) > 50.0 * abs(wide)


def taylor_slope(f: Along, found: float, size: float) -> float | None:
    """By what power of the step ``h`` the remainder ``f(h) - f(0) - h * found`` falls: 2 or more for a derivative.

    None if it is at rounding, where ``size`` is that of what ``f`` adds up. Fitted to the four smallest steps above it.
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
