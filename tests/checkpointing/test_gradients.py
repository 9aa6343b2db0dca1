"""Gradients with any schedule have the same bits as those with a tape of all steps."""

from __future__ import annotations

import itertools
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from adc.backend import runtime
from tests.stencils.check import threads_at_once

pytestmark = pytest.mark.usefixtures("stages")

SCHEDULES = ["recompute-all", "sqrt", "every:3", "revolve:3", "revolve:1000"]


def heat(u0, c, n):
    """Two buffers that change places."""
    u, v = u0.copy(), u0.copy()
    for _ in range(n):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                flow = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
                v[i, j] = u[i, j] + c * u[i, j] * flow
        u, v = v, u
    return np.sum(u * u)


def wave(c, source, n):
    """Three buffers in turn, a source, and receivers whose misfit is summed in the loop."""
    m = c.shape[0]
    old, now, new = np.zeros(m), np.zeros(m), np.zeros(m)
    misfit = 0.0
    for t in range(n):
        for i in range(1, m - 1):
            new[i] = 2.0 * now[i] - old[i] + c[i] * c[i] * (now[i - 1] - 2.0 * now[i] + now[i + 1])
        new[m // 2] += source[t % source.shape[0]]
        misfit += (new[2] - 0.1) ** 2
        old, now, new = now, new, old
    return misfit + np.sum(now * now)


def slices(u, nu, n):
    """Array expressions, updated in place; the argument itself is changed."""
    for _ in range(n):
        u[1:-1] -= 0.1 * u[1:-1] * (u[2:] - u[:-2]) - nu * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return np.sum(u**2)


def gray_scott(u, v, feed, n):
    for _ in range(n):
        a, b = u.copy(), v.copy()
        for i in prange(1, u.shape[0] - 1):
            r = a[i] * b[i] * b[i]
            u[i] = a[i] + 0.1 * (a[i - 1] - 2.0 * a[i] + a[i + 1]) - r + feed * (1.0 - a[i])
            v[i] = b[i] + 0.05 * (b[i - 1] - 2.0 * b[i] + b[i + 1]) + r - (feed + 0.06) * b[i]
    return np.sum(u * v)


def bodies(x, v, mass, n):
    """Pairs in two loops, an integer that counts, a float that is carried."""
    count, energy = 0, 0.0
    for _ in range(n):
        for i in range(x.shape[0]):
            force = 0.0
            for j in range(x.shape[0]):
                d = x[j] - x[i]
                force += mass[j] * d / (d * d + 0.1) ** 1.5
            v[i] += 0.01 * force
            count += 1
        for i in range(x.shape[0]):
            x[i] += 0.01 * v[i] * (1.0 + 0.001 * count)
        energy = 0.9 * energy + v[0] * v[0]
    return energy + np.sum(x * v)


def recurrent(w, h, inputs, n):
    """The parameters are read only; matrix products; a branch."""
    for t in range(n):
        z = w @ h + inputs[t % inputs.shape[0]]
        for i in range(h.shape[0]):
            h[i] = np.tanh(z[i]) if z[i] > -0.5 else 0.5 * z[i]
    return np.sum(h)


def particles(x, drift, draws, n):
    """A particle filter on given draws: weights by the last observation, and resampling by their sum so far."""
    count = x.shape[0]
    w, y, evidence = np.zeros(count), np.zeros(count), 0.0
    for t in range(n):
        total = 0.0
        for p in range(count):
            x[p] = x[p] + 0.1 * np.sin(drift[0] * x[p]) + drift[1] * draws[t % draws.shape[0], p]
            w[p] = np.exp(-0.5 * (x[p] - 0.3 * np.cos(0.4 * t)) ** 2)
            total += w[p]
        evidence += np.log(total / count)
        chosen, so_far = 0, w[0]
        for p in range(count):
            while so_far < (p + 0.37) / count * total and chosen < count - 1:
                chosen += 1
                so_far += w[chosen]
            y[p] = x[chosen]
        x[:] = y
    return evidence


def relaxed(u, b, n):
    """Gauss-Seidel, and an early end of an inner while loop."""
    for _ in range(n):
        for i in range(1, u.shape[0] - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1] - b[i])
        s = u[1]
        while s > 0.6:
            s = s * s
        u[0] = s
    return np.sum(u * b)


def two_loops(u, a, n):
    """One after the other; what the first one only reads is changed by the second."""
    for _ in range(n):
        for i in range(u.shape[0]):
            u[i] = np.sin(u[i]) * a[i]
    for _ in range(n + 1):
        for i in range(u.shape[0]):
            a[i] = a[i] * np.cos(u[i])
    return np.sum(a * u)


def stepped(u, n):
    """Bounds and a step of the loop that are no constants, and a function that is called."""

    def advance(w, k):
        for i in range(w.shape[0]):
            w[i] = np.exp(-w[i]) + 0.01 * k

    for k in range(n // 3, n, 2):
        advance(u, k)
    return np.sum(u)


PROGRAMS: dict[str, tuple[Any, tuple[tuple[int, ...], ...], tuple[int, ...]]] = {
    "heat": (heat, ((7, 9), ()), (0, 1)),
    "wave": (wave, ((11,), (4,)), (0, 1)),
    "slices": (slices, ((12,), ()), (0, 1)),
    "gray_scott": (gray_scott, ((12,), (12,), ()), (0, 1, 2)),
    "bodies": (bodies, ((4,), (4,), (4,)), (0, 1, 2)),
    "recurrent": (recurrent, ((3, 3), (3,), (2, 3)), (0, 1, 2)),
    "particles": (particles, ((6,), (2,), (5, 6)), (0, 1, 2)),
    "relaxed": (relaxed, ((9,), (9,)), (0, 1)),
    "two_loops": (two_loops, ((5,), (5,)), (0, 1)),
    "stepped": (stepped, ((5,),), (0,)),
}


def arguments(name: str, dtype: Any = np.float64) -> list[Any]:
    rng = np.random.default_rng(5)
    shapes = PROGRAMS[name][1]
    return [rng.random(s).astype(dtype) if s else 0.11 for s in shapes]


def copied(args: list[Any]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


def followed(gradient: Any) -> bool:
    """Whether loops of a gradient that ran had a schedule; its report would compile it again to say so."""
    plans = [str(plan) for code in gradient._known() for plan in code.staged.steps]
    return any("checkpointed" in plan for plan in plans)


def bits(value: Any, gradients: Any) -> list[bytes]:
    return [np.asarray(x).tobytes() for x in (value, *gradients)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bits_of_storing_all(name: str, dtype: Any) -> None:
    function, _, argnums = PROGRAMS[name]
    args, lengths, before = arguments(name, dtype), (0, 1, 2, 5, 16), runtime.threads()
    with threads_at_once(1):
        try:
            stored = jit_grad(function, argnums=argnums, checkpoint="store-all")
            expected = {n: stored.value_and_grad(*copied(args), n) for n in lengths}
            for schedule in SCHEDULES if dtype is np.float64 else SCHEDULES[2:4]:
                compiled = jit_grad(function, argnums=argnums, checkpoint=schedule)
                for n, threads in itertools.product(lengths, (1, 2)):
                    runtime.set_threads(threads)
                    assert bits(*compiled.value_and_grad(*copied(args), n)) == bits(*expected[n]), (schedule, n)
                assert followed(compiled.value_and_grad)
        finally:
            runtime.set_threads(before)
    tolerance = 1e-11 if dtype is np.float64 else 3e-4
    plain = jit_grad(function, argnums=argnums)
    for n, (value, gradients) in expected.items():
        usual = plain.value_and_grad(*copied(args), n)
        for f, e in zip((value, *gradients), (usual[0], *usual[1]), strict=True):
            np.testing.assert_allclose(f, e, rtol=tolerance, atol=tolerance)


def test_the_bits_of_storing_all_by_llvms_optimiser(optimised: None) -> None:
    args, before = arguments("heat"), runtime.threads()
    with threads_at_once(1):
        stored, compiled = (jit_grad(heat, argnums=(0, 1), checkpoint=s) for s in ("store-all", "revolve:3"))
        try:
            for n, threads in itertools.product((0, 1, 2, 5, 16), (1, 2)):
                runtime.set_threads(threads)
                found, expected = (f.value_and_grad(*copied(args), n) for f in (compiled, stored))
                assert bits(*found) == bits(*expected), (n, threads)
        finally:
            runtime.set_threads(before)


def test_against_differences() -> None:
    for name, (function, _, argnums) in PROGRAMS.items():
        args, rng = arguments(name), np.random.default_rng(1)
        directions = [rng.standard_normal(np.shape(a)) for a in args]
        gradients = jit_grad(function, argnums=argnums, checkpoint="revolve:3").grad(*copied(args), 7)
        gradients = gradients if isinstance(gradients, tuple) else (gradients,)
        slope = sum(float(np.sum(g * directions[k])) for k, g in zip(argnums, gradients, strict=True))
        step = 1e-6
        ends = []
        for sign in (step, -step):
            moved = [a + sign * d if k in argnums else a for k, (a, d) in enumerate(zip(args, directions, strict=True))]
            ends.append(function(*moved, 7))
        assert slope == pytest.approx((ends[0] - ends[1]) / (2.0 * step), rel=1e-5, abs=1e-7), name


def test_a_pullback_again_and_again() -> None:
    """The first call leaves only the first snapshot; the second one begins with that."""
    args = arguments("heat")
    compiled = jit_grad(heat, checkpoint=adc.revolve(4))
    value, back = compiled.pullback(*args, 13)
    first, second, third = back(1.0), back(1.0), back(2.0)
    expected = jit_grad(heat, argnums=(0, 1)).value_and_grad(*args, 13)
    assert value == expected[0]
    for found, factor in ((first, 1.0), (second, 1.0), (third, 2.0)):
        np.testing.assert_allclose(found[0], factor * expected[1][0], rtol=1e-14)
        assert found[1] == pytest.approx(factor * expected[1][1], rel=1e-14)


@pytest.mark.parametrize("name", ["heat", "bodies", "recurrent"])
def test_second_derivatives(name: str) -> None:
    """Forward over reverse: the schedules, and what they run, carry tangents."""
    function, _, _ = PROGRAMS[name]
    args = arguments(name)
    direction = np.random.default_rng(3).standard_normal(np.shape(args[0]))
    tangents = (direction, *[None] * len(args))

    def product(**options: Any) -> Any:
        return adc.hvp(jit_grad(function, **options), (*copied(args), 7), tangents)

    expected = product(checkpoint="store-all")
    np.testing.assert_allclose(product(), expected, rtol=1e-11, atol=1e-11)
    for options in ({"checkpoint": "revolve:3"}, {"checkpoint": "sqrt"}, {"memory": "1MB"}):
        assert product(**options).tobytes() == expected.tobytes(), options


def test_a_gradient_of_a_gradient() -> None:
    """Reverse over reverse: the outer one may have the schedule."""

    def f(c, n):
        u = np.ones(5)
        for _ in adc.steps(n, checkpoint="sqrt"):
            for i in range(1, 5):
                u[i] = np.sin(c * u[i - 1]) + 0.5 * u[i]
        return np.sum(u)

    for schedule in (None, "revolve:2"):
        compiled = jit_grad(f, checkpoint=schedule)
        ends = [compiled.grad(0.7 + step, 6) for step in (1e-6, -1e-6)]
        assert adc.grad(adc.grad(compiled))(0.7, 6) == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-7)


def test_what_is_changed_later_is_copied() -> None:
    args = arguments("two_loops")
    expected = jit_grad(two_loops, argnums=(0, 1)).grad(*copied(args), 6)
    found = jit_grad(two_loops, argnums=(0, 1), checkpoint="every:2").grad(*copied(args), 6)
    for f, e in zip(found, expected, strict=True):
        assert f.tobytes() == e.tobytes()


def test_a_loop_that_cannot_be_run_again() -> None:
    """It writes to views, so that snapshots would not know what they are of."""

    def columns(u, n):
        for t in range(n):
            w = u[:, t % 2]
            for i in range(w.shape[0]):
                w[i] = np.sin(w[i])
            u = u[::-1]
        return np.sum(u)

    u = np.random.default_rng(0).random((4, 2))
    with pytest.raises(adc.errors.DifferentiationError, match=r"has nothing to act on.*that something else may hold"):
        jit_grad(columns, checkpoint="sqrt").grad(u.copy(), 5)


def test_arguments_that_overlap() -> None:
    """They are only read, so that each has its own shadow."""

    def product(a, b, n):
        u = np.zeros(a.shape[0])
        for _ in range(n):
            for i in range(1, a.shape[0]):
                u[i] = np.sin(u[i - 1] + a[i] * b[i - 1])
        return np.sum(u)

    x = np.random.default_rng(0).random(7)
    compiled = jit_grad(product, argnums=(0, 1), checkpoint="sqrt")
    for a, b in ((x, x.copy()), (x[1:], x[:-1]), (x, x)):
        expected = jit_grad(product, argnums=(0, 1)).grad(a.copy(), b.copy(), 5)
        for found, wanted in zip(compiled.grad(a, b, 5), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-13)
        assert "checkpointed" in str(compiled.report())


def growth(schedule: str) -> float:
    """By how many megabytes the gradient of 1,000 steps, whose trajectory has 240 MB, lets a process grow."""
    code = """
        import resource
        import sys
        sys.path.insert(0, ".")
        import numpy as np
        from adc import jit_grad
        from tests.checkpointing.test_gradients import heat

        def most():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

        compiled = jit_grad(heat, checkpoint=sys.argv[1])
        u = np.random.default_rng(0).random((200, 150))
        compiled.grad(u, 0.01, 4)
        before = most()
        compiled.grad(u, 0.01, 1000)
        print(most() - before)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), schedule]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_memory_is_that_of_the_snapshots() -> None:
    assert growth("revolve:8") < 24.0
