"""SciPy's linear algebra, compared with SciPy."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from tests.numpy.checking import check

pytest.importorskip("scipy")
RNG = np.random.default_rng(21)
A = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
B = RNG.normal(size=(3, 2))
S = A @ A.T
HEAD = "import scipy.linalg as sl"


def near(body, **inputs):
    return check(body, exact=False, rtol=1e-10, head=HEAD, **inputs)


def value(body, **inputs):
    return near(body, derivatives=False, **inputs)


def test_solve_triangular() -> None:
    near("sl.solve_triangular(a, b), sl.solve_triangular(a, b[:, 0], lower=True)", a=A, b=B)
    value("sl.solve_triangular(a, b, 'T'), sl.solve_triangular(a, b, 1, lower=True, unit_diagonal=True)", a=A, b=B)


def test_cholesky_and_what_it_solves() -> None:
    near("sl.cho_solve(sl.cho_factor(a), b), sl.cho_solve(sl.cho_factor(a, lower=True), b[:, 0])", a=S, b=B)
    value("sl.cholesky(a), sl.cholesky(a, lower=True), sl.cho_factor(a)[0]", a=S)


def test_decompositions() -> None:
    value("sl.qr(a), sl.qr(a, mode='economic'), sl.inv(a), sl.det(a), sl.norm(a)", a=A)
    value("sl.svdvals(a), sl.eigvalsh(a), sl.eigh(a, lower=False, eigvals_only=True), sl.svd(a)[1]", a=A)


def test_expm() -> None:
    near("sl.expm(a)", a=A)
    value("sl.expm(5 * a)", a=np.stack([A, A.T]))


def test_a_singular_triangle() -> None:
    import scipy.linalg as sl

    with pytest.raises(np.linalg.LinAlgError, match="singular matrix"):
        adc.jit_grad(lambda a, b: sl.solve_triangular(a, b))(np.triu(np.ones((3, 3)), 1), B)


def test_factors_that_are_kept() -> None:
    near("f = sl.lu_factor(a)\nreturn sl.lu_solve(f, b), f", a=A[::-1], b=B)
    value("f = sl.lu_factor(a)\nreturn sl.lu_solve(f, b[:, 0], trans=1)", a=A[::-1], b=B)


def test_solve_and_pinv() -> None:
    value("sl.solve(a, b), sl.solve(a, b[:, 0], transposed=True), sl.pinv(a)", a=A, b=B)
    value("sl.solve(a, b, assume_a='pos')", a=S, b=B)
