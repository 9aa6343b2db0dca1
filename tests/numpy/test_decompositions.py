"""Decompositions of matrices, compared with NumPy. Vectors are compared up to sign."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from tests.numpy.checking import check

RNG = np.random.default_rng(11)
A = RNG.normal(size=(4, 4))
TALL = RNG.normal(size=(5, 3))
MANY = RNG.normal(size=(2, 3, 3))
S = A @ A.T
T = RNG.normal(size=(4, 4))


def near(body, **inputs):
    return check(body, exact=False, rtol=1e-9, **inputs)


@pytest.mark.parametrize("x", [A, TALL, TALL.T], ids=["square", "tall", "wide"])
def test_qr(x) -> None:
    near("np.linalg.qr(a)", a=x)


def test_qr_of_other_modes() -> None:
    near("np.linalg.qr(a, mode='complete')", a=TALL)
    near("np.linalg.qr(a, 'r')", a=A)
    check("q, r = np.linalg.qr(a)\nreturn q @ r", a=MANY, exact=False, derivatives=False)


def test_eigh() -> None:
    near("np.linalg.eigvalsh(a)", a=S)
    near("w, v = np.linalg.eigh(a)\nreturn w, v @ (np.exp(-w) * v).T, np.abs(v)", a=S)


def test_eigh_reads_one_triangle() -> None:
    near("np.linalg.eigvalsh(a, UPLO='U') + np.linalg.eigh(a).eigenvalues", a=T)
    check("np.linalg.eigvalsh(a)", a=MANY, exact=False, derivatives=False)


@pytest.mark.parametrize("x", [A, TALL, TALL.T], ids=["square", "tall", "wide"])
def test_svd(x) -> None:
    near("u, s, vt = np.linalg.svd(a, False)\nreturn s, (u * np.exp(-s)) @ vt, np.abs(u), np.abs(vt)", a=x)


def test_svd_of_other_forms() -> None:
    check("np.linalg.svd(a, compute_uv=False)", a=MANY, exact=False, derivatives=False)
    check("u, s, vt = np.linalg.svd(a)\nreturn (u[:, :3] * s) @ vt, u @ u.T", a=TALL, exact=False, derivatives=False)


def test_a_basis_from_singular_vectors_has_derivatives() -> None:
    def f(a):
        u, _s, _vt = np.linalg.svd(a)
        return np.sum(weights * u)

    weights, along, h = RNG.normal(size=(5, 5)), RNG.normal(size=TALL.shape), 1e-6
    compiled = adc.jit_grad(f)
    expected = (compiled(TALL + h * along) - compiled(TALL - h * along)) / (2 * h)
    assert np.sum(compiled.grad(TALL) * along) == pytest.approx(expected, rel=1e-6)
    assert compiled.jvp((TALL,), (along,))[1] == pytest.approx(expected, rel=1e-6)


def test_pinv_and_rank() -> None:
    near("np.linalg.pinv(a)", a=TALL)
    check("np.linalg.pinv(a)", a=TALL.T, exact=False, derivatives=False)
    check("np.linalg.matrix_rank(a), np.linalg.matrix_rank(a[:, :1] * a[:1])", a=A, derivatives=False)


def test_lstsq() -> None:
    near("np.linalg.lstsq(a, b, rcond=None)", a=TALL, b=RNG.normal(size=(5, 2)))
    check("np.linalg.lstsq(a, b)[0]", a=TALL.T, b=RNG.normal(size=3), exact=False, derivatives=False)


def test_rank_of_lstsq_has_numpys_type() -> None:
    check("np.linalg.lstsq(a, b)[2]", a=TALL, b=RNG.normal(size=5), derivatives=False)


def test_rank_deficient_matrices() -> None:
    a = np.outer(np.arange(1.0, 4), np.arange(1.0, 3))
    check("np.linalg.matrix_rank(a), np.linalg.pinv(a)", exact=False, a=a, derivatives=False)
    u, s, vt = adc.jit_grad(lambda x: np.linalg.svd(x))(np.zeros((3, 3)))
    assert np.array_equal(s, np.zeros(3)) and np.allclose(u.T @ u, np.eye(3)) and np.allclose(vt @ vt.T, np.eye(3))


def test_single_precision() -> None:
    a = TALL.astype("f")
    check("np.linalg.svd(a)[1], np.linalg.qr(a)[1], np.linalg.pinv(a)", a=a, exact=False, rtol=1e-4, derivatives=False)


def test_numbers_of_extreme_size() -> None:
    for scale in (1e-200, 1e200):
        check("np.linalg.svd(a)[1], np.linalg.qr(a)[1]", a=A * scale, exact=False, rtol=1e-10, derivatives=False)


def test_what_is_not_a_number_is_said_not_to_converge() -> None:
    for name, message in (("svd", "SVD did not converge"), ("eigvalsh", "Eigenvalues did not converge")):
        with pytest.raises(np.linalg.LinAlgError, match=message):
            adc.jit_grad(lambda a, f=getattr(np.linalg, name): f(a))(np.full((5, 5), np.nan))


def test_vectors_of_equal_eigenvalues_have_no_derivative_and_values_have() -> None:
    def f(a):
        w, v = np.linalg.eigh(a)
        return np.sum((v @ (w**2 * v).T)[0])

    assert np.isnan(adc.grad(f)(np.eye(2))).any()
    assert adc.grad(lambda a: np.sum(np.linalg.eigvalsh(a)))(np.eye(2)).tolist() == [[1, 0], [0, 1]]
    assert np.allclose(adc.grad(lambda a: np.sum(np.linalg.svd(a, compute_uv=False)))(np.eye(2)), np.eye(2))


def test_second_derivatives() -> None:
    def f(a):
        w, v = np.linalg.eigh(a)
        q, r = np.linalg.qr(a)
        return np.sum(np.sin(w)) + np.sum(np.abs(v[0]) * w) + np.sum(q * r)

    got = adc.grad(lambda a: np.sum(adc.grad(f)(a) * T))(S)
    h = 1e-6
    expected = (adc.grad(f)(S + h * T) - adc.grad(f)(S - h * T)) / (2 * h)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_second_derivatives_of_singular_values_and_kin() -> None:
    def f(a):
        u, s, _vt = np.linalg.svd(a)
        return np.sum(s**3) + np.sum(np.linalg.pinv(a)[0]) + np.sum(np.abs(u[0]))

    along = RNG.normal(size=(3, 3))
    a, h = A[:3, :3], 1e-6
    got = adc.hvp(f, (a,), (along,))
    expected = (adc.grad(f)(a + h * along) - adc.grad(f)(a - h * along)) / (2 * h)
    np.testing.assert_allclose(got[0] if isinstance(got, tuple) else got, expected, rtol=1e-5, atol=1e-5)
