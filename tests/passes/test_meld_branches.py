"""Functions that are stable by a branch: values as in Python, and derivatives in closed form, at the ends of the
range, too."""

import math

import numpy as np
import pytest

from adc import jit_grad
from adc.ir import ops

POINTS = np.array([-1000.0, -745.0, -3.0, -0.0, 0.0, 1e-300, 0.7, 40.0, 1000.0, math.inf, -math.inf])


def sigmoid(x):
    if x >= 0.0:
        z = math.exp(-x)
        return 1.0 / (1.0 + z)
    z = math.exp(x)
    return z / (1.0 + z)


def sigmoids(x):
    y = np.empty_like(x)
    for i in range(len(x)):
        if x[i] >= 0.0:
            z = math.exp(-x[i])
            y[i] = 1.0 / (1.0 + z)
        else:
            z = math.exp(x[i])
            y[i] = z / (1.0 + z)
    return y


def softplus(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0.0:
            total += x[i] + math.log1p(math.exp(-x[i]))
        else:
            total += math.log1p(math.exp(x[i]))
    return total


def running_log_sum_exp(x):
    most, total = -math.inf, 0.0
    for i in range(len(x)):
        if x[i] > most:
            total = total * math.exp(most - x[i]) + 1.0
            most = x[i]
        else:
            total += math.exp(x[i] - most)
    return most + math.log(total)


def roots(x, y, which):
    total = 0.0
    for i in range(len(x)):
        if which[i] > 0:
            total += math.sqrt(x[i] + x[i])
        else:
            total += math.sqrt(x[i] * y[i])
    return total


def test_values_are_those_of_python():
    found = jit_grad(sigmoids)(POINTS)
    np.testing.assert_allclose(found, [sigmoid(float(x)) for x in POINTS], rtol=1e-15, atol=0.0)


@pytest.mark.parametrize("size", [1, 2, 7, 32])
def test_sums_of_exponentials(size):
    x = 3.0 * np.random.default_rng(size).standard_normal(size)
    value, gradient = jit_grad(running_log_sum_exp).value_and_grad(x)
    weights = np.exp(x - x.max())
    assert value == pytest.approx(x.max() + np.log(weights.sum()), rel=1e-14)
    np.testing.assert_allclose(gradient, weights / weights.sum(), rtol=1e-12)


def test_derivatives_at_the_ends_of_the_range():
    x = POINTS[np.isfinite(POINTS)]
    slope = jit_grad(softplus).grad(x)
    np.testing.assert_allclose(slope, [sigmoid(float(v)) for v in x], rtol=1e-13, atol=1e-320)
    by_x = [float(jit_grad(sigmoid).grad(float(v))) for v in x]
    np.testing.assert_allclose(by_x, [sigmoid(float(v)) * sigmoid(-float(v)) for v in x], rtol=1e-13, atol=1e-320)


def test_a_branch_that_is_not_taken_contributes_nothing():
    x, y, which = np.array([0.0, 2.0, 8.0, 0.0]), np.array([math.inf, math.nan, 2.0, 1.0]), np.array([1, 1, -1, 1])
    x[0], x[3] = 2.0, 0.5
    by_x, by_y = jit_grad(argnums=(0, 1))(roots).grad(x, y, which)
    np.testing.assert_allclose(by_x, [1.0 / math.sqrt(2 * v) if w > 0 else 0.25 for v, w in zip(x, which, strict=True)])
    np.testing.assert_allclose(by_y, [0.0, 0.0, 1.0, 0.0])


def test_one_exponential_is_left_and_kept():
    f = jit_grad(running_log_sum_exp)
    f.grad(np.arange(4.0))
    adjoint = f.dump_ir("adjoint")
    assert adjoint.count(ops.exp.name) == 1
