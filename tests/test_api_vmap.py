"""``adc.vmap``: against loops over the function, closed forms, and hand-written derivatives of the loop."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad

pytestmark = pytest.mark.usefixtures("stages")

RNG = np.random.default_rng(11)
X = RNG.uniform(0.2, 1.0, (6, 3))
V = RNG.uniform(0.2, 1.0, (6, 3))
W = RNG.uniform(0.2, 1.0, 3)
S = RNG.uniform(0.2, 1.0, 7)
T = RNG.uniform(0.2, 1.0, 7)


def wave(x: float) -> float:
    return math.sin(x) * x


def slope(x: Any) -> Any:
    return np.cos(x) * x + np.sin(x)


def curvature(x: Any) -> Any:
    return 2.0 * np.cos(x) - x * np.sin(x)


def field(x: Any, w: Any) -> Any:
    return np.sin(x) * w * x[0]


def jacobian(x: Any, w: Any) -> Any:
    made = np.diag(np.cos(x) * w * x[0])
    made[:, 0] += np.sin(x) * w
    return made


def root(a: float) -> float:
    x = a
    while abs(x * x - a) > 1e-13:
        x = 0.5 * (x + a / x)
    return x


@dataclasses.dataclass
class Pair:
    a: Any
    b: Any


def pair(p: Any) -> Any:
    return Pair(p.a * 2.0, {"sum": np.sum(p.b), "more": [p.b * p.a]})


def test_numbers_arrays_and_containers_come_out_as_from_a_loop() -> None:
    assert np.allclose(adc.vmap(wave)(S), [wave(s) for s in S], rtol=1e-15)
    assert np.allclose(adc.vmap(field, in_axes=(0, None))(X, W), [field(x, W) for x in X], rtol=1e-15)
    both = adc.vmap(lambda x, w: (np.sum(x), x * w), in_axes=(0, None))
    total, rows = both(X[::-1, ::2], W[::2])
    assert np.allclose(total, X[::-1, ::2].sum(1)) and np.array_equal(rows, X[::-1, ::2] * W[::2])
    made = adc.vmap(pair)(Pair(S[:6], X))
    assert type(made) is Pair and np.array_equal(made.a, 2.0 * S[:6]) and np.allclose(made.b["sum"], X.sum(1))
    assert np.array_equal(made.b["more"][0], X * S[:6, None])
    assert np.allclose(adc.vmap(lambda t, d: t[0] * t[1] + d["s"])((S, T), {"s": S}), S * T + S)
    assert adc.vmap(lambda x: None)(S) is None


@pytest.mark.parametrize(("axis", "rows"), [(0, X), (1, X.T), (-1, X.T)])
def test_any_axis(axis: int, rows: Any) -> None:
    assert np.allclose(adc.vmap(lambda r: np.sum(r**3), in_axes=axis)(X), (rows**3).sum(1))
    total = adc.grad(lambda x: np.sum(adc.vmap(lambda r: np.sum(r**3), in_axes=axis)(x)))
    assert np.allclose(total(X), 3.0 * X**2)


def test_dtypes_are_those_of_one_item() -> None:
    single = adc.vmap(lambda x: x * x)(S.astype(np.float32))
    assert single.dtype == np.float32 and np.array_equal(single, S.astype(np.float32) ** 2)
    assert adc.vmap(lambda r: 2 * r)(X.astype(np.float32)).dtype == np.float32
    assert adc.vmap(lambda n: n * 2)(np.arange(3)).dtype == np.int64
    assert np.array_equal(adc.vmap(lambda x: x > 0.5)(S), S > 0.5)
    assert np.array_equal(adc.vmap(lambda x: 1.5)(S), np.full(7, 1.5))
    gradient = adc.grad(lambda x: np.sum(adc.vmap(lambda r: np.sum(r * r))(x)))(X.astype(np.float32))
    assert gradient.dtype == np.float32 and np.allclose(gradient, 2.0 * X, rtol=1e-6)


def test_derivatives_of_what_is_mapped() -> None:
    many = adc.vmap(wave)
    assert many is adc.vmap(wave)
    total = adc.grad(lambda x: np.sum(adc.vmap(wave)(x)))
    assert np.allclose(total(S), slope(S), rtol=1e-14)
    assert np.allclose(many.jvp((S,), (T,))[1], slope(S) * T, rtol=1e-14)
    assert np.allclose(many.pullback(S)[1](T)[0], slope(S) * T, rtol=1e-14)
    assert np.allclose(adc.jacobian(many)(S), np.diag(slope(S)), rtol=1e-14)
    assert np.allclose(adc.hessian(lambda x: np.sum(adc.vmap(wave)(x)))(S), np.diag(curvature(S)), rtol=1e-13)
    assert np.allclose(adc.hvp(lambda x: np.sum(adc.vmap(wave)(x)), (S,), (T,)), curvature(S) * T, rtol=1e-13)
    inner = adc.grad(lambda x: np.sum(adc.vmap(wave)(x)))
    assert np.allclose(adc.grad(lambda x: np.sum(inner(x)))(S), curvature(S), rtol=1e-13)
    assert np.allclose(adc.grad(lambda a: np.sum(adc.vmap(root)(a)))(S), 0.5 / np.sqrt(S), rtol=1e-11)
    value, back = adc.pullback(adc.vmap(field, in_axes=(0, None)), X, W)
    x_bar, w_bar = back(V)
    assert np.allclose(x_bar, [v @ jacobian(x, W) for x, v in zip(X, V, strict=True)])
    assert np.allclose(w_bar, (V * np.sin(X) * X[:, :1]).sum(0)) and value.shape == (6, 3)


def test_a_gradient_by_what_all_items_share_and_by_an_array_that_is_given_twice() -> None:
    @jit_grad(argnums=(0, 1))
    def loss(x: Any, w: Any) -> Any:
        return np.sum(adc.vmap(lambda r: np.sum(r * w) ** 2)(x))

    x_bar, w_bar = loss.grad(X, W)
    assert np.allclose(x_bar, 2.0 * (X @ W)[:, None] * W) and np.allclose(w_bar, 2.0 * (X @ W) @ X)
    twice = adc.grad(lambda x: np.sum(adc.vmap(lambda a, b: np.sum(a * a * b))(x, x)))
    assert np.allclose(twice(X), 3.0 * X**2)
    p_bar = adc.grad(lambda p: np.sum(adc.vmap(pair)(p).b["more"][0]))(Pair(S[:6], X))
    assert np.allclose(p_bar.a, X.sum(1)) and np.allclose(p_bar.b, np.repeat(S[:6, None], 3, 1))


def test_derivatives_are_mapped() -> None:
    assert np.allclose(adc.vmap(adc.grad(wave))(S), slope(S), rtol=1e-14)
    assert np.allclose(adc.vmap(adc.grad(adc.grad(wave)))(S), curvature(S), rtol=1e-13)
    value, gradient = adc.vmap(adc.value_and_grad(lambda x, w: np.sum(x**3 * w)), in_axes=(0, None))(X, W)
    assert np.allclose(value, (X**3) @ W) and np.allclose(gradient, 3.0 * X**2 * W)
    along = adc.vmap(lambda x, t: adc.jvp(wave, (x,), (t,))[1])
    assert np.allclose(along(S, T), slope(S) * T, rtol=1e-14)
    assert np.allclose(adc.grad(lambda x: np.sum(along(x, T)))(S), curvature(S) * T, rtol=1e-13)

    @jit_grad
    def tangent(x: Any, t: Any, w: Any) -> Any:
        return adc.jvp(adc.vmap(lambda r: np.sum(r * r * w)), (x,), (t,))[1]

    assert np.allclose(tangent(X, V, W), (2.0 * X * V * W).sum(1))


def test_several_tangents_at_once() -> None:
    @jit_grad
    def along(x: Any, w: Any, directions: Any) -> Any:
        return adc.vmap(lambda t: adc.jvp(lambda y: field(y, w), (x,), (t,))[1])(directions)

    assert np.allclose(along(X[0], W, V), V @ jacobian(X[0], W).T, rtol=1e-14)
    outside = adc.vmap(lambda x, t: adc.jvp(field, (x, W), (t, None))[1], in_axes=(None, 0))
    assert np.array_equal(outside(X[0], V), along(X[0], W, V))
    # differentiated in reverse mode: the sum over all directions is linear in each
    by_directions = adc.grad(lambda d: np.sum(along(X[0], W, d)))(V)
    assert np.allclose(by_directions, np.tile(jacobian(X[0], W).sum(0), (6, 1)))


def test_several_cotangents_at_once() -> None:
    @jit_grad
    def back(x: Any, w: Any, cotangents: Any) -> Any:
        return adc.vmap(lambda c: adc.grad(lambda y: np.sum(c * field(y, w)))(x))(cotangents)

    assert np.allclose(back(X[0], W, V), V @ jacobian(X[0], W), rtol=1e-14)
    assert np.allclose(back(X[0], W, np.eye(3)), jacobian(X[0], W), rtol=1e-14)


def test_maps_of_maps() -> None:
    assert np.allclose(adc.vmap(adc.vmap(wave))(X), np.sin(X) * X, rtol=1e-15)
    outer = adc.vmap(adc.vmap(lambda s, t: s * t, in_axes=(None, 0)), in_axes=(0, None))
    assert np.array_equal(outer(S, W), np.outer(S, W))

    @jit_grad
    def table(s: Any, t: Any) -> Any:
        return np.sum(adc.vmap(lambda a: adc.vmap(lambda b: a * a * b)(t))(s))

    assert np.allclose(table.grad(S, W), 2.0 * S * W.sum())
    assert np.allclose(adc.grad(lambda s: adc.checkpoint(table)(s, W))(S), 2.0 * S * W.sum())
    assert np.allclose(adc.grad(lambda s: np.sum(adc.checkpoint(adc.vmap(wave))(s)))(S), slope(S))


def tree(x: Any, depth: int) -> Any:
    if depth < 1:
        return x * x
    return np.sum(adc.vmap(tree, in_axes=(0, None))(np.array([x, 2.0 * x]), depth - 1))


def test_a_function_that_maps_itself() -> None:
    @jit_grad
    def top(x: float, depth: int) -> Any:
        return tree(x, depth)

    assert math.isclose(top(1.5, 3), 125.0 * 1.5**2) and math.isclose(top.grad(1.5, 3), 250.0 * 1.5)


def doubled(x: Any) -> Any:
    x *= 2.0
    return np.ones(int(x[0] * 0.0) + 2) * x[1]  # an extent that does not follow from shapes


def test_an_item_is_a_view() -> None:
    x = X.copy()
    assert np.array_equal(adc.vmap(doubled)(x), np.repeat(2.0 * X[:, 1:2], 2, 1))
    assert np.array_equal(x, 2.0 * X)  # each row once
    gradient = adc.grad(lambda x: np.sum(adc.vmap(doubled)(x) ** 2))(X)
    assert np.allclose(gradient, 16.0 * X * np.array([0.0, 1.0, 0.0]))


def added(a: Any, b: Any) -> Any:
    a += 0.5 * b
    return np.sum(a * b)


def test_items_that_share_memory_come_in_order() -> None:
    def mapped(z: Any) -> Any:
        y = z.copy()
        return np.sum(adc.vmap(added)(y[1:], y[:-1]) ** 2) + np.sum(y)

    def looped(z: Any) -> Any:
        y = z.copy()
        total = 0.0
        for i in range(y.shape[0] - 1):
            total += added(y[i + 1], y[i]) ** 2
        return total + np.sum(y)

    assert math.isclose(jit_grad(mapped)(X), looped(X), rel_tol=1e-14)
    assert np.allclose(adc.grad(mapped)(X), adc.grad(looped)(X), rtol=1e-13)
    adc.check_grads(mapped, (X,))


def test_in_a_time_loop_with_snapshots() -> None:
    def steps(x: Any, n: int) -> Any:
        y = x.copy()
        for _ in range(n):
            y = adc.vmap(lambda r: r - 0.1 * np.sum(r) * np.sin(r))(y)
        return np.sum(y**2)

    gradient = adc.grad(steps)(X, 5)
    adc.check_grads(steps, (X, 5))
    assert np.array_equal(jit_grad(checkpoint="revolve:2")(steps).grad(X, 5), gradient)


def test_no_items_and_one() -> None:
    none = np.zeros((0, 3))
    assert adc.vmap(wave)(np.zeros(0)).shape == (0,)
    assert adc.vmap(field, in_axes=(0, None))(none, W).shape == (0, 3)
    assert adc.vmap(adc.grad(lambda x: np.sum(x**3)))(none).shape == (0, 3)
    assert adc.grad(lambda s: np.sum(adc.vmap(wave)(s)))(np.zeros(0)).shape == (0,)
    with pytest.raises(adc.errors.ShapeError, match="over no items"):
        adc.vmap(doubled)(none)
    assert np.allclose(adc.vmap(field, in_axes=(0, None))(X[:1], W), field(X[0], W)[None])


def test_errors() -> None:
    def checked(x: float) -> float:
        if x > 0.9:
            raise ValueError(f"too large: {x}")
        return x

    with pytest.raises(ValueError, match=r"too large: 0\.95"):
        adc.vmap(checked)(np.array([0.1, 0.95, 0.2]))
    with pytest.raises(adc.errors.ShapeError, match=r"7 items of argument 0 \('a'\) and over 3 of argument 1 \('b'\)"):
        adc.vmap(lambda a, b: a * b)(S, W)
    with pytest.raises(adc.errors.ShapeError, match="for item 2 axis 0 has extent 3, for the first 2"):
        adc.vmap(lambda n: np.ones(n))(np.array([2, 2, 3]))
    with pytest.raises(adc.AdcError, match="out_axes"):
        adc.vmap(wave, out_axes=1)
    with pytest.raises(adc.AdcError, match="in_axes"):
        adc.vmap(wave, in_axes="rows")  # type: ignore[arg-type]
    with pytest.raises(adc.AdcError, match="not 3"):
        adc.vmap(3)  # type: ignore[arg-type]


def test_parameters_are_those_of_the_function() -> None:
    def line(x: Any, a: Any = 2.0, b: Any = 1.0) -> Any:
        return a * x + b

    many = adc.vmap(line)
    assert np.allclose(many(S), 2.0 * S + 1.0) and np.allclose(many(S, b=T, a=S), S * S + T)
    assert np.allclose(adc.grad(lambda x, t: np.sum(many(x, t)), argnums=1)(S, T), S)
    with pytest.raises(adc.AdcError, match="left out"):
        many(S, b=T)
    one = adc.vmap(line, in_axes=(0,))
    adc.test_rule(one, S)

    @jit_grad
    def along(x: Any, axis: Any) -> Any:
        return adc.vmap(lambda r, n: np.sum(r, axis=n), in_axes=(0, None))(x, axis)

    cube = RNG.random((2, 3, 4))
    assert np.allclose(along(cube, 0), cube.sum(1)) and np.allclose(along(cube, 1), cube.sum(2))


@pytest.mark.usefixtures("optimised")
def test_the_same_bits_on_any_number_of_threads() -> None:
    x = RNG.uniform(0.2, 1.0, (5000, 3))

    def total(x: Any, w: Any) -> Any:
        return np.sum(adc.vmap(lambda r: np.sum(field(r, w)))(x))

    one, four = (jit_grad(argnums=(0, 1), threads=n)(total) for n in (1, 4))
    assert one(x, W) == four(x, W)
    for a, b in zip(one.grad(x, W), four.grad(x, W), strict=True):
        assert np.array_equal(a, b)
    rows = adc.vmap(adc.grad(lambda r: np.sum(field(r, W))))
    assert np.array_equal(rows(x), jit_grad(threads=1)(rows)(x)) and np.allclose(rows(x), one.grad(x, W)[0])
    for _ in range(3):
        assert np.array_equal(adc.vmap(wave)(x[:, 0]), adc.vmap(wave)(x[:, 0].copy()))
    assert ": on threads" in str(one.report())


def times(x: Any, y: Any) -> Any:
    return x * y


def wrapped(x: Any, y: Any) -> Any:
    return times(x, y)


def over_rows(x: Any, y: Any) -> Any:
    """The same in a loop: the callee's result, and what is accumulated into it, are its caller's too."""
    total = 0.0
    for row in range(len(x)):
        total += np.sum(wrapped(x[row], y) * wrapped(y, x[row]))
    return total


def mapped_rows(x: Any, y: Any) -> Any:
    return np.sum(adc.vmap(wrapped, in_axes=(0, None))(x, y) ** 2)


@pytest.mark.parametrize("fn", [over_rows, mapped_rows])
def test_a_gradient_in_compiled_code_of_calls_of_calls(fn: Any) -> None:
    """What a call leaves in its record is memory that it returned as well, when both are inlined."""
    gradient = adc.grad(fn, argnums=(0, 1))

    @adc.jit_grad
    def inside(x: Any, y: Any) -> Any:
        return gradient(x, y)

    x, y = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]]), np.array([2.0, -3.0, 0.25])
    for found in (gradient(x, y), inside(x, y)):
        assert np.allclose(found[0], 2 * x * y**2, rtol=1e-14)
        assert np.allclose(found[1], (2 * x**2 * y).sum(axis=0), rtol=1e-14)
    _, back = inside.pullback(x, y)
    v, w = np.ones_like(x), np.array([1.0, 2.0, 3.0])
    assert np.allclose(back((v, w))[0], 2 * v * y**2 + 4 * x * y * w, rtol=1e-14)


def test_a_gradient_of_a_function_that_returns_its_argument() -> None:
    def both(a: Any, b: Any) -> Any:
        return a**3 * np.cos(b), b

    def weighted(a: Any, b: Any, v: Any, w: Any) -> Any:
        first, second = both(a, b)
        return np.sum(v * first) + np.sum(w * second)

    gradient = adc.grad(weighted, argnums=(0, 1))
    a, b, ones = np.array([1.0, 2.0]), np.array([0.5, 1.0, 2.0]), np.ones((2, 3))
    by_a, by_b = adc.vmap(lambda a, b, v, w: gradient(a, b, v, w), in_axes=(0, None, 0, 0))(a, b, ones, ones)
    assert np.allclose(by_a, 3 * a**2 * np.cos(b).sum()) and np.allclose(by_b, -np.outer(a**3, np.sin(b)) + 1)


@pytest.mark.parametrize("engine", ["native", "interpreter"])
def test_a_gradient_in_compiled_code_of_a_call_that_returns_a_window(engine: Any) -> None:
    """What a callee returns of its memory does not begin where that does, so it cannot be given back by itself."""

    def window(x: Any) -> Any:
        doubled = 2.0 * np.concatenate((x, x[::2]))
        return doubled[1:], np.outer(x, x).T

    def weighted(x: Any, w: Any) -> Any:
        part, products = window(x)
        return np.sum(w * part) + np.sum(products * x)

    gradient = adc.grad(weighted, argnums=(0, 1))

    @jit_grad(_engine=engine)
    def inside(x: Any, w: Any) -> Any:
        return gradient(x, w)

    x, w = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0, 4.0])
    by_x = np.array([6.0, 2.0, 12.0]) + 2 * x * x.sum() + np.dot(x, x)
    by_x[0] += -6.0 + 2.0 * 3.0
    by_x[2] += -12.0 + 2.0 * 2.0 + 2.0 * 4.0
    for _ in range(3):
        found = inside(x, w)
        assert np.allclose(found[0], gradient(x, w)[0], rtol=1e-14) and np.allclose(found[0], by_x, rtol=1e-14)
        assert np.allclose(found[1], 2.0 * np.array([2.0, 3.0, 1.0, 3.0]))


def test_a_gradient_of_calls_in_calls_frees_its_memory_once() -> None:
    """What an iteration keeps for the gradient is in a record within a record."""

    def f(a: Any) -> Any:
        return np.sum(np.linalg.inv(a) ** 3)

    given = np.random.default_rng(0).random((4, 3, 3)) + 3 * np.eye(3)
    inverses = np.linalg.inv(given)
    turned = np.swapaxes(inverses, 1, 2)
    assert np.allclose(adc.vmap(adc.grad(f))(given), -3 * turned @ inverses**2 @ turned, rtol=1e-12)
