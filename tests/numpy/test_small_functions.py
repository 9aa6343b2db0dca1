"""Functions of a few lines: predicates, windows, polynomials, bits, unique elements."""

from __future__ import annotations

import numpy as np
import pytest

from adc import jit_grad
from tests.numpy.checking import check, function_of

A = np.array([1.2, 0.7, 1.9, 1.6])
K = np.array([3, 1, 3, 2, 1])
BYTES = np.array([3, 200], np.uint8)


def test_predicates() -> None:
    check("np.iscomplex(a), np.isreal(a), np.isreal(a + 1j * a)", a=A, derivatives=False)
    check("np.isreal(2.0), np.isscalar(3.0), np.isscalar(a), np.iterable(a), np.iterable(2)", a=A)


def test_polynomials_and_windows() -> None:
    check("np.kaiser(7, 2.0)", a=A, exact=False)
    check("np.poly(a)", a=A, exact=False)
    check("np.polydiv(a, b)", a=A, b=A[:2], exact=False)


@pytest.mark.parametrize("what", ["counts", "inverse", "all"])
def test_unique(what: str) -> None:
    check(f"np.unique_{what}(k)", k=K)


def test_bits() -> None:
    for m in (A > 1, np.arange(11) % 3 == 0, A[:0] > 1):
        check("np.packbits(m), np.packbits(m, bitorder='little')", m=m)
    check("np.unpackbits(u), np.unpackbits(u, count=11, bitorder='little'), np.unpackbits(u, count=-3)", u=BYTES)


def test_positions_and_axes() -> None:
    check("np.mask_indices(3, np.triu, 1)", a=A)
    check("np.apply_over_axes(np.sum, a, (0, 2))", a=np.arange(24.0).reshape(2, 3, 4))


def test_functions_that_are_others() -> None:
    a = np.random.default_rng(0).random((4, 6))
    check("np.linalg.diagonal(a, offset=1)", a=a)
    check("np.astype(k, np.float64), np.astype(a, np.float32)", a=a, k=K, derivatives=False)


def test_transforms_of_real_arrays_along_several_axes() -> None:
    a = np.random.default_rng(0).random((4, 6))
    check("b = np.fft.rfft2(a)\nreturn b.real, b.imag", a=a, exact=False)
    check("np.fft.irfft2(np.fft.rfft2(a, norm='ortho'))", a=a, exact=False)
    check("np.abs(np.fft.rfftn(a, axes=(0,)))", a=a, exact=False)
    check("np.fft.irfftn(a + 0j, s=(3, 5))", a=a, exact=False)
    check("np.fft.hfft(a + 1j * a, 7), np.fft.ihfft(a, norm='forward').imag", a=a[0], exact=False)


def test_the_element_of_an_array() -> None:
    square = np.outer(A[:3], A[1:])
    check("A.sum(axis=0, keepdims=True)[:1, :1].item() * A.item(3) + A.item((1, 0)) * A.item(-1)", A=square)
    check("(A[:1, :1] * A[1, 2]).item() + A.item(1, 2)", A=square)
    for k in (square.size, -square.size - 1):
        with pytest.raises(IndexError, match=f"index {k} is out of bounds for size {square.size}"):
            jit_grad(function_of("A.item(k)", "A", "k"))(square, k)
    with pytest.raises(ValueError, match="can only convert an array of size 1"):
        jit_grad(function_of("A.item()", "A"))(square)
