"""Steps that copy a buffer over their state (rotate-buffers): values are those of Python bit by bit, gradients agree
with forward mode, also where the two arrays are not equal before the loop, or are used besides."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from tests.fuzz.check import loaded
from tests.passes.test_alternate_buffers import check


def copied_back(u0, v0, steps):
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        v[1:-1] = u[1:-1] + 0.1 * v0[1:-1] * (u[2:] - u[:-2])
        u[:] = v
    return u


def two_back(u0, v0, steps):
    old, u, new = np.zeros(len(u0)), np.zeros(len(u0)), np.zeros(len(u0))
    total = 0.0
    for t in range(steps):
        for i in range(1, len(u) - 1):
            new[i] = 2.0 * u[i] - old[i] + v0[i] * (u[i + 1] - u[i - 1])
        new[1] = new[1] + u0[t]
        total += new[0] * new[2] + new[1]
        old[:] = u
        u[:] = new
    return total + old * u


def filled_each_step(u0, v0, steps):
    u, v = u0 * v0, np.empty_like(u0)
    for _ in range(steps):
        for i in range(len(u)):
            v[i] = u[i] * v0[i] + u[0]
        for i in range(len(u)):
            u[i] = v[i]
    return u


def rims_differ(u0, v0, steps):
    u, v = u0.copy(), v0.copy()
    for _ in range(steps):
        v[1:-1] = u[1:-1] * u[2:]
        u[:] = v
    return u


def read_after_the_loop(u0, v0, steps):
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        v[1:-1] = u[1:-1] * u[2:] + v0[1:-1]
        u[:] = v
    u[0] = 2.0
    return u + v


def changed_after_the_copy(u0, v0, steps):
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        v[1:-1] = u[1:-1] * u[2:]
        u[:] = v
        u[0] = 0.5 * v0[1]
    return u


def buffer_changed_after_the_copy(u0, v0, steps):
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        v[1:-1] = u[1:-1] * u[2:] + v[:-2]
        u[:] = v
        v[1] = 0.5 * v0[1]
    return u


def state_read_after_it_was_handed_on(u0, v0, steps):
    old, u, new = u0.copy(), u0.copy(), u0.copy()
    total = 0.0
    for _ in range(steps):
        new[1:-1] = u[1:-1] * old[2:] + v0[1:-1]
        old[:] = u
        total += u[1] * new[2]
        u[1] = 0.5 * u[1]
        total += old[1] * u[1]
        u[:] = new
    return old * u + total


def source_changed_between(u0, v0, steps):
    s = u0 * v0
    u = s.copy()
    s[0] = 3.0
    v = s.copy()
    for _ in range(steps):
        v[1:-1] = u[1:-1] * u[:-2]
        u[:] = v
    return u


PROGRAMS = [
    copied_back, two_back, filled_each_step, rims_differ, read_after_the_loop, changed_after_the_copy,
    buffer_changed_after_the_copy, state_read_after_it_was_handed_on, source_changed_between,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(function: Callable[..., Any]) -> None:
    check(function, [(6, 6)], [0, 1, 4])


def test_nothing_is_copied_in_a_step() -> None:
    for function in (copied_back, filled_each_step):
        compiled = jit_grad(function)
        compiled(np.ones(6), np.ones(6), 2)
        fast = compiled.dump_ir("simplified").partition("scf.for")[2].partition("scf.yield")[0]
        assert "memref.alloc" not in fast and fast.count("scf.parallel") == 1, fast


@pytest.mark.parametrize("seed", range(6))
def test_random_steps(seed: int) -> None:
    draw = random.Random(seed)
    starts = ["u, v, w = u0.copy(), u0.copy(), u0.copy()", "u, v = np.zeros(len(u0)), np.zeros(len(u0)); w = u.copy()"]
    starts += ["u, v, w = u0.copy(), u0 * v0, v0.copy()"]
    lines = [
        "w[1:-1] = 0.5 * u[2:] + v[:-2] * v0[1:-1] + 0.1",
        "v[1:-1] = 0.5 * v[1:-1] + 0.1 * w[2:] * u[:-2] + v0[2:]",
        "u[1:-1] = u[1:-1] * 0.3 + v0[:-2]",
        "w[0] = u[1] + 0.2 * v0[0]",
        "v[-1] = 0.2 * w[1] + u0[0]",
    ]
    copies = ["v[:] = u; u[:] = w", "u[:] = w", "v[:] = w", "u[:] = v; v[:] = w", "w[:] = v", "v, w = w, v"]
    body = "\n        ".join(
        [
            *(draw.choice(lines) for _ in range(draw.randint(1, 4))),
            draw.choice(copies),
            *(draw.choice(lines + copies) for _ in range(draw.randint(0, 2))),
        ]
    )
    text = f"""import numpy as np


def f(u0, v0, steps):
    {draw.choice(starts)}
    for _ in range(steps):
        {body}
    return u + 2.0 * v{draw.choice(["", " + 3.0 * w"])}
"""
    with loaded(text) as names:
        check(names["f"], [(5, 5)], [0, 1, 4])
