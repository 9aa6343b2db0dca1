"""``a.flat[...]``: elements of an array in order, read and stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc.errors import AdcError


def stored(a: Any, v: Any) -> Any:
    d = a.copy()
    d.flat[:: len(a) + 1] += v
    d.flat[1] = 2.0 * v
    d.flat[-1] *= 3.0
    d.flat[[0, 2, 2]] = v
    w = d.flat[2:5]
    w[0] = 100.0  # of a copy
    d.flat[5:] = d.flat[:-5]
    return np.sum(np.sin(d)) + np.sum(w) + d.flat[3] * np.sum(d.flat[np.array([1, 2])]) + sum(x * x for x in d.flat)


def argument(a: Any, v: Any) -> Any:
    a.flat[2] = v
    t = a.T
    return a.flat[1] * t.flat[1] + np.sum(t.flat[::2]) + a[:, 1].flat[0]


def column(a: Any, v: Any) -> Any:
    b = a[:, 1]
    b.flat[1] = v
    b.flat[a[:, 0] > 0.5] = 0.0
    return np.sum(a) + (a * v).flat[2]


LAYOUTS = {"C": lambda a: a, "F": np.asfortranarray, "gaps": lambda a: np.repeat(a, 2, axis=0)[::2]}


@pytest.mark.parametrize("shape", [(3, 3), (4, 4), (6, 2)])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("program", [stored, argument, column], ids=lambda f: f.__name__)
def test_values_and_derivatives(program: Any, layout: str, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    a, along, h = LAYOUTS[layout](rng.random(shape)), rng.normal(size=shape), 1e-6
    compiled = adc.jit_grad(program, argnums=(0, 1))
    if program is argument and layout != "C":
        with pytest.raises(AdcError, match="cannot store into flat of an array that may be a part of another"):
            compiled(a, 0.7)
        return
    by_a, by_v = compiled.grad(a, 0.7)
    found = np.sum(by_a * along) + by_v
    numeric = (program(a + h * along, 0.7 + h) - program(a - h * along, 0.7 - h)) / (2 * h)
    np.testing.assert_allclose(found, numeric, rtol=1e-6)
    np.testing.assert_allclose(compiled.jvp((a, 0.7), (along, 1.0))[1], found, rtol=1e-10)
    mine = a.copy(order="K")
    assert compiled(mine, 0.7) == pytest.approx(program(a, 0.7), rel=1e-13) and np.array_equal(mine, a)


def test_refusals() -> None:
    with pytest.raises(AdcError, match="flat takes one subscript"):
        adc.jit_grad(lambda a: a.flat[0, 1])(np.ones((2, 2)))
    with pytest.raises(IndexError, match="index 4 is out of bounds"):
        adc.jit_grad(lambda a: a.flat[4])(np.ones((2, 2)))
    assert adc.jit_grad(lambda a: a.flat[:0])(np.ones((2, 2))).shape == (0,)
