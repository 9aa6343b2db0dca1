"""coalesce-loops: elementwise computations are the same for any shape; other nests are unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange


def elementwise(a, b):
    return np.where(a > b, np.exp(-a * a) * b, a + 2.0)


def in_place(a, b):
    a += b * a
    a[...] = np.sqrt(a * a + 1.0)
    return a


def of_three_axes(a, b):
    c = np.stack([a, b, a * b])
    return c * c - c


def by_rows(a, b):
    return (a - b[0]) * b[:, :1]


def loops(a, b):
    out = np.zeros((len(a), a.shape[1]))
    for i in prange(len(a)):
        for j in prange(a.shape[1]):
            if a[i, j] > 0.0:
                out[i, j] = a[i, j] * b[0, 0]
    return out


def fewer_columns(a, b):
    """The arrays are wider than the loop is long."""
    out = np.zeros((len(a), a.shape[1] + 1))
    for i in prange(len(a)):
        for j in prange(a.shape[1]):
            out[i, j] = a[i, j] + i * j
    for i in prange(len(a)):
        for j in prange(a.shape[1]):
            out[i, j] *= a[i, j]
    return out


def fewer_rows(a, b):
    out = a * 1.0
    for i in prange(len(a) - 2):
        for j in prange(a.shape[1]):
            out[i, j] = b[i, j]
    return out


def transposed(a, b):
    out = np.zeros((a.shape[1], len(a)))
    for i in prange(a.shape[1]):
        for j in prange(len(a)):
            out[i, j] = a[j, i] * 2.0
    return out


PROGRAMS = [elementwise, in_place, of_three_axes, by_rows, loops, fewer_columns, fewer_rows, transposed]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_values(function: Callable[..., Any]) -> None:
    compiled = jit_grad(function, threads=2)
    rng = np.random.default_rng(1)
    for n, m in [(1, 1), (5, 2), (4, 3), (3, 7), (2, 40), (0, 3), (3, 0), (1, 5), (6, 1), (2000, 3)]:
        if n * m == 0 and function in (by_rows, loops):
            continue
        a, b = rng.standard_normal((n, m)), rng.standard_normal((n, m))
        expected = function(a.copy(), b)
        np.testing.assert_allclose(compiled(a.copy(), b), expected, rtol=1e-14, atol=1e-15)
        for turn in (np.asfortranarray, lambda x: np.repeat(x, 2, axis=1)[:, ::2], lambda x: x[::-1].copy()[::-1]):
            np.testing.assert_allclose(compiled(turn(a.copy()), turn(b)), expected, rtol=1e-14, atol=1e-15)


def test_loops_that_do_not_run() -> None:
    for engine in ("native", "interpreter"):
        compiled = jit_grad(fewer_rows, _engine=engine)
        for n in range(4):
            a = np.ones((n, 3))
            np.testing.assert_array_equal(compiled(a, 2 * a), fewer_rows(a, 2 * a))


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(function: Callable[..., Any]) -> None:
    compiled = jit_grad(lambda a, b: np.sum(function(a * 1.0, b) ** 2))
    rng = np.random.default_rng(2)
    a, b, da, db = (rng.standard_normal((4, 3)) for _ in range(4))
    ga, gb = adc.grad(compiled, argnums=(0, 1))(a, b)
    assert np.sum(ga * da) + np.sum(gb * db) == pytest.approx(adc.jvp(compiled, (a, b), (da, db))[1], rel=1e-10)


def test_shapes_that_do_not_fit() -> None:
    compiled = jit_grad(elementwise)
    for b in (np.ones((4, 2)), np.ones((3, 3)), np.ones(2)):
        with pytest.raises(ValueError, match="broadcast"):
            compiled(np.ones((4, 3)), b)
    np.testing.assert_array_equal(compiled(np.ones((4, 3)), np.ones((1, 3))), elementwise(np.ones((4, 3)), np.ones(3)))


def test_which_nests_become_loops() -> None:
    found = {f.__name__: _depth(f) for f in PROGRAMS}
    assert {name for name, depth in found.items() if depth == 1} >= {"elementwise", "in_place"}
    assert all(found[name] == 2 for name in ("by_rows", "fewer_columns", "transposed")), found


def _depth(function: Callable[..., Any]) -> int:
    """How deep loops are nested in the function itself."""
    compiled = jit_grad(function)
    compiled(np.ones((4, 3)), np.ones((4, 3)))
    text = compiled.dump_ir("lowered").split("func.func")[1]
    most = 0
    around: list[int] = []
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        while around and indent <= around[-1] and line.strip().startswith("}"):
            around.pop()
        if "scf.parallel" in line or "scf.for" in line:
            around.append(indent)
        most = max(most, len(around))
    return most


def blocks_of_images(x):
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))


def means_over_both_halves(x):
    return x * np.sum(x, axis=(0, 1), keepdims=True) * np.sum(x, axis=(2, 3), keepdims=True)


def halves_exchanged(x):
    a, b, c, d = x.shape
    out = np.zeros((c, d, a, b))
    for i in prange(a):
        for j in prange(b):
            for k in prange(c):
                for m in prange(d):
                    out[k, m, i, j] = x[i, j, k, m] ** 2
    return out


def added_in_place(x):
    total = np.zeros(x.shape[2:])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += x[i, j] * x[0, 0]
    return total


@pytest.mark.parametrize("f", [blocks_of_images, means_over_both_halves, halves_exchanged, added_in_place])
@pytest.mark.parametrize("shape", [(2, 4, 6, 3), (4, 2, 2, 1)])
def test_accesses_that_two_nests_go_through(f: Callable[..., Any], shape: tuple[int, ...]) -> None:
    """The one around has replaced an access when the inner one comes to it, which has fewer dimensions then."""
    rng = np.random.default_rng(3)
    x, direction = rng.random(shape), rng.normal(size=shape)
    np.testing.assert_allclose(jit_grad(f)(x), f(x), rtol=1e-14)

    def squares(x):
        return np.sum(f(x) ** 2)

    ahead, behind = (squares(x + h * direction) for h in (1e-5, -1e-5))
    gradient = jit_grad(squares).grad(x)
    np.testing.assert_allclose(np.sum(gradient * direction), (ahead - behind) / 2e-5, rtol=1e-6)
