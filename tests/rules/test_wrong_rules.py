"""Rules that do not fit: what is refused, and the text of the error."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import AdcError, ArgumentError, CompileError, DifferentiationError


def product(x, y):
    return x * y


def test_declarations() -> None:
    for wrong in (
        lambda: adc.rrule(3),
        lambda: adc.rrule(product)(7),
        lambda: adc.rrule(product)(product),
        lambda: adc.rrule(product)(lambda x: (x, lambda g: g)),
        lambda: adc.frule(product)(lambda: 0.0),
        lambda: adc.frule(product)(lambda x, y: (x * y, 0.0)),
        lambda: adc.scalar_rule(product, lambda x, y: y),
        lambda: adc.scalar_rule(product, "y", "x"),
        lambda: adc.no_rule(product, 3),
        lambda: adc.on_new_rule(print, "backward"),
        lambda: adc.on_new_rule(3, "frule"),
    ):
        with pytest.raises(ArgumentError) as caught:
            wrong()
        assert caught.value.kind == "invalid-rule"
        assert caught.value.filename == __file__


def test_annotations_that_are_no_types() -> None:
    with pytest.raises(ArgumentError, match="is not a type"):

        @adc.rrule(product)
        def _(x: 3, y):
            return x * y, lambda g: (g * y, g * x)

    with pytest.raises(ArgumentError, match="is not a type"):

        def rule(x, y):
            return x * y, lambda g: (g * y, g * x)

        rule.__annotations__["x"] = "f65"
        adc.rrule(product)(rule)


def test_objects_have_no_rules_but_their_methods_do() -> None:
    @dataclass
    class Model:
        w: float

        def __call__(self, x):
            return self.w * x

        def at(self, x):
            return self.w * x

    for wrong in (Model(1.0), Model(1.0).at):
        with pytest.raises(ArgumentError, match="rules are for") as caught:
            adc.rrule(wrong)
        assert "Model." in str(caught.value)


def refused(subject: Any, rule: Any, *args: Any, message: str, call: Any = None, error: Any = CompileError) -> None:
    """Differentiating a call of ``subject`` with ``rule`` raises; the message names the rule and the call's line."""
    adc.rrule(subject)(rule)

    def f(*given):
        return subject(*given)

    with pytest.raises(error) as caught:
        adc.grad(call or f)(*args)
    assert isinstance(caught.value, AdcError)
    assert re.search(message, caught.value.message), caught.value.render()  # not in the excerpts, which show this file
    text = str(caught.value)
    assert subject.__name__ in text
    assert "subject(*given)" in text or call is not None


def test_what_the_rule_returns() -> None:
    def one(x):
        return x + 1.0

    refused(one, lambda x: x + 1.0, 1.0, message="the rrule of one returns float$")
    refused(one, lambda x: (x + 1.0, 2.0, 3.0), 1.0, message=r"the rrule of one returns tuple\(.*")
    refused(one, lambda x: (x + 1.0, 2.0), 1.0, message="returns float where a pullback is needed")
    refused(one, lambda x: ("1", lambda g: g), 1.0, message="computes '1', where the function returns")
    refused(one, lambda x: ((x, x), lambda g: g), 1.0, message="where the function returns float$")
    refused(one, lambda x: (x + 1.0, lambda g: "no"), 1.0, message="'?x'? is a float, and what is given for it is str")
    refused(one, lambda x: (x + 1.0, lambda g: np.ones(3)), 1.0, message="x is a float")


def test_cotangents_of_arrays() -> None:
    def double(v):
        return v * 2.0

    def total(v):
        return np.sum(double(v))

    v = np.ones(3)
    for pullback, message in (
        (lambda g: 2.0, "v is a 1-D float64 array, and what is given for it is float"),
        (lambda g: np.ones((3, 3)), "what is given for it is a 2-D float64 array"),
        (lambda g: (g, g), "returns 2 cotangents for 1 positional arguments"),
    ):

        def rule(v):
            return v * 2.0, pullback

        refused(double, rule, v, message=message, call=total)


def test_a_cotangent_of_another_shape_is_refused_when_it_is_there() -> None:
    def double(v):
        return v * 2.0

    @adc.rrule(double)
    def _(v):
        return v * 2.0, lambda g: np.ones(len(v) + 1)

    with pytest.raises(ValueError, match=r"gives an array of shape \(4\) for 'v' of shape \(3\)"):
        adc.grad(lambda v: np.sum(double(v)))(np.ones(3))


def test_cotangents_of_objects() -> None:
    @dataclass(frozen=True)
    class Line:
        slope: float
        offset: float

    @dataclass(frozen=True)
    class Other:
        slope: float
        height: float

    def at(line, x):
        return line.slope * x + line.offset

    refused(
        at,
        lambda line, x: (line.slope * x + line.offset, lambda g: (Other(g * x, g), None)),
        Line(1.0, 2.0),
        3.0,
        message="line has no 'height'",
    )
    refused(
        at,
        lambda line, x: (line.slope * x + line.offset, lambda g: (g, None)),
        Line(1.0, 2.0),
        3.0,
        message="line is Line, and what is given for it is float",
    )


def test_effects() -> None:
    """Functions with rules do not change what they are given, and neither do the rules."""

    def scale(v):
        v[0] = 2.0
        return v[0] * v[1]

    def quiet(v):
        return v[0] * v[1]

    def rule(v):
        return v[0] * v[1], lambda g: g * v

    def loud(v):
        v[0] = 1.0
        return v[0] * v[1], lambda g: g * v

    def loud_pullback(v):
        def pullback(g):
            v[0] = 1.0
            return g * v

        return v[0] * v[1], pullback

    refused(scale, rule, np.ones(2), message="scale changes 'v', which it was given")
    refused(quiet, loud, np.ones(2), message="the rrule of quiet changes 'v', which it was given")
    refused(quiet, loud_pullback, np.ones(2), message="the rrule of quiet changes 'v', which it was given")


def test_effects_on_objects() -> None:
    def push(items, x):
        items.append(x)
        return x

    def call(x):
        items = [x]
        return push(items, x) + items[1]

    refused(push, lambda items, x: (x, lambda g: (None, g)), 1.0, message="changes an object", call=call)


def test_results_that_share_memory_with_arguments() -> None:
    def same(v):
        return v

    def view(v):
        return v[1:]

    def twice(v):
        w = v * 2.0
        return w, w

    def call(f):
        return lambda v: np.sum(f(v))

    v = np.ones(3)
    refused(same, lambda v: (v, lambda g: g), v, message="may return an array that it was given", call=call(same))
    refused(view, lambda v: (v[1:], lambda g: v), v, message="may return an array that it was given", call=call(view))
    refused(
        twice,
        lambda v: (twice(v), lambda g: g[0]),
        v,
        message="may return one array twice",
        call=lambda v: np.sum(twice(v)[0]),
    )


def test_rules_that_cannot_be_compiled() -> None:
    def one(x):
        return x + 1.0

    def rule(x):
        with open("x"):
            return x + 1.0, lambda g: g

    adc.rrule(one)(rule)
    with pytest.raises(SyntaxError, match="with is not supported") as caught:
        adc.grad(lambda x: 2.0 * one(x))(1.0)
    assert "in the rrule of one" in str(caught.value) and "2.0 * one(x)" in str(caught.value)


def test_a_rule_that_raises_in_some_cases() -> None:
    def root(x):
        return math.sqrt(x)

    @adc.rrule(root)
    def _(x):
        if x < 1.0:
            raise ValueError("too small")
        y = math.sqrt(x)
        return y, lambda g: 0.5 * g / y

    f = jit_grad(lambda x: root(x))
    assert f(0.25) == 0.5
    assert f.grad(4.0) == 0.25
    with pytest.raises(ValueError, match="too small"):
        f.grad(0.25)


def test_keyword_arguments_that_vary() -> None:
    def scaled(x, *, factor):
        return x * factor

    @adc.rrule(scaled)
    def _(x, *, factor):
        return x * factor, lambda g: g * factor

    assert adc.grad(lambda x: scaled(x, factor=2.0))(1.0) == 2.0
    with pytest.raises(DifferentiationError, match="gives no derivative by 'factor', which varies here") as caught:
        adc.grad(lambda x: scaled(1.0, factor=x))(1.0)
    assert "scaled(1.0, factor=x)" in str(caught.value)


def test_a_partial_that_is_not_given_beside_an_frule() -> None:
    """Reverse goes by the scalar rule: what that does not give is refused, whatever else is there."""

    def product(x, y):
        return x * y

    @adc.scalar_rule(product)
    def _(x, y):
        return None, x

    @adc.frule(product)
    def _(tangents, x, y):
        return x * y, tangents[0] * y + tangents[1] * x

    assert adc.grad(product, argnums=1)(2.0, 3.0) == 2.0
    with pytest.raises(DifferentiationError, match="gives no derivative by 'x', which varies here") as caught:
        adc.grad(product)(2.0, 3.0)
    assert "0.0 where it is zero" in str(caught.value)


def test_functions_as_arguments_that_hold_what_varies() -> None:
    def apply(f, x):
        return f(x)

    @adc.rrule(apply)
    def _(f, x):
        return f(x), lambda g: (None, 2.0 * g)

    assert adc.grad(lambda x: apply(lambda t: 2.0 * t, x))(1.0) == 2.0
    with pytest.raises(DifferentiationError, match="gives no derivative by 'a'"):
        adc.grad(lambda a: apply(lambda t: a * t, 2.0))(1.0)


def test_an_frule_with_arrays_gives_no_reverse() -> None:
    def double(v):
        return v * 2.0

    @adc.frule(double)
    def _(tangents, v):
        return v * 2.0, tangents[0] * 2.0

    f = jit_grad(lambda v: np.sum(double(v)))
    assert f(np.ones(3)) == 6.0
    with pytest.raises(DifferentiationError, match="has no reverse rule, and with arrays none follows from an frule"):
        f.grad(np.ones(3))


def test_a_scalar_rule_is_for_one_float() -> None:
    def both(x):
        return x, x

    adc.scalar_rule(both, 1.0)
    with pytest.raises(CompileError, match="is for functions that return one float"):
        adc.grad(lambda x: both(x)[0])(1.0)

    def whole(x):
        return int(x)

    adc.scalar_rule(whole, 1.0)
    with pytest.raises(CompileError, match="is for functions that return one float"):
        adc.grad(lambda x: whole(x) * x)(1.0)
