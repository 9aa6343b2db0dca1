"""Overlapping arguments beside others of every layout."""

from __future__ import annotations

import numpy as np
import pytest

import adc


def mixed(x, a, b, c):
    c[2] += x * b[1] * a[0, 1]
    return np.sum(b * b) - np.sum(c) + np.sum(a * a)


@pytest.mark.parametrize("layout", ["C", "F", "strided", "reversed"])
def test_gradient_of_overlapping_arguments_beside_one_that_overlaps_nothing(layout: str) -> None:
    rng = np.random.default_rng(5)
    wide = rng.standard_normal((4, 6))
    a = {"C": wide[:2, :3].copy(), "F": np.asfortranarray(wide[:2, :3]), "strided": wide[::2, ::2]}.get(
        layout, wide[::-1]
    )
    base = rng.standard_normal(5)

    def at(h: float, da: np.ndarray, dbase: np.ndarray) -> float:
        memory = base + h * dbase
        moved = a + h * da
        return float(mixed(0.7 + h, moved, memory[2:], memory[:3]))

    function = adc.jit_grad(mixed)
    value, (gx, ga, gb, gc) = adc.value_and_grad(function, argnums=(0, 1, 2, 3))(0.7, a, base[2:], base[:3])
    assert value == pytest.approx(at(0.0, np.zeros_like(a), np.zeros(5)), rel=1e-14)
    da, dbase = rng.standard_normal(a.shape), rng.standard_normal(5)
    expected = (at(1e-6, da, dbase) - at(-1e-6, da, dbase)) / 2e-6
    # The element that both arguments share has one cotangent, seen through both.
    shared = gb[0] * dbase[2]
    got = gx + np.sum(ga * da) + np.sum(gb * dbase[2:]) + np.sum(gc * dbase[:3]) - shared
    assert got == pytest.approx(expected, rel=1e-7)
