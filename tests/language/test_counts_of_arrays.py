"""Lists of arrays of several shapes, how many of which an integer argument says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc


def pyramid(u: Any, n: Any) -> Any:
    levels = []
    for _ in range(n):
        levels.append(u)
        u = u[::2] * 0.5
    return sum(np.sum(v) ** 2 for v in levels)


def pyramid_from_the_last(u: Any, n: Any) -> Any:
    levels = [u]
    for _ in range(n):
        levels.append(_coarser(levels[-1]))
    out = levels[-1]
    for level in reversed(levels[:-1]):
        out = np.repeat(out, 2) + level
    return np.sum(out**2)


def _coarser(u: Any) -> Any:
    return 0.5 * (u[::2] + u[1::2])


def in_a_function(u: Any, n: Any) -> Any:
    return np.sum(_pyramid(u, n - 1)[-1] ** 2)


def _pyramid(u: Any, n: Any) -> Any:
    out = [u]
    for _ in range(n):
        out.append(_coarser(out[-1]))
    return out


class Levels:
    def __init__(self, u: Any) -> None:
        self.levels = [u]

    def add(self) -> None:
        self.levels.append(_coarser(self.levels[-1]) ** 2)


def in_a_method(u: Any, n: Any) -> Any:
    levels = Levels(u)
    for _ in range(n):
        levels.add()
    return sum(np.sum(v) for v in levels.levels)


def in_a_comprehension(u: Any, n: Any) -> Any:
    rows = [u[k:] * (k + 1) for k in range(n)]
    return sum(np.sum(row**2) for row in rows)


def stored(u: Any, n: Any) -> Any:
    rows = [u[:1] for _ in range(n)]
    for k in range(n):
        rows[k] = u[: min(n, 2)] * k
    return sum(np.sum(row**2) for row in rows)


def repeated(u: Any, n: Any) -> Any:
    rows = [None] * n
    for k in range(n):
        rows[k] = u[k:] ** 2
    return sum(np.sum(row) for row in rows)


def selected(u: Any, n: Any) -> Any:
    tests = [u > 0.3 * k for k in range(n)][::-1]
    return np.sum(np.select(tests, [u * (k + 1) for k in range(n)], default=0.0) ** 2)


def chosen(u: Any, n: Any) -> Any:
    return np.sum(np.choose(np.arange(8) % n, [u * (k + 1) for k in range(n)]) ** 2)


PROGRAMS = (
    pyramid,
    pyramid_from_the_last,
    in_a_function,
    in_a_method,
    in_a_comprehension,
    stored,
    repeated,
    selected,
    chosen,
)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_argument_says_how_many(program: Any) -> None:
    f, g, u = adc.jit_grad(program), adc.grad(program), np.linspace(-1.0, 1.5, 8)
    for n in (3, 2):
        np.testing.assert_allclose(f(u, n), program(u, n), rtol=1e-14)
        steps = [1e-6 * (np.arange(8) == k) for k in range(8)]
        slopes = [(program(u + h, n) - program(u - h, n)) / 2e-6 for h in steps]
        np.testing.assert_allclose(g(u, n), slopes, rtol=1e-6, atol=1e-8)


def test_items_of_one_shape_stay_a_loop() -> None:
    def program(a: Any, x: Any, n: Any) -> Any:
        history = [x]
        for _ in range(n):
            history.append(a @ history[-1])
        return np.array(history)[-1]

    f, a, x = adc.jit_grad(program), np.eye(3) * 0.5, np.ones(3)
    for n in (3, 40):
        np.testing.assert_array_equal(f(a, x, n), program(a, x, n))
    assert "%n: i64" in f.dump_ir("traced")
