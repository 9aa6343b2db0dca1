"""LLVM's optimisations change no bits that depend on the number of ranks: elements are the same in the vectors of SIMD
loops and in remainders, and sums have an order of their own."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from tests.ranks.stencils import bits
from tests.ranks.table import on_ranks

pytestmark = pytest.mark.usefixtures("stages")


def flames(u0: Any, r: Any, steps: Any) -> Any:
    u = u0.copy()
    for _ in range(steps):
        near = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += r * np.tanh(near) - 0.1 * np.exp(-u[1:-1, 1:-1]) * np.sin(u[2:, 1:-1])
    return np.sum(np.log(1.0 + u * u) ** 1.3)


def roots(u0: Any, steps: Any) -> Any:
    u = u0.copy()
    for _ in range(steps):
        u[1:-1] = np.cbrt(u[:-2]) + np.arctan2(u[2:], 1.0 + np.hypot(u[1:-1], 0.3)) - np.expm1(-(u[1:-1] ** 2))
    return np.sum(u * np.log10(2.0 + u * u))


WEIGHTS = np.linspace(0.1, 0.7, 9)
MOVES = (0, 1, 0, -1, 0, 1, -1, -1, 1)


def populations(rho: Any, steps: Any) -> Any:
    """The cotangent of the field is a sum of nine products, in one loop over the elements or in two."""
    f = np.empty((9, *rho.shape))
    for k in range(9):
        f[k] = WEIGHTS[k] * rho
    for _ in range(steps):
        for k in range(9):
            f[k] = np.roll(f[k], MOVES[k], axis=1)
    return np.sum(f**2)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_two_axes(kind: Any) -> None:
    u = np.random.default_rng(5).normal(size=(9, 37)).astype(kind)
    same_bits(jit_grad(argnums=(0, 1), _level=3)(flames), (u, 0.1, 3), [(1, 1), (1, 3)])


def test_one_axis() -> None:
    u = np.random.default_rng(5).normal(size=101)
    same_bits(jit_grad(argnums=(0,), _level=3)(roots), (u, 3), [(1,), (2,), (3,), (4,), (6,)])


def test_sums_of_products() -> None:
    rho = np.random.default_rng(5).normal(size=(13, 11))
    same_bits(jit_grad(argnums=(0,), _level=3)(populations), (rho, 2), [(1, 1), (1, 2)])


def limited(q0: Any, a: Any, steps: Any) -> Any:
    """The gradient by ``a`` is a sum of products, which LLVM vectorised on one rank only."""
    q = q0.copy()
    for _ in range(steps):
        qm, qp = np.roll(q, 1), np.roll(q, -1)
        b0, b1 = (qp - q) ** 2, (q - qm) ** 2
        a0, a1 = (2 / 3) / (1e-6 + b0) ** 2, (1 / 3) / (1e-6 + b1) ** 2
        f = a * (a0 * (q + qp) / 2 + a1 * (3 * q - qm) / 2) / (a0 + a1)
        q = q - 0.3 * (f - np.roll(f, 1))
    return np.sum(q**2)


def test_sums_that_are_derivatives() -> None:
    q = np.random.default_rng(7).random(33)
    same_bits(jit_grad(argnums=(0, 1), _level=3)(limited), (q, 0.8, 3), [(1,), (2,)])


def moments(u: Any, v: Any, w: Any) -> Any:
    return np.sum(u * v), np.sum(u), np.max(u), np.dot(u, v) + w * np.min(v)


def in_vectors(u: Any) -> Any:
    """The sum in the order of every machine: four vectors of 256 bits, their sum, and what does not fill them."""
    size = 128 // u.itemsize
    whole = len(u) // size * size
    vectors = np.zeros(size, u.dtype)
    for k in range(0, whole, size):
        vectors = vectors + u[k : k + size]
    vectors = functools.reduce(np.add, np.split(vectors, 4))
    while len(vectors) > 1:
        vectors = np.add(*np.split(vectors, 2))
    return functools.reduce(np.add, u[whole:], vectors[0])


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_sums_of_all_lengths(kind: Any) -> None:
    """They are right, and those of optimised code those of other code."""
    compiled = [jit_grad(_level=level)(moments) for level in (0, 3)]
    for n in (1, 2, 31, 32, 33, 255, 256, 257, 287, 288, 511, 512, 544, 1025, 3000):
        u, v = np.random.default_rng(n).normal(size=(2, n)).astype(kind)
        found = [adc.distribute(f, adc.Grid((n,)))(u, v, kind(0.5)) for f in compiled]
        assert bits(found[0]) == bits(found[1]), n
        assert n > 2000 or found[1][1] == in_vectors(u), n  # more terms are cut into blocks, for threads
        wanted = [math.fsum(u.astype(float) * v), math.fsum(u.astype(float)), max(u)]
        wanted.append(wanted[0] + 0.5 * float(min(v)))
        np.testing.assert_allclose(found[0], wanted, rtol=0, atol=n * np.finfo(kind).eps)


def test_sums_of_zeros_keep_their_sign() -> None:
    f, u = jit_grad(_level=3)(moments), np.full(70, -0.0)
    assert bits(adc.distribute(f, adc.Grid((70,)))(u, u, 0.0)[1]) == bits(f(u, u, 0.0)[1])


def same_bits(f: Any, args: tuple[Any, ...], layouts: list[tuple[int, ...]]) -> None:
    first, *others = (on_ranks(ranks, f, args[0].shape, args)[0] for ranks in layouts)
    value, gradient = f.value_and_grad(*args)
    scale = 1e-12 if args[0].dtype == np.float64 else 1e-4
    assert np.isfinite(value) and abs(first[0] - value) <= scale * abs(value)
    for mine, wanted in zip(first[1], gradient, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=scale, atol=scale * float(np.max(np.abs(wanted))))
    for ranks, found in zip(layouts[1:], others, strict=True):
        assert bits(found) == bits(first), ranks
