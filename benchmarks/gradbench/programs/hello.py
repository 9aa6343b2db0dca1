"""The square of a number, and its derivative: the first request to every tool."""

from __future__ import annotations

import numpy as np

import adc
from benchmarks.gradbench.program import Call, Input, Program


def square(x):
    return x * x


compiled = adc.jit_grad(square)


def given(rng: np.random.Generator) -> Input:
    return 3.0


def by_adc(given: Input) -> dict[str, Call]:
    x = float(given)
    return {"square": lambda: compiled(x), "double": lambda: compiled.grad(x)}


def by_c(given: Input) -> dict[str, Call]:
    return {}


PROGRAM = Program("hello", "double", "square", given, {}, {}, by_adc, by_c)
