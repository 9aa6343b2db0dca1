"""Branches in loops that become SIMD: random ones, on arrays long enough for vectors, against plain Python.

What a branch loads and then overwrites must be what was there before: see ``adc.backend.lowering.masked``.
"""

from __future__ import annotations

import linecache
import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adc
from adc import jit_grad

N = 67


def moved_out(m, a, b, c):
    for i in range(len(a)):
        if m[i]:
            t = a[i]
            a[i] = 0.0
        else:
            t = b[i] * 2.0
        c[i] = t
    return np.sum(c * c) + np.sum(a)


def in_both(m, a, b, c):
    for i in range(len(a)):
        if m[i]:
            t = a[i]
            a[i] = b[i]
        else:
            t = a[i]
            a[i] = c[i] * 0.5
        c[i] += t
    return np.sum(c * a)


def in_one(m, a, b, c):
    for i in range(len(a)):
        t = b[i]
        if m[i]:
            t = a[i]
            a[i] = t * t
            b[i] = t
        c[i] = t
    return np.sum(a * b + c)


def flags(m, a, b, c):
    for i in range(len(a)):
        if a[i] > 0.0:
            old = m[i]
            m[i] = False
        else:
            old = not m[i]
        c[i] = b[i] if old else a[i]
    return np.sum(c) + np.sum(c * a)


def unrolled(m, a, b, c):
    for i in range(len(a)):
        if m[i]:
            for k in range(3):
                t = b[i]
                b[i] = a[i] + k
                c[i] += t
        else:
            c[i] = a[i]
    return np.sum(c * b)


def take(a, b, i):
    t = a[i]
    a[i] = b[i] * 0.5
    return t


def in_a_call(m, a, b, c):
    for i in range(len(a)):
        c[i] = take(a, b, i) if m[i] else b[i]
    return np.sum(c * a)


def check(function: Callable[..., Any], ways: tuple[str, ...] = ("gradient", "pullback")) -> None:
    """``ways``: which derivatives are compiled beside the function, all by LLVM's optimiser."""
    rng = np.random.default_rng(6)
    m = rng.random(N) < 0.5
    arrays = [rng.standard_normal(N) for _ in range(3)]
    expected, got, oracle = ([m.copy(), *(x.copy() for x in arrays)] for _ in range(3))
    compiled, interpreted = jit_grad(function, _level=3), jit_grad(function, _engine="interpreter")
    value = function(*expected)
    assert compiled(*got) == pytest.approx(value, rel=1e-12, abs=1e-12)
    for x, y in zip(expected, got, strict=True):
        assert np.allclose(x, y, rtol=1e-13, atol=1e-13)
    by = (1, 2, 3)
    truth = adc.grad(interpreted, argnums=by)(m.copy(), *oracle[1:])
    for way in ways:
        if way == "gradient":
            gradients = adc.grad(compiled, argnums=by)(m.copy(), *oracle[1:])
        else:
            gradients = compiled.pullback(m.copy(), *arrays)[1](1.0)[1:]
        for x, y in zip(gradients, truth, strict=True):
            assert np.allclose(x, y, rtol=1e-11, atol=1e-11), way


@pytest.mark.parametrize("function", [moved_out, in_both, in_one, flags, unrolled, in_a_call], ids=lambda f: f.__name__)
def test_what_is_loaded_before_it_is_overwritten(function: Callable[..., Any]) -> None:
    check(function)


class Generator:
    """Random statements of one iteration, on elements of three arrays and some scalars."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines = ["def program(m, a, b, c):", "    for i in range(len(a)):", "        s, t = 0.5, a[i]"]

    def value(self) -> str:
        one, other = self.rng.choices(["a[i]", "b[i]", "c[i]", "s", "t", "0.0", "0.25"], k=2)
        form = self.rng.choice(["{0}", "{0}", "0.5 * {0} + {1} * 0.25", "np.sin({0})", "{0} - {1} * 0.5"])
        return form.format(one, other)

    def statements(self, indent: int, depth: int) -> None:
        for _ in range(self.rng.randint(1, 4)):
            if depth and self.rng.random() < 0.35:
                test = self.rng.choice(["m[i]", "not m[i]", "a[i] > 0.1", "s < t", "i % 3 == 0"])
                self.lines.append("    " * indent + f"if {test}:")
                self.statements(indent + 1, depth - 1)
                if self.rng.random() < 0.6:
                    self.lines.append("    " * indent + "else:")
                    self.statements(indent + 1, depth - 1)
            else:
                target = self.rng.choice(["a[i]", "b[i]", "c[i]", "s", "t", "t"])
                self.lines.append("    " * indent + f"{target} = {self.value()}")

    def text(self) -> str:
        self.statements(2, 2)
        self.lines += ["        c[i] += s * t", "    return np.sum(a * b) + np.sum(c * c)", ""]
        return "\n".join(self.lines)


def check_seed(seed: int, ways: tuple[str, ...] = ("gradient", "pullback")) -> None:
    text = Generator(seed).text()
    name = f"<branches {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), names)
    check(names["program"], ways)


@given(st.integers(0, 2**32))
@settings(max_examples=100 if os.environ.get("ADC_THOROUGH") else 12, deadline=None)
def test_random_branches(seed: int) -> None:
    """The gradient of one half, the pullback of the others: LLVM takes most of the time."""
    check_seed(seed, ("gradient",) if seed % 2 else ("pullback",))


def test_loads_that_llvm_makes_of_others() -> None:
    """The adjoint of a branch in a branch: a load before both comes to stand in each (``backend.sunk_loads``)."""
    check_seed(1520015908)
