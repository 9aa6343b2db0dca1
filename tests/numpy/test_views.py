"""Views of another shape: kept, written through, or copied where NumPy copies; functions that move axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from tests.numpy.checking import check, function_of

A = np.arange(16.0).reshape(4, 4) + 0.5
X = np.linspace(1.0, 2.0, 16)


@pytest.mark.parametrize(
    "body",
    [
        "B = A[:, None]\nB[1, 0] = 3 * A[0]\nreturn A * A",
        "B = A[None]\nB[0] *= 2\nreturn A * A, B",
        "B = A[0, None]\nB[0] = 5.0\nC = A[1, 1, None]\nC[0] = A[0, 0] * A[0, 1]\nreturn A * A",
        "B = A.reshape(2, 8)\nB[1] *= A[0, 1]\nreturn A * A",
        "A.reshape(-1)[3] = A[0, 0] ** 2\nreturn A * A",
        "B = A.T.reshape(-1)\nB[3] = 7.0\nreturn A * 2, B * B",
        "B = A[1:3].reshape(-1)\nB[3] = 7.0\nreturn A * 2, B * B",
        "B = A[:, 1:3].reshape(-1)\nB[3] = 7.0\nreturn A * 2, B * B",
        "B = A[::-1].reshape(-1)\nB[3] = 7.0\nreturn A * 2, B * B",
        "B = A[:, None, :] - A[None]\nC = B.reshape(-1, 4)\nC[1] = C[2] * A[0]\nreturn C ** 2",
        "B = A.reshape(2, 2, 4)[:, 1].reshape(-1, 2)\nB[1] *= A[0, 1]\nreturn A * A, B",
        "B = A.reshape(2, 2, 4)[:, :, 1:3].reshape(-1, 2)\nB[3] *= A[0, 0]\nreturn A * A, B",
        "B = A.reshape(2, 2, 4).transpose(2, 0, 1).reshape(4, -1)\nB[3] *= A[0, 0]\nreturn A * A, B",
        "B = A[::2].reshape(2, 2, -1)\nB[1] *= A[0, 0]\nreturn A * A, B",
        "B = A.reshape(4, 4)[:, ::2].reshape(-1)\nB[1] *= A[0, 0]\nreturn A * A, B",
        "B = np.squeeze(A[None])\nB[1] *= A[0]\nreturn A * A",
        "B = np.expand_dims(A, (0, -1))\nB[0, 1] *= 2.0\nreturn A * A",
        "for i in range(3):\n    B = A.reshape(2, 8)\n    B[0] += B[1] * A[0, 0]\nreturn A * A",
        "B = np.zeros((3, 4))\nC = B.ravel()\nC[5] = A[0, 0]\nB[2] = A[1]\nreturn B * B, C * A[0, 1]",
        "A.flatten()",
        "A.flatten(order='F')",
        "A.ravel() * A.T.ravel()",
        "A.ravel(order='F')",
        "np.ravel(A + 1.0)",
        "np.reshape(A, (2, 8), order='F')",
        "np.reshape(A, shape=A.shape) * A",
        "B = A.conj()\nB[1] *= A[0]\nreturn A * A",
        "B = np.conj(A)\nB[1] *= A[0]\nreturn A * A, B",
        "B = A[1:].T.conjugate()\nB[1] = A[0, 0]\nreturn A * A",
    ],
)
def test_views_are_windows_and_copies_are_not(body: str) -> None:
    check(body, A=A)


@pytest.mark.parametrize("rows", [0, 1, 2, 4])
@pytest.mark.parametrize("k", [0, 1, 3, 4])
def test_whether_it_is_a_view_may_depend_on_extents(rows: int, k: int) -> None:
    a = A[:rows].copy()
    body = "B = A[:, k:].reshape(-1)\nB[1:] *= 3.0\nreturn A * A, B * B"
    check(body, A=a, k=k)
    check("B = A.T.reshape(-1)\nB[1:] *= 3.0\nreturn A * A, B * B", A=a)
    made = "C = np.zeros((n, 4))\nC[:] = A\nB = C.T.reshape(-1)\nB[1:] *= 3.0\nreturn C * C, B * B"
    check(made, A=a, n=rows)


def test_three_dimensions_of_extents_known_at_run_time() -> None:
    for shape in [(1, 3, 2), (3, 1, 2), (3, 2, 1), (2, 2, 2), (1, 1, 3), (2, 0, 2)]:
        a = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
        body = "C = np.zeros((l, m, n))\nC[:] = a\nB = C.transpose(1, 0, 2).reshape(-1)\nB[:] *= 3.0\nreturn C * C"
        check(body, a=a, l=shape[0], m=shape[1], n=shape[2])


@pytest.mark.parametrize(
    "body",
    [
        "np.swapaxes(a, 0, 2) * 1.0",
        "a.swapaxes(0, -1) * 1.0",
        "np.moveaxis(a, 0, -1) * 1.0",
        "np.moveaxis(a, (0, 1), (-1, 0)) * 1.0",
        "np.rollaxis(a, 2) * 1.0",
        "np.rollaxis(a, 0, 3) * 1.0",
        "np.transpose(a, (1, 2, 0)) * 1.0",
        "a.mT * 1.0",
        "np.matrix_transpose(a) * 1.0",
        "np.atleast_3d(a[0, 0]), np.atleast_3d(a[0]), np.atleast_2d(a[0, 0]), np.atleast_1d(2.0)",
        "np.atleast_1d(a[0, 0], 3.0)",
        "np.squeeze(a[:1] * 2, axis=0), np.squeeze(a[:, :1], 1) * 2",
    ],
)
def test_axes_are_moved(body: str) -> None:
    check(body, a=np.arange(24.0).reshape(2, 3, 4) + 1)


def test_arguments_with_any_strides() -> None:
    big = np.arange(64.0).reshape(8, 8) + 1
    for a in (big[::2, ::2], big[:4, :4].T, big[::-2, :4]):
        check("B = a[:, None].reshape(2, -1, 1, a.shape[1])\nB[1] *= a[0, 0]\nreturn a * a, B", a=a)
        check("a.copy().reshape(-1)", a=a)
        check("a.reshape(-1) * 2, np.diagonal(a), np.trace(a[1:])", a=a)


def _run(body: str) -> Callable[..., Any]:
    return adc.jit_grad(function_of(body, "a"))


def test_errors_are_numpys() -> None:
    for body in ("a.reshape(3, 5)", "a.reshape(3, -1)", "a[:0].reshape(0, -1)", "np.squeeze(a[:n], axis=0)"):
        body = body.replace("n]", "2]")
        with pytest.raises(ValueError) as theirs:
            function_of(body, "a")(A)
        with pytest.raises(ValueError) as ours:
            _run(body)(A)
        assert str(theirs.value).split(" into")[0][:30] == str(ours.value).split(" into")[0][:30]


def test_reshape_is_no_copy_and_costs_nothing() -> None:
    f = adc.jit_grad(function_of("return np.sum(a.reshape(-1) * a.reshape(-1))", "a"))
    f(A)
    assert "memref.copy" not in f.dump_ir("simplified")


def ravelled(x, n):
    y = x[:n].ravel()
    y *= 2.0
    z = np.ravel(x[::2])
    z *= 3.0
    a = np.ascontiguousarray(x[::-1])
    a += 1.0
    b = x.reshape(2, -1)[:, 0].ravel()
    b -= 1.0
    c = x[n:][::2].ravel("F")
    c *= 0.5
    return np.sum(y) + np.sum(z * z) + np.sum(a) * b[0] + np.sum(c)


@pytest.mark.parametrize("size", [2, 4, 10])
@pytest.mark.parametrize("n", [0, 1, 2])
def test_what_is_not_in_one_run_is_ravelled_as_a_copy(size, n):
    x = np.random.default_rng(0).random(size)
    expected, changed = x.copy(), x.copy()
    value = ravelled(expected, n)
    f = adc.jit_grad(ravelled)
    assert f(changed, n) == pytest.approx(value, rel=1e-14)
    assert np.array_equal(changed, expected)
    gradient, step = f.grad(x.copy(), n), 1e-6
    for k in range(size):
        sides = [ravelled(x + sign * step * np.eye(size)[k], n) for sign in (1, -1)]
        assert gradient[k] == pytest.approx((sides[0] - sides[1]) / (2 * step), rel=1e-7, abs=1e-8)
