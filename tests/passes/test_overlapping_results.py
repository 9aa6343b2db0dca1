"""Functions that return one array several times, or views of it: objects whose attributes share memory are made so.
Gradients in all modes, where the arrays vary before they are returned and where they vary only afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from tests.bits import is_exact_function

X, B, STEP = np.random.default_rng(0).random(5), 0.7, 1e-6
ALONG = np.random.default_rng(1).random(5)


class Beliefs:
    """One array has two names until it is replaced under one of them."""

    def __init__(self, beta: Any) -> None:
        self.beta0 = self.beta = np.array([beta])
        self.mean0 = self.mean = np.array([0.0])

    def update(self, x: Any) -> None:
        beta = np.append(self.beta0, self.beta + x * self.mean)
        self.mean = np.append(self.mean0, self.mean + x * self.beta)
        self.beta = beta


def replaced(x: Any, b: Any) -> Any:
    beliefs = Beliefs(b)
    for v in x:
        beliefs.update(v)
    return np.sum(beliefs.beta * beliefs.mean) + beliefs.beta0[0]


class Particles:
    """Positions and velocities are parts of the state."""

    def __init__(self, n: int) -> None:
        self.state = np.zeros(2 * n)
        self.before = self.state.copy()
        self.pos = self.place = self.state[:n]
        self.vel = self.state[n:]

    def step(self, a: Any, dt: float) -> None:
        self.before[:] = self.state
        self.vel += a * dt
        self.pos += self.vel * dt * self.place
        self.state *= 0.99


def parts(x: Any, b: Any) -> Any:
    p = Particles(len(x))
    p.pos[:] = x
    for _ in range(5):
        p.step(-b * p.pos, 0.1)
    return p.state @ p.before + p.vel[0] * p.place[1]


def in_a_list(x: Any, b: Any) -> Any:
    every = [Particles(len(x)) for _ in range(len(x))]
    for k, p in enumerate(every):
        p.place[:] = x * (k + 1)
    total = 0.0
    for p in every:
        for _ in range(2):
            p.step(b, 0.1)
        total += np.sum(p.state * p.before)
    return total


def made(n: int) -> Any:
    z = np.zeros(n)
    return z, z, z[:0:-1]


def backwards(x: Any, b: Any) -> Any:
    p, q, r = made(len(x))
    for i in range(len(x)):
        p[i] += x[i] * b
        if x[i] > 0.5:
            q[i] *= p[i]
    r[1:] *= r[:-1]
    return np.sum(p * q) + r[0]


def chosen(n: int, c: Any) -> Any:
    z, w = np.zeros(n), np.ones(n)
    return z, w, z if c > 0.5 else w


def by_a_branch(x: Any, b: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        z, w, p = chosen(len(x), x[i])
        z[:] = x * b
        w *= x
        p += z * w
        total += np.sum(p * z * w) + p[0]
    return total


def passed(x: Any, c: Any) -> Any:
    y = np.ones(len(x))
    t = x if c > 0.5 else y
    for i in range(3):
        y[i] = i
    return y, t


def argument_or_new(x: Any, b: Any) -> Any:
    z, total = x * b, 0.0
    for i in range(3):
        y, t = passed(z, x[i])
        y *= b
        t[1] += y[1] * y[2]
        total += np.sum(t * y) + np.sum(z * z)
    return total


def sums(n: int, x: Any) -> Any:
    if n == 0:
        z = np.zeros(len(x))
        return z, z
    a, b = sums(n - 1, x)
    a += x * n
    b *= x
    return b, a


def recursive(x: Any, b: Any) -> Any:
    p, q = sums(4, x)
    p *= b
    return np.sum(p * q)


def counted(n: int) -> Any:
    z = np.zeros(n)
    for k in range(n):
        z[k] = k
    return z, z


def swapped(x: Any, b: Any) -> Any:
    p, q = counted(len(x))
    if b > 5:
        p *= x
    total = 0.0
    for k in range(3):
        p, q = q, p
        p[k] = x[k] * b
        total += q[k] * p[1]
    return total


def again(x: Any, b: Any) -> Any:
    p, q = adc.checkpoint(counted)(len(x))
    p += x * b
    q *= x
    return np.sum(p * q)


PROGRAMS = (replaced, parts, in_a_list, backwards, by_a_branch, argument_or_new, recursive, swapped, again)


@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients(program: Callable[..., Any]) -> None:
    compiled = adc.jit_grad(program)
    value = program(X.copy(), B)
    assert compiled(X, B) == (value if is_exact_function(program) else pytest.approx(value, rel=1e-14))
    slopes = np.array([(program(X + STEP * r, B) - program(X - STEP * r, B)) / (2 * STEP) for r in np.eye(5)])
    gradient = compiled.grad(X, B)
    assert gradient == pytest.approx(slopes, rel=1e-6, abs=1e-7)
    assert compiled.jvp((X, B), (ALONG, None))[1] == pytest.approx(gradient @ ALONG, rel=1e-12)
    back = compiled.pullback(X, B)[1]
    for _ in range(2):
        assert back(1.0)[0] == pytest.approx(gradient, rel=1e-12)
    by_b = (program(X.copy(), B + STEP) - program(X.copy(), B - STEP)) / (2 * STEP)
    assert adc.grad(program, argnums=1)(X, B) == pytest.approx(by_b, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("program", PROGRAMS)
def test_second_derivatives_and_maps(program: Callable[..., Any]) -> None:
    gradient = adc.grad(program)
    change = (gradient(X + STEP * ALONG, B) - gradient(X - STEP * ALONG, B)) / (2 * STEP)
    assert np.asarray(adc.hvp(program, (X, B), (ALONG, None))) == pytest.approx(change, rel=1e-6, abs=1e-6)
    twice = adc.grad(lambda x, b: np.sum(adc.grad(program)(x, b) * ALONG))
    assert twice(X, B) == pytest.approx(change, rel=1e-6, abs=1e-6)
    several = np.stack([X, X[::-1], X / 2])
    mapped = adc.grad(lambda x, b: np.sum(adc.vmap(program, (0, None))(x, b)))
    assert mapped(several, B) == pytest.approx(np.array([gradient(row, B) for row in several]), rel=1e-12)
