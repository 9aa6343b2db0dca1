"""Loops over the taps of a stencil: an element is computed from a range of elements whose length is known when the loop
is reached; and receivers, whose subscripts are not known at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from tests.ranks.stencils import bits
from tests.ranks.table import on_ranks


def three(u0: Any, w: Any) -> Any:
    u = u0.copy()
    for _ in range(2):
        v = np.zeros_like(u0)
        for i in range(1, len(u0) - 1):
            s = 0.0
            for k in range(3):
                s += w[k] * u[i + k - 1]
            v[i] = s * u[i]
        u = v
    return np.sum(u**2)


def backwards(u0: Any, w: Any) -> Any:
    """The other way round, in steps of two."""
    n = len(u0)
    v = np.zeros(n)
    for i in range(4, n - 4):
        for k in range(-2, 3):
            v[i] += w[k + 2] * np.sin(u0[i - 2 * k])
    return np.sum(v**2)


def scattered(u0: Any, w: Any) -> Any:
    n = len(u0)
    v = np.zeros(n)
    for i in range(n - 2):
        for k in range(3):
            v[i + k] += w[k] * u0[i] ** 2
    return np.sum(v**2)


def as_many_as_given(u0: Any, w: Any) -> Any:
    n, h = len(u0), len(w) // 2
    v = np.zeros(n)
    for i in range(h, n - h):
        for k in range(len(w)):
            v[i] += w[k] * u0[i + k - h] ** 2
    return np.sum(v**2)


def fewer_at_the_ends(u0: Any, w: Any) -> Any:
    n = len(u0)
    v = np.zeros(n)
    for i in range(n):
        for k in range(max(-2, -i), min(3, n - i)):
            v[i] += w[k + 2] * u0[i + k] ** 2
    return np.sum(v**2)


@pytest.mark.parametrize("f", [three, backwards, scattered, as_many_as_given, fewer_at_the_ends])
def test_bits_are_those_of_one_rank(f: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    args = rng.random(13), rng.random(5)
    # Sums in memory, which other loops add to w_bar, are refused.
    g = jit_grad(argnums=(0,) if f in (scattered, fewer_at_the_ends) else (0, 1))(f)
    truth = g.value_and_grad(*args)

    def run(*ranks: int) -> set[bytes]:
        found = on_ranks(ranks, g, (13,), args)
        for value, bars in found:
            assert value == pytest.approx(f(*args), rel=1e-13)
            for bar, true in zip(bars, truth[1], strict=True):
                np.testing.assert_allclose(bar, true, rtol=1e-12)
        return {bits(each) for each in found}

    one = run(1)
    for count in (2, 3, 6):
        assert run(count) == one, count


def test_more_taps_than_a_block_has_elements() -> None:
    rng = np.random.default_rng(0)
    args = rng.random(9), rng.random(5)
    for f in (as_many_as_given, scattered):
        g = jit_grad(argnums=(0,))(f)
        (one,) = on_ranks((1,), g, (9,), args)
        assert {bits(found) for found in on_ranks((6,), g, (9,), args)} == {bits(one)}


RECEIVERS = np.array([3, 5, 1, 5])


def recorded(c: Any, wavelet: Any, seen: Any) -> Any:
    p, before, misfit = np.zeros_like(c), np.zeros_like(c), 0.0
    for t in range(len(wavelet)):
        new = 2.0 * p - before
        near = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]
        new[1:-1, 1:-1] += c[1:-1, 1:-1] * (near - 4.0 * p[1:-1, 1:-1])
        new[2, 3] += wavelet[t]
        before, p = p, new
        misfit += np.sum((p[5, RECEIVERS] - seen[t]) ** 2)
    return misfit


def test_receivers_along_a_row() -> None:
    rng = np.random.default_rng(0)
    args = 0.3 * rng.random((8, 7)), rng.random(5), rng.random((5, 4))
    f = jit_grad(argnums=(0, 1, 2))(recorded)
    value, gradient = f.value_and_grad(*args)
    (one,) = on_ranks((1, 1), f, (8, 7), args)
    assert one[0] == pytest.approx(value, rel=1e-13) == pytest.approx(recorded(*args), rel=1e-13)
    for bar, true in zip(one[1], gradient, strict=True):
        np.testing.assert_allclose(bar, true, rtol=1e-12, atol=1e-15)
    for ranks in ((1, 2), (2, 2), (1, 3)):
        assert {bits(found) for found in on_ranks(ranks, f, (8, 7), args)} == {bits(one)}, ranks
