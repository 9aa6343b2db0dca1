"""Direct and indirect recursion: values, effects and derivatives; the end of the stack."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from tests.programs.harness import check, on_threads


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


# One function ---------------------------------------------------------------------------------------------------------


def fibonacci(n: int, x: float) -> float:
    if n < 2:
        return x
    return fibonacci(n - 1, x) * x + fibonacci(n - 2, 0.5 * x)


def power(x: float, n: int) -> float:
    return 1.0 if n == 0 else x * power(x, n - 1)


def tower(n: int, x: float, y: float) -> float:
    if n == 0:
        return x
    inner = tower(n - 1, y * x, x)
    return np.sin(inner) * inner + y


def literal(n: int, x: float) -> float:
    """An int in one case and a float in the other."""
    if n == 0:
        return 1
    return x * literal(n - 1, x)


def ackermann(m: int, n: int, x: float) -> float:
    """Recursion in an argument."""
    if m == 0:
        return n + x
    if n == 0:
        return ackermann(m - 1, 1, x * 1.1)
    return ackermann(m - 1, int(ackermann(m, n - 1, 0.0)), x) * x


def test_scalar_recursion() -> None:
    check(fibonacci, (0, 1.3), (1, 0.7), (9, 1.1), pullback=True)
    check(power, (1.3, 0), (1.3, 7), pullback=True)
    check(tower, (0, 0.3, 0.4), (6, 0.3, 0.4), pullback=True)
    check(ackermann, (2, 3, 0.9))


def test_an_int_and_a_float_become_a_float() -> None:
    f = jit_grad(literal)
    assert f(3, 2.0) == 8.0 and f(0, 2.0) == 1.0
    assert adc.grad(f, argnums=1)(3, 2.0) == 12.0


def swapped(n: int, x: float, y: float) -> float:
    for _ in range(3):
        if n > 0:
            x = np.sin(x + swapped(n - 1, y, x) * 0.3)
        else:
            x = x * y
    return x


def through_while(n: int, x: float) -> float:
    s, k = 0.0, 0
    while k < n:
        s = s + np.cos(through_while(n - k - 1, x * 1.5))
        k += 1
    return s + x


def caller(a: np.ndarray, n: int) -> float:
    """Called in a loop, in a branch and by another function."""
    s = 0.0
    for i in range(len(a)):
        if a[i] > 0.5:
            s += tower(n, a[i], s)
        a[i] = power(a[i], i % 4)
    return s


def test_in_loops_branches_and_callees() -> None:
    check(swapped, (3, 0.4, 0.9), pullback=True)
    check(through_while, (4, 0.2), pullback=True)
    check(caller, (rng().uniform(0, 1, 7), 3), pullback=True)


# Several functions ----------------------------------------------------------------------------------------------------


def even(n: int, x: float, log: np.ndarray) -> float:
    log[n] += x
    return x if n == 0 else np.sin(odd(n - 1, x * 1.2, log)) + x


def odd(n: int, x: float, log: np.ndarray) -> float:
    log[n] *= 2.0
    if n == 0:
        return -x
    return even(n - 1, x + log[n], log) * x


def first(n: int, x: float) -> float:
    return x if n <= 0 else second(n - 1, x) + third(n - 2, x)


def second(n: int, x: float) -> float:
    return third(n, x) * first(n - 1, x)


def third(n: int, x: float) -> float:
    if n <= 0:
        return 0.5 * x
    return second(n - 1, np.sin(x)) - first(n - 1, x)


def test_mutual_recursion() -> None:
    check(even, (0, 0.3, np.ones(3)), (6, 0.3, rng().uniform(0.2, 0.6, 9)), pullback=True)
    check(third, (6, 0.7), pullback=True)


# Programs -------------------------------------------------------------------------------------------------------------


def simpson(a: float, b: float, c: float, eps: float) -> float:
    m = 0.5 * (a + b)
    return refine(a, b, c, wave(a, c), wave(m, c), wave(b, c), eps, 20)


def wave(x: float, c: float) -> float:
    return np.sin(c * x * x) / (1.0 + x)


def refine(a: float, b: float, c: float, fa: float, fm: float, fb: float, eps: float, depth: int) -> float:
    m = 0.5 * (a + b)
    left, right = wave(0.5 * (a + m), c), wave(0.5 * (m + b), c)
    whole = (b - a) / 6 * (fa + 4 * fm + fb)
    halves = (b - a) / 12 * (fa + 4 * left + 2 * fm + 4 * right + fb)
    if depth == 0 or abs(halves - whole) < 15 * eps:
        return halves + (halves - whole) / 15
    lower = refine(a, m, c, fa, left, fm, eps / 2, depth - 1)
    return lower + refine(m, b, c, fm, right, fb, eps / 2, depth - 1)


def merge_sort(a: np.ndarray, scratch: np.ndarray) -> None:
    n = len(a)
    if n < 2:
        return
    m = n // 2
    merge_sort(a[:m], scratch[:m])
    merge_sort(a[m:], scratch[m:])
    i, j = 0, m
    for k in range(n):
        if j >= n or (i < m and a[i] <= a[j]):
            scratch[k] = a[i]
            i += 1
        else:
            scratch[k] = a[j]
            j += 1
    a[:] = scratch


def ordered(a: np.ndarray, scratch: np.ndarray) -> float:
    merge_sort(a, scratch)
    s = 0.0
    for i in range(len(a)):
        s += i * a[i] * a[i]
    return s


def potential(node: int, x: float, left: np.ndarray, right: np.ndarray, at: np.ndarray, mass: np.ndarray) -> float:
    """A sum over a tree that leaves out what is small: far nodes count as one point."""
    if node < 0:
        return 0.0
    d = x - at[node]
    if left[node] < 0 or d * d > 4.0:
        return mass[node] / np.sqrt(d * d + 0.01)
    near = potential(left[node], x, left, right, at, mass)
    return near + potential(right[node], x, left, right, at, mass)


def energy(xs: np.ndarray, left: np.ndarray, right: np.ndarray, at: np.ndarray, mass: np.ndarray) -> float:
    total = 0.0
    for i in prange(len(xs)):
        total += potential(0, xs[i], left, right, at, mass)
    return total


def determinant(a: np.ndarray, scratch: np.ndarray) -> float:
    """By the first row; the minors lie in the scratch array, one below the other."""
    n = a.shape[0]
    if n == 1:
        return a[0, 0]
    minor = scratch[: n - 1, : n - 1]
    total, sign = 0.0, 1.0
    for j in range(n):
        for r in range(1, n):
            for c in range(n - 1):
                minor[r - 1, c] = a[r, c if c < j else c + 1]
        total += sign * a[0, j] * determinant(minor, scratch[n - 1 :, :])
        sign = -sign
    return total


def halves(a: np.ndarray) -> np.ndarray:
    """Returns arrays that it made."""
    if len(a) == 1:
        return a * a
    m = len(a) // 2
    whole = np.empty(len(a))
    whole[:m] = halves(a[:m]) * 2.0
    whole[m:] = np.sin(halves(a[m:]))
    return whole


def weighed(a: np.ndarray) -> float:
    return np.sum(halves(a) * a)


def last_view(a: np.ndarray, n: int) -> np.ndarray:
    """Returns a view of its argument."""
    return a if n == 0 else last_view(a[1:], n - 1)


def write_through(a: np.ndarray, n: int) -> float:
    v = last_view(a, n)
    v[0] *= 3.0
    return np.sum(v * v) + a[n]


def statistics(a: np.ndarray, n: int) -> tuple[float, float, int]:
    """Returns a tuple."""
    if n == 0:
        return 0.0, 1.0, 0
    s, p, k = statistics(a, n - 1)
    return s + a[n - 1] * p, p * a[n - 1], k + n


def test_programs() -> None:
    check(simpson, (0.1, 2.0, 3.1, 1e-4), tol=1e-6, step=3e-3)
    a = rng().permutation(11) + rng().uniform(0, 0.5, 11)
    check(ordered, (a, np.zeros(11)), pullback=True)
    left = np.array([1, 3, 5, -1, -1, -1, -1])
    right = np.array([2, 4, 6, -1, -1, -1, -1])
    tree = (left, right, rng().uniform(-2, 2, 7), rng().uniform(0.5, 1, 7))
    check(energy, (rng().uniform(-2, 2, 9), *tree), pullback=True)
    check(determinant, (rng().uniform(-1, 1, (4, 4)), np.zeros((8, 4))), pullback=True)


def test_arrays_and_tuples_returned() -> None:
    check(weighed, (rng().uniform(0.2, 1, 9),), pullback=True)
    check(write_through, (rng().uniform(0.2, 1, 6), 2), pullback=True)
    check(statistics, (rng().uniform(0.2, 1, 6), 4))
    assert adc.pullback(statistics, np.array([2.0, 3.0]), 2)[1]((1.0, 1.0, None))[0].tolist() == [1 + 3 + 3, 4.0]


factor = 2.0
table = np.array([0.5, 1.5, 2.5])


def captures(n: int, x: float) -> float:
    if n < 0:
        return x * factor
    return captures(n - 1, x * table[n]) + x


def test_captured_values() -> None:
    f = jit_grad(captures)
    assert f(2, 1.1) == captures(2, 1.1)
    gradients = adc.grad(f, argnums=1, argnames=("factor", "table"))(2, 1.1)
    h = 1e-6
    table[1] += h
    above = captures(2, 1.1)
    table[1] -= 2 * h
    below = captures(2, 1.1)
    table[1] += h
    assert np.isclose(gradients[1]["table"][1], (above - below) / (2 * h))
    assert np.isclose(gradients[1]["factor"], 1.1 * 0.5 * 1.5 * 2.5)
    assert np.isclose(gradients[0], (f(2, 1.1 + h) - f(2, 1.1 - h)) / (2 * h))


def procedure(a: np.ndarray, n: int) -> None:
    if n > 0:
        procedure(a, n - 1)
        a[n] += np.sin(a[n - 1]) * a[n]


def scanned(a: np.ndarray) -> float:
    procedure(a, len(a) - 1)
    return a[-1] * a[0]


def test_procedures() -> None:
    check(scanned, (rng().uniform(0.2, 1, 6),), pullback=True)


# What is known when tracing -------------------------------------------------------------------------------------------


def alternating(x: float, n: int, up: bool) -> float:
    """Two signatures, of which each calls the other: a bool is a constant."""
    if n == 0:
        return x
    if up:
        return alternating(x * 1.5, n - 1, False) + x
    return alternating(np.sin(x), n - 1, True)


def test_constants_make_signatures_of_their_own() -> None:
    def f(x: float, n: int) -> float:
        return alternating(x, n, True)

    check(f, (0.3, 5), pullback=True)


def endless(n: int, x: float) -> float:
    return endless(n - 1, x) + 1.0


def deeper(n: float, t: Any) -> float:
    return 1.0 if n == 0.0 else deeper(n - 1, (t, t))


def two_kinds(n: float, x: float) -> Any:
    return x if n == 0.0 else (two_kinds(n - 1, x), x)


def test_types_that_depend_on_an_integer() -> None:
    def deeper_by_one(n: int, t: Any) -> Any:
        return t if n == 0 else deeper_by_one(n - 1, (t, t))

    assert jit_grad(deeper_by_one)(2, 1.5) == ((1.5, 1.5), (1.5, 1.5))


@pytest.mark.parametrize(
    ("fn", "args", "message"),
    [
        (endless, (3, 1.0), "has no end"),
        (deeper, (3.0, 1.0), "ever new types"),
        (two_kinds, (3.0, 1.0), "float on one path"),
    ],
)
def test_refusals(fn: Callable[..., Any], args: tuple[Any, ...], message: str) -> None:
    with pytest.raises(adc.errors.CompileError, match=message) as caught:
        jit_grad(fn)(*args)
    assert caught.value.loc.file == __file__


# The end of the stack -------------------------------------------------------------------------------------------------


def run_away(n: int, x: float) -> float:
    if n < 0:
        return x
    return np.sin(run_away(n + 1, x)) + x


def to_depth(n: int, x: float) -> float:
    if n == 0:
        return x
    return np.sin(to_depth(n - 1, x)) + x


def both(n: int, x: float) -> None:
    line = run_away.__code__.co_firstlineno
    with pytest.raises(RecursionError, match=f"test_recursion.py:{line}:") as caught:
        jit_grad(run_away)(n, x)
    assert "def run_away" in "".join(caught.value.__notes__)
    with pytest.raises(RecursionError):
        adc.grad(run_away, argnums=1)(n, x)
    with pytest.raises(RecursionError):
        adc.pullback(run_away, n, x)


def test_runaway_recursion_is_an_error() -> None:
    both(1, 0.5)
    f = jit_grad(to_depth)
    assert np.isclose(f(5000, 0.1), unrolled(5000, 0.1), rtol=1e-12)  # deeper than Python goes
    h = 1e-7
    g = adc.grad(f, argnums=1)(5000, 0.1)
    assert np.isclose(g, (unrolled(5000, 0.1 + h) - unrolled(5000, 0.1 - h)) / (2 * h), rtol=1e-5)


def unrolled(n: int, x: float) -> float:
    y = x
    for _ in range(n):
        y = np.sin(y) + x
    return y


@pytest.mark.parametrize("kilobytes", [64, 256, 2048])
def test_threads_with_small_stacks(kilobytes: int) -> None:
    f, g = jit_grad(to_depth), adc.grad(jit_grad(to_depth), argnums=1)
    f(1, 0.1), g(1, 0.1)
    both(1, 0.5)
    depths: list[int] = []

    def work() -> None:
        for function in (f, g):
            n = 1
            while True:
                try:
                    function(n, 0.1)
                except RecursionError:
                    break
                n *= 2
            depths.append(n)

    before = threading.stack_size(kilobytes * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert len(depths) == 2
    assert all(kilobytes < n < kilobytes * 1024 for n in depths)


def many(a: np.ndarray, out: np.ndarray, n: int) -> float:
    for i in prange(len(a)):
        out[i] = to_depth(n, a[i])
    return np.sum(out)


def test_threads_of_a_parallel_loop() -> None:
    a = rng().uniform(0, 0.1, 64)
    check(many, (a, np.zeros(64), 20), pullback=True)
    compiled = jit_grad(many)
    for threads in (1, 2, 4):
        with on_threads(threads):
            assert np.isclose(compiled(a, np.zeros(64), 2000), sum(unrolled(2000, x) for x in a))
            for f in (compiled, compiled.grad):
                with pytest.raises(RecursionError):
                    f(a, np.zeros(64), 50_000_000)


def test_interpreter() -> None:
    f = jit_grad(run_away, _engine="interpreter")
    with pytest.raises(RecursionError):
        f(1, 0.5)


def test_ahead_of_time(tmp_path: Path) -> None:
    """A program in C gets a status."""
    source = tmp_path / "away.py"
    source.write_text(
        "import numpy as np\n\n\ndef away(n: 'i64', x: 'f64'):\n"
        "    if n < 0:\n        return x\n    return np.sin(away(n + 1, x)) + x\n"
    )
    main = tmp_path / "main.c"
    main.write_text(
        '#include <stdio.h>\n#include "away.h"\nint main(void) {\n'
        "    double y;\n    int a = away(1, 0.5, &y), b = away(-1, 0.5, &y);\n"
        '    printf("%d %d %g\\n", a, b, y);\n    return 0;\n}\n'
    )
    run = subprocess.run
    run([sys.executable, "-m", "adc", "compile", f"{source}:away", "-o", "away.o"], cwd=tmp_path, check=True)
    run(["cc", "main.c", "away.o", "-o", "main", "-lm", "-fopenmp"], cwd=tmp_path, check=True)
    out = run(["./main"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert out.split() == ["14", "0", "0.5"]


def checked(n: int, x: float) -> float:
    if n < 0:
        raise ValueError("negative")
    if n == 0:
        return x
    return checked(n - 2, np.sin(x)) * x


def test_exceptions_from_within() -> None:
    check(checked, (4, 0.3), pullback=True)
    for f in (jit_grad(checked), adc.grad(checked, argnums=1)):
        with pytest.raises(ValueError, match="negative"):
            f(3, 0.3)
