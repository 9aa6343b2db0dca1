"""Systems of equations, determinants and decompositions, compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from adc.frontend.kernels.systems import each_cofactors, each_determinant, each_log_determinant, each_solved
from tests.numpy.checking import check, function_of

RNG = np.random.default_rng(5)
A = RNG.normal(size=(4, 4))
MANY = RNG.normal(size=(2, 3, 3))
B = RNG.normal(size=(4, 2))
S = A @ A.T + np.eye(4)


def near(body, **inputs):
    return check(body, exact=False, rtol=1e-10, **inputs)


def test_solve() -> None:
    near("np.linalg.solve(a, b)", a=A, b=B)
    near("np.linalg.solve(a, b)", a=A, b=B[:, 0])
    near("np.linalg.solve(a, b)", a=MANY, b=RNG.normal(size=(1, 3, 2)))


def test_solve_stretches_leading_axes() -> None:
    near("np.linalg.solve(a, b)", a=A[:3, :3], b=RNG.normal(size=(2, 3, 2)))
    near("np.linalg.solve(a, b)", a=MANY, b=RNG.normal(size=3))


@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 3, 3), (2, 0, 0), (0, 0)])
def test_no_systems(shape: tuple[int, ...]) -> None:
    """None in the stack, or matrices of nothing."""
    functions = "np.linalg.inv(a), np.linalg.solve(a, a), np.linalg.det(a), np.linalg.matrix_power(a, -1)"
    check(functions, a=np.zeros(shape), derivatives=False)


def test_stacks_of_small_systems() -> None:
    """One kernel goes through all of them, whatever their strides; pivots are looked for in each."""
    turned = np.array(
        [[[0.0, 2.0, 1.0], [1.0, 0.0, 0.0], [3.0, 1.0, 0.0]], [[1e-9, 1.0, 0.0], [1.0, 1.0, 2.0], [0.0, 1.0, 1.0]]]
    )
    right = RNG.normal(size=(2, 3, 4))
    near("np.linalg.solve(a, b[..., ::2])", a=turned, b=right)
    compiled = adc.jit_grad(function_of("return np.linalg.solve(a, b)", "a", "b"))
    wide = RNG.normal(size=(4, 6, 3)) + 4.0
    for a, b in (
        (wide[::2, ::2].transpose(0, 2, 1), right[::-1]),
        (wide[:2, :3], right[:, :, :0]),
        (wide[:0, :3], right[:0]),
        (wide[:2, :1, :1], right[:, :1]),
        (RNG.normal(size=(2, 30, 30)), RNG.normal(size=(2, 30, 2))),
        (RNG.normal(size=(2, 5, 5)).astype(np.float32), RNG.normal(size=(2, 5, 1)).astype(np.float32)),
    ):
        expected, got = np.linalg.solve(a, b), compiled(a, b)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-3 if got.dtype == np.float32 else 1e-8)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        compiled(np.array([np.eye(3), np.zeros((3, 3))]), right)


def test_stacks_of_small_systems_have_second_derivatives() -> None:
    gradient = adc.grad(lambda b: np.sum(np.linalg.solve(MANY * b[0], b[:, :, None] * MANY) ** 3))
    b, v, h = 2.0 + np.array([[0.3, -0.1, 1.0], [-1.2, 0.4, 0.7]]), np.array([[1.0, 2.0, -1.0], [0.5, 1.0, 3.0]]), 1e-5
    along = adc.jit_grad(lambda b: np.sum(np.linalg.solve(MANY * b[0], b[:, :, None] * MANY) ** 3))
    second = adc.hvp(along, (b,), (v,))
    np.testing.assert_allclose(second, (gradient(b + h * v) - gradient(b - h * v)) / (2 * h), rtol=1e-6)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5])
def test_several_matrices_at_a_time(n) -> None:
    """More than are worked on at once, and not a multiple; pivots differ; some are singular."""
    a, b = RNG.normal(size=(11, n, n)), RNG.normal(size=(11, n, 2))
    x, singular = each_solved(a, b, False)
    np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=1e-8)
    np.testing.assert_allclose(each_solved(a, b, True)[0], np.linalg.solve(a.transpose(0, 2, 1), b), rtol=1e-8)
    assert not singular
    inverses = np.linalg.inv(a).transpose(0, 2, 1)
    np.testing.assert_allclose(each_cofactors(a), np.linalg.det(a)[:, None, None] * inverses, rtol=1e-8)
    a[3, :1], a[9, :, :1] = 0.0, 0.0
    np.testing.assert_allclose(each_determinant(a), np.linalg.det(a), rtol=1e-8)
    with np.errstate(divide="ignore", invalid="ignore"):
        assert each_solved(a, b, False)[1] == (n > 0)
        for got, expected in zip(each_log_determinant(a), np.linalg.slogdet(a), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-8)


@pytest.mark.parametrize("n", [2, 4])
def test_determinants_of_singular_matrices_among_others(n) -> None:
    a = RNG.normal(size=(3, n, n))
    a[1] = 0.0
    a[1, 1:, 1:] = np.eye(n - 1)
    near("np.linalg.det(a)", a=a)


def test_inv_and_det() -> None:
    near("np.linalg.inv(a)", a=A)
    near("np.linalg.inv(a)", a=MANY)
    near("np.linalg.det(a)", a=A)
    near("np.linalg.det(a)", a=MANY)


def test_slogdet() -> None:
    near("np.linalg.slogdet(a)", a=A)
    near("np.linalg.slogdet(a)[1]", a=MANY)


def test_the_determinant_of_a_singular_matrix_has_a_gradient() -> None:
    near("np.linalg.det(a)", a=np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 1.0, 3.0]]))


def test_cholesky_reads_one_triangle() -> None:
    near("np.linalg.cholesky(a)", a=S)
    near("np.linalg.cholesky(a, upper=True)", a=S)
    near("np.linalg.cholesky(a)", a=np.stack([S, 2 * S]))


def test_single_precision() -> None:
    check("np.linalg.solve(a, b)", exact=False, rtol=1e-4, a=A.astype("f"), b=B.astype("f"))
    check("np.linalg.det(a) + np.linalg.slogdet(a)[1]", exact=False, rtol=1e-4, a=S.astype("f"))
    near("np.linalg.inv(a)", a=np.array([[2, 1], [1, 3]]))


@pytest.mark.parametrize(
    ("body", "a", "message"),
    [
        ("np.linalg.inv(a)", np.ones((3, 3)), "Singular matrix"),
        ("np.linalg.solve(a, a)", np.zeros((2, 2)), "Singular matrix"),
        ("np.linalg.inv(a)", np.ones((3, 2)), "Last 2 dimensions of the array must be square"),
        ("np.linalg.cholesky(a)", -np.eye(3), "Matrix is not positive definite"),
    ],
)
def test_errors_are_those_of_numpy_at_the_line_of_the_call(body, a, message) -> None:
    plain = function_of(body, "a")
    with pytest.raises(np.linalg.LinAlgError, match=message):
        plain(a)
    with pytest.raises(np.linalg.LinAlgError, match=message) as caught:
        adc.jit_grad(plain)(a)
    assert any(body in note for note in caught.value.__notes__)


def test_second_derivatives() -> None:
    def f(a, b):
        return np.sum(np.linalg.solve(a, b) ** 2) + np.linalg.slogdet(a)[1] + np.linalg.det(a)

    along = RNG.normal(size=A.shape)
    got = adc.grad(lambda a: np.sum(adc.grad(f)(a, B) * along))(A)
    h = 1e-6
    expected = (adc.grad(f)(A + h * along, B) - adc.grad(f)(A - h * along, B)) / (2 * h)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(9, 3), (4, 3), (3, 5)])
def test_second_derivatives_of_least_squares(shape: tuple[int, int]) -> None:
    def loss(a, b):
        return np.sum(np.sin(np.linalg.lstsq(a, b)[0]))

    rng = np.random.default_rng(3)
    at, along = ((rng.standard_normal(shape), rng.standard_normal(shape[0])) for _ in range(2))
    gradient, step = adc.grad(loss, (0, 1)), 1e-6
    ahead, behind = (gradient(*(x + h * v for x, v in zip(at, along, strict=True))) for h in (step, -step))
    for found, a, b in zip(adc.hvp(loss, at, along, (0, 1)), ahead, behind, strict=True):
        wanted = (a - b) / (2.0 * step)
        assert np.abs(found - wanted).max() <= 1e-6 * np.abs(wanted).max()
