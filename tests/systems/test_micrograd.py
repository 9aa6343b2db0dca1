"""MicroGrad.jl, pullbacks by source transformation: one test for each row, named after it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import ArgumentError, CompileError


def test_1_worked_example() -> None:
    def f(a, b):
        return a / (a + b * b)

    y, back = adc.pullback(f, 2.0, 3.0)
    assert y == pytest.approx(0.18181818, abs=1e-8)
    assert back(1.0) == pytest.approx((0.07438017, -0.09917355), abs=1e-8)
    assert back(1.0) == pytest.approx((9 / 121, -12 / 121), rel=1e-15)


def test_1_chain() -> None:
    def f(x):
        return math.sin(math.cos(x))

    value, gradient = adc.value_and_grad(f)(0.9)
    assert value == pytest.approx(0.58234473, abs=1e-8)
    assert gradient == pytest.approx(-0.63679931, abs=1e-8)


def test_1_polynomial_model() -> None:
    """A model given by an array of weights, by Horner's rule at a point and over a vector in a loop."""

    def horner(weights, x):
        y = 0.0
        for k in range(len(weights) - 1, -1, -1):
            y = y * x + weights[k]
        return y

    def misfit(weights, xs, ys):
        total = 0.0
        for i in range(len(xs)):
            d = horner(weights, xs[i]) - ys[i]
            total += d * d
        return total

    weights, xs = np.array([3.0, -1.0, 0.5, 2.0]), np.linspace(-1, 1, 7)
    ys = np.cos(xs)
    gradient = adc.grad(horner)(weights, 1.5)
    assert gradient.shape == weights.shape and gradient.dtype == weights.dtype
    np.testing.assert_allclose(gradient, 1.5 ** np.arange(4), rtol=1e-15)
    vandermonde = np.vander(xs, 4, increasing=True)
    expected = 2 * vandermonde.T @ (vandermonde @ weights - ys)
    np.testing.assert_allclose(adc.grad(misfit)(weights, xs, ys), expected, rtol=1e-13)


@dataclass(frozen=True)
class Poly:
    """``sum(weights[k] * x**k)``."""

    weights: Any
    name: str = "polynomial"

    def __call__(self, x):
        y = 0.0
        for k in range(len(self.weights) - 1, -1, -1):
            y = y * x + self.weights[k]
        return y

    def misfit(self, xs, ys):
        return sum((self(x) - y) ** 2 for x, y in zip(xs, ys))


def test_1_polynomial_model_as_an_object() -> None:
    """The gradient of a model is a model: applied to a number, mapped over a vector, and as what is called."""
    weights, xs = np.array([3.0, -1.0, 0.5, 2.0]), np.linspace(-1, 1, 7)
    ys, model = np.cos(xs), Poly(weights)
    y, back = adc.pullback(lambda m, x: m(x), model, 1.5)
    assert y == pytest.approx(model(1.5))
    model_bar, x_bar = back(1.0)
    assert type(model_bar) is Poly and model_bar.name is None
    np.testing.assert_allclose(model_bar.weights, 1.5 ** np.arange(4), rtol=1e-15)
    assert x_bar == pytest.approx(-1 + 1.5 + 6 * 1.5**2)
    vandermonde = np.vander(xs, 4, increasing=True)
    expected = 2 * vandermonde.T @ (vandermonde @ weights - ys)
    gradient = adc.grad(lambda m: m.misfit(xs, ys))(model)
    np.testing.assert_allclose(gradient.weights, expected, rtol=1e-12)
    mapped = adc.grad(lambda m, v: sum([m(x) for x in v]))(model, xs)
    np.testing.assert_allclose(mapped.weights, vandermonde.sum(axis=0), rtol=1e-12, atol=1e-12)


def test_1_multi_use() -> None:
    def twice(x):
        y = x * x
        return y * y + 3.0 * y + x

    assert adc.grad(twice)(1.5) == pytest.approx(4 * 1.5**3 + 6 * 1.5 + 1)

    def leaf_by_leaf(p):
        a, v = p
        return a * v[0] + a * v[1] * v[0] + v[1]

    a_bar, v_bar = adc.grad(leaf_by_leaf)((2.0, np.array([3.0, 5.0])))
    assert a_bar == pytest.approx(3 + 15)
    np.testing.assert_allclose(v_bar, [2 + 2 * 5, 2 * 3 + 1])


@dataclass
class Foo:
    a: float
    b: Any


def test_1_multi_use_of_containers() -> None:
    """Containers accumulate leaf by leaf; a cotangent with a field that the primal lacks is an error."""

    def twice(foo):
        pair = (foo, foo)
        return Foo(pair[0].a * pair[1].a, foo.b * pair[1].a)

    foo = Foo(3.0, np.array([1.0, 2.0]))
    y, back = adc.pullback(twice, foo)
    assert type(y) is Foo and y.a == 9.0 and list(y.b) == [3.0, 6.0]
    bar = back(Foo(1.0, np.array([1.0, 10.0])))[0]
    assert type(bar) is Foo and bar.a == 2 * 3.0 + 1.0 + 20.0 and list(bar.b) == [3.0, 30.0]
    bar = back({"a": 1.0})[0]
    assert bar.a == 6.0 and list(bar.b) == [0.0, 0.0]
    with pytest.raises(ArgumentError, match="field 'c', which Foo has not"):
        back({"a": 1.0, "c": 2.0})


def test_1_pullback_is_an_object() -> None:
    def f(a, b):
        return a / (a + b * b)

    y, back = adc.pullback(f, 2.0, 3.0)
    assert repr(back) == "<pullback of f(a: float, b: float)>"
    assert back(1.0) == back(1.0)
    assert back(2.0) == tuple(2 * c for c in back(1.0))
    assert "func.func @f.rev" in back.dump_ir()


def test_1_pullback_of_a_model() -> None:
    _, back = adc.pullback(Poly.__call__, Poly(np.array([1.0, 2.0])), 3.0)
    assert repr(back) == "<pullback of __call__(self: Poly(weights=f64[::1], name='polynomial'), x: float)>"
    assert back(1.0)[1] == back(1.0)[1] == 2.0
    assert "func.func @__call__.rev" in back.dump_ir()


def test_1_adjoint_from_the_signature_alone() -> None:
    @jit_grad
    def never_called(a, b):
        return a / (a + b * b)

    text = never_called.dump_ir("adjoint", "f64, f64")
    assert "func.func @never_called.grad" in text and "arith.divf" in text


def test_1_ignored_operations() -> None:
    def f(x, flag):
        if flag is None:
            scale = 1.0
        elif not x > 1.0 and x != 0.0:
            scale = 2.0
        else:
            scale = 3.0
        return scale * x * x

    assert adc.grad(f)(2.0, None) == pytest.approx(4.0)
    assert adc.grad(f)(2.0, True) == pytest.approx(12.0)
    assert adc.grad(f)(0.5, True) == pytest.approx(2.0)


def test_1_rule_first_then_decomposition() -> None:
    """A library function has a rule, a Python function is traced; for anything else an error names it and the types."""

    def by_rule(x):
        return math.sinh(x)

    def by_tracing(x):
        return own_sinh(x)

    def by_neither(v):
        return np.linalg.eig(v)

    assert "math.sinh" in jit_grad(by_rule).dump_ir("simplified", "f64")
    assert adc.grad(by_rule)(0.5) == pytest.approx(math.cosh(0.5))
    assert adc.grad(by_tracing)(0.5) == pytest.approx(math.cosh(0.5))
    with pytest.raises(CompileError, match=r"numpy\.linalg\.eig is not supported"):
        adc.grad(by_neither)(np.eye(2))


def own_sinh(x):
    return 0.5 * (math.exp(x) - math.exp(-x))


def half_moons(rng: np.random.Generator, count: int) -> tuple[Any, Any]:
    """Two interleaved half circles with noise, and the labels -1 and 1."""
    angle = np.pi * rng.random(count)
    upper = np.arange(count) % 2 == 0
    x = np.where(upper, np.cos(angle), 1.0 - np.cos(angle))
    y = np.where(upper, np.sin(angle), 0.5 - np.sin(angle))
    inputs = np.stack([x, y], axis=1) + 0.08 * rng.standard_normal((count, 2))
    return inputs, np.where(upper, -1.0, 1.0)


def dense(weights, bias, inputs, outputs):
    for i in range(len(bias)):
        s = bias[i]
        for j in range(len(inputs)):
            s += weights[i, j] * inputs[j]
        outputs[i] = s


def relu(values):
    for i in range(len(values)):
        values[i] = max(values[i], 0.0)


def network(model, x, first, second, scores):
    (w1, b1), (w2, b2), (w3, b3) = model
    dense(w1, b1, x, first)
    relu(first)
    dense(w2, b2, first, second)
    relu(second)
    dense(w3, b3, second, scores)


def mean_loss(model, inputs, labels, kind):
    first, second, scores = np.zeros(16), np.zeros(16), np.zeros(2)
    total = 0.0
    for n in range(len(labels)):
        network(model, inputs[n], first, second, scores)
        margin = (scores[1] - scores[0]) * labels[n]
        if kind == "mse":
            total += (margin - 1.0) ** 2
        elif kind == "cross entropy":
            total += math.log1p(math.exp(-margin))
        else:
            total += max(0.0, 1.0 - margin)
    return total / len(labels)


@pytest.mark.parametrize("kind", ["mse", "cross entropy", "hinge"])
def test_1_small_network(kind: str) -> None:
    """A perceptron 2-16-16-2 learns to tell two half-moons apart, by plain gradient descent."""
    rng = np.random.default_rng(0)
    inputs, labels = half_moons(rng, 120)
    sizes = [(16, 2), (16, 16), (2, 16)]
    model = tuple((rng.standard_normal(s) * math.sqrt(2.0 / s[1]), np.zeros(s[0])) for s in sizes)
    loss = jit_grad(mean_loss)
    before = loss(model, inputs, labels, kind)
    for _ in range(300):
        gradient = loss.grad(model, inputs, labels, kind)
        model = tuple((w - 0.15 * gw, b - 0.15 * gb) for (w, b), (gw, gb) in zip(model, gradient, strict=True))
    assert loss(model, inputs, labels, kind) < 0.3 * before
    fresh, expected = half_moons(rng, 200)
    found = []
    for x in fresh:
        scores = np.zeros(2)
        network(model, x, np.zeros(16), np.zeros(16), scores)
        found.append(1.0 if scores[1] > scores[0] else -1.0)
    assert np.mean(np.array(found) == expected) >= 0.95


@dataclass(frozen=True)
class Layer:
    weights: Any
    bias: Any

    def __call__(self, x):
        return self.weights @ x + self.bias


@dataclass
class Perceptron:
    """2-16-16-2 with the larger of zero and its input between the layers."""

    layers: list[Layer]
    trained: int = 0

    def scores(self, x):
        for layer in self.layers[:-1]:
            x = np.maximum(layer(x), 0.0)
        return self.layers[-1](x)

    def loss(self, inputs, labels):
        total = 0.0
        for n in range(len(labels)):
            scores = self.scores(inputs[n])
            total += math.log1p(math.exp(-(scores[1] - scores[0]) * labels[n]))
        return total / len(labels)

    def stepped(self, gradient, rate):
        pairs = zip(self.layers, gradient.layers, strict=True)
        layers = [Layer(a.weights - rate * b.weights, a.bias - rate * b.bias) for a, b in pairs]
        return Perceptron(layers, self.trained + 1)


def test_1_small_network_of_objects() -> None:
    """The same perceptron as a list of layers; its gradient is a perceptron."""
    rng = np.random.default_rng(0)
    inputs, labels = half_moons(rng, 120)
    sizes = [(16, 2), (16, 16), (2, 16)]
    model = Perceptron([Layer(rng.standard_normal(s) * math.sqrt(2.0 / s[1]), np.zeros(s[0])) for s in sizes])
    gradient_of = adc.grad(Perceptron.loss)
    for _ in range(300):
        gradient = gradient_of(model, inputs, labels)
        assert type(gradient) is Perceptron and type(gradient.layers[0]) is Layer and gradient.trained is None
        model = model.stepped(gradient, 0.15)
    fresh, expected = half_moons(rng, 200)
    found = [1.0 if s[1] > s[0] else -1.0 for s in map(model.scores, fresh)]
    assert np.mean(np.array(found) == expected) >= 0.95
