"""ChainRulesCore, rules that others can build on: one test for each row, named after it."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import AdcError, CompileError, DifferentiationError
from adc.frontend.rules.registry import RULES, Rule


@pytest.fixture(autouse=True)
def no_hooks() -> Iterator[None]:
    adc.clear_new_rule_hooks()
    yield
    adc.clear_new_rule_hooks()
    for function in OPERATORS:
        adc.no_rule(function)


def test_4_scalar_rule() -> None:
    def product(x, y):
        return x * y

    def shifted(x):
        return x + 1.0

    adc.scalar_rule(product, lambda x, y: 10.0 * y, lambda x, y: 20.0 * x)  # wrong on purpose: it is what is used
    adc.scalar_rule(shifted, 3)

    @jit_grad(argnums=(0, 1))
    def f(x, y):
        return product(x, y) + shifted(x)

    assert f(2.0, 5.0) == 13.0
    assert f.grad(2.0, 5.0) == (53.0, 40.0)
    (rule,) = RULES.of(product)
    assert rule.frule((1.0, 0.5), 2.0, 5.0) == (10.0, 70.0)
    value, pullback = rule.rrule(2.0, 5.0)
    assert (value, pullback(2.0)) == (10.0, (100.0, 80.0))


def test_4_scalar_rule_of_all_partials_and_the_result() -> None:
    def power(x, n):
        return math.exp(n * math.log(x))

    @adc.scalar_rule(power)
    def _(x, n, result):
        return n * result / x, None

    assert adc.grad(power)(1.5, 3.0) == pytest.approx(3 * 1.5**2, rel=1e-15)
    with pytest.raises(DifferentiationError, match="gives no derivative by 'n'"):  # None
        adc.grad(power, argnums=1)(1.5, 3.0)
    assert adc.grad(lambda x, n: power(x, adc.stop_gradient(n)), argnums=1)(1.5, 3.0) == 0.0


def test_4_frule_rrule() -> None:
    def scaled(x, y, *, factor=2.0):
        return x * y * factor

    @adc.rrule(scaled)
    def _(x, y, *, factor=2.0):
        def pullback(g):
            return g * y * factor, g * x * factor

        return scaled(x, y, factor=factor), pullback

    f = jit_grad(argnums=(0, 1))(lambda x, y: scaled(x, y, factor=5.0) + scaled(y, y))
    assert f(2.0, 3.0) == 48.0
    assert f.grad(2.0, 3.0) == (15.0, 22.0)
    assert "adc.ruled" in f.dump_ir("adjoint")


def test_4_frule_alone_gives_reverse() -> None:
    def wave(x, y):
        return math.sin(x) * y

    @adc.frule(wave)
    def _(tangents, x, y):
        dx, dy = tangents
        return math.sin(x) * y, math.cos(x) * y * dx + math.sin(x) * dy

    found = adc.grad(wave, argnums=(0, 1))(0.7, 1.3)
    assert found == pytest.approx((math.cos(0.7) * 1.3, math.sin(0.7)), rel=1e-15)
    assert "adc.frule" in jit_grad(wave).dump_ir("traced", "f64, f64")


def test_4_opting_out() -> None:
    def cube(x):
        return x * x * x

    adc.scalar_rule(cube, 100.0)
    assert adc.grad(cube)(2.0) == 100.0
    adc.no_rule(cube)
    assert adc.grad(cube)(2.0) == 12.0
    adc.scalar_rule(cube, 7.0)
    assert adc.grad(cube)(2.0) == 7.0


def test_4_opting_out_for_some_types() -> None:
    def double(x):
        return x + x

    @adc.rrule(double)
    def _(x):
        return x + x, lambda g: g * 50.0

    adc.no_rule(double, np.ndarray)
    assert adc.grad(double)(1.0) == 50.0
    assert adc.grad(lambda x: np.sum(double(x)))(np.ones(3)).tolist() == [2.0, 2.0, 2.0]


def test_4_hooks() -> None:
    def one(x):
        return x

    def two(x):
        return x

    def three(x):
        return x

    heard: dict[str, list[Rule]] = {"frule": [], "rrule": []}
    adc.scalar_rule(one, 1.0)
    adc.on_new_rule(heard["frule"].append, "frule")
    adc.on_new_rule(heard["rrule"].append, "rrule")
    assert all(one in [rule.function for rule in rules] for rules in heard.values())  # those already there
    before = {kind: len(rules) for kind, rules in heard.items()}

    @adc.rrule(two)
    def _(x: float):
        return x, lambda g: g

    @adc.frule(three)
    def _(tangents, x):
        return x, tangents[0]

    assert [r.signature for r in heard["rrule"][before["rrule"] :]] == [(two, float)]
    assert [r.signature for r in heard["frule"][before["frule"] :]] == [(three, object)]
    count = sum(map(len, heard.values()))
    adc.refresh_rules()
    assert sum(map(len, heard.values())) == count, "nothing is new"
    adc.scalar_rule(one, 2.0)  # changed
    assert heard["rrule"][-1].rrule(3.0)[1](1.0) == (2.0,)
    assert sum(map(len, heard.values())) == count + 2
    adc.clear_new_rule_hooks()
    adc.scalar_rule(one, 3.0)
    assert sum(map(len, heard.values())) == count + 2


def test_4_a_hook_that_failed_is_called_again_by_a_refresh() -> None:
    heard, fail = [], [True]

    def hook(rule: Rule) -> None:
        if rule.function is subject and fail[0]:
            raise OSError("not now")
        heard.append(rule.function)

    def subject(x):
        return x

    adc.on_new_rule(hook, "rrule")
    with pytest.raises(OSError, match="not now"):
        adc.scalar_rule(subject, 1.0)
    assert subject not in heard
    fail[0] = False
    adc.refresh_rules()
    adc.refresh_rules()
    assert heard.count(subject) == 1


# Two systems over plain Python floats, which know of adc nothing but its hooks ----------------------------------------

OPERATORS = {operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.pow: "pow"}


class Dual:
    """A number and its tangent. The operators are set by ``forward_mode``, from frules."""

    def __init__(self, value: float, tangent: float) -> None:
        self.value = value
        self.tangent = tangent


class Tracked:
    """A number on a tape, with its cotangent. The operators are set by ``reverse_mode``, from rrules."""

    def __init__(self, value: float, parents: tuple[tuple[Any, int], ...] = (), pullback: Any = None) -> None:
        self.value = value
        self.parents = parents
        self.pullback = pullback
        self.cotangent = 0.0


def both_ways(cls: type, rule: Rule, call: Callable[[list[Any]], Any]) -> None:
    name = OPERATORS.get(rule.function)
    if name is not None:
        setattr(cls, f"__{name}__", lambda a, b: call([a, b]))
        setattr(cls, f"__r{name}__", lambda a, b: call([b, a]))


def forward_mode(rule: Rule) -> None:
    def call(args: list[Any]) -> Dual:
        values = [a.value if isinstance(a, Dual) else a for a in args]
        tangents = [a.tangent if isinstance(a, Dual) else 0.0 for a in args]
        return Dual(*rule.frule(tangents, *values))

    both_ways(Dual, rule, call)


def reverse_mode(rule: Rule) -> None:
    def call(args: list[Any]) -> Tracked:
        value, pullback = rule.rrule(*(a.value if isinstance(a, Tracked) else a for a in args))
        parents = tuple((a, k) for k, a in enumerate(args) if isinstance(a, Tracked))
        return Tracked(value, parents, pullback)

    both_ways(Tracked, rule, call)


def derivative_forward(f: Callable[[Any], Any], x: float) -> float:
    return f(Dual(x, 1.0)).tangent


def derivative_reverse(f: Callable[[Any], Any], x: float) -> float:
    start = Tracked(x)
    end = f(start)
    order: list[Tracked] = []

    def visit(node: Tracked) -> None:
        if node not in order:
            for parent, _ in node.parents:
                visit(parent)
            order.append(node)

    visit(end)
    end.cotangent = 1.0
    for node in reversed(order):
        if node.pullback is not None:
            cotangents = node.pullback(node.cotangent)
            for parent, k in node.parents:
                parent.cotangent += cotangents[k]
    return start.cotangent


def test_4_two_systems_from_hooks() -> None:
    for cls in (Dual, Tracked):
        for name in OPERATORS.values():
            for method in (f"__{name}__", f"__r{name}__"):
                if method in vars(cls):
                    delattr(cls, method)
    adc.no_rule(operator.mul)
    adc.scalar_rule(operator.add, 1, 1)
    adc.on_new_rule(forward_mode, "frule")
    adc.on_new_rule(reverse_mode, "rrule")
    for derivative in (derivative_forward, derivative_reverse):
        assert derivative(lambda x: x + x, 1.6) == 2.0
        with pytest.raises(TypeError):
            derivative(lambda x: x * 2.0, 1.0)  # there is no rule for it yet
    adc.scalar_rule(operator.mul, lambda x, y: y, lambda x, y: x)
    adc.refresh_rules()
    parts = (lambda x: x + x, lambda x: x + 2.1 * x, lambda x: 2.0 * (x * x) + 3.0 * x + 1.2)

    def four_and_five(x: Any) -> Any:
        y = 2.0 * x + 3.0 * x
        return 4.0 * y + 5.0 * y

    for derivative in (derivative_forward, derivative_reverse):
        assert derivative(parts[0], 1.6) == 2.0
        assert derivative(parts[1], 1.2) == pytest.approx(3.1, rel=1e-15)
        assert derivative(parts[2], 1.7) == pytest.approx(9.8, rel=1e-15)
        assert derivative(lambda x: parts[0](x) + parts[1](x) + parts[2](x), 1.7) == pytest.approx(14.9, rel=1e-15)
        assert derivative(four_and_five, 11.1) == pytest.approx(45.0, rel=1e-15)


# Stale code -----------------------------------------------------------------------------------------------------------


def test_4_stale_code() -> None:
    def inner(x):
        return x * x

    factor = 2

    @jit_grad
    def outer(x):
        return inner(x) + factor * x

    def value_and_both() -> tuple[float, float, Any]:
        value, back = outer.pullback(3.0)
        assert outer.value_and_grad(3.0) == (value, outer.grad(3.0))
        return value, outer.grad(3.0), back(1.0)[0]

    for _ in range(2):  # the second time through compiled code alone
        assert value_and_both() == (15.0, 8.0, 8.0)
    adc.scalar_rule(inner, 100.0)
    for _ in range(2):
        assert value_and_both() == (15.0, 102.0, 102.0)
    adc.scalar_rule(inner, 200.0)
    assert value_and_both() == (15.0, 202.0, 202.0)
    adc.no_rule(inner)
    assert value_and_both() == (15.0, 8.0, 8.0)

    def inner(x):
        return x * x * x

    for _ in range(2):
        assert value_and_both() == (33.0, 29.0, 29.0)
    factor = 4
    assert value_and_both() == (39.0, 31.0, 31.0)


def test_4_stale_code_of_gradients_of_gradients() -> None:
    def inner(x):
        return x * x * x

    second = adc.grad(adc.grad(inner))
    assert second(2.0) == 12.0
    adc.scalar_rule(inner, lambda x: 5.0 * x * x)
    assert second(2.0) == 20.0


def test_4_lazy_cotangents() -> None:
    def product(x, y):
        return x * y

    @adc.rrule(product)
    def _(x, y):
        return x * y, lambda g: (g * y, g * math.sinh(x))

    one = jit_grad(argnums=0)(lambda x, y: product(x, y))
    both = jit_grad(argnums=(0, 1))(lambda x, y: product(x, y))
    assert "math.sinh" not in one.dump_ir("adjoint", "f64, f64")
    assert "math.sinh" in both.dump_ir("adjoint", "f64, f64")


@dataclass
class Line:
    slope: float
    offset: float

    def at(self, x):
        return self.slope * x + self.offset


def test_4_rules_of_methods() -> None:
    @adc.rrule(Line.at)
    def _(self, x):
        def pullback(g):
            return Line(g * x * 10.0, g), g * self.slope

        return self.slope * x + self.offset, pullback

    try:
        gradient = adc.grad(lambda line, x: line.at(x), argnums=(0, 1))(Line(2.0, 3.0), 4.0)
        assert gradient == (Line(40.0, 1.0), 2.0)
    finally:
        adc.no_rule(Line.at)


def test_4_a_rule_that_does_not_fit_is_named() -> None:
    def product(x, y):
        return x * y

    @adc.rrule(product)
    def short(x, y):
        return x * y, lambda g: g

    with pytest.raises(AdcError, match="returns 1 cotangent for 2 positional arguments") as caught:
        adc.grad(lambda x: product(x, x))(1.0)
    assert isinstance(caught.value, CompileError) and caught.value.kind == "wrong-rule"
    assert "product(x, x)" in str(caught.value)
