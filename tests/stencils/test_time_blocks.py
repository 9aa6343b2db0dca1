"""Several time steps at once: the bits of the plain loop, on any number of threads, in any order of blocks."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from adc import jit_grad, prange
from adc.backend.runtime import on_threads
from adc.driver import interpreted
from adc.errors import AdcError
from adc.ir.interpret import interpreter
from adc.passes.cache import time_sizes
from tests.fuzz.check import level_of, loaded
from tests.machines import pretend
from tests.stages import share
from tests.stencils.check import THREADS, bits, threads_at_once
from tests.stencils.steps import generate

PROGRAMS = 16
ORDERS = (interpreter.forward, interpreter.backward, interpreter.shuffled(3))


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Blocks are as low as they may be, strips a few rows, and any field is large."""
    monkeypatch.setattr(time_sizes, "STEEP", 1)
    monkeypatch.setattr(time_sizes, "STRIP_BYTES", 64)
    pretend(monkeypatch, last_cache_bytes=-1)
    share(monkeypatch)
    with threads_at_once(1):
        yield


def outcome(function: Any, args: list[Any]) -> Any:
    """The value and all gradients, as bits."""
    value = function(*args)
    return bits((value, function.grad(*args)))


def check(seed: int) -> None:
    """Compile a random program with and without; of one in four the report is made, too."""
    rng, level = random.Random(seed), level_of(seed)
    program = generate(rng)
    steps = rng.choice((1, 2, 3, 3, 4, 6, "auto"))
    wrt = rng.choice((0, 0, (0, 3), (0, 1, 2)))
    try:
        with loaded(program.text) as names:
            plain = outcome(jit_grad(argnums=wrt, _level=level)(names["main"]), program.args)
            blocked = jit_grad(argnums=wrt, time_block=steps, _level=level)(names["main"])
            for count in THREADS:
                with on_threads(count):
                    assert outcome(blocked, program.args) == plain, f"{count} threads, {steps} steps at a time"
            if seed % 4 == 0 and 1 not in program.args[0].shape:  # of one row or column there is no inside
                assert "time" in str(blocked.report())
            interpret(names["main"], wrt, steps, program.args)
    except Exception as error:
        error.add_note(f"seed {seed}, {steps} steps at a time\n{program.text}")
        raise


def interpret(main: Any, wrt: Any, steps: Any, args: list[Any]) -> None:
    """What the interpreter makes of the same, blocks and rows in several orders."""
    if args[0].size * args[-1] > 500:
        return
    plain = outcome(jit_grad(argnums=wrt, _engine="interpreter")(main), args)
    blocked = jit_grad(argnums=wrt, _engine="interpreter", time_block=steps)(main)
    for order in ORDERS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(interpreted.interpreter, "run", functools.partial(interpreter.run, order=order))
            assert outcome(blocked, args) == plain, f"interpreted, {order}"


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_the_bits_of_the_plain_loop(seed: int) -> None:
    check(seed)


# What is not of the form, and why -------------------------------------------------------------------------------------


def allocated(u0, c, steps):
    u = u0.copy()
    for t in range(steps):
        v = np.zeros(len(u) + t)
        for i in range(1, len(u) - 1):
            v[i] = u[i] + c * (u[i - 1] - u[i + 1])
        for i in range(1, len(u) - 1):
            u[i] = v[i]
    return np.sum(u * u)


def made(u0, c, steps):
    u = u0
    for _ in range(steps):
        v = u.copy()
        for i in range(1, len(u) - 1):
            v[i] = u[i] + c * (u[i - 1] - u[i + 1])
        u = v
    return np.sum(u * u)


def periodic(u0, c, steps):
    u, v, n = u0.copy(), u0.copy(), len(u0)
    for _ in range(steps):
        for i in range(1, n - 1):
            v[i] = u[i] + c * (u[i - 1] - u[i + 1])
        v[0] = v[n - 2]
        v[n - 1] = v[1]
        u, v = v, u
    return np.sum(u * u)


def sines(u0, c, steps):
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            v[i] = np.sin(u[i]) + c * u[i - 1]
        u, v = v, u
    return np.sum(u * u)


def reversed_rows(u0, c, steps):
    u, v, n = u0.copy(), u0.copy(), len(u0)
    for _ in range(steps):
        for i in range(n):
            v[i] = u[i] + c * u[n - 1 - i]
        u, v = v, u
    return np.sum(u * u)


def feedback(u0, c, steps):
    u, v, total = u0.copy(), u0.copy(), 0.0
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            v[i] = u[i] + c * (u[i - 1] - u[i + 1]) - 0.01 * total
        u, v = v, u
        total += u[3]
    return total + np.sum(u * u)


def summed(u0, c, steps):
    u, v, total = u0.copy(), u0.copy(), 0.0
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            v[i] = u[i] + c * (u[i - 1] - u[i + 1])
        u, v = v, u
        for i in prange(len(u)):
            total += u[i]
    return total


def steep(u0, c, steps):
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(100, len(u)):
            v[i] = u[i] + c * u[i - 100]
        u, v = v, u
    return np.sum(u * u)


def moving(u0, c, steps):
    u, v = u0.copy(), u0.copy()
    for t in range(steps):
        for i in range(1, len(u) - 1 - t):
            v[i] = u[i] + c * (u[i - 1] - u[i + 1])
        u, v = v, u
    return np.sum(u * u)


REFUSED = {
    allocated: "allocates memory in each step",
    periodic: "not over rows at constant distances",
    sines: "elementary functions of its rows are SIMD",
    reversed_rows: "not over rows at constant distances",
    feedback: "uses a sum of what fields were",
    summed: "a loop in the step has a result",
    steep: "reaches further than 64 rows",
    moving: "not over rows at constant distances",
}


def test_new_arrays_in_each_step_are_two_buffers() -> None:
    args = (np.random.default_rng(0).random(130), 0.1, 5)
    blocked = jit_grad(time_block=3)(made)
    assert outcome(blocked, args) == outcome(jit_grad(made), args)
    assert "allocates memory" not in str(blocked.report())


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_others_stay_as_they_are(function: Any) -> None:
    args = (np.random.default_rng(0).random(130), 0.1, 5)
    blocked = jit_grad(time_block=3)(function)
    assert outcome(blocked, list(args)) == outcome(jit_grad(function), list(args))
    lines = times(blocked, function.__name__)
    assert len(lines) == 1
    assert "one: " in lines[0]
    assert REFUSED[function] in lines[0]


def times(function: Any, name: str) -> list[str]:
    """What the plan says of the time loops of a function."""
    _, _, rest = function.dump_ir("plan").partition(f"steps at a time in @{name}\n")
    lines = rest.splitlines()
    return lines[: next((n for n, line in enumerate(lines) if not line.startswith("  ")), len(lines))]


def heat(u0, c, steps):
    u, v, n, m = u0.copy(), u0.copy(), u0.shape[0], u0.shape[1]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = u[i, j] + c * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
        u, v = v, u
    return np.sum(u * u)


def test_the_plan_says_where_it_would_be_right() -> None:
    plain = jit_grad(heat)
    plain.grad(np.ones((9, 9)), 0.1, 3)
    (line,) = times(plain, "heat")
    assert "one: several would be right, too (blocks shrink by 1 and 1 rows a step), but pay only where" in line
    (line,) = times(plain, "heat.grad")
    assert line.endswith(" (2 times)")  # forward and reverse sweep


def test_slopes_follow_from_dependences() -> None:
    def leapfrog(p0, c, steps):
        p, v, n = p0.copy(), np.zeros(len(p0) + 1), len(p0)
        for _ in range(steps):
            for i in range(1, n):
                v[i] -= c * (p[i] - p[i - 1])
            for i in range(n):
                p[i] -= c * (v[i + 1] - v[i])
        return np.sum(p * p)

    def far(u0, c, steps):
        u, v = u0.copy(), u0.copy()
        for _ in range(steps):
            for i in range(5, len(u) - 2):
                v[i] = u[i] + c * (u[i - 5] - u[i + 2])
            u, v = v, u
        return np.sum(u * u)

    for function, moves in ((leapfrog, "1 and 1"), (far, "5 and 5")):
        blocked = jit_grad(time_block=4)(function)
        blocked.grad(np.ones(50), 0.1, 3)
        for name in (function.__name__, f"{function.__name__}.grad"):
            assert all(f"4: blocks shrink by {moves} rows a step" in line for line in times(blocked, name))


@pytest.mark.parametrize("steps", [0, -1, 65, "all", 2.0, True])
def test_options_that_are_none(steps: Any) -> None:
    with pytest.raises(AdcError, match="time_block must be 'auto' or a number from 1 to 64"):
        jit_grad(time_block=steps)(heat)


def test_lengths_of_blocks_are_refused_beside_it() -> None:
    with pytest.raises(AdcError, match="with time_block= nests are not cut") as caught:
        jit_grad(time_block=4, tile=16)(heat)
    assert "leave one of the two out" in str(caught.value)
    assert jit_grad(time_block=4, tile=False)(heat) is not None


def test_small_fields_are_left_to_the_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """With "auto" there are both, and which one runs is decided by extents."""
    pretend(monkeypatch, last_cache_bytes=32 << 20)
    text = jit_grad(time_block="auto")(heat)
    text(np.ones((9, 9)), 0.1, 3)
    lowered = text.dump_ir("lowered")
    assert "33554432" in lowered
    assert lowered.count("adc.grouped") >= 1


@pytest.mark.parametrize("schedule", ["sqrt", "recompute-all"])
def test_with_a_schedule(schedule: str) -> None:
    """Steps that are run again are run several at a time, too."""
    args = [np.random.default_rng(0).random((40, 7)), 0.1, 13]
    plain = outcome(jit_grad(checkpoint=schedule)(heat), args)
    assert outcome(jit_grad(checkpoint=schedule, time_block=3)(heat), args) == plain


def test_single_precision() -> None:
    args = [np.random.default_rng(0).random((90, 7)).astype(np.float32), np.float32(0.1), 13]
    assert outcome(jit_grad(time_block=5)(heat), args) == outcome(jit_grad(heat), args)


def of_two_lengths(u0, v0, c, steps, n):
    """Buffers that change places, of different lengths, whose length a number depends on."""
    u, v, total = u0.copy(), v0.copy(), 0.0
    for _ in range(steps):
        for i in range(1, n - 1):
            v[i] = u[i] + c * (u[i - 1] - u[i + 1])
        total = total * 0.5 + len(u)
        u, v = v, u
    return np.sum(u * u) + total


def components(u0, v0, c, steps, n):
    """A short loop of elementary functions inside, which LLVM unrolls."""
    u, v = u0.copy(), v0.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for k in range(3):
                v[i, k] = np.sin(u[i + 1, k]) * c
        u, v = v, u
    return np.sum(u)


@pytest.mark.parametrize("function", [of_two_lengths, components])
def test_shapes_and_short_loops(function: Any) -> None:
    rng = np.random.default_rng(0)
    shapes = [(50,), (60,)] if function is of_two_lengths else [(401, 3), (401, 3)]
    args = [*(rng.random(shape) for shape in shapes), 0.1, 6, 40 if function is of_two_lengths else 401]
    plain = jit_grad(function, argnums=(0, 1)).value_and_grad(*args)
    for steps in (2, 4, "auto"):
        value, found = jit_grad(function, argnums=(0, 1), time_block=steps).value_and_grad(*args)
        assert value == plain[0]
        assert [g.tobytes() for g in found] == [g.tobytes() for g in plain[1]]


def rims(u0, c, steps):
    """Rows at both ends, of whatever number they are, are summed in arrays that have no rows."""
    n, m = u0.shape
    u, v, first, last = u0.copy(), u0.copy(), np.zeros(m), np.zeros(m)
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(m):
                v[i, j] = u[i, j] + c * (u[i - 1, j] - 2.0 * u[i, j] + u[i + 1, j]) - c * c * u[i, j] * u[i - 1, j]
        for j in range(m):
            first[j] += v[1, j] * c
            last[j] += v[n - 2, j] * c
        u, v = v, u
    return np.sum(u * u) + np.sum(first * last)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 40])
def test_rows_are_summed_elsewhere(n: int) -> None:
    args = [np.random.default_rng(n).random((n, 7)), 0.1, 6]
    plain = outcome(jit_grad(rims, argnums=(0, 1)), args)
    for steps in (2, 3, "auto"):
        assert outcome(jit_grad(rims, argnums=(0, 1), time_block=steps), args) == plain
    interpret(rims, (0, 1), 2, args)


def sweeps_in_steps(x: Any, u: Any) -> float:
    for t in range(5):
        for k in range(2):
            for i in range(1, 9):
                u[5, i] = 0.5 * u[5, i] + 0.4 * x[t, i - k]
        for i in range(1, 9):
            for j in range(9):
                u[i, j] = 0.5 * u[i, j] + x[i, j] * x[i, j]
    return np.sum(u)


def test_loops_inside_of_replaced_steps_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop of a step may be over steps itself: it is not replaced as well, outside of the function."""
    monkeypatch.setenv("ADC_VERIFY", "1")
    x = np.random.default_rng(5).random((10, 10))
    plain = outcome(jit_grad(sweeps_in_steps), [x, x + 1.0])
    assert outcome(jit_grad(sweeps_in_steps, time_block=2), [x, x + 1.0]) == plain
