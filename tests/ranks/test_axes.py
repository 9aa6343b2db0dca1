"""Numbers that are made of all elements along an axis that is distributed, and loops over other axes than those."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import errors, jit_grad, mpi
from tests.ranks.stencils import bits
from tests.ranks.table import on_ranks

pytestmark = pytest.mark.usefixtures("stages")


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


def coloured(u: Any, w: Any) -> Any:
    """The same where the colour is part of the sum."""
    v = u.copy()
    for _ in range(2):
        for colour in range(2):
            for i in range(1, v.shape[0] - 1):
                for j in range(1, v.shape[1] - 1):
                    if (i + j + colour) % 2 == 0:
                        v[i, j] = 0.25 * (v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1] + w[i, j] * v[i, j])
    return np.sum(v**2)


def odd(u: Any, w: Any) -> Any:
    """The points that are not of the colour."""
    v = u.copy()
    for colour in range(2):
        for i in range(1, v.shape[0] - 1):
            for j in range(1, v.shape[1] - 1):
                if (i + j + colour) % 2 != 0:
                    v[i, j] = 0.25 * (v[i - 1, j] + v[i + 1, j] + v[i, j - 1] * w[i, j] + v[i, j + 1])
    return np.sum(v**2)


def striped(u: Any, w: Any) -> Any:
    """Every other row, from those in between."""
    v = u.copy()
    for _ in range(2):
        for i in range(1, (v.shape[0] - 1) // 2):
            for j in range(v.shape[1]):
                v[2 * i, j] = v[2 * i - 1, j] * w[2 * i, j] + v[2 * i + 1, j] ** 2
    return np.sum(v**2)


@pytest.mark.parametrize("f", [rows_and_columns, in_order, profile, product, table, red_black, coloured, odd, striped])
def test_bits_do_not_depend_on_the_ranks(f: Any) -> None:
    check(f, np.random.default_rng(3).random((2, 7, 5)), [(2, 1), (2, 2)])


def check(f: Any, args: Any, layouts: list[tuple[int, ...]]) -> None:
    """Value and gradient on one rank are the function's, and have the same bits on several."""
    compiled, shape = jit_grad(argnums=(0, 1))(f), args[0].shape
    (one,) = on_ranks((1,) * len(shape), compiled, shape, tuple(args))
    value, gradient = compiled.value_and_grad(*args)
    np.testing.assert_allclose(one[0], f(*args), rtol=1e-13)
    np.testing.assert_allclose(one[0], value, rtol=1e-13)
    for mine, theirs in zip(one[1], gradient, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-14)
    for ranks in layouts:
        assert {bits(found) for found in on_ranks(ranks, compiled, shape, tuple(args))} == {bits(one)}, ranks


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


def rows_in_steps(u: Any, w: Any) -> Any:
    """The points of a colour as ranges in steps of two."""
    v = u.copy()
    for colour in range(2):
        for i in range(1, v.shape[0] - 1):
            for j in range(1 + (i + colour) % 2, v.shape[1] - 1, 2):
                v[i, j] = v[i - 1, j] * w[i, j] + v[i + 1, j] + v[i, j - 1]
    return np.sum(v)


def difference(u: Any, w: Any) -> Any:
    """The difference may be negative; Python's remainder is not."""
    v = u.copy()
    for colour in range(2):
        for i in range(1, v.shape[0] - 1):
            for j in range(1, v.shape[1] - 1):
                if (i - j - colour) % 2 == 0:
                    v[i, j] = 0.25 * (v[i - 1, j] + v[i + 1, j] + v[i, j - 1] * w[i, j] + v[i, j + 1])
    return np.sum(v**2)


def otherwise(u: Any, w: Any) -> Any:
    """Points of the other colour in the other branch; of three colours this says nothing."""
    v = u.copy()
    for i in range(1, v.shape[0] - 1):
        for j in range(1, v.shape[1] - 1):
            if (i + j) % 3 == 1:
                pass
            else:
                v[i, j] = v[i - 1, j] * w[i, j]
    return np.sum(v)


def diagonal_in_steps(u: Any, w: Any) -> Any:
    v = u.copy()
    for colour in range(2):
        for i in range(1, v.shape[0] - 1):
            for j in range(1 + (i + colour) % 2, v.shape[1] - 1, 2):
                v[i, j] = v[i - 1, j - 1] * w[i, j]
    return np.sum(v)


def selected(u: Any, w: Any) -> Any:
    """A choice between numbers that is no remainder."""
    v = u.copy()
    for i in range(1, v.shape[0] - 1):
        for j in range(v.shape[1]):
            if (i + 1 if w[i, j] > 0.5 else 0) == 0:
                v[i, j] = u[i - 1, j] + w[i, j]
            if (j + 2 if w[i, j] > 0.5 else j) == 3:
                v[i, j] = v[i, j] * w[i, j]
    return np.sum(v**2)


def test_points_of_a_colour_may_be_ranges() -> None:
    u, w = np.random.default_rng(3).random((2, 7, 9))

    def run(f: Any) -> Any:
        return adc.distribute(f, adc.Grid(u.shape, (3, 1)))(u, w)

    for f in (rows_in_steps, difference, selected):
        assert set(mpi.simulate(3, lambda f=f: run(f))) == {adc.distribute(f, adc.Grid(u.shape))(u, w)}
        np.testing.assert_allclose(adc.distribute(f, adc.Grid(u.shape))(u, w), f(u, w), rtol=1e-13)
    for f in (diagonal_in_steps, otherwise):
        with pytest.raises((errors.CompileTypeError, ValueError), match="the same loop computes"):
            mpi.simulate(3, lambda f=f: run(f))


def coloured_line(u: Any, w: Any) -> Any:
    """The first point of a colour is that colour's own loop bound."""
    v = u.copy()
    for _ in range(2):
        for colour in range(2):
            for i in range(1, len(v) - 1):
                if (i + colour) % 2 == 0:
                    v[i] = 0.5 * (v[i - 1] + v[i + 1] + w[i])
    return np.sum(v**2)


def test_colours_of_a_line() -> None:
    check(coloured_line, np.random.default_rng(6).random((2, 11)), [(2,), (3,)])


def short_recurrence(u: Any, w: Any) -> Any:
    """A few elements, one after the other."""
    v = u.copy()
    for i in range(1, 5):
        for j in range(v.shape[1]):
            v[i, j] += v[i - 1, j] * w[i, j]
    return np.sum(v**2)


def test_a_few_rows_may_be_steps() -> None:
    check(short_recurrence, np.random.default_rng(5).random((2, 7, 5)), [(3, 1), (2, 2)])


def test_diagonal_neighbours_have_the_same_colour() -> None:
    u = np.ones((7, 5))
    with pytest.raises((errors.CompileTypeError, ValueError), match="the same loop computes"):
        on_ranks((2, 1), jit_grad(argnums=(0, 1))(same_colour), u.shape, (u, u.copy()))
