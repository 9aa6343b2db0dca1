"""``to_jax``: JAX's own checks of both modes, under ``jit`` and ``vmap``, and closed forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adc
from adc.interop import asarray, to_jax
from tests.interop.programs import arguments, called, heat, recurrence, waves

jax = pytest.importorskip("jax", reason="JAX is not installed")
ARGUMENTS = arguments(np.random.default_rng(3))


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_jax_accepts_the_derivatives(name: str) -> None:
    from jax.test_util import check_grads

    fn, given = called(name, to_jax), [jax.numpy.asarray(v) for v in ARGUMENTS[name]]
    check_grads(jax.jit(fn), given, order=2, modes=("fwd", "rev"))
    rows = [jax.numpy.stack([given[0], 2 * given[0]]), *given[1:]]
    mapped = jax.vmap(fn, in_axes=(0,) + (None,) * (len(given) - 1))
    check_grads(jax.jit(mapped), rows, order=2, modes=("fwd", "rev"))
    check_grads(fn, given, order=1, modes=("fwd", "rev"))


def test_transformations_of_each_other() -> None:
    fn, (x, k) = to_jax(waves), ARGUMENTS["waves"]
    assert np.allclose(jax.hessian(fn)(x, k), np.diag(-np.sin(x) * k))
    rows = np.stack([x, 2 * x])
    found = jax.vmap(jax.grad(fn), in_axes=(0, None))(rows, k)
    assert np.allclose(found, np.cos(rows) * k)
    both = to_jax(recurrence)
    x, y = ARGUMENTS["recurrence"]
    assert np.allclose(jax.jacrev(both)(x, y)[0], jax.jacfwd(both)(x, y)[0])
    x, k = ARGUMENTS["waves"]
    linear = jax.linearize(fn, x, k)[1]
    transposed = jax.linear_transpose(jax.vmap(linear, in_axes=(0, None)), rows, k)(np.array([1.0, 2.0]))
    assert np.allclose(transposed[0], np.cos(x) * k * np.array([[1.0], [2.0]]))
    assert np.isclose(transposed[1], 3.0 * np.sum(np.sin(x)))


def test_numbers_that_are_traced_and_numbers_that_are_not() -> None:
    u = ARGUMENTS["heat"][0]
    by_tracer = jax.jit(lambda u, n: to_jax(heat)(u, 0.1, n))(u, 3)
    assert np.array_equal(by_tracer, heat(u, 0.1, 3))

    def filled(n: int, x: float) -> Any:
        return np.zeros(n + 1) + x

    assert to_jax(filled)(3, 2.0).tolist() == [2.0] * 4
    with pytest.raises(adc.AdcError, match="does not follow from the shapes"):
        jax.jit(to_jax(filled))(3, 2.0)
    said = to_jax(filled, result=lambda n, x: jax.ShapeDtypeStruct((4,), np.float64))
    assert jax.jit(said)(3, 2.0).tolist() == [2.0] * 4


def test_single_precision() -> None:
    jax.config.update("jax_enable_x64", False)
    fn = to_jax(waves)
    x = jax.numpy.asarray([0.5, 1.0])
    assert fn(x, 2.0).dtype == np.float32 and np.allclose(jax.jit(jax.grad(fn))(x, 2.0), np.cos(x) * 2, rtol=1e-6)


def test_shapes_follow_from_shapes() -> None:
    @to_jax
    def fn(x: Any, flip: Any) -> Any:
        halves = np.concatenate((x, x[::2]))
        return {"a": np.outer(halves, x).T, "b": np.where(flip, halves, 0.0)[1:], "n": len(halves)}

    found = jax.jit(fn)(np.arange(5.0), True)
    assert found["a"].shape == (5, 8) and found["b"].shape == (7,) and int(found["n"]) == 8
    assert float(jax.grad(lambda x: fn(x, True)["a"].sum())(np.ones(5))[0]) == 5 * 2 + 8


def test_memory_is_shared_and_complex_numbers_are_refused() -> None:
    x = jax.numpy.arange(4.0)
    assert asarray(x).tolist() == [0.0, 1.0, 2.0, 3.0] and not asarray(x).flags.writeable
    with pytest.raises(adc.AdcError, match="complex"):
        to_jax(waves)(np.ones(3, complex), 1.0)
