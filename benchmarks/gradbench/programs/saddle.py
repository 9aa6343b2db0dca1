"""A saddle point: the x that minimises the maximum over y, with nested gradient descents. The names of the functions
say the mode (f, r) of the outer and of the inner descent."""

from __future__ import annotations

from functools import partial

import numpy as np

import adc
from benchmarks.gradbench import native
from benchmarks.gradbench.program import Call, Input, Program
from benchmarks.gradbench.programs import descent


def f(x, y):
    return (x[0] * x[0] + x[1] * x[1]) - (y[0] * y[0] + y[1] * y[1])


def highest(x, start, reverse):
    """The minimiser of -f(x, .)."""

    def below(y):
        return -f(x, y)

    return descent.argmin(below, adc.grad(below) if reverse else descent.forward(below), start)


def solved(start, outer, inner):
    def largest(x):
        return f(x, highest(x, start, inner))

    x = descent.argmin(largest, adc.grad(largest) if outer else descent.forward(largest), start)
    y = highest(x, start, outer)
    return np.array([x[0], x[1], y[0], y[1]])


def rr(start):
    return solved(start, True, True)


def rf(start):
    return solved(start, True, False)


def fr(start):
    return solved(start, False, True)


def ff(start):
    return solved(start, False, False)


MODES = {g.__name__: adc.jit_grad(threads=1)(g) for g in (rr, rf, fr, ff)}


def given(rng: np.random.Generator) -> Input:
    return {"start": np.ones(2)}


def by_adc(given: Input) -> dict[str, Call]:
    start = np.asarray(given["start"], float)
    return {name: partial(f, start) for name, f in MODES.items()}


def by_c(given: Input) -> dict[str, Call]:
    found = np.empty(4)
    run = native.bound("descent", "saddle", np.asarray(given["start"], float), found)
    return {"rr": lambda: (run(), found)[1]}


PROGRAM = Program(
    "saddle", "rr", "ff", given, {}, {}, by_adc, by_c, None,
    "C: gradients by hand; the inner point does not depend on x",
)  # fmt: skip
