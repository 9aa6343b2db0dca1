"""Linear algebra of complex numbers, compared with NumPy; gradients against forward mode and differences."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import adc

Array = Any
RNG = np.random.default_rng(3)


def numbers(*shape: int) -> Array:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


A, B, W = numbers(4, 4), numbers(4, 3), numbers(4, 4)


def systems(a: Array, b: Array) -> Any:
    return np.linalg.solve(a, b), np.linalg.solve(a, b[:, 0]), np.linalg.inv(a), np.linalg.det(a)


def logarithm(a: Array) -> Any:
    found = np.linalg.slogdet(a)
    return found.sign, found.logabsdet


def factors(a: Array) -> Any:
    h = a @ a.conj().mT
    return np.linalg.cholesky(h), np.linalg.cholesky(h, upper=True)


def spectra(a: Array) -> Any:
    return tuple(np.linalg.eigh(a))


def upper_spectra(a: Array) -> Any:
    w, v = np.linalg.eigh(a, "U")
    return w, scipy.linalg.eigh(a, lower=False, eigvals_only=True), v * np.sign(v[0].real)


COMPILED: Any = functools.cache(adc.jit_grad)
COMPILED_GRADIENTS: Any = functools.cache(adc.grad)


def near(function: Any, *arguments: Array, rtol: float = 1e-12) -> None:
    for got, want in zip(COMPILED(function)(*arguments), function(*arguments), strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)
        assert np.asarray(got).dtype == np.asarray(want).dtype


@pytest.mark.parametrize("function", [logarithm, factors, spectra, upper_spectra])
def test_functions_of_one_matrix(function: Any) -> None:
    near(function, A)
    near(function, numbers(30, 30))
    near(function, numbers(1, 1))


def test_systems() -> None:
    near(systems, A, B)
    near(lambda a, b: (np.linalg.solve(a, b), np.linalg.solve(b, a)), A.real[::-1, ::-1], W)


def test_single_precision() -> None:
    near(lambda a: (np.linalg.inv(a), np.linalg.det(a), *np.linalg.eigh(a)), A.astype(np.complex64), rtol=1e-5)


def test_matrices_along_leading_axes() -> None:
    near(lambda a: (np.linalg.inv(a), *logarithm(a), *np.linalg.eigh(a)), numbers(2, 3, 3))


def weighted(function: Any) -> Any:
    def f(a: Array) -> Any:
        total = 0.0
        for part in function(a):
            total += np.sum(np.real(part * (W if np.ndim(part) == 2 else 1.0 + 2.0j)))
        return total

    return f


@pytest.mark.parametrize("function", [logarithm, factors, spectra])
def test_gradients(function: Any) -> None:
    check_gradient(weighted(function), A)


def check_gradient(f: Any, a: Array) -> None:
    """Along a direction, in both modes. (Differences in real and imaginary parts alike.)"""
    along, h = numbers(*a.shape), 1e-5
    central = (8 * (f(a + h * along) - f(a - h * along)) - (f(a + 2 * h * along) - f(a - 2 * h * along))) / (12 * h)
    assert np.sum(np.real(adc.grad(f)(a) * along)) == pytest.approx(central, rel=1e-7)
    assert adc.jvp(f, (a,), (along,))[1] == pytest.approx(central, rel=1e-7)


def test_gradients_of_systems() -> None:
    def f(a: Array) -> Any:
        inverse = np.linalg.inv(a)
        return np.sum(np.abs(np.linalg.solve(a, B)) ** 2) + np.sum(np.imag(inverse * W)) + abs(np.linalg.det(a))

    check_gradient(f, A)


@pytest.mark.parametrize(
    "rows",
    [
        [[0, 1], [0, 2j]],
        [[1, 2, 3], [0, 0, 4j], [0, 0, 5]],  # a column of zeros after the first step
        [[1, 2, 3], [2, 4, 6], [3j, 6j, 9j]],
    ],
)
def test_determinants_of_singular_matrices_have_derivatives(rows: Any) -> None:
    a = np.array(rows, complex)

    def cofactor(i: int, j: int) -> Any:
        return (-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1))

    expected = [[cofactor(i, j) for j in range(len(a))] for i in range(len(a))]
    gradient = COMPILED_GRADIENTS(of_determinant)
    np.testing.assert_allclose(gradient(a), expected, atol=1e-12)


def of_determinant(a: Array) -> Any:
    return np.real(np.linalg.det(a))


def test_second_derivatives_of_determinants_where_two_dimensions_vanish() -> None:
    along = np.array([[1.0, 2.0j], [3.0, 4.0]])
    found = adc.hvp(of_determinant, (np.zeros((2, 2), complex),), (along,))
    np.testing.assert_allclose(found, [[4.0, -3.0], [-2.0j, 1.0]])


@pytest.mark.parametrize("size", [1e200, 1e-200, 1e-160])
def test_squares_of_elements_need_not_be_numbers(size: float) -> None:
    np.testing.assert_allclose(COMPILED(spectra)(A * size)[0], np.linalg.eigvalsh(A * size), rtol=1e-12)


def test_triangles_are_read_as_in_numpy() -> None:
    """Of a matrix that is not Hermitian one triangle is read, and the real part of its diagonal."""
    near(lambda a: (np.linalg.eigvalsh(a),), A)
    gradient = adc.grad(lambda a: np.sum(np.linalg.eigvalsh(a) ** 2))(A)
    np.testing.assert_array_equal(gradient[np.triu_indices(4, 1)], 0.0)
    np.testing.assert_allclose(np.imag(np.diag(gradient)), 0.0, atol=1e-12)


def test_errors() -> None:
    singular = np.ones((2, 2), complex)
    for function, message in ((np.linalg.inv, "[Ss]ingular"), (np.linalg.cholesky, "positive definite")):
        with pytest.raises(np.linalg.LinAlgError, match=message):
            adc.jit_grad(lambda a, f=function: f(a))(singular - 1e-3 * (message != "[Ss]ingular"))
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        adc.jit_grad(lambda a: np.linalg.eigvalsh(a))(B)
    assert adc.jit_grad(lambda a: np.linalg.det(a))(singular) == 0.0
    near(lambda a: (np.linalg.cholesky(a),), np.full((2, 2), np.nan + 0j))


def structured(a: Array, b: Array) -> Any:
    return (
        scipy.linalg.block_diag(a, b, 2.0, b[0]),
        scipy.linalg.toeplitz(b[0], a[0]),
        scipy.linalg.toeplitz(b[0]),
        scipy.linalg.circulant(b[0]),
        scipy.linalg.hankel(b[0], a[0]),
        scipy.linalg.hankel(b[0]),
    )


def test_structured_matrices() -> None:
    near(structured, A, B.imag, rtol=0.0)
    near(structured, A.real, np.arange(6).reshape(2, 3), rtol=0.0)
    gradient = adc.grad(lambda c: np.sum(scipy.linalg.toeplitz(c) ** 2) + np.sum(scipy.linalg.hankel(c)))(A[0].real)
    np.testing.assert_allclose(gradient, 2 * A[0].real * [4, 6, 4, 2] + [1, 2, 3, 4])


def by_triangles(a: Array, b: Array) -> Any:
    solve, x = scipy.linalg.solve_triangular, b[:, 0]
    lower = np.tril(a)
    plain = solve(lower, x, lower=True), solve(a, b), solve(a, x, unit_diagonal=True)
    mixed = solve(a, x.real), solve(a.real, b)
    return *plain, *mixed, solve(a, x, trans="C"), solve(a, b, trans=1), solve(lower, x, trans=2, lower=True)


def by_factors(a: Array, b: Array) -> Any:
    x, h = b[:, 0], a @ a.conj().T + np.eye(len(a))
    upper, lower = scipy.linalg.cho_factor(h), scipy.linalg.cho_factor(h, lower=True)
    lu = scipy.linalg.lu_factor(a)
    solve = scipy.linalg.lu_solve
    of_lu = lu[0], solve(lu, b), solve(lu, x, trans=1), solve(lu, x, trans=2), solve(lu, x.real)
    mixed = solve(scipy.linalg.lu_factor(a.real), x)
    return upper[0], lower[0], scipy.linalg.cho_solve(upper, x), scipy.linalg.cho_solve(lower, b), *of_lu, mixed


@pytest.mark.parametrize("function", [by_triangles, by_factors])
def test_systems_by_triangles(function: Any) -> None:
    near(function, A, B)


def test_gradients_of_systems_by_triangles() -> None:
    def triangles(a: Array) -> Any:
        return scipy.linalg.solve_triangular(a, B[:, 0], trans="C")

    def cholesky(a: Array) -> Any:
        return scipy.linalg.cho_solve(scipy.linalg.cho_factor(a @ a.conj().T), B[:, 0])

    def eliminated(a: Array) -> Any:
        return scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), B[:, 0], trans=1)

    for function in (triangles, cholesky, eliminated):
        check_gradient(lambda a, f=function: np.sum(np.real(f(a) * W[0])), A)


def test_singular_triangles() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="diagonal 1"):
        adc.jit_grad(lambda a, b: scipy.linalg.solve_triangular(a, b))(np.diag([1j, 0.0]), numbers(2))
