"""What is not chosen, not computed or not read contributes nothing, even if its derivative is infinite or NaN."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adc
from tests.programs.harness import check

X = np.array([-1.0, 0.0, 0.25, 4.0, 800.0])
INF, NAN = math.inf, math.nan


def where_of(function, other=0.0):
    def chosen(x):
        return np.where(x > 0, function(x), other)

    return chosen


CASES = [
    (np.sqrt, lambda x: 0.5 / math.sqrt(x)),
    (np.log, lambda x: 1.0 / x),
    (np.reciprocal, lambda x: -1.0 / x**2),
    (lambda x: x * np.log(x), lambda x: math.log(x) + 1.0),
    (lambda x: x * (1.0 / x), lambda x: 0.0),
    (lambda x: x**1.5, lambda x: 1.5 * math.sqrt(x)),
    (lambda x: x**-2, lambda x: -2.0 * x**-3),
    (lambda x: np.sin(x) / x, lambda x: math.cos(x) / x - math.sin(x) / x**2),
    (lambda x: np.sqrt(np.log(x + 1.0)) * x, lambda x: 0.5 * x / ((x + 1) * (r := math.log(x + 1) ** 0.5)) + r),
    (lambda x: np.cbrt(x) / np.sqrt(x), lambda x: -(x ** (-7 / 6)) / 6),
]


@pytest.mark.parametrize("function, derivative", CASES)
def test_scalars(function, derivative):
    f = adc.jit_grad(where_of(function))
    with np.errstate(all="ignore"):
        for x in X:
            assert f.grad(float(x)) == pytest.approx(derivative(float(x)) if x > 0 else 0.0, rel=1e-12), x


@pytest.mark.parametrize("function, derivative", CASES)
def test_arrays(function, derivative):
    def fused(x):
        return np.sum(np.where(x > 0, function(x), 1.0))

    def stored(x):
        y = function(x)
        z = y * 1.0
        return np.sum(np.where(x > 0, z, 1.0))

    def a_factor_stored(x):
        y = function(x) * 1.0
        return np.sum(np.where(x > 0, y * y, 1.0))

    def in_a_loop(x):
        total = 0.0
        for i in range(len(x)):
            y = function(x[i])
            if x[i] > 0:
                total += y
        return total

    def some_read(x):
        y = np.empty(len(x))
        for i in range(len(x)):
            y[i] = function(x[i])
        return y[2] + 2.0 * y[3]

    expected = [derivative(float(x)) if x > 0 else 0.0 for x in X]
    with np.errstate(all="ignore"):
        twice = 2.0 * function(X)
    cases = (
        (fused, 1),
        (a_factor_stored, np.where(X > 0, twice, 0.0)),
        (stored, 1),
        (in_a_loop, 1),
        (some_read, [0, 0, 1, 2, 0]),
    )
    for program, weights in cases:
        found = adc.grad(program)(X.copy())
        np.testing.assert_allclose(found, np.multiply(expected, weights), rtol=1e-11, err_msg=program.__name__)


def test_softplus():
    def softplus(x):
        return np.sum(np.where(x > 30.0, x, np.log1p(np.exp(x))))

    x = np.array([-5.0, 0.5, 31.0, 900.0])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(adc.grad(softplus)(x), 1.0 / (1.0 + np.exp(-np.minimum(x, 30.0))), rtol=1e-12)


def test_missing_data():
    def misfit(u, d):
        return np.sum(np.where(np.isnan(d), 0.0, (u - d) ** 2 / (1.0 + d * d)))

    u, d = np.array([1.0, 2.0, 3.0]), np.array([0.5, NAN, 2.0])
    np.testing.assert_allclose(adc.grad(misfit)(u, d), [1.0 / 1.25, 0.0, 2.0 / 5.0])


def test_extrema_and_callees():
    def root(x):
        return math.sqrt(x)

    def larger(x):
        return np.maximum(root(x), 1.0) + min(root(x), 5.0) * 0.0 + max(2.0, 1.0 / x if x > 0 else 0.0)

    def passed(x):
        r = root(x)
        return np.where(x > 0, r, 3.0)

    assert adc.grad(larger)(0.25) == pytest.approx(-16.0)
    assert adc.grad(lambda x: np.maximum(root(x), 1.0))(0.0) == 0.0
    assert adc.grad(lambda x: np.minimum(x, 1.0 / x))(0.0) == 1.0
    assert adc.grad(passed)(0.0) == 0.0


def test_loops_that_do_not_run_and_branches_not_taken():
    def scaled(x, n, used):
        r = math.sqrt(x)
        total = x
        for i in range(n):
            total += r * i
        if used:
            total = total + r
        return total

    f = adc.jit_grad(scaled)
    assert f.grad(0.0, 0, False) == 1.0
    assert f.grad(0.0, 0, True) == INF
    assert f.grad(4.0, 3, True) == pytest.approx(1.0 + 4.0 * 0.25)


def test_a_value_that_a_branch_passes_on():
    def passed(x):
        r = math.sqrt(x)
        return r if x > 0.0 else 0.0

    def carried(x, n):
        r = math.sqrt(x)
        last = x
        for _ in range(n):
            last = r
        return last

    assert adc.grad(passed)(0.0) == 0.0
    assert adc.grad(passed)(4.0) == 0.25
    assert adc.grad(carried)(0.0, 0) == 1.0
    assert adc.grad(carried)(4.0, 2) == 0.25


def test_a_sum_that_one_side_of_a_branch_forgets():
    def since(x, w):
        total = 0.0
        for i in range(len(x)):
            if w[i] > 0.0:
                r = math.sqrt(x[i])
                total += r * r * r
            else:
                total = x[i]
        return total

    x = np.array([0.0, 2.0, 4.0])
    np.testing.assert_allclose(adc.grad(since)(x, np.array([1.0, -1.0, 1.0])), [0.0, 1.0, 3.0])
    np.testing.assert_allclose(adc.grad(since)(x, np.array([1.0, 1.0, -1.0])), [0.0, 0.0, 1.0])
    assert math.isnan(adc.grad(since)(x, np.ones(3))[0])


def test_sides_of_branches_in_branches():
    def nested(x, a, b):
        r = math.sqrt(x)
        if a:
            return r * 2.0 if b else x
        return r + x

    f = adc.jit_grad(nested)
    assert f.grad(0.0, True, False) == 1.0
    assert f.grad(0.0, True, True) == f.grad(0.0, False, True) == INF


def test_an_infinite_derivative_that_matters_stays():
    assert adc.grad(lambda x: np.sqrt(x))(0.0) == INF
    assert adc.grad(lambda x: np.where(x >= 0, np.sqrt(x), 0.0))(0.0) == INF
    assert math.isnan(adc.grad(lambda x: np.where(x <= 0, np.log(x) * 2.0, 0.0))(NAN)) is False
    assert math.isnan(adc.grad(lambda x: np.log(x) * x)(0.0)) or adc.grad(lambda x: np.log(x) * x)(0.0) == -INF


def test_norm_at_the_origin():
    f = adc.jit_grad(lambda x: np.linalg.norm(x))
    np.testing.assert_array_equal(f.grad(np.zeros(3)), np.zeros(3))
    np.testing.assert_allclose(f.grad(np.array([3.0, 0.0, 4.0])), [0.6, 0.0, 0.8])
    assert f.grad(np.zeros(0)).shape == (0,)
    assert math.isnan(f(np.array([NAN, 0.0])))
    np.testing.assert_array_equal(adc.grad(lambda x: np.std(x))(np.ones(3)), np.zeros(3))
    assert adc.grad(lambda x, y: np.hypot(x, y), argnums=(0, 1))(0.0, 0.0) == (0.0, 0.0)


def test_second_derivatives_where_the_cotangent_is_zero_but_varies():
    def product(x, y):
        return y * math.sqrt(x) + np.where(y > -1.0, y * np.log(x), 0.0)

    assert adc.grad(adc.grad(product), argnums=1)(4.0, 0.0) == pytest.approx(0.25 + 0.25)


def limited(u):
    """Burgers' equation with a minmod limiter: only sums, products and choices."""
    total = 0.0
    f = np.zeros(len(u))
    for i in range(1, len(u) - 1):
        a = u[i] - u[i - 1]
        b = u[i + 1] - u[i]
        s = np.where(a * b > 0.0, np.where(abs(a) < abs(b), a, b), 0.0)
        f[i] = 0.5 * (u[i] + 0.5 * s) * (u[i] + 0.5 * s)
    for i in range(1, len(u) - 1):
        total += f[i] * f[i]
    return total


def relaxed(p, rho, omega, w):
    """A quotient that is stored, and moves towards another value at a constant rate."""
    q = np.zeros(len(p))
    for i in range(len(p)):
        q[i] = p[i] + omega * (w * (p[i] / rho[i]) - p[i])
    return np.sum(q)


def expensive(s, k, t):
    """No choice and no store, but values that are too dear to be computed again."""
    total = 0.0
    for i in range(len(s)):
        d = np.log(s[i] / k[i]) / t[i]
        total += s[i] * math.erf(d) - k[i] * math.erf(d - t[i]) * math.exp(-d * d)
    return total


def cooled(u0, r, n):
    """A time loop that swaps its buffers, of which the rim is never stored again."""
    u, v = u0.copy(), u0.copy()
    for _ in range(n):
        for i in range(1, len(u) - 1):
            v[i] = u[i] + r * u[i] * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        u, v = v, u
    return np.sum(u * u)


def softened(x):
    """Rows of a table, each of which is read in full after it has been filled."""
    n = len(x)
    rows = np.empty((n, n))
    total = 0.0
    for i in range(n):
        for j in range(n):
            rows[i, j] = 1.0 / (x[i] + x[j])
        largest = rows[i, 0]
        for j in range(1, n):
            largest = max(largest, rows[i, j])
        for j in range(n):
            total += math.exp(rows[i, j] - largest)
    return total


def guarded(x, w):
    """A sum that either side of a branch adds to, in branches of their own."""
    total = 0.0
    for i in range(len(x)):
        if w[i] > 1.0:
            y = 0.0
            for j in range(len(x)):
                y += w[i] * (x[j] - w[j])
            total += y * y
        elif w[i] > 0.5:
            total -= x[i] / w[i]
        else:
            total *= x[i]
    return total


POINTS = np.linspace(0.5, 1.5, 7)


@pytest.mark.parametrize(
    "function, arguments",
    [
        (limited, (np.sin(np.arange(9.0)) + 1.2,)),
        (relaxed, (POINTS, POINTS**2, 1.3, 0.7)),
        (expensive, (POINTS, POINTS[::-1].copy(), POINTS**2)),
        (cooled, (POINTS, 0.1, 3)),
        (softened, (POINTS,)),
        (guarded, (POINTS, np.linspace(1.5, 0.1, 7))),
    ],
    ids=lambda v: getattr(v, "__name__", "arguments"),
)
def test_what_is_certainly_read_has_no_marks(function, arguments):
    f = check(function, arguments)
    assert "strong" not in str(f.dump_ir("adjoint"))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_of_short_rows_with_numbers_that_are_not_finite(dtype):
    """A zero of the tangent adds nothing where it meets an infinity or a NaN, wherever that is in the other matrix."""
    product = adc.jit_grad(lambda a, b: a @ b)
    rng = np.random.default_rng(2)
    views = [
        lambda wide, k, n: wide[:k, :n].copy(),
        lambda wide, k, n: wide[:n, :k].copy().T,
        lambda wide, k, n: wide[: 2 * k : 2, : 2 * n : 2],
        lambda wide, k, n: wide[:k, :n],
    ]
    for m, k, n in ((5, 3, 4), (2, 4, 40), (4, 4, 17), (3, 1, 33), (2, 16, 3)):
        dot = rng.standard_normal((m, k)).astype(dtype)
        dot[:, k // 2] = 0.0
        for view in views:
            for at, bad in ((None, 0.0), ((0, 0), NAN), ((-1, -1), INF), ((k // 2, n // 2), -INF)):
                b = view(rng.standard_normal((80, 80)).astype(dtype), k, n)
                if at is not None:
                    b[at] = bad
                with np.errstate(all="ignore"):
                    expected = np.where(dot[:, :, None] == 0.0, 0.0, dot[:, :, None] * b).sum(axis=1)
                found = adc.jvp(product, (np.ones((m, k), dtype), b), (dot, None))[1]
                np.testing.assert_allclose(found, expected, rtol=2e-5 if dtype == np.float32 else 1e-13, atol=1e-6)
