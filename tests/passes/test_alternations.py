"""Loop values that alternate between two, depending on the counter: values and derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from adc import jit_grad


def test_alternating_signs() -> None:
    def series(x, n, c):
        total, sign, flip, other = 0.0, 1.0, c, c > 0
        for k in range(n):
            total += sign * x ** (2 * k + 1) / (2.0 * k + 1.0) * (flip + 1)
            if other:
                total += 0.25 * x
            sign = -sign
            flip = 3 - flip
            other = not other
        return total * sign * (flip + 2) + (0.5 if other else 0.0)

    compiled = jit_grad(series)
    for n in (0, 1, 4, 7):
        assert compiled(0.5, n, 1) == series(0.5, n, 1)
        by_difference = (series(0.5 + 1e-6, n, 1) - series(0.5 - 1e-6, n, 1)) / 2e-6
        assert compiled.grad(0.5, n, 1) == pytest.approx(by_difference, rel=1e-6, abs=1e-9)


def test_an_alternating_number_that_is_differentiated() -> None:
    def f(x, a):
        total = 0.0
        for k in range(len(x)):
            total += x[k] * a * a
            a = -a
        return total + a * 0.1

    compiled = jit_grad(f, argnums=1)
    for count in (0, 1, 4):
        x = np.linspace(1.0, 2.0, count)
        exact = 2.0 * 0.3 * np.sum(x) + 0.1 * (-1.0) ** count
        assert compiled(x, 0.3) == f(x, 0.3)
        assert compiled.grad(x, 0.3) == pytest.approx(exact, rel=1e-13)
