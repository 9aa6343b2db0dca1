"""Large arrays filled and copied by threads: every byte, on any number of threads, and no byte outside."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest

from adc import jit_grad, prange
from adc.backend.lowering import whole_arrays
from adc.backend.runtime import on_threads

THREADS = (1, 2, 3, 4, 8)


def some(x, n):
    """Zeros in which only some elements are set, in a program with a loop that runs on threads."""
    z = np.zeros(n)
    for i in prange(len(x)):
        z[7 * i] = x[i] * x[i]
    return z


def flags(x, n):
    found = np.zeros(n, dtype=np.bool_)
    for i in prange(len(x)):
        found[3 * i] = x[i] > 0.5
    return found


def copied(x, n):
    """A copy in which only some elements are changed; rows of three."""
    z = np.ones((n, 3))
    for i in prange(n):
        z[i, 1] = 0.5 * i
    other = z.copy()
    for i in prange(len(x)):
        other[i, 0] += x[i]
    return other, z


def alone(x):
    z = np.zeros(len(x))
    z[0] = x[0]
    return z


@pytest.mark.parametrize("n", [131_071, 131_072, 131_073, 300_001, 1_000_000])
@pytest.mark.parametrize("function", [some, flags, copied])
def test_all_elements_are_written(function: Any, n: int) -> None:
    x = np.random.default_rng(0).random(1000)
    compiled, expected = jit_grad(function), function(x, n)
    for threads in THREADS:
        with on_threads(threads):
            for _ in range(2):  # the second run finds what the first one left in memory
                np.testing.assert_equal(compiled(x, n), expected)


@pytest.mark.parametrize("least", [0, 1, 4096])
@pytest.mark.parametrize("n", [0, 1, 3, 511, 512, 513, 5000])
@pytest.mark.parametrize("function", [some, copied])
def test_short_ones_too(function: Any, least: int, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Less than a page for each thread, or nothing at all."""
    monkeypatch.setenv("ADC_CACHE", "0")
    x = np.arange(1.0, 1.0 + n // 7)
    with mock.patch.object(whole_arrays, "LEAST", least):
        compiled, expected = jit_grad(function), function(x, n)
        for threads in THREADS:
            with on_threads(threads):
                for _ in range(2):
                    np.testing.assert_equal(compiled(x, n), expected)


def total(x):
    weights = np.zeros(len(x))
    for i in prange(1, len(x)):
        weights[i] = x[i] * x[i - 1]
    return np.sum(weights * x)


def test_gradients_begin_with_zeros() -> None:
    x = np.random.default_rng(1).random(400_000)
    expected = np.zeros_like(x)
    expected[1:] += 2.0 * x[1:] * x[:-1]
    expected[:-1] += x[1:] ** 2
    compiled = jit_grad(total)
    bits = set()
    for threads in THREADS:
        with on_threads(threads):
            found = compiled.grad(x)
        np.testing.assert_allclose(found, expected, rtol=1e-13)
        bits.add(found.tobytes())
    assert len(bits) == 1


def test_where_nothing_runs_on_threads_neither_do_fills() -> None:
    x = np.ones(5)
    for function, args, threaded in ((some, (x, 40), True), (alone, (x,), False)):
        compiled = jit_grad(function)
        compiled(*args)
        assert ("adc_fill" in compiled.dump_ir("llvm")) == threaded
