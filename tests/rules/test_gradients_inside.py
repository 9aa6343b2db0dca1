"""``adc.grad`` and ``adc.value_and_grad`` inside compiled code and inside rules; ``adc.stop_gradient``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from adc.errors import AdcError

RNG = np.random.default_rng(3)


def cube(x):
    return x**3


def energy(v):
    return 0.25 * np.sum(v**4) + v[0] * v[1]


def differences(f: Any, x: Any, step: float = 1e-6) -> Any:
    if not isinstance(x, np.ndarray):
        return (f(x + step) - f(x - step)) / (2 * step)
    found = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        found[i] = (f(up) - f(down)) / (2 * step)
    return found


def both_engines(f: Any, argnums: Any = 0) -> list[Any]:
    return [jit_grad(argnums=argnums, _engine=engine)(f) for engine in ("native", "interpreter")]


def test_to_any_order() -> None:
    for f in both_engines(lambda x: adc.grad(cube)(x) * 2.0 + x):
        assert (f(2.0), f.grad(2.0), adc.grad(f.grad)(2.0)) == (26.0, 25.0, 12.0)
    for f in both_engines(lambda x: adc.grad(adc.grad(cube))(x)):
        assert (f(2.0), f.grad(2.0)) == (12.0, 6.0)


def test_of_closures() -> None:
    def f(a, x):
        value, slope = adc.value_and_grad(lambda y: math.sin(a * y))(x)
        return value + slope

    a, x = 0.7, 1.2
    for compiled in both_engines(f, (0, 1)):
        assert compiled(a, x) == pytest.approx(math.sin(a * x) + a * math.cos(a * x))
        by_a = x * math.cos(a * x) + math.cos(a * x) - a * x * math.sin(a * x)
        by_x = a * math.cos(a * x) - a * a * math.sin(a * x)
        assert compiled.grad(a, x) == pytest.approx((by_a, by_x))


def test_in_loops_and_branches() -> None:
    def newton(a):
        x = 1.0
        for k in range(30):
            if k < 20:
                r, d = adc.value_and_grad(lambda t: t * t - a)(x)
                x = x - r / d
        return x

    for f in both_engines(newton):
        assert f(2.0) == pytest.approx(math.sqrt(2.0))
        assert f.grad(2.0) == pytest.approx(0.5 / math.sqrt(2.0))


def test_of_arrays() -> None:
    def descend(v, steps):
        w = v.copy()
        for _ in range(steps):
            w -= 0.1 * adc.grad(energy)(w)
        return np.sum(w * w)

    v = np.array([0.3, 0.8, -0.5])
    for f in both_engines(descend):
        for steps in (0, 1, 4):
            np.testing.assert_allclose(f.grad(v, steps), differences(lambda u, f=f, n=steps: f(u, n), v), atol=1e-8)
    assert descend.__code__  # plain Python runs it as well:
    assert jit_grad(descend)(v, 3) == pytest.approx(descend(v, 3))


def test_on_threads() -> None:
    def f(v):
        s = 0.0
        for i in prange(len(v)):
            s += adc.grad(cube)(v[i])
        return s

    v = RNG.normal(size=1000)
    for n in (1, 2):
        compiled = jit_grad(threads=n)(f)
        assert compiled(v) == pytest.approx(3 * np.sum(v * v))
        np.testing.assert_allclose(compiled.grad(v), 6 * v, rtol=1e-15)


def test_arguments_and_results_of_other_shapes() -> None:
    def f(p, v, n):
        g, (a, b), _ = adc.grad(lambda v, p, n: p[0] * np.sum(v) * n + p[1] ** 2, argnums=(0, 1, -2))(v, p, n)
        return np.sum(g) + a * b

    with pytest.raises(AdcError, match="argnums"):
        jit_grad(f)((1.0, 2.0), np.ones(2), 3)

    def h(p, v, n):
        g, (a, b) = adc.grad(lambda v, p, n: p[0] * np.sum(v) * n + p[1] ** 2, argnums=(0, -2))(v, p, n)
        return np.sum(g) + a * b

    # g = p0 n; a = sum(v) n; b = 2 p1
    p, v, n = (1.5, 2.0), np.array([1.0, -3.0, 4.0]), 3
    assert jit_grad(h)(p, v, n) == pytest.approx(3 * 1.5 * 3 + 6.0 * 4.0)
    assert jit_grad(h).grad(p, v, n) == pytest.approx((9.0, 12.0))


def test_gradients_made_outside() -> None:
    slope = adc.grad(cube)
    curvature = adc.grad(slope)
    with_value = adc.value_and_grad(cube)
    compiled = jit_grad(cube)
    assert adc.grad(lambda x: slope(x))(2.0) == 12.0
    assert adc.grad(lambda x: curvature(x))(2.0) == 6.0
    assert adc.grad(lambda x: with_value(x)[1] + with_value(x)[0])(2.0) == 24.0
    assert adc.grad(lambda x: compiled.grad(x))(2.0) == 12.0


def test_effects_of_what_is_differentiated() -> None:
    def double(v):
        v *= 2.0
        return np.sum(v * v)

    def f(v):
        g = adc.grad(double)(v)
        return np.sum(g * v)

    v = RNG.normal(size=3)
    before = v.copy()
    for compiled in both_engines(f):
        assert compiled(v) == pytest.approx(8 * v @ v)
        np.testing.assert_array_equal(v, before)
        np.testing.assert_allclose(compiled.grad(v), 16 * v)


def test_with_forward_mode() -> None:
    def slope(x):
        return adc.grad(cube)(x) + x

    for f in both_engines(lambda x: adc.jvp(slope, (x,), (1.0,))[1]):
        assert (f(2.0), f.grad(2.0)) == (13.0, 6.0)
    for f in both_engines(lambda x: adc.grad(lambda y: adc.jvp(cube, (y,), (1.0,))[1])(x)):
        assert (f(2.0), f.grad(2.0)) == (12.0, 6.0)
    assert jit_grad(slope).jvp((2.0,), (3.0,)) == (14.0, 39.0)


def test_in_a_recursive_function() -> None:
    def repeated(x, n):
        return x if n == 0 else 0.1 * adc.grad(cube)(repeated(x, n - 1))

    # x -> 0.3 x^2, three times
    for f in both_engines(lambda x: repeated(x, 3)):
        assert f(1.1) == pytest.approx(0.3 * (0.3 * (0.3 * 1.1**2) ** 2) ** 2)
        assert f.grad(1.1) == pytest.approx(8 * f(1.1) / 1.1)


def test_the_gradient_of_itself() -> None:
    def endless(x):
        return adc.grad(endless)(x)

    with pytest.raises(AdcError):
        jit_grad(endless)(1.0)


def overwrites(a, b):
    a[0] = 2.0 * b[1]
    return np.sum(a * b)


def captures(a, b):
    return adc.grad(lambda s: s * overwrites(a, b))(1.0)


def weighted(a, b):
    return np.sum(a * a * b)


def weighted_in_a_loop(a, b):
    total = 0.0
    for i in range(len(a)):
        total += a[i] * a[i] * b[i]
    return total


def weighted_in_turns(a, b):
    total = 0.0
    for n in range(3):
        total += (n + 1) * weighted_in_a_loop(a, b)
        a, b = b, a
    return total


@pytest.mark.parametrize("f", [weighted, weighted_in_a_loop, weighted_in_turns])
def test_arrays_that_overlap(f) -> None:
    """Where the function only reads, each argument has its own partial derivative, as outside compiled code."""
    u = np.array([1.0, 2.0, 3.0])
    by_a, by_b = adc.grad(f, argnums=(0, 1))(u, u.copy())
    both = jit_grad(lambda v: adc.grad(f, argnums=(0, 1))(v, v))(u)
    np.testing.assert_array_equal(both[0], by_a)
    np.testing.assert_array_equal(both[1], by_b)
    np.testing.assert_array_equal(jit_grad(lambda v: adc.grad(lambda a: f(a, v))(v))(u), by_a)
    np.testing.assert_array_equal(jit_grad(lambda v: adc.grad(lambda b: f(v, b))(v))(u), by_b)
    windows = jit_grad(lambda v: adc.grad(f, argnums=(0, 1))(v[:-1], v[1:]))(u)
    for mine, theirs in zip(windows, adc.grad(f, argnums=(0, 1))(u[:-1].copy(), u[1:].copy()), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    # f is of third degree in its one array, so that its gradient is of second: half the sum of second derivatives.
    outer = jit_grad(lambda v: np.sum(v * adc.grad(f)(v, v)))
    np.testing.assert_allclose(outer.grad(u), 3.0 * by_a, rtol=1e-14)
    np.testing.assert_allclose(outer.jvp((u,), (u,))[1], 3.0 * np.sum(u * by_a), rtol=1e-14)


def test_what_is_refused() -> None:
    def pair(x):
        return x, x

    for f, message in (
        (lambda x: adc.grad(pair)(x), "returns one float, not tuple"),
        (lambda x: adc.grad(cube)(int(x)), "not made of floats"),
        (lambda x: adc.grad(cube, argnums=1)(x), "does not fit a call with 1 positional"),
        (lambda x: adc.grad(cube, argnames="x")(x), "takes a function and argnums"),
    ):
        with pytest.raises(AdcError, match=message):
            jit_grad(f)(2.0)
    for f in (
        lambda v: adc.grad(overwrites)(v, v)[0],
        lambda v: adc.grad(lambda a: overwrites(a, v))(v)[0],
        lambda v: captures(v[:2], v[1:]),
        lambda v: adc.grad(lambda s, a, b: s * overwrites(a, b))(1.0, v[:2], v[1:]),
    ):
        with pytest.raises(AdcError, match="writes to an array which may overlap another"):
            jit_grad(f)(np.ones(3))

    def grows(x):
        items = [x]

        def push(y):
            items.append(y)
            return y

        return adc.grad(push)(x) + items[0]

    with pytest.raises(AdcError, match="changes what is outside of it"):
        jit_grad(grows)(1.0)


# In rules -------------------------------------------------------------------------------------------------------------


def test_a_rule_by_the_gradient_of_another_function() -> None:
    def slow(x, y):
        s = 0.0
        for k in range(200):
            s += math.sin(x * y) / 200
        return s

    @adc.rrule(slow)
    def _(x, y):
        value, (dx, dy) = adc.value_and_grad(lambda x, y: math.sin(x * y), argnums=(0, 1))(x, y)
        return value, lambda g: (g * dx, g * dy)

    def f(x, y):
        return slow(x, y) * x

    x, y = 0.4, 1.7
    by_x = math.sin(x * y) + x * y * math.cos(x * y)
    for compiled in both_engines(f, (0, 1)):
        assert compiled.grad(x, y) == pytest.approx((by_x, x * x * math.cos(x * y)))
    second = adc.grad(jit_grad(f).grad)(x, y)
    assert second == pytest.approx(2 * y * math.cos(x * y) - x * y * y * math.sin(x * y))


def test_a_pullback_with_loops_and_branches_over_what_is_computed_before_them() -> None:
    """Everything that a pullback uses is kept, deep inside as well."""

    def scaled(x, a):
        return x / a

    @adc.rrule(scaled)
    def _(x, a):
        def pullback(g):
            ratio = x / a
            inverse = 1.0 / a
            by_x = 0.0
            for k in range(4):
                if k % 2 == 0:
                    n = 0
                    while n < 5:
                        by_x += g * inverse / 10
                        n += 1
            parts = np.zeros(3)
            for k in range(3):
                parts[k] = -g * ratio * inverse / 3
            return by_x, np.sum(parts)

        return x / a, pullback

    for compiled in both_engines(lambda x, a: 2.0 * scaled(x, a), (0, 1)):
        assert compiled.grad(3.0, 4.0) == pytest.approx((0.5, -0.375))

    def in_a_loop(x, a, n):
        for _ in range(n):
            x = scaled(x, a) + x
        return x

    for compiled in both_engines(in_a_loop, (0, 1)):
        found = compiled.grad(3.0, 4.0, 3)
        assert found == pytest.approx(((1.25) ** 3, 3.0 * 3 * 1.25**2 * (-1 / 16)))


# stop_gradient --------------------------------------------------------------------------------------------------------


def test_stop_gradient() -> None:
    for f in both_engines(lambda x: x * adc.stop_gradient(x * x)):
        assert (f(3.0), f.grad(3.0), adc.grad(f.grad)(3.0)) == (27.0, 9.0, 0.0)
    v = RNG.normal(size=4)
    for f in both_engines(lambda v: np.sum(v * adc.stop_gradient(v * 2.0))):
        np.testing.assert_allclose(f.grad(v), 2 * v)
    for f in both_engines(lambda x: adc.stop_gradient((x, 2 * x, 3))[1] * x):
        assert f.grad(3.0) == 6.0
    assert adc.grad(lambda x: adc.stop_gradient(x))(2.0) == 0.0


def test_stop_gradient_in_plain_python() -> None:
    v = np.ones(2)
    copy, number = adc.stop_gradient((v, 3.0))
    assert copy is not v and copy.tolist() == [1.0, 1.0] and number == 3.0

    def f(v):
        w = adc.stop_gradient(v)
        w[0] = 5.0
        return v[0] * w[1]

    assert f(v) == jit_grad(f)(v) == 1.0
    assert adc.grad(f)(v).tolist() == [1.0, 0.0]


def test_stop_gradient_of_what_has_none() -> None:
    assert jit_grad(lambda x: adc.stop_gradient(x) + adc.stop_gradient(2))(3) == 5
    with pytest.raises(AdcError, match="takes numbers, arrays and tuples"):
        jit_grad(lambda x: adc.stop_gradient({"a": x})["a"])(3.0)
