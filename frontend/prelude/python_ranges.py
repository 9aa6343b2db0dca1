"""Items and slices of a ``range``, which is given by its start, its stop and its step."""

from __future__ import annotations

from typing import Any

import numpy as np


def length(start: Any, stop: Any, step: Any) -> Any:
    if step > 0:
        return max(0, (stop - start + step - 1) // step)
    return max(0, (start - stop - step - 1) // -step)


def item(start: Any, stop: Any, step: Any, k: Any) -> Any:
    n = length(start, stop, step)
    if not -n <= k < n:
        raise IndexError("range object index out of range")
    return start + (k + n if k < 0 else k) * step


def part(start: Any, stop: Any, step: Any, lower: Any, upper: Any, by: Any) -> Any:
    first, last, stride = slice(lower, upper, by).indices(length(start, stop, step))
    return start + first * step, start + last * step, step * stride


def contains(start: Any, stop: Any, step: Any, value: Any) -> Any:
    """``value in numbers``, also for a float."""
    if step == 0:
        raise ValueError("range() arg 3 must not be zero")
    number = int(value) if isinstance(value, np.integer) else value
    inside = start <= number < stop if step > 0 else stop < number <= start
    return inside and (number - start) % step == 0


def added_up(numbers: Any, total: Any) -> Any:
    """``sum(numbers, total)``."""
    for k in numbers:
        total += k
    return total
