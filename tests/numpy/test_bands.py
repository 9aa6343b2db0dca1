"""Banded systems of equations, compared with SciPy."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from adc.frontend.kernels.bands import band_product, band_solved, band_turned, positive_band_solved
from tests.numpy.checking import check, function_of

pytest.importorskip("scipy")
RNG = np.random.default_rng(4)
HEAD = "import scipy.linalg"


def band(below, above, n):
    """Diagonals and the matrix. The largest element of a column is below the diagonal now and then."""
    ab = RNG.normal(size=(below + above + 1, n))
    a = np.zeros((n, n))
    for j in range(n):
        for i in range(max(0, j - above), min(n, j + below + 1)):
            a[i, j] = ab[above + i - j, j]
    return ab, a


@pytest.mark.parametrize(("below", "above", "n"), [(1, 1, 7), (2, 1, 8), (0, 3, 5), (3, 0, 5), (2, 2, 2), (0, 0, 3)])
def test_kernels_as_plain_python(below, above, n) -> None:
    ab, a = band(below, above, n)
    b = RNG.normal(size=(n, 2))
    x, singular = band_solved(below, above, ab, b)
    np.testing.assert_allclose(a @ x, b, atol=1e-9)
    np.testing.assert_allclose(band_product(below, above, ab, b), a @ b, atol=1e-12)
    turned = band_turned(below, above, ab)
    np.testing.assert_allclose(band_product(above, below, turned, b), a.T @ b, atol=1e-12)
    assert not singular


@pytest.mark.parametrize("n", [1, 3, 6])
def test_the_positive_one_as_plain_python(n) -> None:
    lower, low = band(2, 0, n)
    lower[0] = np.abs(lower[0]) + 4
    a = low - np.diag(np.diag(low)) + low.T
    np.fill_diagonal(a, lower[0])
    b = RNG.normal(size=(n, 2))
    x, failed = positive_band_solved(lower, b)
    np.testing.assert_allclose(a @ x, b, atol=1e-9)
    with np.errstate(all="ignore"):
        assert failed == -1 and positive_band_solved(-lower, b)[1] == 0


def test_solve_banded() -> None:
    ab, _ = band(2, 1, 6)
    check("scipy.linalg.solve_banded((2, 1), ab, b)", head=HEAD, exact=False, rtol=1e-9, ab=ab, b=RNG.normal(size=6))


def test_solveh_banded() -> None:
    lower = RNG.normal(size=(3, 5))
    lower[0] += 9
    upper = "u = np.zeros((3, 5))\nfor k in range(3):\n    u[2 - k, k:] = ab[k, : 5 - k]\n"
    body = upper + "return scipy.linalg.solveh_banded(ab, b, lower=True), scipy.linalg.solveh_banded(u, b)"
    check(body, head=HEAD, exact=False, rtol=1e-9, ab=lower, b=RNG.normal(size=(5, 2)))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("scipy.linalg.solve_banded((1, 1), ab, b)", "singular matrix"),
        ("scipy.linalg.solve_banded((1, 0), ab, b)", "number of lower and upper diagonals"),
        ("scipy.linalg.solve_banded((1, 1), ab, b[:2])", "not compatible"),
        ("scipy.linalg.solveh_banded(ab, b)", "1th leading minor not positive definite"),
    ],
)
def test_errors_are_those_of_scipy(body, message) -> None:
    plain = function_of(body, "ab", "b", head=HEAD)
    for f in (plain, adc.jit_grad(plain)):
        with pytest.raises((np.linalg.LinAlgError, ValueError), match=message):
            f(np.zeros((3, 3)), np.ones(3))


def test_second_derivatives() -> None:
    def f(ab, b):
        import scipy.linalg

        return np.sum(scipy.linalg.solve_banded((1, 1), ab, b) ** 2)

    ab, _ = band(1, 1, 4)
    ab[1] += 4
    b, along, h = RNG.normal(size=4), RNG.normal(size=(3, 4)), 1e-6
    expected = (adc.grad(f)(ab + h * along, b) - adc.grad(f)(ab - h * along, b)) / (2 * h)
    np.testing.assert_allclose(adc.hvp(f, (ab, b), (along, None)), expected, rtol=1e-5, atol=1e-7)
