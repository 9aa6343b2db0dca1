"""Loops whose steps make new arrays have schedules like those that write to buffers; and no schedule is ignored."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import adc
from adc import errors, jit_grad, prange
from tests.checkpointing.test_gradients import followed

pytestmark = pytest.mark.usefixtures("stages")


def renewed(u, n):
    for _ in range(n):
        u = np.sin(u) * 1.01
    return np.sum(u)


def step(u, v, h):
    flow = v + 0.5 * h * u
    return u + h * flow, v - h * np.sin(u)


def returned(u, n):
    v = 0.5 * u
    for _ in range(n):
        u, v = step(u, v, 0.1)
    return np.sum(u * v)


def history(u, n):
    """The array before is kept under another name."""
    v = 0.5 * u
    for _ in range(n):
        u, v = 2.0 * u - v + 0.01 * np.sin(u), u
    return np.sum(u * v)


def reversed_views(u, n):
    for _ in range(n):
        u = (np.sin(u) * u)[::-1]
    return np.sum(u**2 * np.arange(len(u)))


def crossed(u, n):
    """Both arrays are new, and the old ones have changed places."""
    v = u * u
    for _ in range(n):
        u, v = v[::-1], u
    return np.sum(np.sin(u) * v * np.arange(len(u)))


def slope(u):
    return np.sin(u) - u * u


def runge_kutta(u, n):
    h = 0.1
    for _ in range(n):
        k1 = slope(u)
        k2 = slope(u + h / 2 * k1)
        k3 = slope(u + h / 2 * k2)
        k4 = slope(u + h * k3)
        u = u + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return np.sum(u)


def lorenz(x, n):
    """Small arrays, written out."""
    for _ in range(n):
        x = x + 0.01 * np.array([10.0 * (x[1] - x[0]), x[0] * (28.0 - x[2]) - x[1], x[0] * x[1] - 8.0 / 3.0 * x[2]])
    return np.sum(x * x)


def branches(u, n):
    for t in range(n):
        if t % 3 == 0:
            u = np.sin(u)
        elif t % 3 == 1:
            u = u * 1.01
    return np.sum(u * u)


def changed_in_place_too(u0, n):
    u = u0.copy()
    for _ in range(n):
        u[0] = 0.3 * u[1]
        u = np.sin(u)
    u *= 2.0
    return np.sum(u * u)


def of_the_first(u, n):
    v = u
    for _ in range(n):
        v = v + 0.1 * u * np.sin(v)
    return np.sum(v)


def doubled(u, n):
    a = b = u
    for _ in range(n):
        a = b = np.sin(a + b)
    return np.sum(a * b)


@dataclass
class State:
    u: Any
    v: Any


def dataclasses(u, n):
    s = State(u, u * u)
    for _ in range(n):
        s = State(s.u - 0.1 * np.sin(s.v), s.v + 0.1 * s.u)
    return np.sum(s.u * s.v)


def lists(u, n):
    s = [u, u * 2.0]
    for _ in range(n):
        s = [np.sin(s[1]), s[0] * 1.01]
    return np.sum(s[0] * s[1])


def single(u, n):
    v = u.astype(np.float32)
    for _ in range(n):
        v = np.sin(v) * np.float32(1.01)
    return np.sum(v)


def many_places(a, n):
    """Buffers that take 30 steps until they are where they were."""
    a, b, c, d, e = a * 1.0, a * 2.0, a * 3.0, a * 4.0, a * 5.0
    f, g, h, i, j = a * 6.0, a * 7.0, a * 8.0, a * 9.0, a * 10.0
    for _ in range(n):
        for k in range(len(a)):
            a[k] = np.sin(a[k] + b[k] * f[k])
        a, b = b, a
        c, d, e = d, e, c
        f, g, h, i, j = g, h, i, j, f
    return np.sum(a * c + f * e)


def until_small(u, n):
    while np.sum(u * u) > 0.01:
        u = 0.9 * np.sin(u)
    return np.sum(u * u * u)


def until_broken(u, n):
    for _ in range(n):
        u = np.sin(u)
        if u[0] < 0.25:
            break
    return np.sum(u * u)


def scalar(u, n):
    x = u[0]
    for _ in range(n):
        x = x + 0.1 * np.sin(x)
    return x


def shots(u, n):
    """The loops over time are inside of one on threads."""
    found = np.zeros(3)
    for s in prange(3):
        v = u * (s + 1.0)
        for _ in range(n):
            v = np.sin(v)
        found[s] = np.sum(v)
    return np.sum(found)


def handed_on_twice(u, n):
    """Two new arrays in a step: one is multiplied by the one before, the other takes its place."""
    v = 0.5 * u
    for _ in range(n):
        t = np.sin(u)
        u = v * t + u
        v = t
    return np.sum(u * v)


def momentum(x, n):
    p = np.zeros_like(x)
    for _ in range(n):
        p = 0.9 * p - 0.1 * np.sin(x)
        x = x + p
    return np.sum(x * x)


def three_in_a_circle(u, n):
    a, b, c = u, 2.0 * u, 3.0 * u
    for _ in range(n):
        t = np.sin(a) * c
        a, b, c = b * t, t, b
    return np.sum(a * b + c)


def begins_with_a_copy(u, n):
    u = u.copy()
    for _ in range(n):
        before = u.copy()
        u[1:-1] = before[1:-1] + 0.1 * before[1:-1] * (before[2:] - 2.0 * before[1:-1] + before[:-2])
    return np.sum(u * u)


def copies_within_a_function(u, n):
    u = u.copy()
    before = u
    for _ in range(n):
        before = moved(u)
    return np.sum(u * before)


def moved(u):
    before = u.copy()
    u[1:-1] = before[1:-1] + 0.1 * before[1:-1] * (before[2:] - before[:-2])
    return before


COUNTED = [
    *(handed_on_twice, momentum, three_in_a_circle, begins_with_a_copy, copies_within_a_function),
    *(renewed, returned, history, reversed_views, crossed, runge_kutta, lorenz, branches, changed_in_place_too),
    *(of_the_first, doubled, dataclasses, lists, single, many_places, scalar, shots),
]
OPEN = [until_small, until_broken]
SCHEDULES = ["revolve:3", "sqrt", "every:4", "recompute-all"]


def given(program: Any) -> np.ndarray:
    return 0.2 + np.random.default_rng(0).random(3 if program is lorenz else 6)


@pytest.mark.parametrize("program", [*COUNTED, *OPEN], ids=lambda f: f.__name__)
def test_the_gradient_of_storing_all(program: Any) -> None:
    u, plain = given(program), jit_grad(program)
    schedules = SCHEDULES if program is renewed else ["revolve:3"] if program in OPEN else ["revolve:3", "sqrt"]
    for schedule in schedules:
        compiled = jit_grad(program, checkpoint=schedule)
        for n in (0, 1, 11):
            before = u.copy()
            value, gradient = compiled.value_and_grad(u, n)
            expected, wanted = plain.value_and_grad(u, n)
            assert value == expected and np.array_equal(u, before)
            np.testing.assert_allclose(gradient, wanted, rtol=2e-6 if program is single else 1e-12, atol=1e-13)
        assert followed(compiled.value_and_grad)


@pytest.mark.parametrize("program", [renewed, history, branches], ids=lambda f: f.__name__)
def test_second_derivatives_and_pullbacks(program: Any) -> None:
    u, along = given(program), np.random.default_rng(1).random(6)
    compiled = jit_grad(program, checkpoint="revolve:3")
    found = adc.hvp(compiled, (u, 9), (along, None))
    np.testing.assert_allclose(found, adc.hvp(program, (u, 9), (along, None)), rtol=1e-11, atol=1e-13)
    expected = jit_grad(program).grad(u, 9)
    _, back = compiled.pullback(u, 9)
    for _ in range(2):
        np.testing.assert_allclose(back(1.0)[0], expected, rtol=1e-12)
    on_disk = jit_grad(program, checkpoint=adc.revolve(2, disk=3)).grad(u, 9)
    np.testing.assert_allclose(on_disk, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "program",
    [
        *(renewed, returned, runge_kutta, lorenz, branches, handed_on_twice, momentum, three_in_a_circle),
        *(begins_with_a_copy, copies_within_a_function),
    ],
    ids=lambda f: f.__name__,
)
def test_within_a_number_of_bytes(program: Any) -> None:
    # The three numbers of lorenz are values, whose tape is small.
    u, n = (given(program), 300) if program is lorenz else (np.tile(given(program), 20), 30)
    plain = jit_grad(program)
    table = plain.grad.forecast(u, n)
    assert table.loops[0].repeated == 0 and len(table.others) > 1
    for other in table.others[:2]:
        np.testing.assert_allclose(plain.grad(u, n, memory=other.memory), plain.grad(u, n), rtol=1e-12)


def test_shapes() -> None:
    """Of no elements, strided, of two dimensions; overlapping arguments that it begins with."""
    rng = np.random.default_rng(0)
    compiled, plain = jit_grad(renewed, checkpoint="revolve:2"), jit_grad(renewed)
    a, b = rng.random(9), rng.random((3, 4))
    for u in (np.zeros(0), a[:1], a[::2], a[::-1], b, b.T):
        assert np.array_equal(compiled.grad(u, 7), plain.grad(u, 7))

    def product(a, b, n):
        for _ in range(n):
            a, b = np.sin(a + b), a
        return np.sum(a * b)

    x = rng.random(5)
    for a, b in ((x, x), (x[1:], x[:-1])):
        found, expected = (jit_grad(product, argnums=(0, 1), checkpoint=c).grad(a, b, 5) for c in ("revolve:2", None))
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_an_array_that_changes_its_shape() -> None:
    def shrinking(u, n):
        for _ in range(n):
            u = u[1:] * 1.1
        return np.sum(u)

    def turned(a, n):
        for _ in range(n):
            a = a.T * 1.1
        return np.sum(a**3)

    u = np.random.default_rng(0).random(6)
    with pytest.raises(errors.DifferentiationError, match="a step changes the shape of an array") as refused:
        jit_grad(shrinking, checkpoint="sqrt").grad(u, 3)
    assert "for _ in range(n)" in str(refused.value)
    square = np.random.default_rng(1).random((4, 4))
    turning = jit_grad(turned, checkpoint="sqrt")
    np.testing.assert_allclose(turning.grad(square, 5), jit_grad(turned).grad(square, 5), rtol=1e-13)
    with pytest.raises(errors.ShapeError, match=r"makes an extent of 3 one of 4.*checkpoint") as caught:
        turning.grad(square[:3], 2)
    assert "for _ in range(n)" in str(caught.value)


def test_views_of_one_array_that_are_equally_long() -> None:
    """Steps make arrays of an array that the loop begins with a view of: no extent is computed from the one before."""

    def neighbours(x, n):
        u = x[:-1]
        for _ in range(n):
            u = np.sin(u) + x[1:]
        return np.sum(u)

    def few(x, n):
        u = x[:3]
        for _ in range(n):
            u = u * 1.2 * x[0] + x[1:4]
        return np.sum(u)

    x = np.random.default_rng(0).random(6)
    for program in (neighbours, few):
        plain = jit_grad(program)
        scheduled = [jit_grad(program, **options) for options in ({"checkpoint": "revolve:2"}, {"memory": 6000})]
        for n in (0, 1, 5):
            expected, v = plain.grad(x, n), np.arange(1.0, 7.0)
            _, along = adc.jvp(plain, (x, n), (v, None))
            np.testing.assert_allclose(expected @ v, along, rtol=1e-12)
            for compiled in scheduled:
                np.testing.assert_allclose(compiled.grad(x, n), expected, rtol=1e-13)


def test_rows_and_columns_of_arrays_that_steps_make() -> None:
    """What counts are the extents of a row, a column or a part, not those of the array it belongs to."""

    def column(x, n):
        u = x * 1.0
        for k in range(n):
            w = np.zeros((len(u), 3))
            w[:, 0] = np.sin(u)
            w[:, 1] = u * u
            u = w[:, k % 2]
        return np.sum(u**2)

    def row(x, n):
        u = x * 1.0
        for k in range(n):
            w = np.zeros((len(u) + 1, len(u)))
            w[k % 3] = np.sin(u)
            w[0, 0] += u[1]
            u = w[k % 3]
        return np.sum(u**2)

    def part(x, n):
        u = x * 1.0
        for _ in range(n):
            w = np.zeros((2, len(u) + 1))
            w[0, 1:] = u
            w[1, :-1] = np.sin(u)
            u = w[1, :-1] if u[0] > 0.5 else w[0, 1:]
        return np.sum(u**2)

    x = np.array([0.9, 1.1, 0.7, 0.4])
    for program in (column, row, part):
        plain = jit_grad(program)
        for options in ({"checkpoint": "sqrt"}, {"checkpoint": "revolve:2"}, {"memory": 6000}):
            for n in (0, 1, 7):
                expected = plain.grad(x, n)
                np.testing.assert_allclose(jit_grad(program, **options).grad(x, n), expected, rtol=1e-13)
                _, along = adc.jvp(plain, (x, n), (np.arange(1.0, 5.0), None))
                np.testing.assert_allclose(expected @ np.arange(1.0, 5.0), along, rtol=1e-12)


def test_rows_of_one_array_that_steps_hand_on() -> None:
    def powers(x, n):
        table = np.zeros((n, len(x)))
        current = table[0]
        current[:] = x
        for k in range(1, n):
            after = table[k]
            after[:] = current * current
            after[0] = current[-1]
            current = after
        return np.sum(table**2)

    def shorter(x, n):
        u = x * 1.0
        for _ in range(n):
            u = np.sin(u)[1:]
        return np.sum(u)

    x = np.array([0.9, 1.1, 0.7, 0.4])
    with pytest.raises(errors.DifferentiationError, match="writes to an array that something else may hold"):
        jit_grad(powers, checkpoint="sqrt").grad(x, 4)
    assert np.array_equal(jit_grad(powers, memory=6000).grad(x, 4), jit_grad(powers).grad(x, 4))
    with pytest.raises(errors.DifferentiationError, match="a step changes the shape of an array"):
        jit_grad(shorter, checkpoint="sqrt").grad(x, 2)


def test_arrays_that_stretch_in_the_first_step() -> None:
    """Extents that agree from the second step on are not taken for the same before the loop."""

    def stretched(u, n):
        v, w = u[:1], 2.0 * u
        for _ in range(n):
            t = np.sin(v)
            v = w * t
            w = t + w
        return np.sum(v * w)

    u, compiled = np.random.default_rng(0).random(5), jit_grad(stretched)
    for n in (0, 1, 2, 4):
        np.testing.assert_allclose(compiled(u, n), stretched(u, n), rtol=1e-14)
        tangent = adc.jvp(compiled, (u, n), (np.ones(5), None))[1]
        np.testing.assert_allclose(compiled.grad(u, n).sum(), tangent, rtol=1e-12)
        one = u[:1]
        np.testing.assert_allclose(compiled(one, n), stretched(one, n), rtol=1e-14)


def first_is_written_to(u, n):
    v = u
    for _ in range(n):
        v[0] = 1.0
        v = np.sin(v)
    return np.sum(v)


def last_is_written_to(u, n):
    v = u
    for _ in range(n):
        v = np.sin(v)
    v *= 2.0
    return np.sum(u * v)


def both_are_one(u, n):
    a, b = u.copy(), u.copy()
    for _ in range(n):
        a[0] = 0.5 * b[1]
        a = b = np.sin(a + b)
    return np.sum(a * b)


def no_loop(u, n):
    return np.sum(u * u)


def no_sequence(u, n):
    total = 0.0
    for i in prange(len(u)):
        total += np.sin(u[i])
    return total


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (first_is_written_to, "an array that something else may hold"),
        (last_is_written_to, "an array that something else may hold"),
        (both_are_one, "an array that something else may hold"),
        (no_loop, "there is no loop whose steps follow one another"),
        (no_sequence, "there is no loop whose steps follow one another"),
    ],
)
def test_a_schedule_that_has_nothing_to_act_on(program: Any, reason: str) -> None:
    u = np.random.default_rng(0).random(5)
    with pytest.raises(errors.DifferentiationError, match=f"checkpoint= has nothing to act on.*{reason}") as caught:
        jit_grad(program, checkpoint="revolve:3").grad(u, 3)
    assert caught.value.kind == "not-checkpointed" and "leave out checkpoint=" in str(caught.value)
    with pytest.raises(errors.DifferentiationError, match="nothing to act on"):
        jit_grad(program).pullback(u, 3, checkpoint="sqrt")
    # One tape for all is what there is without a schedule.
    stored = jit_grad(program, checkpoint="store-all").grad(u.copy(), 3)
    assert np.array_equal(stored, jit_grad(program).grad(u.copy(), 3))


def test_memory_is_that_of_the_snapshots() -> None:
    """The trajectory is 64 MB; ten snapshots and a step are less than 1 MB."""
    code = """
        import sys
        sys.path.insert(0, ".")
        import numpy as np
        from adc import jit_grad
        from adc.backend import runtime
        from tests.checkpointing.test_new_arrays import renewed, until_small
        u = np.random.default_rng(0).random(8000)
        for program, n in ((renewed, 1000), (until_small, 0)):
            runtime.peak_bytes(reset=True)
            g = jit_grad(program, checkpoint="revolve:10").grad(u, n)
            assert runtime.peak_bytes() < 1_000_000, runtime.peak_bytes()
            assert np.array_equal(g, jit_grad(program).grad(u, n))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
