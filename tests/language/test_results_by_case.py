"""Functions whose result has another type in some cases: by a flag that they are given, or None."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import adc

X = np.array([0.4, -0.3, 1.7])


def filtered(x, full=False, gain=1.0):
    out = []
    level = 0.0
    for v in x:
        level += gain * (v - level) / 2
        out.append(level)
    if full:
        return out, {"level": level}
    else:
        return out


def with_sum(x, full):
    return (x, x.sum()) if full else x


@dataclass
class Options:
    verbose: bool = False
    scale: float = 2.0


def by_option(x, options):
    if options.verbose:
        return options.scale * x, options.scale
    return options.scale * x


@pytest.mark.parametrize("function", [filtered, with_sum])
def test_flags_select_the_type_of_the_result(function):
    compiled = adc.jit_grad(function)
    for flag in (False, True, False):
        assert repr(compiled(X, flag)) == repr(function(X, flag))


def test_flags_that_are_left_out_and_in_objects():
    assert adc.jit_grad(filtered)(X) == filtered(X)
    compiled = adc.jit_grad(by_option)
    for flag in (True, False):
        assert repr(compiled(X, Options(flag))) == repr(by_option(X, Options(flag)))


def test_gradient_by_case():
    def loss(x, aux=False):
        value = np.sum(x**3)
        if aux:
            return value, np.sin(x)
        return value

    np.testing.assert_allclose(adc.grad(loss)(X), 3 * X**2)
    g, found = adc.grad(loss, has_aux=True)(X, True)
    np.testing.assert_allclose(g, 3 * X**2)
    np.testing.assert_allclose(found, np.sin(X))


def newton(x, k):
    for _ in range(60):
        step = (x * x - k) / (2 * x)
        x -= step
        if abs(step) < 1e-13:
            return x


def squares(x):
    if x < 0:
        return None
    return np.array([x, x * x])


def test_gradient_of_a_float_or_none():
    assert adc.grad(newton, argnums=1)(1.0, 2.0) == pytest.approx(0.5 / np.sqrt(2.0), rel=1e-12)
    assert adc.hessian(newton, argnums=1)(1.0, 2.0) == pytest.approx(-0.25 * 2.0**-1.5, rel=1e-10)
    with pytest.raises(TypeError, match="newton returned None; a gradient needs a float") as caught:
        adc.grad(newton)(1.0, -2.0)
    assert any(f":{newton.__code__.co_firstlineno}:" in note for note in caught.value.__notes__)


def test_pullback_and_tangent_of_an_array_or_none():
    compiled = adc.jit_grad(squares)
    value, back = compiled.pullback(3.0)
    np.testing.assert_array_equal(value, [3.0, 9.0])
    assert back(np.array([1.0, 10.0])) == (61.0,)
    assert back(None) == (0.0,)
    value, back = compiled.pullback(-3.0)
    assert value is None and back(None) == (0.0,)
    value, tangent = adc.jvp(squares, (3.0,), (1.0,))
    np.testing.assert_array_equal(tangent, [1.0, 6.0])
    assert adc.jvp(squares, (-3.0,), (1.0,)) == (None, None)


def best_of(x, full):
    best = None
    for v in x:
        if best is None or v * v > best:
            best = v * v
    if full:
        return best, 3.0 * x
    return best


def test_pullback_by_case():
    """The cotangent belongs to what this call returned."""
    compiled = adc.jit_grad(best_of)
    best = [0.0, 0.0, 2 * X[2]]
    value, back = compiled.pullback(X, False)
    assert value == X[2] ** 2
    np.testing.assert_allclose(back(2.0)[0], np.multiply(2.0, best))
    _, back = compiled.pullback(X, True)
    np.testing.assert_allclose(back((2.0, np.arange(3.0)))[0], np.multiply(2.0, best) + 3 * np.arange(3.0))
    np.testing.assert_allclose(back((2.0, None))[0], np.multiply(2.0, best))
    with pytest.raises(adc.errors.ArgumentError, match="tuple"):
        back(2.0)
    value, back = compiled.pullback(X[:0], True)
    assert value[0] is None and np.size(back((None, np.zeros(0)))[0]) == 0
    with pytest.raises(adc.errors.ArgumentError, match="belongs to None"):
        back((1.0, None))


def test_what_a_gradient_got_instead_of_a_float():
    with pytest.raises(TypeError, match=r"returned a tuple\(None or float, 1-D float64 array\) or None; a gradient"):
        adc.grad(best_of)(X, True)
