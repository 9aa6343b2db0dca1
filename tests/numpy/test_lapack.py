"""LAPACK in compiled code: how kernels use it, and where it is not used. Kernels also run as plain Python."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import adc
from adc.border.options import Options
from adc.frontend.abstract import abstract_of
from adc.frontend.entrance import trace
from adc.frontend.kernels import lapack
from adc.frontend.kernels.elimination import determinant, factored, solved, solved_transposed
from adc.frontend.kernels.least_squares import least_squares
from adc.frontend.kernels.orthogonal import orthogonalised
from adc.frontend.kernels.singular import singular, singular_values
from adc.frontend.kernels.spectra import eigenvalues, spectrum
from adc.frontend.kernels.triangles import cholesky_factor, lower_solved, upper_solved
from adc.ir import ops
from adc.ir.externals import Named, provided
from tests.numpy.checking import check

RNG = np.random.default_rng(17)
N = lapack.LEAST + 3
A = RNG.normal(size=(N, N)) + 3 * np.eye(N)
B = RNG.normal(size=(N, 2))
S = A @ A.T
TALL = RNG.normal(size=(N + 2, N))


def holds(got, expected, dtype=np.float64) -> None:
    assert got.dtype == dtype
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3 if dtype == np.float32 else 1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_systems_of_equations(dtype) -> None:
    a, b = A.astype(dtype), B.astype(dtype)
    factors = factored(a)
    holds(solved(a, *factors[:2], b), np.linalg.solve(A, B), dtype)
    holds(solved_transposed(a, *factors[:2], b), np.linalg.solve(A.T, B), dtype)
    assert determinant(a, factors[0], factors[2]) == pytest.approx(np.linalg.det(A), rel=1e-3)
    assert not factors[3] and factored(np.ones((N, N), dtype))[3]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_triangles(dtype) -> None:
    low, b = np.linalg.cholesky(S), B.astype(dtype)
    factor, failed = cholesky_factor(S.astype(dtype))
    assert not failed and cholesky_factor(-S.astype(dtype))[1]
    holds(factor, low, dtype)
    holds(lower_solved(low.astype(dtype), b), np.linalg.solve(low, B), dtype)
    holds(upper_solved(low.T.astype(dtype), b), np.linalg.solve(low.T, B), dtype)
    assert upper_solved(A, np.zeros((N, 0))).shape == (N, 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_decompositions(dtype) -> None:
    for got, expected in zip(orthogonalised(TALL.astype(dtype)), np.linalg.qr(TALL), strict=True):
        holds(got, expected, dtype)
    w, v, failed = spectrum(S[:5, :5].astype(dtype))
    assert not failed
    holds(w, np.linalg.eigvalsh(S[:5, :5]), dtype)
    holds((v * w) @ v.T, S[:5, :5], dtype)
    holds(eigenvalues(S[:5, :5].astype(dtype))[0], np.linalg.eigvalsh(S[:5, :5]), dtype)


@pytest.mark.parametrize("wide", [False, True])
def test_singular_values_and_signs_are_those_of_numpy(wide) -> None:
    a = TALL[:, :4].copy()
    u, s, vt, failed = singular(a, wide)
    expected = np.linalg.svd(a.T if wide else a, full_matrices=False)
    got = (vt.T, s, u.T) if wide else (u, s, vt)
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(singular_values(a, wide)[0], s)
    assert not failed


def test_least_squares() -> None:
    for a, b in ((TALL[:, :5], TALL[:, 6:8]), (TALL[:3], TALL[:3, :2]), (np.outer(B[:, 0], B[:4, 1]), B)):
        x, s, failed = least_squares(a, b, 1e-12)
        expected = np.linalg.lstsq(a, b, rcond=1e-12)
        np.testing.assert_allclose(x, expected[0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(s, expected[3], atol=1e-9)
        assert not failed


@pytest.mark.parametrize("scale", [1.0, 1e-310, 1e200])
def test_few_columns_of_any_size(scale) -> None:
    """The squares of small and of large numbers leave the range; a column may be zero, or zero but for its top."""
    a = TALL[:, :4] * scale
    a[1:, 2] = 0.0
    a[:, 3] = 0.0
    q, r = orthogonalised(a)
    np.testing.assert_allclose(q, np.linalg.qr(a).Q, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(r, np.linalg.qr(a).R, rtol=1e-9, atol=1e-9 * scale)
    assert np.isnan(orthogonalised(np.full((9, 2), np.nan))[1]).any()


def test_nothing_is_asked_of_lapack_for_nothing() -> None:
    assert singular(np.zeros((3, 0)), False)[0].shape == (3, 0)
    assert spectrum(np.zeros((0, 0)))[1].shape == (0, 0)
    assert least_squares(np.zeros((3, 0)), np.zeros((3, 1)), 0.1)[0].shape == (0, 1)
    assert factored(np.zeros((0, 0)))[1].shape == (0,)


def test_compiled_code_with_lapack_is_numpys_to_the_bit() -> None:
    check("w, v = np.linalg.eigh(a)\nreturn w, v", a=S[:6, :6], derivatives=False)
    check("np.linalg.solve(a, b)", a=A, b=B[:, 0], rtol=1e-13, exact=False)


@pytest.mark.parametrize("x", [TALL[:7, :3], TALL[:3, :5]], ids=["tall", "wide"])
def test_derivatives_of_least_squares(x) -> None:
    check("x, _, _, s = np.linalg.lstsq(a, b)\nreturn x, s", a=x, b=TALL[: len(x), 7], exact=False, rtol=1e-9)


def test_without_lapack(monkeypatch) -> None:
    monkeypatch.setenv("ADC_LAPACK", "0")
    assert not Options().lapack
    check("np.linalg.eigvalsh(a), np.linalg.svd(a)[1]", a=S[:4, :4], exact=False, rtol=1e-10)


def _calls(lapack: bool) -> list[str]:
    module = trace(np_solve, [abstract_of(A), abstract_of(B)], lapack=lapack).module
    return [op.attrs["symbol"] for func in module.funcs.values() for op in func.walk() if op.opdef is ops.foreign]


def np_solve(a, b):
    return np.linalg.solve(a, b)


def test_code_that_is_to_run_elsewhere_calls_none() -> None:
    assert set(_calls(True)) == {"dgetrf", "dgetrs"}
    assert not _calls(False)


def test_the_interpreter_calls_it() -> None:
    plain = adc.jit_grad(_engine="interpreter")(lambda a: np.linalg.eigvalsh(a))
    assert np.array_equal(plain(S[:3, :3]), np.linalg.eigvalsh(S[:3, :3]))


def test_a_subroutine_of_other_parameters_is_not_called() -> None:
    assert provided(Named(lapack.getrf.library, "dgetrf", (), None)) is not None
    assert provided(Named(lapack.getrf.library, "dnothing", (), None)) is None
    assert lapack._address(lapack.Routine("getrf", "iiAiPA"), "dgetrf") == 0


def test_scipy_is_as_ever_afterwards() -> None:
    program = (
        "import sys, adc, numpy as np\n"
        "from adc.frontend.kernels import lapack\n"
        "assert lapack.at_hand() and 'scipy.linalg' not in sys.modules\n"
        "import scipy.linalg\n"
        "assert scipy.linalg.cython_lapack.__pyx_capi__ and scipy.linalg.solve([[2.0]], [1.0]) == [0.5]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_lapack_has_one_thread_and_its_own_number_afterwards() -> None:
    """What it returns has the bits that one thread gives, whatever number it has."""
    lapack.at_hand()
    get, set = (
        ctypes.CFUNCTYPE(*types)(address)
        for types, address in zip(
            ((ctypes.c_int,), (None, ctypes.c_int)), provided(Named(lapack.potrf.library, "dpotrf", (), None)).threads
        )
    )
    a = RNG.normal(size=(300, 300))
    a = a @ a.T + np.eye(300)
    before, f = get(), adc.jit_grad(np_cholesky)
    try:
        set(1)
        one = f(a)
        set(2)
        assert np.array_equal(f(a), one) and get() == 2
        assert f(a[:50, :50]).shape == (50, 50)
    finally:
        set(before)


def np_cholesky(a):
    return np.linalg.cholesky(a)


def test_calls_of_several_threads_at_once() -> None:
    f = adc.jit_grad(np_cholesky)
    expected = f(S)
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: f(S), range(40)):
            assert np.array_equal(got, expected)


def test_derivatives_of_larger_matrices() -> None:
    body = "q, r = np.linalg.qr(a, 'complete')\nreturn np.linalg.solve(a, b), np.linalg.cholesky(a @ a.T), q, r"
    check(body, a=A, b=B, exact=False, rtol=1e-9)


def test_extents_that_are_too_large_for_it_are_refused() -> None:
    def f(n):
        w = np.zeros(1)
        info = np.zeros(1, np.int32)
        lapack.potrf("L", n, w, 1, info)
        return info[0]

    assert adc.jit_grad(f)(2**32 + 1) == -2


@pytest.mark.parametrize(("n", "count"), [(1, 1), (5, 0), (7, 2), (20, 20), (N, 3)])
def test_right_hand_sides_of_any_number(n, count) -> None:
    a, b = A[:n, :n], RNG.normal(size=(n, count))
    lu, pivots = factored(a)[:2]
    np.testing.assert_allclose(a @ solved(a, lu, pivots, b), b, atol=1e-9)
    np.testing.assert_allclose(a.T @ solved_transposed(a, lu, pivots, b), b, atol=1e-9)
