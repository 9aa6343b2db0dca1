"""Lists of arrays of several sizes that a ``while`` loop makes, which ends because of them: levels of a pyramid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from tests.numpy.checking import check_function

RNG = np.random.default_rng(3)
IMAGE, OTHER, SIGNAL = RNG.random((8, 16)), RNG.random((8, 16)), RNG.random(16)


def levels(image, least=2):  # type: ignore[no-untyped-def]
    found = [image]
    while min(found[-1].shape) >= least:
        a = found[-1]
        found.append(0.25 * (a[::2, ::2] + a[1::2, ::2] + a[::2, 1::2] + a[1::2, 1::2]))
    return found


def difference_of_pyramids(a, b):  # type: ignore[no-untyped-def]
    return sum(np.mean((p - q) ** 2) * k for k, (p, q) in enumerate(zip(levels(a), levels(b), strict=True), 1))


class Wavelet:
    def __init__(self, weight=0.5**0.5):  # type: ignore[no-untyped-def]
        self.weight = weight

    def forward(self, x):  # type: ignore[no-untyped-def]
        details = []
        while len(x) > 1:
            details.append((x[::2] - x[1::2]) * self.weight)
            x = (x[::2] + x[1::2]) * self.weight
        return x, details

    def inverse(self, x, details):  # type: ignore[no-untyped-def]
        for d in details[::-1]:
            y = np.empty(2 * len(d))
            y[::2] = (x + d) * self.weight
            y[1::2] = (x - d) * self.weight
            x = y
        return x


def denoised(x, threshold):  # type: ignore[no-untyped-def]
    wavelet = Wavelet()
    mean, details = wavelet.forward(x)
    kept = [np.sign(d) * np.maximum(np.abs(d) - threshold, 0.0) for d in details]
    return wavelet.inverse(mean, kept), sum(np.sum(np.abs(d)) for d in kept)


def coarsened(b, start):  # type: ignore[no-untyped-def]
    right, n = [b], b.size
    while n > 2:
        n //= 2
        right.append(0.5 * (right[-1][0::2] + right[-1][1::2]))
    x = np.zeros(n) + start
    for r in reversed(right):
        if x.size != r.size:
            x = np.repeat(x, 2)
        x = x + 0.5 * (r - x)
    return x


def left_by_a_break(image, weight):  # type: ignore[no-untyped-def]
    found = [image]
    while True:
        a = found[-1]
        if a.shape[0] < 4 or a.shape[1] < 4:
            break
        found.append(a[::2, ::2] * weight)
    return sum(np.sum(a**2) for a in found)


def in_a_dict(image, weight):  # type: ignore[no-untyped-def]
    found, k = {0: image}, 0
    while min(found[k].shape) > 1:
        found[k + 1] = found[k][::2, 1::2] * weight
        k += 1
    return sum(a.mean() for a in found.values())


def inserted(x, weight):  # type: ignore[no-untyped-def]
    parts, n = [], x.size
    while n >= 2:
        parts.insert(0, x[: n // 2] - weight * x[n // 2 : n])
        x = x[: n // 2] + x[n // 2 : n]
        n //= 2
    return np.concatenate([x, *parts])


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (difference_of_pyramids, (IMAGE, OTHER)),
        (denoised, (SIGNAL, 0.11)),
        (coarsened, (SIGNAL, 0.3)),
        (left_by_a_break, (IMAGE, 0.9)),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_levels(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check_function(function, arguments, by=(0, 1))


@pytest.mark.parametrize(("function", "x"), [(in_a_dict, IMAGE), (inserted, SIGNAL)])
def test_levels_in_other_places(function: Callable[..., Any], x: Any) -> None:
    assert np.allclose(adc.jit_grad(function)(x, 0.9), function(x, 0.9), rtol=1e-13, atol=0.0)


def test_other_sizes_are_compiled_apart() -> None:
    compiled = adc.jit_grad(coarsened)
    for n in (16, 4, 8):
        assert np.array_equal(compiled(SIGNAL[:n], 0.3), coarsened(SIGNAL[:n], 0.3))


def simplex(x, count):  # type: ignore[no-untyped-def]
    corners, centres, k = [x, x + 1.0, x * 2.0], [], 0
    while k < 20:
        corners.sort(key=lambda v: np.sum(v**2))
        centre = sum(corners[:-1]) / 2.0
        corners[-1] = 2.0 * centre - corners[-1]
        centres.append(centre)
        k += 1
    return sum(np.sum(c) for c in centres) * count


def test_loops_that_end_for_another_reason_stay_loops() -> None:
    compiled = adc.jit_grad(simplex)
    assert compiled(SIGNAL, 2.0) == pytest.approx(simplex(SIGNAL, 2.0), rel=1e-13)
    assert "scf.while" in compiled.dump_ir("traced")
