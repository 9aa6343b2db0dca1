"""Arrays that calls return: their memory is reused, belongs to them while they live, and is released."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import adc
from adc.backend import runtime
from adc.backend.library import array_memory

SIZES = (0, 1, 1000, array_memory.SMALLEST // 8 - 1, array_memory.SMALLEST // 8, 100_000, 300_000)


@adc.jit_grad
def squares(x):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(len(x)):
        total += x[i] * x[i]
    return total


@adc.jit_grad
def tail(x, n):  # type: ignore[no-untyped-def]
    """Reads the elements from n on."""
    total = 0.0
    for i in range(n, len(x)):
        total += 3.0 * x[i]
    return total


@pytest.mark.parametrize("size", SIZES)
def test_results_are_arrays_like_any(size: int) -> None:
    x = np.linspace(0.0, 1.0, size)
    for _ in range(3):
        gradient = squares.grad(x)
        assert np.array_equal(gradient, 2 * x)
        assert gradient.base is None and gradient.flags.owndata and gradient.flags.writeable
        assert gradient.flags.c_contiguous and gradient.dtype == np.float64
        gradient[:] = np.nan  # what the next one finds in its memory
    for n in (0, size // 2, size):
        expected = np.where(np.arange(size) < n, 0.0, 3.0)
        gradient = tail.grad(x, n)
        assert np.array_equal(gradient, expected)
        gradient[:] = np.nan


def test_memory_is_used_again() -> None:
    x = np.ones(200_000)
    first = squares.grad(x)
    address = first.ctypes.data
    del first
    second = squares.grad(x)
    assert second.ctypes.data == address
    third = squares.grad(x)
    assert third.ctypes.data != address and np.array_equal(second, third)


def test_arrays_can_be_resized_and_copied() -> None:
    gradient = squares.grad(np.ones(100_000))
    gradient.resize(250_000, refcheck=False)
    assert np.array_equal(gradient[:100_000], np.full(100_000, 2.0)) and not gradient[100_000:].any()
    gradient.resize(10, refcheck=False)
    assert np.array_equal(gradient.copy(), np.full(10, 2.0))


@pytest.mark.parametrize("size", SIZES)
def test_results_of_the_run_itself(size: int) -> None:
    """Whole arrays of a run, one of them twice, a part, and what a run leaves for its reverse sweep."""

    @adc.jit_grad
    def several(x):  # type: ignore[no-untyped-def]
        a = np.empty_like(x)
        for i in range(len(x)):
            a[i] = 2.0 * x[i]
        b = a + 1.0
        return a, b, a, b[: len(x) // 2], b[::-1]

    x = np.linspace(0.0, 1.0, size)
    expected = 2 * x, 2 * x + 1, 2 * x, (2 * x + 1)[: size // 2], (2 * x + 1)[::-1]
    before = []
    for _ in range(4):
        results = several(x)
        assert all(np.array_equal(r, e) for r, e in zip(results, expected, strict=True))
        assert all(r.flags.owndata and r.flags.writeable for r in results)
        for k, r in enumerate(results):
            assert not any(np.shares_memory(r, other) for other in (*results[:k], *before, x))
            r[:] = np.nan
        before = [*results]
    assert all(np.isnan(r).all() for r in before)


def test_what_the_reverse_sweep_needs_is_not_the_callers() -> None:
    def exponentials(x):  # type: ignore[no-untyped-def]
        return np.exp(x)

    x = np.linspace(0.0, 1.0, 100_000)
    values, back = adc.jit_grad(exponentials).pullback(x)
    values[:] = 0.0
    assert np.allclose(back(np.ones_like(x)), np.exp(x), rtol=1e-14)


def test_memory_of_results_is_used_again() -> None:
    """Runs that return an array hold no more than they did after the second."""

    @adc.jit_grad
    def doubled(x):  # type: ignore[no-untyped-def]
        return x * 2.0

    x = np.ones(300_000)
    held = []
    for _ in range(10):
        result = doubled(x)
        assert result[-1] == 2.0
        held.append(runtime.held_bytes())
    assert held[-1] == held[2]

    def check(k: int) -> None:
        for _ in range(50):
            assert np.array_equal(doubled(x + k), 2.0 * (x + k))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(check, range(4)))


def test_what_is_idle_is_given_back() -> None:
    gc.collect()
    runtime.release_memory()
    before = runtime.held_bytes()
    gradient = squares.grad(np.ones(400_000))
    assert runtime.held_bytes() - before < 400_000 * 8
    del gradient
    assert runtime.held_bytes() - before >= 400_000 * 8
    runtime.release_memory()
    assert runtime.held_bytes() <= before


def test_no_more_than_a_limit_is_kept_idle() -> None:
    size = 3 * array_memory.MOST_IDLE // (8 * 16)
    alive = [squares.grad(np.ones(size)) for _ in range(8)]
    del alive
    assert runtime.held_bytes() <= array_memory.MOST_IDLE + 2 * 8 * size
    runtime.release_memory()


def test_very_large_arrays_are_given_back_at_once() -> None:
    before = runtime.held_bytes()
    size = array_memory.MOST_IDLE // 8 + 1000
    gradient = tail.grad(np.zeros(size), size - 1)
    assert gradient[-1] == 3.0 and not gradient[:-1].any()
    del gradient
    assert runtime.held_bytes() <= before


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="the system does not say how much was used")
def test_a_large_result_is_not_copied() -> None:
    @adc.jit_grad
    def doubled(x):  # type: ignore[no-untyped-def]
        return 2.0 * x

    def status(name: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

    doubled(np.ones(3))
    runtime.release_memory()
    x = np.zeros(36_000_000)
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    result = doubled(x)
    assert status("VmHWM") - before < 1.2 * result.nbytes
    del result
    runtime.release_memory()


def test_several_threads() -> None:
    errors = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        kept = []
        for _ in range(60):
            x = rng.random(int(rng.integers(5_000, 60_000)))
            gradient = squares.grad(x)
            if not np.array_equal(gradient, 2 * x):
                errors.append(seed)
            kept.append((x, gradient))
            if len(kept) > 5:
                x, gradient = kept.pop(0)
                if not np.array_equal(gradient, 2 * x):
                    errors.append(seed)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_arrays_that_outlive_the_interpreter(tmp_path: Path) -> None:
    """Modules' variables, and cycles, are cleared when the interpreter ends."""
    text = """
import numpy as np, adc, sys
@adc.jit_grad
def f(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    return s
kept = f.grad(np.ones(100_000))
sys.kept = [kept, f]
sys.kept.append(sys.kept)
"""
    script = tmp_path / "script.py"
    script.write_text(text)
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    run = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, env=environment
    )
    assert run.returncode == 0 and not run.stderr, run.stderr
