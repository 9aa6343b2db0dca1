"""inline: small callees in loops, and the optimisations that this enables."""

from __future__ import annotations

import numpy as np
import pytest

from adc import jit_grad


def rotate(v, w, i):
    s = v[i] * w[0] - v[i + 1] * w[1]
    v[i] = s
    return s * 0.5


def twice(v, w, i):
    return rotate(v, w, i) + rotate(v, w, i)


def walk(v, w):
    total = 0.0
    for i in range(len(v) - 1):
        total += twice(v, w, i) ** 2
    return total


def outside(v, w):
    return twice(v, w, 0) + twice(v, w, 1)


def endless(x, n):
    return x if n == 0 else endless(x * 0.5 + 0.1, n - 1)


def recursive(v, w):
    total = 0.0
    for i in range(len(v)):
        total += endless(v[i], i % 4)
    return total


def slope(function, v, w, dv):
    h = 1e-6
    return (function(v + h * dv, w) - function(v - h * dv, w)) / (2 * h)


@pytest.mark.parametrize("function", [walk, outside, recursive], ids=lambda f: f.__name__)
@pytest.mark.parametrize("engine", ["native", "interpreter"])
def test_values_effects_gradients(function, engine):
    rng = np.random.default_rng(0)
    v, w, dv = rng.standard_normal(7), rng.standard_normal(2), rng.standard_normal(7)
    compiled = jit_grad(function, _engine=engine)
    mine, theirs = v.copy(), v.copy()
    assert compiled(mine, w) == pytest.approx(function(theirs, w), rel=1e-13)
    assert np.allclose(mine, theirs, rtol=1e-14)
    gradient = compiled.grad(v.copy(), w)
    expected = slope(lambda a, b: function(a.copy(), b), v, w, dv)
    assert np.sum(gradient * dv) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("function", [walk, outside, recursive], ids=lambda f: f.__name__)
def test_what_is_inlined(function):
    """Calls in loops, those of callees too; not those outside, nor of functions that call themselves."""
    compiled = jit_grad(function)
    compiled(np.ones(4), np.ones(2))
    text = compiled.dump_ir("simplified")
    assert ("func.call" in text.split("\n}\n")[0]) == (function is not walk)
    assert ("@rotate(" in text) == (function is outside)


def test_an_error_in_a_callee_names_its_line():
    v, w = np.ones(3), np.ones(2)

    def beyond(v, w):
        total = 0.0
        for i in range(len(v)):
            total += rotate(v, w, i)
        return total

    with pytest.raises(IndexError) as caught:
        jit_grad(beyond)(v, w)
    assert "v[i] * w[0] - v[i + 1] * w[1]" in str(caught.value)
    assert v[0] == 0.0  # as Python leaves it


def soft(x):
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def three_times(x, y):
    z = soft(soft(x) * y)
    w = np.where(z > y, z - y, 0.25 * z)
    return np.sum(w * w) + np.sum(soft(y + x))


def test_short_functions_of_arrays_are_fused_with_what_is_around_their_calls():
    """No array is made, neither for what they return nor for what chooses between values."""
    rng = np.random.default_rng(2)
    x, y, dx = rng.standard_normal(9), rng.standard_normal(9), rng.standard_normal(9)
    compiled = jit_grad(three_times)
    assert compiled(x, y) == pytest.approx(three_times(x, y), rel=1e-13)
    assert "memref.alloc" not in compiled.dump_ir("lowered")
    assert np.sum(compiled.grad(x, y) * dx) == pytest.approx(slope(three_times, x, y, dx), rel=1e-6)
    assert compiled.jvp((x, y), (dx, np.zeros(9)))[1] == pytest.approx(slope(three_times, x, y, dx), rel=1e-6)
