"""Convolutions in several spellings, against closed forms: values, and gradients by the image and by the weights, for
short and long windows, which have code of their own."""

# mypy: ignore-errors
import numpy as np
import pytest

import adc
from adc import jit_grad


def window_sums(x, w):
    h, v = x.shape[0] - w.shape[0] + 1, x.shape[1] - w.shape[1] + 1
    out = np.zeros((h, v))
    for i in range(h):
        for j in range(v):
            out[i, j] = np.sum(x[i : i + w.shape[0], j : j + w.shape[1]] * w)
    return np.sum(out * out)


def element_loops(x, w):
    total = 0.0
    for i in range(x.shape[0] - w.shape[0] + 1):
        for j in range(x.shape[1] - w.shape[1] + 1):
            s = 0.0
            for a in range(w.shape[0]):
                for b in range(w.shape[1]):
                    s += x[i + a, j + b] * w[a, b]
            total += s * s
    return total


def shifted_images(x, w):
    h, v = x.shape[0] - w.shape[0] + 1, x.shape[1] - w.shape[1] + 1
    out = np.zeros((h, v))
    for a in range(w.shape[0]):
        for b in range(w.shape[1]):
            out += w[a, b] * x[a : a + h, b : b + v]
    return np.sum(out**2)


def views(x, w):
    out = np.einsum("ijab,ab->ij", np.lib.stride_tricks.sliding_window_view(x, w.shape), w)
    return np.sum(out * out)


def rows_of_images(x, w):
    """The same for each image of a stack of one, with one filter."""
    out = np.zeros((1, 1, x.shape[0] - w.shape[0] + 1, x.shape[1] - w.shape[1] + 1))
    images, filters = x[None, None], w[None, None]
    for n in range(images.shape[0]):
        for f in range(filters.shape[0]):
            for i in range(out.shape[2]):
                for j in range(out.shape[3]):
                    part = images[n, :, i : i + w.shape[0], j : j + w.shape[1]]
                    out[n, f, i, j] = np.sum(part * filters[f])
    return np.sum(out * out)


def closed_form(x, w):
    windows = np.lib.stride_tricks.sliding_window_view
    out = np.einsum("ijab,ab->ij", windows(x, w.shape), w)
    padded = np.pad(2 * out, [(n - 1, n - 1) for n in w.shape])
    by_x = np.einsum("ijab,ab->ij", windows(padded, w.shape), w[::-1, ::-1])
    by_w = np.einsum("abij,ij->ab", windows(x, out.shape), 2 * out)
    return np.sum(out * out), by_x, by_w


SHAPES = [((9, 70), (3, 5)), ((40, 61), (1, 30)), ((6, 6), (6, 6)), ((34, 33), (27, 2)), ((5, 100), (2, 40))]


@pytest.mark.parametrize("function", [window_sums, element_loops, shifted_images, views, rows_of_images])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gradients(function, dtype) -> None:
    rng = np.random.default_rng(0)
    tolerance = {"rtol": 1e-12 if dtype is np.float64 else 3e-4}
    gradient = adc.value_and_grad(jit_grad(function), argnums=(0, 1))
    alone = adc.grad(jit_grad(function), argnums=1)
    for of_image, of_weights in SHAPES:
        x, w = (rng.uniform(0.5, 1.5, shape).astype(dtype) for shape in (of_image, of_weights))
        value, by_x, by_w = closed_form(x.astype(np.float64), w.astype(np.float64))
        found, found_by = gradient(x, w)
        np.testing.assert_allclose(found, value, **tolerance)
        np.testing.assert_allclose(found_by[0], by_x, **tolerance)
        np.testing.assert_allclose(found_by[1], by_w, **tolerance)
        np.testing.assert_allclose(alone(x, w), by_w, **tolerance)


def autocorrelation(x, w):
    total = 0.0
    for i in range(len(x) - len(w) + 1):
        s = 0.0
        for k in range(len(w)):
            s += x[i + k] * w[k]
        total += np.tanh(0.1 * s)
    return total


def test_one_dimension() -> None:
    gradient = adc.grad(jit_grad(autocorrelation), argnums=(0, 1))
    rng = np.random.default_rng(1)
    for n, k in ((200, 7), (60, 60), (150, 49), (12, 1)):
        x, w = rng.random(n), rng.random(k)
        by_s = 0.1 / np.cosh(0.1 * np.correlate(x, w)) ** 2
        by_x, by_w = gradient(x, w)
        np.testing.assert_allclose(by_x, np.convolve(by_s, w), rtol=1e-12)
        np.testing.assert_allclose(by_w, np.correlate(x, by_s), rtol=1e-12)


def deviations(x, w):
    """What each window computes once, its mean and its deviation, all its terms need."""
    total = 0.0
    for i in range(x.shape[0] - w + 1):
        for j in range(x.shape[1] - w + 1):
            mean = 0.0
            for a in range(w):
                for b in range(w):
                    mean += x[i + a, j + b]
            mean /= w * w
            square = 0.0
            for a in range(w):
                for b in range(w):
                    square += (x[i + a, j + b] - mean) ** 2
            total += np.sqrt(square)
    return total


def shares(x, w):
    total = 0.0
    for i in range(w - 1, len(x)):
        s = 0.0
        for k in range(w):
            s += np.exp(x[i - k])
        for k in range(w):
            total += x[i - k] * np.exp(x[i - k]) / s
    return total


@pytest.mark.parametrize("threads", [1, 2])
def test_what_a_window_computes_once(threads) -> None:
    rng = np.random.default_rng(2)
    by_deviations = adc.grad(jit_grad(threads=threads)(deviations))
    by_shares = adc.grad(jit_grad(threads=threads)(shares))
    for shape, w in (((9, 70), 3), ((6, 6), 6), ((7, 8), 5), ((3, 3), 4), ((0, 2), 2)):
        x, wanted = rng.random(shape), np.zeros(shape)
        for i, j in np.ndindex(*(max(n - w + 1, 0) for n in shape)):
            part = x[i : i + w, j : j + w] - x[i : i + w, j : j + w].mean()
            wanted[i : i + w, j : j + w] += part / np.sqrt(np.sum(part**2))
        np.testing.assert_allclose(by_deviations(x, w), wanted, rtol=1e-11, atol=1e-13)
    for n, w in ((60, 7), (9, 7), (7, 7), (6, 7), (5, 1), (0, 3)):
        x, wanted = rng.random(n), np.zeros(n)
        for i in range(n - w + 1):
            p = np.exp(x[i : i + w]) / np.sum(np.exp(x[i : i + w]))
            wanted[i : i + w] += p * (1 + x[i : i + w] - p @ x[i : i + w])
        np.testing.assert_allclose(by_shares(x, w), wanted, rtol=1e-11, atol=1e-13)
