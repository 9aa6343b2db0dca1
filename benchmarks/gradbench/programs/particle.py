"""A charged particle's path by Euler's method, in a field that is a gradient; gradient descent finds a parameter of the
field for which the path meets the origin. The names of the functions say the mode (f, r) of the descent and of the
field."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

import adc
from benchmarks.gradbench import native
from benchmarks.gradbench.program import Call, Input, Program
from benchmarks.gradbench.programs import descent


def distance(x, y, u, v):
    return math.sqrt((x - u) * (x - u) + (y - v) * (y - v))


def potential(x, y, w):
    return 1.0 / distance(x, y, 10.0, 10.0 - w) + 1.0 / distance(x, y, 10.0, 0.0)


def field_reverse(x, y, w):
    return adc.grad(potential, argnums=(0, 1))(x, y, w)


def field_forward(x, y, w):
    _, by_x = adc.jvp(potential, (x, y, w), (1.0, 0.0, 0.0))
    _, by_y = adc.jvp(potential, (x, y, w), (0.0, 1.0, 0.0))
    return by_x, by_y


def missed(field, w):
    """The square of the coordinate at which the path meets the axis."""
    dt = 0.1
    x, y, u, v = 0.0, 8.0, 0.75, 0.0
    while y + dt * v > 0.0:
        a, b = field(x, y, w)
        x += dt * u
        y += dt * v
        u -= dt * a
        v -= dt * b
    end = x - y / v * u
    return end * end


def missed_reverse(w):
    return missed(field_reverse, w[0])


def missed_forward(w):
    return missed(field_forward, w[0])


def rr(start):
    return descent.argmin(missed_reverse, adc.grad(missed_reverse), start)


def rf(start):
    return descent.argmin(missed_forward, adc.grad(missed_forward), start)


def fr(start):
    return descent.argmin(missed_reverse, descent.forward(missed_reverse), start)


def ff(start):
    return descent.argmin(missed_forward, descent.forward(missed_forward), start)


MODES = {f.__name__: adc.jit_grad(threads=1)(f) for f in (rr, rf, fr, ff)}


def given(rng: np.random.Generator) -> Input:
    return {"w": 0.0}


def by_adc(given: Input) -> dict[str, Call]:
    start = np.array([float(given["w"])])
    return {name: partial(f, start) for name, f in MODES.items()}


def by_c(given: Input) -> dict[str, Call]:
    return {"rr": native.bound("descent", "particle", float(given["w"]))}


def answer(given: Input, function: str, result: Any) -> Any:
    return result[0]


PROGRAM = Program(
    "particle", "rr", "ff", given, {}, {}, by_adc, by_c, None, "C: forward derivatives by hand", answer
)
