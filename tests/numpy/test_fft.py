"""Fourier transforms, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from tests.numpy.checking import check

RNG = np.random.default_rng(4)


def draw(*shape: int) -> Any:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


def close(found: Any, wanted: Any) -> None:
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    assert np.linalg.norm(found - wanted) <= 2e-15 * np.linalg.norm(wanted)


def test_all_lengths() -> None:
    both = adc.jit_grad(lambda z: (np.fft.fft(z), np.fft.ifft(z)))
    for n in [*range(1, 40), 47, 49, 64, 53, 94, 106, 121, 128, 243, 360, 500, 625, 1009, 1024, 2310, 4096, 8191]:
        z = draw(n)
        for found, wanted in zip(both(z), (np.fft.fft(z), np.fft.ifft(z)), strict=True):
            close(found, wanted)


def test_columns_side_by_side() -> None:
    """Blocks of columns, the last of which is narrower, and few that are long."""
    transform = adc.jit_grad(lambda z: np.fft.fft(z, axis=1))
    for n in (1, 2, 15, 17, 36, 53, 256, 270, 1009):
        for columns in (0, 1, 2, 3, 15, 16, 17, 45):
            z = draw(2, n, columns)
            close(transform(z), np.fft.fft(z, axis=1))
    for n in (4, 53):
        assert transform(draw(0, n, 3)).shape == (0, n, 3)


def test_rows_side_by_side() -> None:
    transform = adc.jit_grad(lambda z: np.fft.fft(z, axis=1))
    for rows, n, columns in ((300, 8, 1), (70, 60, 1), (19, 256, 1), (9, 30, 5), (40, 12, 3), (11, 53, 1)):
        z = draw(rows, n, columns)
        close(transform(z), np.fft.fft(z, axis=1))


def test_the_adjoint_of_blocks() -> None:
    transform = adc.jit_grad(lambda z: np.fft.ifft(z, axis=1))
    for shape in ((2, 36, 1), (1, 53, 3), (1, 60, 33)):
        z, cotangent = draw(*shape), draw(*shape)
        close(transform.pullback(z)[1](cotangent)[0], np.fft.ifft(cotangent, axis=1))


def test_real_numbers_of_all_lengths() -> None:
    three = adc.jit_grad(lambda x, z, n: (np.fft.rfft(x), np.fft.irfft(z, n), np.fft.fft(x)))
    for n in [*range(1, 20), 64, 94, 106, 243, 256, 258, 1000, 1009, 2018, 4096]:
        x, z = RNG.normal(size=n), draw(n // 2 + 1)
        for found, wanted in zip(three(x, z, n), (np.fft.rfft(x), np.fft.irfft(z, n), np.fft.fft(x)), strict=True):
            close(found, wanted)


def test_real_columns() -> None:
    three = adc.jit_grad(
        lambda x, z: (np.fft.rfft(x, axis=1), np.fft.irfft(z, 2 * (z.shape[1] - 1), axis=1), np.fft.ifft(x, axis=1))
    )
    for n in (2, 4, 7, 34, 256):
        for columns in (0, 1, 2, 17):
            x, z = RNG.normal(size=(2, n, columns)), draw(2, n, columns)
            back = np.fft.irfft(z, axis=1)
            wanted = np.fft.rfft(x, axis=1), back, np.fft.ifft(x, axis=1)
            for found, expected in zip(three(x, z), wanted, strict=True):
                close(found, expected)


def test_two_axes() -> None:
    """One behind the other, cut and filled up: values, both modes, and complex numbers of 32 bits."""
    forms = {
        (): lambda z: np.fft.fft2(z),
        (7, 3): lambda z: np.fft.ifft2(z, (7, 3), norm="ortho"),
        (4, 8): lambda z: np.fft.fftn(z, (4, 8), axes=(0, 1), norm="forward"),
    }
    for (lengths, function), shape in zip(forms.items(), ((3, 5, 6), (2, 5, 4), (6, 5, 3)), strict=True):
        transform = adc.jit_grad(function)
        z, change = draw(*shape), draw(*shape)
        value, tangent = transform.jvp((z,), (change,))
        close(value, function(z))
        close(tangent, function(change))
        cotangent = draw(*value.shape)
        of_z = transform.pullback(z)[1](cotangent)[0]
        np.testing.assert_allclose(np.sum(of_z * change).real, np.sum(cotangent * tangent).real, rtol=1e-12)
        if not lengths:
            assert transform(draw(0, 4, 6)).shape == (0, 4, 6)
            found, wanted = transform(z.astype(np.complex64)), function(z.astype(np.complex64))
            assert found.dtype == np.complex64
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_rows_of_several_blocks() -> None:
    """The last block of rows is smaller; rows are cut, or filled up with zeros."""
    transform = adc.jit_grad(lambda z, n: np.fft.fft(z, n))
    for rows, held, n in ((37, 128, 128), (21, 9, 16), (33, 40, 24), (19, 128, 129)):
        z = draw(rows, held)
        close(transform(z, n), np.fft.fft(z, n))


LINEAR = {
    "rfft": (lambda x: np.fft.rfft(x, axis=1), False),
    "irfft": (lambda z: np.fft.irfft(z, axis=1), True),
    "irfft, odd": (lambda z: np.fft.irfft(z, 2 * z.shape[1] - 1, axis=1), True),
    "fft": (lambda x: np.fft.fft(x, axis=1), False),
    "ifft, shorter": (lambda x: np.fft.ifft(x, 4, axis=1), False),
    "rfft, longer": (lambda x: np.fft.rfft(x, 8, axis=1), False),
    "rfft, shorter": (lambda x: np.fft.rfft(x, 4, axis=1), False),
    "irfft, longer": (lambda z: np.fft.irfft(z, 14, axis=1), True),
    "irfft, shorter": (lambda z: np.fft.irfft(z, 4, axis=1), True),
    "ihfft": (lambda x: np.fft.ihfft(x, axis=1), False),
    "fft, longer": (lambda z: np.fft.fft(z, 9, axis=1), True),
}


@pytest.mark.parametrize("name", LINEAR)
def test_real_derivatives(name: str) -> None:
    """They are linear: the tangent is the transform of the tangent, and both modes give the same number."""
    function, takes_complex = LINEAR[name]
    transform = adc.jit_grad(function)
    for shape in ((2, 5, 1), (1, 6, 3)):
        x, dx = (draw(*shape) if takes_complex else RNG.normal(size=shape) for _ in range(2))
        value, tangent = transform.jvp((x,), (dx,))
        close(value, function(x))
        close(tangent, function(dx))
        cotangent = draw(*value.shape) if np.iscomplexobj(value) else RNG.normal(size=value.shape)
        of_x = transform.pullback(x)[1](cotangent)[0]
        np.testing.assert_allclose(np.sum(of_x * dx).real, np.sum(cotangent * tangent).real, rtol=1e-12, atol=1e-13)


def test_the_second_derivative() -> None:
    x = RNG.normal(size=6)
    found = adc.hessian(lambda x: np.sum(np.fft.irfft(np.abs(np.fft.rfft(x)) ** 2) ** 2))(x)
    step = 1e-5
    slope = adc.grad(lambda x: np.sum(np.fft.irfft(np.abs(np.fft.rfft(x)) ** 2) ** 2))
    wanted = np.stack([(slope(x + step * e) - slope(x - step * e)) / (2 * step) for e in np.eye(6)])
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


def test_any_number_of_threads() -> None:
    z = draw(128, 96)
    one, two = (adc.jit_grad(threads=k)(lambda z: np.fft.fft2(z)) for k in (1, 2))
    np.testing.assert_array_equal(one(z), two(z))


def test_derivatives() -> None:
    check("np.fft.irfft(z, n=7)", exact=False, rtol=1e-12, z=draw(4))


TEXTS = [
    "np.fft.rfft(x), np.fft.rfft(x, n=8)",
    "np.fft.irfft(z), np.fft.irfft(z, n=5, norm='forward')",
    "np.fft.fft(z, n=4), np.fft.fft(z, n=9), np.fft.ifft(z, norm='forward')",
    "np.fft.fft(m, axis=0), np.fft.fft(m[::-1], n=2, axis=-2), np.fft.rfft(m.real, axis=0)",
    "np.fft.fft2(m), np.fft.fftn(m, axes=(0,)), np.fft.ifftn(m, s=(2, 4), axes=(0, 1)), np.fft.ifft2(m)",
    "np.fft.fftshift(m), np.fft.ifftshift(z), np.fft.fftshift(m, axes=1)",
    "np.fft.ifft(np.fft.fft(z) * np.fft.fft(x)).real",
]


@pytest.mark.parametrize("text", TEXTS)
def test_forms(text: str) -> None:
    given = {"z": draw(6), "x": RNG.normal(size=6), "m": draw(3, 4)}
    check(text, exact=False, rtol=1e-12, derivatives=False, **given)


def test_frequencies() -> None:
    for n in (1, 2, 5, 8):
        check("np.fft.fftfreq(n, d), np.fft.rfftfreq(n, d), np.fft.fftfreq(n)", derivatives=False, n=n, d=0.5)


def test_types() -> None:
    x = RNG.normal(size=6)
    transform = adc.jit_grad(lambda a: np.fft.fft(a))
    for given in (x.astype(np.float32), np.arange(6)):
        found, wanted = transform(given), np.fft.fft(given)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_the_adjoint_is_a_transform() -> None:
    transform = adc.jit_grad(lambda z: np.fft.fft(z))
    z, cotangent = draw(12), draw(12)
    np.testing.assert_allclose(transform.pullback(z)[1](cotangent)[0], np.fft.fft(cotangent), rtol=1e-12)


def test_no_points() -> None:
    with pytest.raises(ValueError, match="Invalid number of FFT data points"):
        adc.jit_grad(lambda z: np.fft.fft(z))(np.zeros(0))


def test_the_length_minus_one_is_that_of_the_axis():
    def f(a, n):
        back = np.fft.irfftn(a, (-1, -1), (0, 1))
        return np.abs(np.fft.fft2(a, s=(-1, 4))), np.fft.ifftn(a, (n, -1), (0, 1)).real, back

    a = np.random.default_rng(0).random((4, 6))
    compiled = adc.jit_grad(f)
    for n in (-1, 3):
        for got, want in zip(compiled(a, n), f(a, n), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)
