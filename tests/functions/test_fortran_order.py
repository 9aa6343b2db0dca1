"""Arguments in Fortran's order have code of their own: values, effects and gradients are those of the same array in C's
order, in each mode, and gradients have the order of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad

RNG = np.random.default_rng(7)


def squares(a: Any) -> Any:
    return np.sum(a * a)


def product(a: Any, v: Any) -> Any:
    return np.sum((a @ v) ** 2) + np.sum(np.sqrt(np.exp(a).sum(axis=0)) * v) + a.max(axis=1)[0]


def in_place(a: Any, b: Any) -> Any:
    a[1:, 0] *= 2.0
    for i in range(1, a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = a[i - 1, j] * b[i, j] + a[i, j]
    return np.sum(a[:, 0] * a[:, 1] * b[:, 1])


def reshaped(a: Any) -> Any:
    u = a.copy()
    for _ in range(3):
        u = u + 0.1 * a
    return np.sum(a.reshape(-1)[1:] * u.ravel()[:-1])


def recursive(a: Any, n: int) -> Any:
    return np.sum(a[0] * a[1]) if n == 0 else recursive(a * 1.1, n - 1) + np.sum(a)


def planes(a: Any) -> Any:
    return np.sum(np.transpose(a, (1, 0, 2))[0] * a[:, 0]) + np.sum(np.sqrt(a.sum(axis=(0, 2)) ** 2 + 1.0))


def columns(*shape: int) -> Any:
    return np.asfortranarray(RNG.random(shape))


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (squares, (columns(7, 5),)),
    (squares, (columns(0, 5),)),
    (squares, (columns(7, 5)[1:4],)),
    (product, (columns(7, 5), RNG.random(5))),
    (product, (columns(1, 5), RNG.random(5))),
    (in_place, (columns(6, 4), columns(6, 4))),
    (in_place, (columns(6, 4), RNG.random((6, 4)))),
    (reshaped, (columns(6, 4),)),
    (recursive, (columns(6, 4), 2)),
    (planes, (columns(4, 3, 6),)),
]


def again(args: tuple[Any, ...], order: Any = "K") -> tuple[Any, ...]:
    return tuple(np.array(a, order=order) if isinstance(a, np.ndarray) else a for a in args)


@pytest.mark.parametrize(("function", "args"), CASES)
def test_all_modes(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    compiled = jit_grad(function)
    mine, plain = again(args), again(args)
    np.testing.assert_allclose(compiled(*mine), function(*plain), rtol=1e-13)
    for a, b in zip(mine, plain, strict=True):
        np.testing.assert_array_equal(a, b)
    wanted = compiled.grad(*again(args, "C"))
    found = compiled.grad(*args)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert found.flags.f_contiguous == args[0].flags.f_contiguous
    np.testing.assert_allclose(adc.value_and_grad(compiled)(*args)[1], wanted, rtol=1e-12)
    np.testing.assert_allclose(compiled.pullback(*again(args))[1](1.0)[0], wanted, rtol=1e-12)
    along = RNG.normal(size=args[0].shape)
    tangent = compiled.jvp(again(args), (along, *(None,) * (len(args) - 1)))[1]
    np.testing.assert_allclose(tangent, np.sum(wanted * along), rtol=1e-10, atol=1e-12)


def test_one_function_for_arrays_of_all_layouts() -> None:
    compiled, whole = jit_grad(squares), columns(8, 6)
    for a in (whole, whole.copy("C"), whole[::2], whole[:, 1:], whole, whole.T, whole[:, ::-1], whole):
        assert compiled(a) == pytest.approx(np.sum(a * a), rel=1e-14)
        np.testing.assert_array_equal(compiled.grad(a), 2 * a)


def test_arguments_that_overlap() -> None:
    @jit_grad
    def step(a: Any, b: Any) -> Any:
        a[0] = 2 * b[1]
        return np.sum(a * b)

    rows = RNG.random((4, 4))
    for other in (lambda a: a, lambda a: a[::-1], lambda a: a.T):
        given = rows.copy(), np.asfortranarray(rows)
        np.testing.assert_allclose(step.grad(given[1], other(given[1])), step.grad(given[0], other(given[0])))
        assert step(given[1], other(given[1])) == pytest.approx(step(given[0], other(given[0])), rel=1e-14)
        np.testing.assert_array_equal(*given)


def test_results_are_views_as_in_numpy() -> None:
    a = columns(4, 3)
    assert jit_grad(lambda x: x)(a) is a
    for view in (lambda x: x.T, lambda x: x[1:], lambda x: x[:, ::2]):
        found = jit_grad(view)(a)
        assert np.shares_memory(found, a)
        np.testing.assert_array_equal(found, view(a))


def test_containers_complex_numbers_and_integers() -> None:
    a, b = columns(3, 4), columns(3, 4)
    g = adc.grad(lambda d: np.sum(d["a"] * d["b"][0]))({"a": a, "b": [b]})
    np.testing.assert_array_equal(g["a"], b)
    np.testing.assert_array_equal(g["b"][0], a)
    z = np.asfortranarray(RNG.random((3, 2)) + 1j * RNG.random((3, 2)))
    size = jit_grad(lambda x: np.sum(np.abs(x * x)))
    np.testing.assert_allclose(size.grad(z), size.grad(z.copy("C")), rtol=1e-13)
    assert jit_grad(lambda i: np.sum(i * i))(np.asfortranarray(np.arange(12).reshape(3, 4))) == 506
