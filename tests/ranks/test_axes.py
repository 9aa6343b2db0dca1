"""Numbers that are made of all elements along an axis that is distributed, and loops over other axes than those."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adc import errors, jit_grad
from tests.ranks.stencils import bits
from tests.ranks.table import on_ranks


def rows_and_columns(u: Any, w: Any) -> Any:
    return np.sum(np.sum(u * w, axis=1) ** 2) + np.sum(np.max(u, axis=0) ** 3)


def in_order(u: Any, w: Any) -> Any:
    """A loop over rows adds each to one row."""
    total = np.zeros(u.shape[1])
    for i in range(u.shape[0]):
        total += u[i] * np.sin(w[i])
    pairs = np.zeros(u.shape[0])
    for i in range(u.shape[0]):
        for k in range(u.shape[0]):
            pairs[i] += u[i, 0] * np.cos(w[k, 1])
    return np.sum(total**2) + np.sum(pairs**2)


def profile(u: Any, w: Any) -> Any:
    """A number for each row or column damps all elements of it; its gradient is made of all of these."""
    down, across = w[:, 0] ** 2, w[0, :] ** 2
    v = u.copy()
    for _ in range(2):
        v = v * down[:, None] + u * across[None, :]
    return np.sum(v)


def product(u: Any, w: Any) -> Any:
    """A matrix times a row of another one."""
    y = np.zeros(u.shape[0])
    for i in range(u.shape[0]):
        s = 0.0
        for j in range(u.shape[1]):
            s += u[i, j] * w[0, j]
        y[i] = s
    return np.sum(y**2)


STEPS = np.array([0, 1, -1, 0])


def table(u: Any, w: Any) -> Any:
    """Directions are read from an array, as in lattice Boltzmann methods."""
    f = np.zeros((4, *u.shape))
    for k in range(4):
        f[k] = (1.0 + 0.1 * k) * u
    for _ in range(2):
        rho = f[0] + f[1] + f[2] + f[3]
        for k in range(4):
            f[k] += w * (0.25 * rho * rho - f[k])
        for k in range(4):
            f[k] = np.roll(f[k], STEPS[k], axis=0)
    return np.sum((f[1] - f[3]) ** 2)


def red_black(u: Any, w: Any) -> Any:
    """Gauss-Seidel in two colours, which a condition tells apart."""
    v = u.copy()
    for _ in range(2):
        for colour in range(2):
            for i in range(1, v.shape[0] - 1):
                for j in range(1, v.shape[1] - 1):
                    if (i + j) % 2 == colour:
                        v[i, j] = 0.25 * (v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1] + w[i, j] * v[i, j])
    return np.sum(v**2)


def striped(u: Any, w: Any) -> Any:
    """Every other row, from those in between."""
    v = u.copy()
    for _ in range(2):
        for i in range(1, (v.shape[0] - 1) // 2):
            for j in range(v.shape[1]):
                v[2 * i, j] = v[2 * i - 1, j] * w[2 * i, j] + v[2 * i + 1, j] ** 2
    return np.sum(v**2)


@pytest.mark.parametrize("f", [rows_and_columns, in_order, profile, product, table, red_black, striped])
def test_bits_do_not_depend_on_the_ranks(f: Any) -> None:
    rng = np.random.default_rng(3)
    u, w = rng.random((2, 7, 5))
    compiled = jit_grad(argnums=(0, 1))(f)
    (one,) = on_ranks((1, 1), compiled, u.shape, (u, w))
    value, gradient = compiled.value_and_grad(u, w)
    np.testing.assert_allclose(one[0], f(u, w), rtol=1e-13)
    np.testing.assert_allclose(one[0], value, rtol=1e-13)
    for mine, theirs in zip(one[1], gradient, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-14)
    for ranks in ((2, 1), (2, 2)):
        assert {bits(found) for found in on_ranks(ranks, compiled, u.shape, (u, w))} == {bits(one)}, ranks


@pytest.mark.parametrize("f", [rows_and_columns, table])
def test_axes_with_fewer_elements_than_ranks(f: Any) -> None:
    rng = np.random.default_rng(4)
    u, w = rng.random((2, 2, 3))
    compiled = jit_grad(argnums=(0, 1))(f)
    (one,) = on_ranks((1, 1), compiled, u.shape, (u, w))
    assert {bits(found) for found in on_ranks((3, 1), compiled, u.shape, (u, w))} == {bits(one)}


def same_colour(u: Any, w: Any) -> Any:
    """This reads what the same loop computes."""
    v = u.copy()
    for i in range(1, v.shape[0] - 1):
        for j in range(1, v.shape[1] - 1):
            if (i + j) % 2 == 0:
                v[i, j] = v[i - 1, j - 1] * w[i, j]
    return np.sum(v)


def test_diagonal_neighbours_have_the_same_colour() -> None:
    u = np.ones((7, 5))
    with pytest.raises((errors.CompileTypeError, ValueError), match="the same loop computes"):
        on_ranks((2, 1), jit_grad(argnums=(0, 1))(same_colour), u.shape, (u, u.copy()))
