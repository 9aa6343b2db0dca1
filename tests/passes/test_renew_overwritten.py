"""Steps that overwrite an array with what they computed from a temporary one (renew-overwritten): the values are
those of Python, also of what is read, written and computed in between, and gradients agree with forward mode."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from tests.fuzz.check import loaded
from tests.passes.test_alternate_buffers import check


def computed(u0, v0, steps):
    u = u0.copy()
    for _ in range(steps):
        lap = u[2:] - 2.0 * u[1:-1] + u[:-2]
        u[1:-1] += 0.1 * v0[1:-1] * lap
    return u


def read_between(u0, v0, steps):
    u, total = u0.copy(), 0.0
    for _ in range(steps):
        w = np.sin(u[2:] - u[:-2])
        total += u[1] * v0[0]
        u[1:-1] = w
    return u * total


def changed_between(u0, v0, steps):
    """The second loop reads an array that changed after the first one."""
    u, v = u0.copy(), v0.copy()
    for _ in range(steps):
        w = u[2:] * v[1:-1] - u[:-2]
        v[1:-1] = 0.5 * v[1:-1] + w[::-1]
        u[1:-1] = u[1:-1] * v[1:-1] + 0.1 * w
    return u + v


def neighbours_of_itself(u0, v0, steps):
    """The second loop reads what its last iteration has overwritten."""
    u = u0.copy()
    for _ in range(steps):
        w = u[2:] - u[:-2]
        for i in range(1, len(u) - 1):
            u[i] = 0.5 * u[i - 1] + 0.1 * w[i - 1] * v0[i]
    return u


def read_after_it_is_stored(u0, v0, steps):
    u, z = u0.copy(), v0.copy()
    for _ in range(steps):
        w = u[2:] - u[:-2]
        for i in range(1, len(u) - 1):
            u[i] += 0.1 * w[i - 1]
            z[i] += u[i] * w[i - 1]
    return u * z


def summed_inside(u0, v0, steps):
    u = u0.copy()
    for _ in range(steps):
        w = u[2:] - u[:-2]
        for i in range(1, len(u) - 1):
            s = 0.0
            for j in range(len(u)):
                s += v0[j] * w[i - 1]
            u[i] += 0.1 * s
    return u


def chosen_inside(u0, v0, steps):
    u = u0.copy()
    for _ in range(steps):
        w = u[2:] - u[:-2]
        for i in range(1, len(u) - 1):
            if w[i - 1] > 0.1:
                u[i] = u[i] * v0[i] - w[i - 1]
    return u


def partly_filled(u0, v0, steps):
    u = u0.copy()
    for _ in range(steps):
        w = np.zeros(len(u) - 2)
        for i in range(1, len(u) - 2):
            w[i] = u[i + 1] * v0[i]
        u[1:-1] += w
    return u


PROGRAMS = [
    computed, read_between, changed_between, neighbours_of_itself, read_after_it_is_stored, summed_inside,
    chosen_inside, partly_filled,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(function: Callable[..., Any]) -> None:
    check(function, [(6, 6), (3, 3)], [0, 1, 3])


def test_nothing_is_allocated_in_a_step() -> None:
    compiled = jit_grad(computed)
    compiled(np.ones(6), np.ones(6), 2)
    fast = compiled.dump_ir("simplified").partition("scf.for")[2].partition("scf.yield")[0]
    assert "memref.alloc" not in fast and fast.count("scf.parallel") == 1, fast


@pytest.mark.parametrize("seed", range(5))
def test_random_steps(seed: int) -> None:
    draw = random.Random(seed)
    lines = [
        "t = u[2:] - w[:-2]",
        "t = w[1:-1] * v[2:] + 0.1 * u[:-2]",
        "t = np.zeros(len(u) - 2); t[1:] = u[2:-1] * v[1:-2]",
        "u[1:-1] += 0.1 * t * v[1:-1]",
        "u[1:-1] = t - 0.2 * u[1:-1] * w[2:]",
        "w[1:-1] = 0.3 * t * w[1:-1] + u[:-2]",
        "v[1:-1] = t[::-1] * 0.5 + t * w[1:-1]",
        "u[0] = 0.5 * v[1] + w[0]",
        "v[2] = u[1] * 0.4",
        "w[:] = 0.5 * w + 0.2 * u",
        "u, w = w, u",
    ]
    body = "\n        ".join([draw.choice(lines[:2]), *(draw.choice(lines) for _ in range(draw.randint(2, 6)))])
    text = f"""import numpy as np


def f(u0, v0, steps):
    u, v, w = u0.copy(), v0.copy(), u0 * v0
    for _ in range(steps):
        {body}
    return u + 2.0 * v + 3.0 * w
"""
    with loaded(text) as names:
        check(names["f"], [(5, 5)], [0, 3])
