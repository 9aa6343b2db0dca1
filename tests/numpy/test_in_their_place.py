"""The replacements in docs/numpy.md for unsupported functions: the refusal names them, and they work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc.frontend.in_place_of_numpy import INSTEAD
from adc.frontend.suggestions import FUNCTIONS
from tests.numpy.functions import function_of

A = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 1.0]])
B = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0], [1.0, 1.0, 0.5]])

NEWTON = """p, x = np.array([1.0, -3.0, 2.0]), 3.0
for _ in range(8):
    x -= np.polyval(p, x) / np.polyval(np.polyder(p), x)
return np.array([x])"""

# The program that is refused; what is written in its place.
PAIRS = [
    ("np.longdouble(a[0, 0])", "np.float64(a[0, 0])"),
    ("np.clongdouble(a[0, 0])", "np.complex128(a[0, 0])"),
    ("np.histogramdd(a[:, :2], bins=2)[0]", "np.histogram2d(a[:, 0], a[:, 1], bins=2)[0]"),
    ("np.real_if_close(a + 0j)", "(a + 0j).real"),
    (
        "np.sort(np.roots(np.array([1.0, -3.0, 2.0])))[1:]",
        NEWTON,
    ),
    ("np.sort(np.linalg.eig(a)[0])", "np.linalg.eigh(a)[0]"),
    ("np.sort(np.linalg.eigvals(a))", "np.linalg.eigvalsh(a)"),
    ("np.frompyfunc(lambda x: x * x, 1, 1)(a).astype(float)", "np.vectorize(lambda x: x * x)(a)"),
    (
        "s = 0.0\nfor x in np.nditer(a):\n    s += float(x) ** 2\nreturn s",
        "s = 0.0\nfor x in a.flat:\n    s += x**2\nreturn s",
    ),
    (
        "s = 0.0\nfor x in np.nditer(a):\n    s += float(x) ** 2\nreturn s",
        "s = 0.0\nfor i in np.ndindex(a.shape):\n    s += a[i] ** 2\nreturn s",
    ),
    ("np.asarray(np.asmatrix(a) * np.asmatrix(b))", "np.asarray(a) @ np.asarray(b)"),
    ("np.asarray(np.matrix(a) * np.matrix(b))", "a @ b"),
    ("np.asarray(np.bmat([[a, b], [b, a]]))", "np.block([[a, b], [b, a]])"),
    ("np.poly1d(a[0])(1.5)", "np.polyval(a[0], 1.5)"),
    ("(np.poly1d(a[0]) * np.poly1d(a[1])).coeffs", "np.polymul(a[0], a[1])"),
    ("np.poly1d(a[0]).deriv().coeffs", "np.polyder(a[0])"),
    (
        "np.array([x * y for x, y in np.broadcast(a, b[0])])",
        "x, y = np.broadcast_arrays(a, b[0])\nreturn (x * y).ravel()",
    ),
    ("np.asarray_chkfinite(a)", "np.asarray(a) if np.isfinite(a).all() else a * 0"),
    ("np.require(a, requirements='C')", "np.ascontiguousarray(a)"),
    ("np.einsum('ij,jk', a, b, optimize=np.einsum_path('ij,jk', a, b)[0])", "np.einsum('ij,jk', a, b)"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize(("refused", "written"), PAIRS)
def test_what_is_written_in_its_place(refused: str, written: str) -> None:
    plain, other = (function_of(body, "a", "b") for body in (refused, written))
    with pytest.raises(adc.AdcError):
        adc.jit_grad(plain)(A, B)
    expected = np.asarray(plain(A, B))
    np.testing.assert_allclose(adc.jit_grad(other)(A, B), expected, rtol=1e-3 if expected.dtype.itemsize == 2 else 1e-9)


@pytest.mark.parametrize("name", sorted(INSTEAD))
def test_a_refusal_says_what_to_write(name: str) -> None:
    assert FUNCTIONS[name] == INSTEAD[name]
    if not hasattr(np, name.removeprefix("numpy.").split(".")[-1]):
        return
    called: Callable[..., Any] = function_of(f"np.{name.removeprefix('numpy.')}(a)", "a")
    if name in ("numpy.dtype", "numpy.test"):
        return  # the first is there, and the second is an object
    with pytest.raises(adc.AdcError) as caught:
        adc.jit_grad(called)(A)
    assert INSTEAD[name] in str(caught.value)


def test_common_type_and_sort_complex() -> None:
    for dtypes in ((np.float32, np.float32), (np.float32, np.int64), (np.complex64, np.float64)):
        x, y = (np.ones(2, dtype) for dtype in dtypes)
        program = function_of("np.zeros(2, np.common_type(a, b))", "a", "b")
        assert adc.jit_grad(program)(x, y).dtype == program(x, y).dtype
    sort = function_of("np.sort_complex(a)", "a")
    for a in (B, B.astype(np.int8), B + 1j * A, (B[::-1] - 1j).astype(np.complex64)):
        got, expected = adc.jit_grad(sort)(a), sort(a)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)
