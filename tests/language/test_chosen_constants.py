"""Texts, functions, None and other constants that a run-time condition chooses."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from adc.errors import CompileError


class Side(enum.Enum):
    LEFT = "left"
    RIGHT = "right"

    @property
    def sign(self):
        return -1.0 if self is Side.LEFT else 1.0


@dataclass(frozen=True)
class Method:
    name: str
    order: int
    weight: float = 1.0


EULER, HEUN = Method("euler", 1), Method("heun", 2, 0.5)


def compared(x):
    kind = "n"
    if x > 1.0:
        kind = "d"
    return 2 * x if kind == "d" else x


def in_a_chain(x):
    if x < 0.5:
        kind = "low"
    elif x < 1.5:
        kind = "middle"
    else:
        kind = "high"
    if kind == "low":
        return x
    if kind != "high":
        return x * x
    return x**3


def conditional_expression(x):
    kind = "a" if x > 1.0 else "b"
    return x * (3.0 if kind in ("a", "c") else 5.0)


def not_in(x):
    kind = "a" if x > 1.0 else "b"
    return x if kind not in ("b", "c") else x * x


def a_function(x):
    f = math.sin
    if x > 1.0:
        f = math.cos
    return f(x)


def square(x):
    return x * x


def cube(x):
    return x * x * x


def a_python_function(x):
    f = square if x > 1.0 else cube
    return f(x) + f(2.0 * x)


def a_lambda(x):
    f = (lambda t: t * t) if x > 1.0 else (lambda t: 3.0 * t)
    return f(x)


def a_nested_function(x):
    def scaled(t):
        return a * t

    def shifted(t):
        return a + t * t

    a = 3.0 * x
    f = scaled if x > 1.0 else shifted
    a = a + 1.0
    return f(x) + applied(f, x)


def applied(f, x):
    return f(2.0 * x)


def a_numpy_function(x):
    f = np.exp if x > 1.0 else np.log
    return np.sum(f(x * np.ones(3)))


def none(x):
    limit = None
    if x > 1.0:
        limit = "yes"
    if limit is None:
        return x
    return x * x


def none_or_not(x):
    limit = None if x > 1.0 else "some"
    return x if limit else x * x


def a_table(x):
    kind = "a" if x > 1.0 else "b"
    return {"a": 2.0, "b": 3.0}[kind] * x + {"a": 1.0}.get(kind, 7.0)


def a_table_of_functions(x):
    kind = "sin" if x > 1.0 else "cos"
    return {"sin": math.sin, "cos": math.cos}[kind](x)


def stored_by_key(x):
    totals = {"a": 0.0, "b": 0.0}
    for k in range(4):
        kind = "a" if x * k > 1.0 else "b"
        totals[kind] += x * k
        totals["a"] *= 2.0
    return totals["a"] - 3.0 * totals["b"]


def an_enum(x):
    side = Side.LEFT
    if x > 1.0:
        side = Side.RIGHT
    return side.sign * x + (1.0 if side is Side.LEFT else x) + len(side.value)


def constants_of_a_dataclass(x):
    method = EULER if x > 1.0 else HEUN
    return method.weight * x**2 + (x if method.name == "euler" else 0.0)


def a_state_machine(x):
    state = "start"
    total, steps = 0.0, 0
    while state != "done":
        if state == "start":
            total += x
            state = "middle"
        elif state == "middle":
            total *= x
            steps += 1
            if steps > 3:
                state = "end"
        else:
            total += 1.0
            state = "done"
    return total


def in_a_loop(x):
    last = "none"
    total = 0.0
    for k in range(5):
        if last == "up":
            total += x * k
            last = "down"
        else:
            total -= x
            last = "up" if k > 1 else "flat"
    return total


def passed_on(x):
    kind = "a" if x > 1.0 else "b"
    return by_kind(kind, x) + by_kind(x=x, kind=kind)


def by_kind(kind, x):
    if kind == "a":
        return x
    if kind == "b":
        return x * x
    raise ValueError(kind)


def returned_by_a_callee(x):
    return x * 2.0 if classified(x) == "large" else x


def classified(x):
    if x > 1.0:
        return "large"
    return "small"


def in_a_tuple(x):
    pair = ("a", x)
    if x > 1.0:
        pair = ("b", 2.0 * x)
    name, value = pair
    return value if name == "b" else value * value


def in_a_list(x):
    kinds = ["a", "b"]
    if x > 1.0:
        kinds[0] = "c"
    return x if kinds[0] == "c" and kinds[1] == "b" else x * x


def by_a_subscript(x):
    names, functions = ["a", "b", "c"], (math.sin, math.cos, square)
    k = int(x)
    return functions[k](x) * (2.0 if names[k] == "b" else 3.0)


def narrowed_in_expressions(x):
    f = None
    if x > 1.0:
        f = math.sin
    y = x if f is None else f(x)
    if f is not None and f(x) > 0.1:
        y += f(2.0 * x)
    return y if f is None or f(x) > 0.0 else -y


def true_or_none(x):
    flag = True if x > 1.0 else None
    other = "yes" if x > 1.0 else False
    return x if flag and other else x * x


class Holder:
    def __init__(self):
        self.kind = "a"


def in_an_object(x):
    h = Holder()
    if x > 1.0:
        h.kind = "b"
    return x if h.kind == "b" else x * x


def two_of_them(x):
    a = "p" if x > 1.0 else "q"
    b = "q" if x > 0.5 else "p"
    return x if a == b else x * x


def put_together(x):
    kind = "a" if x > 1.0 else "b"
    name = kind + "1"
    return x if name == "a1" and f"{kind}!" == "a!" and kind.upper() == "A" else x * x


def isinstance_of(x):
    kind = "a" if x > 1.0 else None
    return x if isinstance(kind, str) else x * x


def matched(x):
    kind = "a" if x > 1.0 else "b"
    match kind:
        case "a":
            return x
        case "b" | "c":
            return x * x
    return 0.0


def narrowed(x):
    kind = None
    if x > 1.0:
        kind = "ab"
    if kind is not None and x > 0.0:
        return x * len(kind)
    return x


def raised_otherwise(x):
    kind = "a" if x > 1.0 else "b"
    if kind == "a":
        y = x
    elif kind == "b":
        y = x * x
    else:
        raise ValueError(f"what is {kind}?")
    return y


def in_parallel(x):
    out = np.zeros(3)
    for i in prange(3):
        kind = "a"
        if x > i:
            kind = "b"
        out[i] = x if kind == "a" else x * x
    return np.sum(out)


def function_in_a_tuple(x):
    f = (lambda t: x * t) if x > 1.0 else (lambda t: x + t)
    return first_of((f, x))


def first_of(pair):
    return pair[0](pair[1])


PROGRAMS = [
    compared, in_a_chain, conditional_expression, not_in, a_function, a_python_function, a_lambda,
    a_nested_function, a_numpy_function, none, none_or_not, a_table, a_table_of_functions, stored_by_key, an_enum,
    constants_of_a_dataclass, a_state_machine, in_a_loop, passed_on, returned_by_a_callee, in_a_tuple, in_a_list,
    in_an_object, two_of_them, put_together, isinstance_of, matched, narrowed, raised_otherwise, in_parallel,
    by_a_subscript, narrowed_in_expressions, true_or_none,
    function_in_a_tuple,
]  # fmt: skip


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(fn: Any) -> None:
    compiled, gradient = jit_grad(fn), adc.grad(fn)
    for x in (0.3, 0.8, 1.2, 2.5):
        assert np.isclose(compiled(x), fn(x), rtol=1e-14), x
        h = 1e-6
        difference = (fn(x + h) - fn(x - h)) / (2 * h)
        assert np.isclose(gradient(x), difference, rtol=1e-6, atol=1e-7), x
        assert np.isclose(gradient(x), adc.jvp(fn, (x,), (1.0,))[1], rtol=1e-13), x


@pytest.mark.parametrize("fn", [compared, a_function, passed_on, a_state_machine], ids=lambda f: f.__name__)
def test_second_derivatives(fn: Any) -> None:
    g = adc.grad(fn)
    for x in (0.3, 2.5):
        assert np.isclose(adc.grad(g)(x), (g(x + 1e-6) - g(x - 1e-6)) / 2e-6, rtol=1e-5, atol=1e-6)


def test_returned_to_python() -> None:
    def f(x):
        name = "small"
        if x > 1.0:
            name = "large"
        return name, 2.0 * x

    compiled = jit_grad(f)
    assert compiled(0.5) == ("small", 1.0) and compiled(2.0) == ("large", 4.0)


def test_raised_with_the_chosen_text() -> None:
    def f(x):
        name = "small"
        if x > 1.0:
            name = "large"
        if x > 0.0:
            raise ValueError(f"{name}: {x}", name)
        return x

    compiled = jit_grad(f)
    for x in (0.5, 2.0):
        with pytest.raises(ValueError) as expected:
            f(x)
        with pytest.raises(ValueError) as found:
            compiled(x)
        assert found.value.args == expected.value.args


def test_a_key_that_only_one_of_them_has() -> None:
    def f(x):
        kind = "a" if x > 1.0 else "b"
        return {"a": 2.0}[kind] * x

    assert jit_grad(f)(2.0) == 4.0 and jit_grad(f).grad(2.0) == 2.0
    with pytest.raises(KeyError, match="'b'"):
        jit_grad(f)(0.5)


def none_plus(x):
    k = None if x > 1.0 else "a"
    return x + k


def looped_over(x):
    names = "ab" if x > 1.0 else "abc"
    for _ in names:
        x *= 2.0
    return x


@pytest.mark.parametrize("fn", [none_plus, looped_over], ids=lambda f: f.__name__)
def test_what_stays_refused(fn: Any) -> None:
    with pytest.raises(CompileError) as caught:
        jit_grad(fn)(2.0)
    assert caught.value.help


def changed_by_the_test(x, c, d):
    mode, pick = "a" if c else "b", "a" if d else "b"
    if mode == "a" and (mode := pick) == "b":
        return x * 2.0 if mode == "b" else x * 3.0
    return x


def changed_by_an_expression(x, c, d):
    mode, pick = "a" if c else "b", "a" if d else "b"
    return x * 2.0 if (mode == "a" and (mode := pick) == "b") and mode == "b" else x * 3.0


def changed_by_a_denied_test(x, c, d):
    mode, pick = "a" if c else "b", "a" if d else "b"
    if not (mode != "a" or (mode := pick) != "b"):
        x = x * {"a": 5.0, "b": 7.0}[mode]
    return x


def changed_in_a_loop(x, c, d):
    mode, result = "a" if c else "b", 0.0
    for name, v in (("a", 1.0), ("b", 2.0)):
        if name == mode:
            result = result + v * x
        elif mode != name and (mode := "a" if d else "b") == name:
            result = result + 100.0 * v * (x if mode == "a" else 5.0 * x)
    return result * (1.0 if mode == "a" else 7.0)


def compared_with_what_changes(x, c, d):
    mode, other, pick = "a" if c else "b", "a", "b" if d else "c"
    if mode == other and (other := pick) == "b":
        return x * 2.0 if mode == "a" else x * 3.0
    return x * 5.0 if mode == "a" else x * 7.0


def compared_with_what_a_call_changes(x, c, d):
    mode, other = "a" if c else "b", "a"

    def change():
        nonlocal other
        other = "b"
        return d

    if mode == other and change():
        return x * 2.0 if mode == "a" else x * 3.0
    return x * 5.0 if mode == "a" else x * 7.0


@pytest.mark.parametrize("c", [True, False])
@pytest.mark.parametrize("d", [True, False])
@pytest.mark.parametrize(
    "fn",
    [
        changed_by_the_test,
        changed_by_an_expression,
        changed_by_a_denied_test,
        changed_in_a_loop,
        compared_with_what_changes,
        compared_with_what_a_call_changes,
    ],
    ids=lambda f: f.__name__,
)
def test_a_test_says_nothing_of_what_it_changes(fn: Any, c: bool, d: bool) -> None:
    assert jit_grad(fn)(1.0, c, d) == fn(1.0, c, d)


def item_read_before_the_right_side(x, c):
    d = {"a": x, "b": 2.0 * x}
    mode = "a" if c else "b"

    def change():
        d["a"] = 10.0 * x
        return 1.0

    d[mode] += change()
    return d["a"] * 7.0 + d["b"]


def list_extended_that_the_right_side_replaces(x, c):
    d = {"a": [x], "b": [2.0 * x]}
    kept, mode = d["a"], "a" if c else "b"

    def change():
        d["a"] = [10.0 * x]
        return [1.0]

    d[mode] += change()
    return sum(d["a"]) * 7.0 + sum(d["b"]) * 3.0 + sum(kept)


def array_changed_that_the_right_side_replaces(x, c):
    d = {"a": np.array([x]), "b": np.array([2.0 * x])}
    kept, mode = d["a"], "a" if c else "b"

    def change():
        d["a"] = np.array([10.0 * x])
        return 1.0

    d[mode] += change()
    return d["a"][0] * 7.0 + d["b"][0] * 3.0 + kept[0]


def known_item_that_the_right_side_replaces(x, c):
    d = {"a": [x]}
    kept = d["a"]

    def change():
        d["a"] = [10.0 * x, 5.0]
        return [1.0 if c else 2.0]

    d["a"] += change()
    return sum(d["a"]) + 3.0 * sum(kept)


def variable_that_the_right_side_replaces(x, c):
    r = np.array([x])
    kept = r

    def change():
        nonlocal r
        r = np.array([10.0 * x])
        return 1.0 if c else 2.0

    r += change()
    return r[0] + 3.0 * kept[0]


class Counting:
    def __init__(self, items):
        self.items, self.reads = items, 0.0

    def __getitem__(self, key):
        self.reads += 1.0
        return self.items[key]

    def __setitem__(self, key, value):
        self.items[key] = value


def item_of_an_object_read_before_the_right_side(x, c):
    d = Counting({"a": x, "b": 2.0 * x})
    mode = "a" if c else "b"

    def change():
        d.items["a"] = 10.0 * x
        return 1.0

    d[mode] += change()
    return d.items["a"] * 7.0 + d.items["b"] + 100.0 * d.reads


@pytest.mark.parametrize("c", [True, False])
@pytest.mark.parametrize(
    "fn",
    [
        item_read_before_the_right_side,
        list_extended_that_the_right_side_replaces,
        array_changed_that_the_right_side_replaces,
        known_item_that_the_right_side_replaces,
        variable_that_the_right_side_replaces,
        item_of_an_object_read_before_the_right_side,
    ],
    ids=lambda f: f.__name__,
)
def test_what_is_added_to_is_read_first(fn: Any, c: bool) -> None:
    assert jit_grad(fn)(1.0, c) == fn(1.0, c)


def refused_by_name(x, k):
    kind = "or{al" if k > 2 else "b%us"
    if x > 0.0:
        raise ValueError(f"unknown {kind!r} {kind:>8} {x:.2f} at {k}")
    return x


def refused_with_none(x, k):
    kind = "oral" if k > 2 else None
    raise ValueError("unknown %s at %d" % (kind, k))  # noqa: UP031


def refused_key(x, k):
    kind = "oral" if k > 2 else "bolus"
    raise KeyError(kind)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("fn", [refused_by_name, refused_with_none, refused_key], ids=lambda f: f.__name__)
def test_texts_that_the_run_chooses_are_shown_in_texts(fn: Any, k: int) -> None:
    found = []
    for function in (fn, jit_grad(fn)):
        with pytest.raises((ValueError, KeyError)) as raised:
            function(0.1, k)
        found.append(raised.value.args)
    assert found[0] == found[1]


def test_texts_that_the_run_chooses_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def shown(x, k):
        kind = "oral" if k > 2 else "bolus"
        print(f"<{kind}>", "{:>6}".format(kind), x)  # noqa: UP032
        return 2.0 * x

    for k in (1, 3):
        shown(0.5, k)
        expected = capsys.readouterr().out
        assert jit_grad(shown)(0.5, k) == 1.0
        assert capsys.readouterr().out == expected
