"""fuse-sweeps: forward and reverse sweep of stencils in one loop, if that saves work; values, gradients, bits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from adc import jit_grad, prange
from adc.backend import runtime
from adc.passes.stencil_adjoints import block_rows, blocks
from tests.stencils.check import threads_at_once


def weighted(x, w):
    return np.sum(w[1:-1] * (np.sin(2 * x[:-2]) * np.cos(3 * x[1:-1]) * 4 * x[2:]))


def both(x, w):
    total = 0.0
    for i in prange(2, len(x) - 1):
        total += math.sin(x[i - 2] * w[i]) * math.exp(x[i + 1] - w[i - 1])
    return total


def stored(x, w):
    """The forward sweep stores, too, and what it stores is used again."""
    y = np.zeros(len(x))
    for i in prange(1, len(x) - 1):
        y[i] = math.sin(x[i - 1]) * math.cos(x[i + 1] * w[i])
    return np.sum(y * y * w)


def plane(x, w):
    total = 0.0
    for i in prange(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 2):
            total += math.sin(x[i - 1, j] * x[i + 1, j + 2]) * math.cos(x[i, j - 1] + w[i, j])
    return total


def cheap(x, w):
    """Nothing is saved by one loop: gathered."""
    return np.sum(w[1:-1] * (x[:-2] - 2.0 * x[1:-1] + x[2:]))


def warm(function) -> str:
    """The lowered gradient, without what is seldom run."""
    functions = function.dump_ir("lowered").split("func.func @")
    return "".join(text for text in functions if ".grad" in text.split("(")[0] and ".cold" not in text.split("(")[0])


def arguments(shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random(shape) - 0.5, rng.random(shape) + 0.5


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "LENGTH", {1: 7, 2: 5})
    monkeypatch.setattr(blocks, "LEAST", {1: 5})
    monkeypatch.setattr(blocks, "FEW", 2)
    monkeypatch.setattr(block_rows, "STRIP", 8)


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("function", [weighted, both, stored, plane, cheap])
@pytest.mark.usefixtures("_small")
def test_values_and_gradients(function) -> None:
    plain = jit_grad(function, argnums=(0, 1), parallel=False, accumulate="serial", _level=0)
    before = runtime.threads()
    with threads_at_once(2):
        fast = jit_grad(function, argnums=(0, 1))
        for n in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 17, 40, 101):
            args = arguments((n, n + 1) if function is plane else n, n)
            expected, gradients = plain.value_and_grad(*args)
            seen = set()
            for threads in (1, 2, 3, 8):
                runtime.set_threads(threads)
                value, found = fast.value_and_grad(*args)
                seen.add((np.float64(value).tobytes(), *(g.tobytes() for g in found)))
                assert value == pytest.approx(expected, rel=1e-13, abs=1e-13)
                for g, e in zip(found, gradients, strict=True):
                    np.testing.assert_allclose(g, e, rtol=1e-12, atol=1e-13)
            assert len(seen) == 1
        runtime.set_threads(before)


def test_against_finite_differences() -> None:
    for function in (weighted, both, stored, plane):
        args = arguments((9, 12) if function is plane else 30)
        found = jit_grad(function, argnums=(0, 1)).grad(*args)
        rng = np.random.default_rng(1)
        direction = [rng.standard_normal(a.shape) for a in args]
        step = 1e-6
        ahead, behind = (function(*(a + s * step * d for a, d in zip(args, direction))) for s in (1, -1))
        slope = sum(np.sum(g * d) for g, d in zip(found, direction))
        assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-8)


def test_each_sine_is_computed_once() -> None:
    fast = jit_grad(both, argnums=(0, 1))
    fast.value_and_grad(*arguments(50))
    assert "blocks" in str(fast.report())
    assert [warm(fast.grad).count(f"math.{name} ") for name in ("sin", "cos", "exp")] == [1, 1, 1]
    assert "tape" not in warm(fast.grad)


def test_linear_stencils_are_gathered() -> None:
    fast = jit_grad(cheap)
    fast.value_and_grad(*arguments(50))
    assert "gather" in str(fast.report())


def test_what_a_loop_stores_first_is_not_filled_before() -> None:
    fast = jit_grad(cheap)
    fast.value_and_grad(*arguments(50))
    fast_side = warm(fast.grad).split("} else {")[0]
    loops = fast_side.split("scf.parallel")[1:]
    assert any("memref.store" in text and "%x_bar" in text for text in loops)
    assert not any("memref.load %x_bar" in text.split("scf.reduce")[0] for text in loops)
    assert not any(line.strip().startswith("linalg.fill") and "%x_bar" in line for line in fast_side.splitlines())
