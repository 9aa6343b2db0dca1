"""Series of ``numpy.polynomial``: values to the bit, gradients against forward mode and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial

import adc

Array = Any


def values(x: Array, c: Array) -> Any:
    return (
        polynomial.polyval(x, c),
        chebyshev.chebval(x, c),
        legendre.legval(x, c),
        hermite.hermval(x, c),
        hermite_e.hermeval(x, c),
        laguerre.lagval(x, c),
    )


def matrices(x: Array, n: int) -> Any:
    return (
        polynomial.polyvander(x, n),
        chebyshev.chebvander(x, n),
        legendre.legvander(x, n),
        hermite.hermvander(x, n),
        hermite_e.hermevander(x, n),
        laguerre.lagvander(x, n),
    )


def derivatives(c: Array) -> Any:
    return (
        polynomial.polyder(c),
        polynomial.polyder(c, 2),
        chebyshev.chebder(c),
        legendre.legder(c, m=2),
        hermite.hermder(c),
        hermite_e.hermeder(c, 0),
    )


RNG = np.random.default_rng(2)
X, C = np.random.default_rng(0).uniform(-1, 1, (2, 5)), np.random.default_rng(1).uniform(-1, 1, 7)


def same(got: Any, want: Any, rtol: float = 0.0) -> None:
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=rtol)
        assert np.asarray(g).dtype == np.asarray(w).dtype


@pytest.mark.parametrize("c", [C[::-2], C[:1], np.arange(2)], ids=str)
def test_values(c: Array) -> None:
    compiled = adc.jit_grad(values)
    with np.errstate(invalid="ignore"):
        for x in (X, np.zeros((2, 0)), np.inf * X):
            same(compiled(x, c), values(x, c))
    same(compiled(X[:, ::-1], c), values(X[:, ::-1], c))


def test_values_of_other_dtypes() -> None:
    compiled = adc.jit_grad(values)
    same(compiled(X.astype(np.float32), C), values(X.astype(np.float32), C))
    same(compiled(X.astype(np.float32), C.astype(np.float32)), values(X.astype(np.float32), C.astype(np.float32)))
    same(compiled(X, C[:3] * 1j), values(X, C[:3] * 1j), 1e-14)
    same(compiled(X[0] + 2j, C), values(X[0] + 2j, C), 1e-13)
    same(compiled(0.5 + 2j, C), values(0.5 + 2j, C), 1e-14)


def test_values_at_numbers_and_lists() -> None:
    compiled = adc.jit_grad(values)
    same(compiled(0.3, C), values(0.3, C))
    same(compiled([0.3, 2.0], [1.0, 2.0, 3.0]), values([0.3, 2.0], [1.0, 2.0, 3.0]))


@pytest.mark.parametrize("n", [0, 1, 4])
def test_matrices(n: int) -> None:
    compiled = adc.jit_grad(matrices)
    same(compiled(X, n), matrices(X, n))
    same(compiled(X.astype(np.float32), n), matrices(X.astype(np.float32), n))
    same(compiled(0.5, n), matrices(0.5, n))
    with pytest.raises(ValueError, match="deg must be non-negative"):
        compiled(X, -1)


@pytest.mark.parametrize("c", [C, C[:1], np.arange(2)], ids=str)
def test_derivatives(c: Array) -> None:
    before = c.copy()
    same(adc.jit_grad(derivatives)(c), derivatives(c))
    np.testing.assert_array_equal(c, before)


def test_gradients() -> None:
    def f(x: Array, c: Array) -> Any:
        total = 0.0
        for part in (*values(x, c), *matrices(x[0], 3)):
            total += np.sum(part * part)
        return total + np.sum(legendre.legder(c, 2) ** 3) + np.sum(chebyshev.chebder(c) ** 3)

    h, x, c = 1e-5, RNG.normal(size=X.shape), RNG.normal(size=C.shape)
    gx, gc = adc.grad(f, argnums=(0, 1))(X, C)
    central = (f(X + h * x, C + h * c) - f(X - h * x, C - h * c)) / (2 * h)
    assert np.sum(gx * x) + np.sum(gc * c) == pytest.approx(central, rel=1e-7)


def test_several_series_at_once_are_refused() -> None:
    with pytest.raises(TypeError, match="several dimensions"):
        adc.jit_grad(values)(X, np.ones((3, 2)))


def test_matrices_of_complex_numbers() -> None:
    same(adc.jit_grad(matrices)(X[0] + 1j * X[1], 3), matrices(X[0] + 1j * X[1], 3), rtol=1e-14)
