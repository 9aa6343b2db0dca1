"""Arrays made from numbers, slices and positions; functions of windows and lanes."""

from __future__ import annotations

import re

import numpy as np
import pytest

import adc
from adc.errors import AdcError, CompileError
from tests.numpy.checking import check, function_of

INPUTS = {
    "A": np.arange(12.0).reshape(3, 4) + 0.5,
    "C": np.arange(24.0).reshape(2, 3, 4) + 0.25,
    "x": np.linspace(1.0, 2.0, 6),
}
PROGRAMS = """
np.r_[x, x[0], 3.0, x[:2] * 2], np.r_[0:5, x], np.r_[x[0]:x[3]:5j]
np.c_[x, x * 2], np.c_[A, A[:, 0]]
np.mgrid[0:3, 0:4] * x[0], np.mgrid[0:5], np.mgrid[0:1:5j, 0:2], np.mgrid[-1:1:7j, 0:1:0.3]
np.ogrid[0:3, 0:4], np.ogrid[0:3, 0:1:3j, 0:2], np.ogrid[x[0]:x[5]:4j]
np.linspace(x[0], x[1], 7, endpoint=False), np.linspace(x[0], x[1], 7, retstep=True)
np.linspace(0, 10, 5, dtype=int), np.linspace(x[0], 3, 1), np.logspace(x[0], x[1], 5), np.geomspace(x[0], x[5], 4)
np.zeros_like(A, shape=(2, 3)) + x[0], np.ones_like(x, dtype=np.float32), np.full_like(A, x[0])
np.array(A, copy=True), np.array(x, ndmin=2), np.asanyarray(x) * 1.0, np.ascontiguousarray(A.T) * 1.0
np.zeros(3, order="C") + x[0], np.full((2, 2), x[:2]), np.full(3, x[0], dtype=float), np.asarray(x[0])
np.broadcast_arrays(x[:3, None], x[:2], 1.0), np.broadcast_to(x, (2, 6)) * 1.0
x[np.diag_indices(2)[0]] * 2, A[np.tril_indices(3)], A[np.triu_indices(3, 1, 4)], A[np.triu_indices_from(A)]
np.unravel_index(7, (3, 4)), A[np.unravel_index(np.argmax(A), A.shape)], np.unravel_index(np.array([1, 5]), (3, 4))
np.ravel_multi_index((1, 2), (3, 4)), np.ravel_multi_index((np.array([0, 2]), np.array([1, 3])), (3, 4)), x[0]
np.apply_along_axis(np.cumsum, 1, A), np.apply_along_axis(lambda r: r * r[0], 0, A)
np.apply_along_axis(lambda r: np.sum(r * r[0]), 0, A), np.apply_along_axis(np.sort, 1, C)
np.delete(x, [1, 3]), np.delete(A, [0, -1], axis=1), np.delete(x, np.array([True, False, False, True, False, False]))
np.lib.stride_tricks.sliding_window_view(x, 3) * 1.0, np.lib.stride_tricks.sliding_window_view(A, 2, axis=1) * 1.0
np.trim_zeros(np.r_[0.0, 0.0, x, 0.0]), np.trim_zeros(np.r_[0.0, x, 0.0], "f")
np.broadcast_shapes((3, 1), (4,)), np.broadcast_shapes(A.shape, (1, 4)), A.nbytes, A.itemsize
"""


def _inputs(body: str) -> dict[str, np.ndarray]:
    used = set(re.findall(r"\w+", body))
    return {name: value for name, value in INPUTS.items() if name in used}


@pytest.mark.parametrize("body", PROGRAMS.strip().splitlines())
def test_as_numpy(body: str) -> None:
    exact = not any(name in body for name in ("space(x[0], x[1], 5)", "np.sum"))
    check(f"return ({body})", exact=exact, **_inputs(body))


def test_contiguous_copies_of_windows() -> None:
    big = np.arange(64.0).reshape(8, 8)
    for a in (big[::2, ::2], big.T, big[:3]):
        check("B = np.ascontiguousarray(a)\nreturn B.reshape(-1) * 2.0", a=a)
    check("B = np.ascontiguousarray(a)\nB[0] = 2 * a[1]\nreturn a * a", a=big)


def test_views_that_share_elements_are_never_out_of_date() -> None:
    x = INPUTS["x"]
    for made in ("np.broadcast_to(x, (2, 6))", "np.broadcast_arrays(x, x[:, None])[0]", WINDOWS):
        check(f"B = {made}\ny = x * 2\ny[0] = B[0, 1] * x[0]\nreturn B * y[0]", x=x)
        check(f"B = {made}.copy()\nx[0] = 3.0\nreturn B * x[1]", x=x)
        loop = f"for i in range(2):\n    x[0] *= x[1]\n    B = {made}\n    y = np.sum(B * B)"
        check(f"{loop}\nreturn y", x=x, exact=False)
        for store in ("x[0] = 3.0", "x += 1.0", "B[0, 0] = 1.0", "change(x)"):
            head = "def change(u):\n    u[1] = 2.0\n"
            program = function_of(f"B = {made}\n{store}\nreturn B * 2.0", "x", head=head)
            with pytest.raises(CompileError):
                adc.jit_grad(program)(x)


WINDOWS = "np.lib.stride_tricks.sliding_window_view(x, 3)"


def test_what_is_refused() -> None:
    for body in ("np.r_['r', x]", "np.r_[1:]", "np.mgrid[x]", "np.zeros(3, order='X') + x[0]"):
        with pytest.raises((AdcError, ValueError)):
            adc.jit_grad(function_of(body, "x"))(INPUTS["x"])


@pytest.mark.parametrize("body", ["np.zeros(n)", "np.ones((n, 2))", "x.reshape(n, -1)", "np.full([n], x)"])
def test_a_bool_is_not_an_extent(body: str) -> None:
    program = function_of(body, "x, n")
    with pytest.raises(TypeError):
        program(INPUTS["x"], True)
    with pytest.raises(CompileError, match="not bool"):
        adc.jit_grad(program)(INPUTS["x"], True)


@pytest.mark.parametrize("body", ["np.eye(n)", "np.eye(2, n)", "np.identity(n)"])
def test_a_bool_is_not_a_number_of_rows(body: str) -> None:
    for program in (function_of(body, "n"), adc.jit_grad(function_of(body, "n"))):
        with pytest.raises(TypeError, match="an integer is required"):
            program(True)


ORDERED = [
    "np.zeros((2, 3), order='F')",
    "np.ones((2, 3, 2), int, 'F')",
    "np.full((3, 2), x[0], order='F')",
    "np.full((3, 4), A[0], order='F')",
    "np.empty_like(A, order='F') * 0",
    "np.zeros_like(A, order='F')",
    "np.full_like(A, x[1], order='F')",
    "A.copy('F')",
    "A.copy(order='F')",
    "np.copy(A * A, order='F')",
    "A.astype(np.float32, order='F')",
    "np.array(A, order='F')",
    "np.asarray(A * 2, order='F')",
    "np.array([x, x * x], order='F')",
    "np.asfortranarray(A)",
    "np.asfortranarray(A[::-1, ::2] * x[0])",
    "np.asfortranarray(x)",
    "np.asfortranarray([[1, 2], [3, 4]], float)",
    "np.asfortranarray(x[0])",
    "np.eye(3, order='F') * x[0]",
]


def test_the_order_of_fortran() -> None:
    """The strides are those of NumPy too."""
    made = adc.jit_grad(function_of(", ".join(ORDERED), "x, A"))(INPUTS["x"], INPUTS["A"])
    for body, found in zip(ORDERED, made, strict=True):
        wanted = function_of(body, "x, A")(INPUTS["x"], INPUTS["A"])
        np.testing.assert_array_equal(found, wanted, body, strict=True)
        assert found.strides == wanted.strides or "*" in body, body
    check(
        "B = np.asfortranarray(A)\nC = np.asfortranarray(B)\nC[0, 1] = x[0]\nB[1] *= A[0]\nreturn B, C, A",
        x=INPUTS["x"], A=INPUTS["A"],
    )  # fmt: skip
    check("Z = np.zeros(A.shape, order='F')\nZ[:, 1] = x[0]\nZ += A * A\nreturn Z @ A.T", exact=False,
          x=INPUTS["x"], A=INPUTS["A"])  # fmt: skip


def test_arrays_of_ranges_and_of_lists_between_brackets() -> None:
    check("np.array(range(n)), np.asarray(range(1, n, 2), float) * x[0], np.array(range(n, 0, -2))",
          x=INPUTS["x"], n=6)  # fmt: skip
    check("np.r_[[1.0, 2.0], x], np.r_[list(x)], np.r_[range(3), x[0]], np.c_[[1.0, 2.0], [x[0], 4]]", x=INPUTS["x"])
