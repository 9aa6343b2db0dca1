"""Mixed mode: coefficients of time loops in forward mode, the state in reverse mode, and only where that pays."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

import adc
from adc import jit_grad


def cooled(u0, r, data, steps):
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        flow = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + r * flow
        u, v = v, u
    return 0.5 * np.sum((u - data) ** 2)


def anisotropic(u0, a, b, data, steps):
    """Two coefficients, one of them under a branch and a root."""
    u, v = u0.copy(), u0.copy()
    for t in range(steps):
        c = math.sqrt(b) if t % 3 else a
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = u[i, j] + a * (u[i - 1, j] - 2 * u[i, j] + u[i + 1, j]) + c * (u[i, j - 1] - u[i, j + 1])
        u, v = v, u
    return np.sum((u - data) ** 2)


def scaled(u0, r, scale, data, steps):
    """``scale`` comes in after the loop only, and needs no tape."""
    return scale * cooled(u0, r, data, steps)


def burgers(u0, r, data, steps):
    """Nonlinear in the state: the tape is there anyway."""
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = u[i, j] - r * u[i, j] * (u[i + 1, j] - u[i - 1, j]) + 0.1 * (u[i, j + 1] - u[i, j])
        u, v = v, u
    return np.sum((u - data) ** 2)


def in_place(u, r, data, steps):
    """The caller's own array is changed: its tangent would be one more argument."""
    for _ in range(steps):
        for i in range(u.shape[0]):
            for j in range(u.shape[1]):
                u[i, j] = u[i, j] + r * u[i, j]
    return np.sum((u - data) ** 2)


def early(u0, r, data, steps):
    """Steps until it is small; how many is not known before."""
    u, v = u0.copy(), u0.copy()
    change = 1.0
    while change > 1e-3 and steps > 0 and u.size > 0:
        v[1:-1, :] = u[1:-1, :] + r * (u[:-2, :] - 2 * u[1:-1, :] + u[2:, :])
        u, v = v, u
        change = np.max(np.abs(u - v))
        steps -= 1
    return np.sum((u - data) ** 2)


def observed(u0, r, data, steps):
    """Some data are missing, and are no numbers."""
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        v[1:-1, :] = u[1:-1, :] + r * (u[:-2, :] - 2 * u[1:-1, :] + u[2:, :])
        u, v = v, u
    return np.sum(np.where(np.isnan(data), 0.0, (u - data) ** 2))


def arguments(function, shape=(6, 7), steps=5):
    rng = np.random.default_rng(0)
    numbers = {anisotropic: (0.15, 0.04), scaled: (0.2, 1.5)}.get(function, (0.2,))
    state, data = rng.random(shape), rng.random(shape)
    if function is observed:
        data[rng.random(shape) < 0.3] = math.nan
    return state, *numbers, data, steps


def forward_modes(function) -> list[str]:
    return [line for line in function.dump_ir("plan").splitlines() if "in forward mode" in line]


@functools.cache
def of_all_floats(function):
    """The function with its derivative by all but the data and the steps, compiled once for all their shapes."""
    return jit_grad(function, argnums=tuple(range(function.__code__.co_argcount - 2)))


PROGRAMS = [cooled, anisotropic, scaled, burgers, in_place, early, observed]


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("shape", [(6, 7), (3, 3), (2, 5), (1, 1), (0, 4)])
@pytest.mark.parametrize("steps", [0, 1, 5])
def test_against_differences(function, shape, steps) -> None:
    """Of what plain Python computes, along all scalars and a direction of the state."""
    args = arguments(function, shape, steps)
    floats = tuple(range(len(args) - 2))
    value, found = of_all_floats(function).value_and_grad(*args)
    plain = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    assert value == pytest.approx(function(*plain), rel=1e-12)
    rng = np.random.default_rng(1)
    for k in floats:
        direction = rng.standard_normal(shape) if k == 0 else 1.0
        step, ends = 1e-6, []
        for sign in (1, -1):
            moved = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
            moved[k] = moved[k] + sign * step * direction
            ends.append(function(*moved))
        slope = (ends[0] - ends[1]) / (2 * step)
        assert np.sum(found[k] * direction) == pytest.approx(slope, rel=2e-6, abs=1e-7)


def test_where_it_pays() -> None:
    expected = {cooled: "by r in", anisotropic: "by a, b in", scaled: "by r in", early: "by r in", observed: "by r in"}
    for function in PROGRAMS:
        args = arguments(function)
        fast = jit_grad(function, argnums=tuple(range(len(args) - 2)))
        fast.grad(*args)
        shown = forward_modes(fast)
        assert [line.split(" forward")[0] for line in shown] == ([expected[function]] if function in expected else [])
        if function in (cooled, scaled, early):
            assert "nothing is stored" in str(fast.report())


def test_by_the_scalar_alone() -> None:
    args = arguments(cooled)
    fast = jit_grad(cooled, argnums=1)
    both = jit_grad(cooled, argnums=(0, 1))
    assert fast.grad(*args) == pytest.approx(both.grad(*args)[1], rel=1e-13)
    assert forward_modes(fast)


def test_derivatives_of_it() -> None:
    """Second derivatives: forward over mixed, against differences of gradients; gradients by arrays of them."""
    args = arguments(cooled)
    fast = jit_grad(cooled, argnums=(0, 1))
    step = 1e-5
    ahead, behind = (fast.grad(args[0], args[1] + s * step, *args[2:]) for s in (1, -1))
    by_state, by_r = adc.hvp(fast, args, (None, 1.0, None, None), argnums=(0, 1))
    np.testing.assert_allclose(by_state, (ahead[0] - behind[0]) / (2 * step), rtol=1e-6, atol=1e-8)
    assert by_r == pytest.approx((ahead[1] - behind[1]) / (2 * step), rel=1e-6)
    inner = adc.grad(cooled, argnums=1)
    mixed = adc.grad(inner, argnums=1)(*args)
    assert mixed == pytest.approx(by_r, rel=1e-10)


def test_pullbacks_agree() -> None:
    args = arguments(anisotropic)
    fast = jit_grad(anisotropic, argnums=(0, 1, 2))
    _, back = fast.pullback(*args)
    for a, b in zip(back(1.0), fast.grad(*args), strict=False):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_threads_and_schedules() -> None:
    args = arguments(cooled, (40, 41), 9)
    one = jit_grad(cooled, argnums=(0, 1), threads=1).grad(*args)
    two = jit_grad(cooled, argnums=(0, 1), threads=2).grad(*args)
    assert one[0].tobytes() == two[0].tobytes() and one[1] == two[1]
    kept = jit_grad(cooled, argnums=(0, 1), checkpoint=adc.every(3))
    found = kept.grad(*args)
    assert not forward_modes(kept)
    np.testing.assert_allclose(found[0], one[0], rtol=1e-12)
    assert found[1] == pytest.approx(one[1], rel=1e-11)


@pytest.mark.parametrize("function", [cooled, scaled])
@pytest.mark.parametrize("narrow", [True, False])
def test_numbers_of_two_widths(function, narrow, monkeypatch) -> None:
    """A tangent has the width of the value, the derivative that of the number that it is by."""
    monkeypatch.setattr("adc.passes.differentiation.mixed.TAPE_OVER_TANGENT", 100.0)
    state, *numbers, data, steps = arguments(function)
    if narrow:  # the value, and what it is made of
        state, data = state.astype(np.float32), data.astype(np.float32)
    else:
        numbers = [np.float32(x) for x in numbers]
    args = (state, *numbers, data, steps)
    fast = jit_grad(function, argnums=tuple(range(len(numbers) + 1)))
    found = fast.grad(*args)[1:]
    assert forward_modes(fast)
    for k, derivative in enumerate(found, start=1):
        assert type(derivative) is (float if narrow else np.float32)
        assert derivative == pytest.approx(adc.jacobian(fast, argnums=k)(*args), rel=1e-5)
