"""Lists to which each iteration of a loop appends have room for all items before it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adc import jit_grad


def history(x: Any) -> Any:
    """What is appended is a number of before the loop first, and then one of the iteration before."""
    before, found = 0.0, []
    for v in x:
        found.append(before)
        before = v
    return np.sum(np.array(found) ** 2)


def running(x: Any) -> Any:
    total, found = 0.0, []
    for k in range(len(x)):
        found.append((total, x[k]))
        found.append((total * 2.0, total))
        total += x[k] * x[k]
    return sum(a * b for a, b in found)


def counted(x: Any) -> Any:
    kind, found = 0, [0]
    for v in x:
        found.append(kind)
        kind = v * v
    return sum(f * f for f in found)


@pytest.mark.parametrize("function", [history, running, counted], ids=lambda f: f.__name__)
@pytest.mark.parametrize("engine", ["native", "interpreter"])
def test_the_room_of_a_list_stays_when_its_items_get_another_type(function: Any, engine: str) -> None:
    """The interpreter notices what is stored beyond the end of an array."""
    compiled = jit_grad(function, _engine=engine)
    for n in (0, 1, 7):
        x = np.linspace(0.5, 1.5, n)
        assert compiled(x) == pytest.approx(function(x), rel=1e-14)
        (slope,) = compiled.jvp((x,), (np.cos(x),))[1:]
        for _ in range(2):
            assert np.dot(compiled.grad(x), np.cos(x)) == pytest.approx(slope, rel=1e-12)
