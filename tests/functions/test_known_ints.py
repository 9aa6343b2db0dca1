"""Ints that are known where a function is called decide in it between paths that do not go together."""

import numpy as np
import pytest

import adc
from adc.errors import CompileError
from tests.one_number import check_at


def noise(dim: int, dt: float) -> np.ndarray:
    if dim not in [2, 3, 4]:
        raise ValueError("dim must be between 2 and 4")
    if dim == 2:
        q = [[0.25 * dt**4, 0.5 * dt**3], [0.5 * dt**3, dt**2]]
    elif dim == 3:
        q = [[0.25 * dt**4, 0.5 * dt**3, 0.5 * dt**2], [0.5 * dt**3, dt**2, dt], [0.5 * dt**2, dt, 1.0]]
    else:
        q = [[dt**4, dt**3, dt**2, dt]] * 4
    return np.array(q)


def as_column(z, rows, ndim):
    z = np.atleast_2d(z)
    if z.shape[1] == rows:
        z = z.T
    if z.shape != (rows, 1):
        raise ValueError("wrong shape")
    if ndim == 1:
        z = z[:, 0]
    if ndim == 0:
        z = z[0, 0]
    return z


class Filter:
    def __init__(self, ndim):
        self.ndim, self.steps, self.total = ndim, 0, 0.0

    def step(self, z):
        self.steps += 1
        if self.ndim == 1:
            z = z[:, 0]
        if self.ndim == 0:
            z = z[0, 0]
        self.total += np.sum(z)


def list_of_lists(x):
    return np.sum(noise(3, x) * np.arange(9.0).reshape(3, 3)) + np.sum(noise(2, x)) + np.sum(noise(4, x))


def ranks(x):
    return np.sum(as_column(x * np.ones(3), 3, 1)) + np.sum(as_column(x * x, 1, 0)) + as_column(x, 1, 2)[0, 0]


def through_another(x):
    return np.sum(inner(np.ones((2, 2)) * x, 0, (2, 3))) * np.sum(inner(np.ones((2, 2)) * x, 1, (2, 3)))


def inner(z, mode, shape):
    return innermost(z, mode) * shape[0]


def innermost(z, mode):
    if mode == 0:
        return z[0]
    return z


def fields(x):
    vector, scalar = Filter(1), Filter(0)
    for i in range(4):
        vector.step(np.ones((3, 2)) * x * i)
        scalar.step(np.ones((3, 2)) * x**i)
    return vector.total * vector.steps + scalar.total


def changed_inside(x):
    return counted(np.ones((2, 2)) * x, 3, 2) + counted(np.ones((2, 2)) * x, 3, 3) * counted(np.ones((2, 2)), 5, 2)


def counted(z, n, mode):
    for _ in range(mode):
        n = n + 1
    if mode == 2:
        z = z[:, 0]
    if mode == 3:
        z = z[0, 0]
    return np.sum(z) * n


@pytest.mark.parametrize("f", [list_of_lists, ranks, through_another, fields, changed_inside])
def test_known_ints(f):
    check_at(f, 0.7)


def test_the_first_refusal_is_shown():
    def down(z, n):
        if n == 0:
            return np.zeros(object())
        return down(z, n - 1)

    def f(x):
        return np.sum(down(np.ones(3) * x, 40))

    with pytest.raises(CompileError, match="object is not supported"):
        adc.grad(f)(1.0)
