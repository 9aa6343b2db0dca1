"""Allocations that fail: MemoryError with the size; negative extents: ValueError. Then everything continues."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from adc.backend import runtime

ROOT = Path(__file__).parents[2]
MOST = 2**63 - 1


def used(a):
    total = 0.0
    for i in range(min(a.shape[0], 3)):
        a[i] = i * 2.0
    for i in range(min(a.shape[0], 3)):
        total += a[i] * a[i]
    return total


MAKERS: dict[str, Any] = {
    "zeros": jit_grad(lambda x, n: x * used(np.zeros(n))),
    "empty": jit_grad(lambda x, n: x * used(np.empty(n))),
    "ones": jit_grad(lambda x, n: x * used(np.ones(n))),
    "full": jit_grad(lambda x, n: x * used(np.full(n, x))),
    "rows": jit_grad(lambda x, n: x * used(np.zeros((2, n))[1])),
    "columns": jit_grad(lambda x, n: x * used(np.zeros((n, 2))[:, 1])),
}
PER_ITEM = {"rows": 16, "columns": 16}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("n", [10**12, 2**60 - 1, 2**61, MOST])
def test_arrays_that_are_too_large(name: str, n: int) -> None:
    f = MAKERS[name]
    size = n * PER_ITEM.get(name, 8)
    for call in (f, f.grad, f.pullback):
        with pytest.raises(MemoryError, match=f"cannot allocate an array of {min(size, MOST)} bytes") as caught:
            call(1.5, n)
        assert "test_memory.py" in str(caught.value)
        assert f(1.5, 3) == 30.0
    assert f.grad(1.5, 3) == 20.0


@pytest.mark.parametrize("shape", [(2**32, 2**32), (2**40, 2**40), (2**61, 8), (10**7, 10**7)])
def test_sizes_that_wrap_around(shape: tuple[int, int]) -> None:
    @jit_grad
    def f(x, n, m):
        a = np.zeros((n, m))
        a[0, 0] = x
        a[n - 1, m - 1] = x
        return a[0, 0] * a[n - 1, m - 1]

    assert f(3.0, 2, 2) == 9.0
    with pytest.raises(MemoryError, match=f"array of {min(8 * shape[0] * shape[1], MOST)} bytes"):
        f(3.0, *shape)
    assert f.grad(3.0, 2, 2) == 6.0


NOT_MADE: dict[str, tuple[Any, tuple[int, ...]]] = {
    "summed": (lambda x, n: x * np.sum(np.zeros(n)), (2**60,)),
    "multiplied": (lambda x, n: np.sum(np.ones(n) * x), (2**50,)),
    "two": (lambda x, n, m: x * np.sum(np.zeros((n, m))), (2**40, 2**40)),
    "wrapped": (lambda x, n, m: x * np.sum(np.ones((n, m))), (2**32, 2**32)),
    "empty": (lambda x, n, m: x * np.sum(np.zeros((n, m))), (2**62, 0)),
    "empty inside": (lambda x, n, m, k: x * np.sum(np.zeros((n, m, k))), (2**62, 0, 2)),
    "shape": (lambda x, n, m: x * np.zeros((n, m)).shape[0], (2**40, 2**40)),
    "length": (lambda x, n: x * len(np.empty(n)), (2**61,)),
    "full": (lambda x, n: np.sum(np.full(n, x)), (2**61,)),
    "like": (lambda x, n: x * np.sum(np.zeros_like(np.ones(2), shape=n)), (2**61,)),
    "arange": (lambda x, n: x * np.sum(np.arange(n)), (2**61,)),
    "linspace": (lambda x, n: np.sum(np.linspace(0.0, x, n)), (2**61,)),
    "bool": (lambda x, n, m: x * np.sum(np.ones((n, m), dtype=bool)), (2**61, 2**61)),
    "float32": (lambda x, n: x * np.sum(np.ones(n, dtype=np.float32)), (2**62,)),
    "known": (lambda x, n: x * np.sum(np.ones((2**40, 2**40))) * n, (1,)),
}


@pytest.mark.parametrize("name", NOT_MADE)
def test_arrays_that_are_never_made(name: str) -> None:
    """Which of its arrays a program makes is adc's affair; which it asks for is the user's."""
    function, extents = NOT_MADE[name]
    with pytest.raises((MemoryError, ValueError)):  # that it is too big is a ValueError in NumPy
        function(1.0, *extents)
    compiled = jit_grad(function)
    for call in (compiled, compiled.grad):
        with pytest.raises(MemoryError, match=r"cannot allocate an array of \d+ bytes") as caught:
            call(1.0, *extents)
        assert "test_memory.py" in str(caught.value)
        if name != "known":
            call(1.0, *(3 for _ in extents))


def test_large_extents_of_arrays_without_elements() -> None:
    f = jit_grad(lambda n, m: np.zeros((n, m)))
    for shape in ((2**40, 0), (0, 2**59), (0, 0), (3, 0)):
        assert f(*shape).shape == np.zeros(shape).shape == shape


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("n", [-1, -(2**63)])
def test_negative_extents(name: str, n: int) -> None:
    f = MAKERS[name]
    for call in (f, f.grad, f.pullback):
        with pytest.raises(ValueError, match="negative dimensions are not allowed") as caught:
            call(1.5, n)
        assert "test_memory.py" in str(caught.value)
        assert f(1.5, 1) == 0.0


@pytest.mark.parametrize("name", ["zeros", "empty", "ones", "full"])
def test_no_elements(name: str) -> None:
    f = MAKERS[name]
    assert f(1.5, 0) == 0.0 and f.grad(1.5, 0) == 0.0 and f.pullback(1.5, 0)[1](1.0)[0] == 0.0


def steps(x, n):
    for _ in range(n):
        x = np.sin(x) * x
    return x


def coupled(x, y, n):
    """Of two numbers: what depends on one has its derivative beside its value in a pullback, and no tape."""
    for _ in range(n):
        x, y = np.sin(x) * y, np.cos(y) * x
    return x


def nested(x, n, m):
    total = 0.0
    for _ in range(n):
        for _ in range(m):
            x = np.sin(x) * x
        total += x
    return total


@pytest.mark.parametrize("n", [10**14, 2**60, 2**61, 2**62 + 5])
def test_tapes_that_are_too_large(n: int) -> None:
    f, two = jit_grad(steps), jit_grad(coupled)
    calls = (f.grad, (0.5,)), (f.value_and_grad, (0.5,)), (two.grad, (0.5, 0.7)), (two.pullback, (0.5, 0.7))
    for call, start in calls:
        with pytest.raises(MemoryError, match=r"cannot allocate an array of.*with memory= or checkpoint= a gradient"):
            call(*start, n)
        assert call(*start, 3) is not None
    g = jit_grad(nested)
    for shape in ((2**32, 2**32), (2**40, 2**40), (10**7, 10**7)):
        with pytest.raises(MemoryError, match="cannot allocate an array of"):
            g.grad(0.5, *shape)
    difference = (nested(0.5 + 1e-6, 2, 3) - nested(0.5 - 1e-6, 2, 3)) / 2e-6
    assert np.isclose(g.grad(0.5, 2, 3), difference, rtol=1e-7)
    assert g.grad(0.5, 3, -4) == 3.0


LIMITED = """
import resource
import numpy as np
import adc
from adc import jit_grad, prange
from adc.backend import runtime

@jit_grad
def steps(x, n):
    for _ in range(n):
        x = np.sin(x) * x
    return x

@jit_grad
def several(u, n):
    total = 0.0
    for k in range(5):
        a = np.zeros(n)
        b = np.zeros((n, k + 1))
        for i in range(n):
            for j in range(k + 1):
                b[i * i % n, j] = u[i % 4] * j
        for i in range(n):
            a[i] = b[n - 1 - i, k] + u[i % 4]
        total += a[0] * a[n - 1]
    return total

@jit_grad
def threads(u, n):
    total = 0.0
    for i in prange(8):
        a = np.zeros(n)
        for k in range(n):
            a[k * k % n] = u[k % 4] * i
        total += np.sum(a)
    return total

@jit_grad
def grows(x, limit):
    k = 0
    while k < limit:
        x = np.sin(x) * x
        k += 1
    return x

u = np.ones(4)
small = [(steps.grad, (0.5, 5)), (several, (u, 5)), (several.grad, (u, 5)), (threads, (u, 5)), (grows.grad, (0.5, 5))]
large = [(steps.grad, (0.5, 100_000_000)), (several, (u, 12_500_000)), (several.grad, (u, 12_500_000)),
         (threads, (u, 75_000_000)), (grows.grad, (0.5, 100_000_000))]
before = [np.array(f(*args)) for f, args in small]
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 28), resource.RLIM_INFINITY))
for _ in range(2):
    for f, args in large:
        try:
            f(*args)
        except MemoryError as error:
            assert "cannot allocate an array of" in str(error), error
        else:
            raise SystemExit(f"no MemoryError from {f}")
        for (g, few), right in zip(small, before):
            assert np.array_equal(g(*few), right)
runtime.release_memory()
assert runtime.held_bytes() == 0
print("done")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the address space")
def test_a_process_of_limited_memory(tmp_path: Path) -> None:
    program = tmp_path / "limited.py"
    program.write_text(LIMITED)
    run = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=False, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "ADC_NUM_THREADS": "2"},
    )  # fmt: skip
    assert run.returncode == 0 and run.stdout == "done\n", run.stdout + run.stderr


def test_errors_keep_no_memory() -> None:
    f = jit_grad(lambda x, n, m: x * (used(np.ones(n)) + used(np.zeros(m))))
    runtime.release_memory()
    for _ in range(50):
        with pytest.raises(MemoryError):
            f(1.5, 100_000, 10**13)
        with pytest.raises(MemoryError):
            f.grad(1.5, 100_000, 10**13)
    assert runtime.held_bytes() < 4_000_000
