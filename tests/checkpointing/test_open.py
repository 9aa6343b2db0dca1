"""Loops whose number of steps is not known in advance: `while`, and `for` that may end early."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import errors, jit_grad
from adc.ir import ops
from adc.ir.interpret import interpreter
from adc.ir.text.parser import parse_module
from tests.checkpointing.test_gradients import followed

pytestmark = pytest.mark.usefixtures("stages")


def adaptive(y0, k, tolerance):
    """Heun's method on a stiff chain, each step as long as its error allows; some are rejected."""
    y, d, e = y0.copy(), np.zeros(y0.shape[0]), np.zeros(y0.shape[0])
    t, h = 0.0, 0.01
    while t < 1.0:
        if t + h > 1.0:
            h = 1.0 - t
        for i in range(y.shape[0]):
            d[i] = -k[i] * y[i] + (0.1 * y[i - 1] if i > 0 else 0.0)
        worst = 0.0
        for i in range(y.shape[0]):
            e[i] = -k[i] * (y[i] + h * d[i]) + (0.1 * (y[i - 1] + h * d[i - 1]) if i > 0 else 0.0)
            worst = max(worst, abs(0.5 * h * (e[i] - d[i])))
        if worst < tolerance:
            for i in range(y.shape[0]):
                y[i] += 0.5 * h * (d[i] + e[i])
            t += h
        h = h * min(2.0, max(0.3, 0.9 * np.sqrt(tolerance / (worst + 1e-30))))
    return np.sum(y * y)


def shrinking(y0, k, limit):
    """What decides is computed from arrays."""
    v = y0.copy()
    while np.sum(v) > 1e4 * limit:
        for i in range(v.shape[0]):
            v[i] = v[i] * 0.9 * np.cos(0.01 * v[i] * k[i])
    return np.sum(v)


def ending(y0, k, limit):
    """A counted loop that ends early, from the middle of a step."""
    v, total = y0.copy(), 0.0
    for n in range(1000):
        for i in range(v.shape[0]):
            v[i] = np.sin(v[i]) * (1.0 - 1e-4 * k[i])
        total += v[0] * n
        if v[0] < 0.3 + limit:
            break
        v[0] += 0.01
    return total + np.sum(v)


def arguments(dtype: Any = np.float64) -> list[Any]:
    rng = np.random.default_rng(2)
    return [(rng.random(4) + 0.5).astype(dtype), (30.0 * rng.random(4)).astype(dtype)]


PROGRAMS = [adaptive, shrinking, ending]


@pytest.mark.parametrize("function", PROGRAMS)
def test_the_bits_do_not_depend_on_the_snapshots(function: Any) -> None:
    y0, k = arguments()
    limit = 1e-4
    expected, gradients = jit_grad(function, argnums=(0, 1)).value_and_grad(y0, k, limit)
    first: list[bytes] = []
    for snapshots in (1, 2, 3, 4, 7, 1000):
        compiled = jit_grad(function, argnums=(0, 1), checkpoint=adc.revolve(snapshots))
        value, found = compiled.value_and_grad(y0, k, limit)
        assert followed(compiled.value_and_grad)
        assert value == expected
        for f, e in zip(found, gradients, strict=True):
            np.testing.assert_allclose(f, e, rtol=1e-12, atol=1e-14)
        bits = [f.tobytes() for f in found]
        first = first or bits
        assert bits == first
        if snapshots in (1, 3, 1000):
            again, back = compiled.pullback(y0, k, limit)
            for _ in range(2):
                assert [b.tobytes() for b in back(1.0)[:2]] == first


@pytest.mark.parametrize("function", PROGRAMS)
def test_against_differences(function: Any) -> None:
    y0, k = arguments()
    # With a tolerance that is far from rejecting, the steps of the adaptive method change smoothly.
    limit, step = 1e-3, 1e-7
    direction = np.random.default_rng(4).standard_normal(4)
    slope = jit_grad(function, checkpoint="revolve:3").grad(y0, k, limit) @ direction
    ends = [function(y0 + sign * step * direction, k, limit) for sign in (1, -1)]
    assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=2e-5)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 21])
@pytest.mark.parametrize("snapshots", [1, 2, 3, 6])
def test_what_is_run(n: int, snapshots: int) -> None:
    """Each step forward, each with a tape, and those to the places where pieces begin: fewer with more snapshots."""

    def walk(x, limit):
        v, t = x.copy(), 0.0
        while t < limit:
            for i in range(v.shape[0]):
                v[i] = np.sin(v[i]) + v[i]
            t += 1.0
        return np.sum(v)

    x, shadow = np.array([0.3]), np.zeros(1)
    module = parse_module(
        jit_grad(walk, checkpoint=adc.revolve(snapshots)).grad.dump_ir("adjoint", "f64[::1], f64")
    )
    statistics = interpreter.Statistics()
    interpreter.run(module, "walk.grad", [x, float(n), shadow], statistics=statistics)
    np.testing.assert_allclose(shadow, jit_grad(walk).grad(x, float(n)), rtol=1e-14)
    again = statistics.executed[ops.sin] - 2 * n
    assert 0 <= again <= n * (n - 1) // 2
    if snapshots > n:
        assert again == 0
    if snapshots == 1 and n:
        assert again == n * (n - 1) // 2


def test_float32_and_no_steps() -> None:
    y0, k = arguments(np.float32)
    compiled = jit_grad(shrinking, checkpoint="revolve:2")
    for limit in (np.float32(1e-4), np.float32(1.0)):
        expected = jit_grad(shrinking).grad(y0, k, limit)
        found = compiled.grad(y0, k, limit)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_what_cannot_be() -> None:
    def swapping(u, limit):
        u, v = u.copy(), u.copy()
        while u[0] > limit:
            for i in range(u.shape[0]):
                v[i] = 0.5 * u[i]
            u, v = v, u
        return np.sum(u)

    u = np.ones(3)
    with pytest.raises(errors.DifferentiationError, match=r"nothing to act on.*takes adc.revolve\(snapshots\) or"):
        jit_grad(swapping, checkpoint="sqrt").grad(u.copy(), 0.1)
    # Buffers that change places are copied to theirs.
    found = jit_grad(swapping, checkpoint="revolve:2").grad(u.copy(), 0.1)
    np.testing.assert_allclose(found, jit_grad(swapping).grad(u.copy(), 0.1))

    def every_other(x, n):
        for t in adc.steps(n, checkpoint="every:2"):
            x = np.sin(x)
            if x < 0.1:
                break
        return x

    with pytest.raises(errors.DifferentiationError, match="its length is not known in advance") as caught:
        jit_grad(every_other).grad(0.5, 4)
    assert caught.value.kind == "not-checkpointed" and "adc.steps" in caught.value.text


def test_a_schedule_of_its_own() -> None:
    def steps_of(x, n):
        for t in adc.steps(n, checkpoint=adc.revolve(3)):
            x = np.sin(x) + 0.01 * t
            if x < 0.3:
                break
        return x

    compiled = jit_grad(steps_of)
    for n in (0, 1, 5, 100):
        assert compiled.grad(0.9, n) == pytest.approx(
            (steps_of(0.9 + 1e-7, n) - steps_of(0.9 - 1e-7, n)) / 2e-7, rel=1e-5
        )
