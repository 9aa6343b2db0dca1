"""Forward mode from Python: values, tangents, containers, effects, errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from adc.errors import ArgumentError, ShapeError

ENGINES = [pytest.param("native", id="native"), pytest.param("interpreter", id="interpreter")]


@pytest.fixture(params=ENGINES)
def jit(request: pytest.FixtureRequest) -> Any:
    return jit_grad(_engine=request.param)


def logistic(x, r, n):
    for _ in range(n):
        x = r * x * (1.0 - x)
    return x


def test_value_and_tangent(jit: Any) -> None:
    f = jit(logistic)
    value, tangent = f.jvp((0.2, 3.1, 10), (1.0, 0.5, None))
    by_x, by_r = adc.grad(f, argnums=(0, 1))(0.2, 3.1, 10)
    assert value == logistic(0.2, 3.1, 10)
    assert tangent == pytest.approx(by_x + 0.5 * by_r, rel=1e-12)
    assert type(tangent) is float
    assert f.jvp((0.2, 3.1, 10), (None, 2.0, None))[1] == pytest.approx(2.0 * by_r, rel=1e-12)
    assert f.jvp([0.2, 3.1, 10], [None, None, None])[1] == 0.0
    assert adc.jvp(logistic, (0.2, 3.1, 10), (0, 1, None))[1] == pytest.approx(by_r, rel=1e-12)


def in_place(u, out):
    out[:] = np.sin(u) * u
    out[0] += out[1]
    return np.sum(out), out[2]


def test_arrays_stay_as_they_were(jit: Any) -> None:
    f = jit(in_place)
    u, out = np.arange(1.0, 5.0), np.full(4, 7.0)
    tangents = np.ones(4), np.full(4, 9.0)
    (total, third), (total_dot, third_dot), final = f.jvp((u, out), tangents, final=("out", "u"))
    np.testing.assert_array_equal(out, np.full(4, 7.0))
    np.testing.assert_array_equal(tangents[1], np.full(4, 9.0))
    after = np.zeros(4)
    assert (total, third) == pytest.approx(in_place(u, after))
    slope = np.cos(u) * u + np.sin(u)
    moved = slope + np.array([slope[1], 0.0, 0.0, 0.0])
    assert total_dot == pytest.approx(np.sum(moved)) and third_dot == pytest.approx(slope[2])
    np.testing.assert_allclose(final["out"][0], after)
    np.testing.assert_allclose(final["out"][1], moved)
    np.testing.assert_array_equal(final["u"][1], tangents[0])


def test_an_array_result_has_a_tangent_of_its_shape(jit: Any) -> None:
    f = jit(lambda u, k: (u[:, k] * 2.0, u.T, k))
    u = np.arange(6.0).reshape(2, 3)
    (column, turned, k), (column_dot, turned_dot, k_dot) = f.jvp((u, 1), (u * 10.0, None))
    np.testing.assert_array_equal(column_dot, column * 10.0)
    np.testing.assert_array_equal(turned_dot, turned * 10.0)
    assert k == 1 and k_dot is None


@dataclass
class Model:
    weights: Any
    bias: float
    name: str | None = "m"


class Pair(NamedTuple):
    a: float
    b: Any


def test_containers(jit: Any) -> None:
    def f(model, pair, table, items):
        y = model.weights * pair.a + model.bias
        return Pair(np.sum(y) * items[0], {"y": y, "n": len(items)}), table["k"] * pair.b[1], [items[1], 2, 3.0]

    w = np.array([1.0, 2.0])
    args = (Model(w, 0.5), Pair(3.0, (1, 2.0)), {"k": 4.0}, [5.0, 6.0])
    tangents = ({"bias": 1.0}, Pair(10.0, (None, 100.0)), {"k": 1000.0}, [None, 7.0])
    value, tangent = jit(f).jvp(args, tangents)
    y_dot = w * 10.0 + 1.0
    assert isinstance(tangent[0], Pair)
    assert tangent[0].a == pytest.approx(5.0 * np.sum(y_dot))
    np.testing.assert_allclose(tangent[0].b["y"], y_dot)
    assert tangent[0].b["n"] is None
    assert tangent[1] == pytest.approx(1000.0 * 2.0 + 4.0 * 100.0)
    assert tangent[2] == [7.0, None, 0.0]
    assert value[2] == [6.0, 2, 3.0]
    whole = jit(f).jvp(args, (Model(np.zeros(2), 1.0, None), None, None, None))
    np.testing.assert_allclose(whole[1][0].b["y"], [1.0, 1.0])


def test_objects_that_change(jit: Any) -> None:
    def f(model, x):
        model.bias = model.bias * x
        model.weights[0] = x
        return model.bias + model.weights[0]

    model = Model(np.array([1.0, 2.0]), 3.0)
    value, tangent, final = jit(f).jvp((model, 5.0), ({"bias": 1.0}, 1.0), final="model")
    assert value == 20.0 and tangent == 5.0 + 3.0 + 1.0
    assert model.bias == 3.0 and model.weights[0] == 1.0
    kept = {"bias": 7.0, "weights": [1.0, 2.0]}
    unread = jit(lambda m: 1.0).jvp((model,), (kept,), final="m")[2]["m"][1]
    assert (unread.bias, list(unread.weights)) == (7.0, [1.0, 2.0])
    after, dot = final["model"]
    assert (after.bias, list(after.weights)) == (15.0, [5.0, 2.0])
    assert (dot.bias, list(dot.weights)) == (8.0, [1.0, 0.0])


def test_a_list_of_run_time_length(jit: Any) -> None:
    def f(x, n):
        found = []
        for i in range(n):
            found.append((x * i, i))
        return found

    value, tangent = jit(f).jvp((3.0, 3), (2.0, None))
    assert value == [(0.0, 0), (3.0, 1), (6.0, 2)]
    assert tangent == [(0.0, None), (2.0, None), (4.0, None)]


def test_arguments_that_share_memory(jit: Any) -> None:
    def f(x, y):
        x[0] = y[1] * x[1]
        return np.sum(x * y)

    base = np.array([2.0, 3.0, 5.0])
    args = (base[:2], base[1:])
    direction = np.array([1.0, 10.0, 100.0])
    expected = (2.0 * 5.0 * 3.0 + 5.0) * 10.0 + (3.0 * 3.0 + 3.0) * 100.0
    for tangents in ((direction[:2], direction[1:]), (direction[:2], [10.0, 100.0])):
        assert jit(f).jvp(args, tangents)[1] == expected
    np.testing.assert_array_equal(base, [2.0, 3.0, 5.0])
    u = np.array([3.0, 4.0])
    # What is only read has a tangent for each argument.
    assert jit(lambda x, y: np.sum(x * y)).jvp((u, u), (np.ones(2), None))[1] == 7.0
    assert jit(lambda x, y: np.sum(x * x * y)).jvp((u, u), (np.ones(2), [10.0, 100.0]))[1] == 50.0 + 90.0 + 1600.0
    with pytest.raises(ArgumentError, match="differs from the tangent of another argument"):
        jit(f).jvp(args, (direction[:2], direction[:2]))


def test_an_object_given_twice(jit: Any) -> None:
    f = jit(lambda a, b: a[0] * b[0])
    items = [3.0]
    assert f.jvp((items, items), ([1.0], None))[1] == 6.0
    with pytest.raises(ArgumentError, match="tangents of one object and differ"):
        f.jvp((items, items), ([1.0], [2.0]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layouts_and_dtypes(jit: Any, dtype: Any) -> None:
    def f(u):
        u[1:] += u[:-1] * u[:-1]
        return u[::-1] * 2

    dense = np.arange(1, 6).astype(dtype)
    strided = np.zeros(10, dtype)[::2]
    strided[...] = dense
    fixed = dense.copy()
    fixed.flags.writeable = False
    for u in (dense, strided, dense[::-1].copy()[::-1]):
        value, tangent = jit(f).jvp((u,), (np.ones(5),))
        np.testing.assert_array_equal(value, (dense + np.concatenate([[0], dense[:-1] ** 2]))[::-1] * 2)
        np.testing.assert_allclose(tangent, (1 + np.concatenate([[0], 2 * dense[:-1]]))[::-1] * 2)
        assert tangent.dtype == dtype
    np.testing.assert_array_equal(jit(lambda u: u * u).jvp((fixed,), (fixed,))[1], 2 * dense * dense)


@pytest.mark.parametrize("length", [0, 1])
def test_short_arrays(jit: Any, length: int) -> None:
    value, tangent = jit(lambda u: (np.sum(u * u), u * 3.0)).jvp((np.full(length, 2.0),), (np.full(length, 5.0),))
    assert tangent[0] == 20.0 * length and list(tangent[1]) == [15.0] * length


def test_nan_comes_through(jit: Any) -> None:
    assert math.isnan(jit(lambda x: x * x).jvp((math.nan,), (1.0,))[1])
    assert math.isnan(jit(lambda x: x * x).jvp((1.0,), (math.nan,))[1])


def test_strong_zeros(jit: Any) -> None:
    f = jit(lambda u: np.where(u > 0.0, np.sqrt(u), 0.0))
    assert list(f.jvp((np.array([0.0, 4.0]),), (np.array([1.0, 1.0]),))[1]) == [0.0, 0.25]
    one_hot = jit(np_sqrt).jvp((np.array([0.0, 4.0]),), (np.array([0.0, 1.0]),))[1]
    assert list(one_hot) == [0.0, 0.25]


def np_sqrt(u):
    return np.sqrt(u)


SCALE = 2.0


def test_what_is_read_by_name(jit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    f = jit(lambda x: x * x * SCALE)
    assert f.jvp((3.0,), (1.0,)) == (18.0, 12.0)
    monkeypatch.setitem(globals(), "SCALE", 10.0)
    assert f.jvp((3.0,), (1.0,)) == (90.0, 60.0)
    captured = np.array([1.0, 2.0])
    g = jit(lambda u: np.sum(u * captured))
    assert g.jvp((np.ones(2),), (np.ones(2),))[1] == 3.0
    assert g.jvp((captured,), (np.ones(2),))[1] == 3.0

    def changes(u):
        u[0] = captured[1]
        return np.sum(u * captured)

    assert jit(changes).jvp((np.ones(2),), (np.ones(2),))[1] == 2.0
    with pytest.raises(ArgumentError, match="shares memory"):
        jit(changes).jvp((captured,), (np.ones(2),))


def test_defaults_and_variadic_arguments(jit: Any) -> None:
    f = jit(lambda x, y=3.0, *more: x * y * sum(more))
    assert f.jvp((2.0,), (1.0,))[1] == 0.0
    assert f.jvp((2.0, 5.0, 1.0, 10.0), (None, 1.0, None, 1.0))[1] == 2.0 * 11.0 + 10.0


def calls_itself(x, n):
    return x if n == 0 else math.sin(x) * calls_itself(x * 0.9, n - 1)


def waits(x):
    steps = 0
    while abs(x) > 0.1:
        x = x * x * 0.5
        steps += 1
    return x * steps


def threaded(u):
    total = 0.0
    for i in prange(len(u)):
        total += u[i] * u[i - 1]
    return total


@pytest.mark.parametrize(
    ("f", "args", "tangents"),
    [
        (calls_itself, (0.7, 4), (1.0, None)),
        (waits, (1.3,), (1.0,)),
        (threaded, (np.linspace(0.0, 1.0, 50),), (np.linspace(3.0, 4.0, 50),)),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_control_flow(jit: Any, f: Any, args: Any, tangents: Any) -> None:
    def moved(h: float) -> Any:
        return f(*(a if t is None else a + h * np.asarray(t)[()] for a, t in zip(args, tangents, strict=True)))

    expected = (moved(1e-5) - moved(-1e-5)) / 2e-5
    assert jit(f).jvp(args, tangents)[1] == pytest.approx(expected, rel=1e-8)


def test_results_without_derivative(jit: Any) -> None:
    assert jit(lambda x: (int(x), x > 0, None, "s", 1.5)).jvp((2.5,), (1.0,))[1] == (None, None, None, None, 0.0)
    assert jit(lambda x: None).jvp((2.5,), (1.0,)) == (None, None)


def test_gradients_in_forward_mode(jit: Any) -> None:
    f = jit(lambda x, u: np.sum(np.sin(x * u)))
    u, v = np.array([0.3, 0.5]), np.array([1.0, 2.0])
    gradient, along = adc.grad(f, argnums=(0, 1)).jvp((0.7, u), (1.0, v))
    c, s = np.cos(0.7 * u), np.sin(0.7 * u)
    inner = u + 0.7 * v
    assert gradient[0] == pytest.approx(np.sum(c * u))
    assert along[0] == pytest.approx(np.sum(-s * inner * u + c * v))
    np.testing.assert_allclose(along[1], -s * inner * 0.7 + c)
    value, gradient = adc.value_and_grad(f).jvp((0.7, u), (1.0, None))[1]
    assert value == pytest.approx(np.sum(c * u)) and gradient == pytest.approx(np.sum(-s * u * u))
    assert adc.hvp(f, (0.7, u), (None, v)) == pytest.approx(np.sum(-s * 0.7 * v * u + c * v))
    by_name = adc.hvp(f, (0.7, u), (None, v), argnames="u")
    np.testing.assert_allclose(by_name["u"], -s * 0.49 * v)
    third = adc.jvp(adc.grad(adc.grad(jit(lambda x: x**5))), (2.0,), (1.0,))
    assert third == pytest.approx((160.0, 240.0))


@pytest.mark.parametrize(
    ("args", "tangents", "error", "message"),
    [
        ((1.0, 2), (1.0,), ArgumentError, "a tuple of 2 tangents, one for each argument, not 1"),
        ((1.0, 2), 1.0, ArgumentError, "a tuple of 2 tangents, one for each argument, not 1.0"),
        ((1.0, 2), (1.0, 1.0), ArgumentError, "the tangent of n is given for what is not made of floats"),
        ((1.0, 2), ("a", None), ArgumentError, "the tangent of x is made of real numbers"),
        ((1.0, 2), (1j, None), ArgumentError, "the tangent of x is made of real numbers, not of complex128"),
        ((1.0, 2), ([1.0], None), ShapeError, r"the tangent of x has shape \(1,\), and the argument is a float"),
        ((np.ones(3), 2), (np.ones(2), None), ShapeError, r"the tangent of x has shape \(2,\), not \(3,\)"),
        (((1.0, 2.0), 2), ((1.0,), None), ArgumentError, "the tangent of x must be a tuple of 2, as the argument is"),
        (((1.0, 2.0), 2), ((1.0, [2.0, 3.0]), None), ShapeError, r"the tangent of x\[1\] has shape \(2,\)"),
        (1.0, (1.0,), ArgumentError, "takes the arguments in a tuple, not 1.0"),
        ((1.0,), (1.0,), ArgumentError, "missing a required argument"),
    ],
)
def test_errors(args: Any, tangents: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        adc.jvp(lambda x, n: n, args, tangents)


def test_errors_of_fields_and_names() -> None:
    with pytest.raises(ArgumentError, match="the tangent of m has the field 'biases', which Model has not"):
        adc.jvp(lambda m: m.bias, (Model(1.0, 2.0),), ({"biases": 1.0},))
    with pytest.raises(ArgumentError, match="has no parameter 'z', whose final state is wanted"):
        adc.jvp(lambda x: x, (1.0,), (1.0,), final="z")
    with pytest.raises(adc.AdcError, match="returns an argument that it changes"):
        adc.jvp(_returns_changed, ([1.0],), ([1.0],))
    with pytest.raises(adc.AdcError, match="takes no final="):
        adc.jvp(adc.grad(lambda x: x), (1.0,), (1.0,), final="x")
    with pytest.raises(IndexError):
        adc.jvp(lambda u: u[5], (np.ones(2),), (np.ones(2),))


def _returns_changed(items):
    items[0] = items[0] * 2.0
    return items


def test_dump_ir() -> None:
    f = jit_grad(argnums=(0, 1))(logistic)
    text = f.dump_ir("tangent", "f64, f64, i64")
    assert "@logistic.jvp(" in text and "adc.tangent = 1" in text
    assert "@logistic.grad.jvp(" in f.grad.dump_ir("tangent", "f64, f64, i64")
