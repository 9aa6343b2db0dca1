"""Functions of every kind that a run-time condition chooses between: pairwise, and passed as arguments."""

from __future__ import annotations

import dataclasses
import functools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from adc.errors import CompileError
from adc.frontend.abstract import Scalar, Static, Tuple
from adc.frontend.forms import Form
from adc.ir.types import i64


class Quadratic:
    def __init__(self, w):
        self.w = w
        self.calls = 0.0

    def value(self, x):
        return self.w * x * x

    def counted(self, x):
        self.calls += 1.0
        return self.w + x * self.calls

    def __call__(self, x):
        return self.w + x


@dataclasses.dataclass(frozen=True)
class Linear:
    w: float

    def __call__(self, x):
        return self.w * x


def square(x):
    return x * x


def scaled(k, x):
    return k * x * x


@jit_grad
def cube(x):
    return x * x * x


def used(f, x):
    return f(x) + 1.0 if f is not None else x


KINDS = {
    "builtin": "abs",
    "math": "math.sin",
    "ufunc": "np.cos",
    "python": "square",
    "compiled": "cube",
    "lambda": "(lambda y: y * y)",
    "captures a number": "(lambda y: y * a)",
    "captures an array": "(lambda y: y * arr[0])",
    "default": "(lambda y, k=a: y * k)",
    "made with a number": "made(a)",
    "made with an array": "made(arr)",
    "method": "obj.value",
    "another method": "other.counted",
    "partial": "functools.partial(scaled, a)",
    "partial of a library": "functools.partial(math.pow, 2.0)",
    "class": "float",
    "object": "obj",
    "frozen object": "Linear(a)",
    "none": "None",
}

START = """def program(x, a, c, n):
    arr = np.array([a, 2.0])
    obj, other = Quadratic(a), Quadratic(2.0 * a)

    def made(k):
        return lambda y: np.max(y * k * np.ones(2)) if y > 0 else y * 3.0

"""
WAYS = {
    "expression": "    f = {a} if c > 0 else {b}\n    return used(f, x) + other.calls\n",
    "statement": "    if c > 0:\n        f = {a}\n    else:\n        f = {b}\n    return used(f, x) + other.calls\n",
    "if alone": "    f = {a}\n    if c > 0:\n        f = {b}\n    return f(x) + 1.0 if f is not None else x\n",
    "loop": "    f = {a}\n    s = 0.0\n    for i in range(n):\n        s += used(f, x)\n"
    "        if c > i - 1.5:\n            f = {b}\n    return s\n",
}


def check(fn: Any, *rest: Any, first: float = 0.7) -> None:
    """Values are Python's; the gradient is that of differences, and of forward mode."""
    compiled, h = jit_grad(fn), 1e-6
    assert np.isclose(compiled(first, *rest), fn(first, *rest), rtol=1e-13)
    difference = (fn(first + h, *rest) - fn(first - h, *rest)) / (2 * h)
    gradient = compiled.grad(first, *rest)
    assert np.isclose(gradient, difference, rtol=1e-5)
    tangents = (1.0, *(None if isinstance(r, int) else 0.0 for r in rest))
    assert np.isclose(gradient, adc.jvp(fn, (first, *rest), tangents)[1], rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_pairs(kind: str, tmp_path: Path) -> None:
    ways, place = list(WAYS.values()), list(KINDS).index(kind)
    for k, other in enumerate(KINDS):
        if (k + place) % 2 or other == kind:
            continue  # of half of the pairs this one comes first, of the others second
        path = tmp_path / f"program_{k}.py"
        path.write_text(START + ways[(k - place) // 2 % 4].format(a=KINDS[kind], b=KINDS[other]))
        names = dict(globals())
        exec(compile(path.read_text(), str(path), "exec"), names)
        program: Any = names["program"]
        compiled, h = adc.value_and_grad(program), 1e-6
        for rest in ((1.3, 1.0, 3), (1.3, -1.0, 3)):
            value, gradient = compiled(0.7, *rest)
            assert np.isclose(value, program(0.7, *rest), rtol=1e-13), (other, rest)
            difference = (program(0.7 + h, *rest) - program(0.7 - h, *rest)) / (2 * h)
            assert np.isclose(gradient, difference, rtol=1e-5), (other, rest)


def picked(x, c):
    k = 3.0 * x
    return math.sin if c > 0 else (lambda y: y * y * k)


def picked_method(o, c):
    return o.value if c > 0 else o.counted


def returned(x, c):
    return picked(x, c)(x) + used(picked(2 * x, c), x)


def either_of_those_returned(x, c):
    f, g = picked(x, c), picked(2 * x, c)
    h = f if c > 2 else g
    return h(x)


def method_of_one_object(x, c):
    o = Quadratic(x)
    f = picked_method(o, c)
    return f(x) + f(x) + o.calls


def methods_of_two_objects(x, c):
    o, p = Quadratic(x), Quadratic(2 * x)
    f = o.counted if c > 0 else p.value
    return f(x) + f(x) + 10 * o.calls + 100 * p.calls


def object_made_in_the_branch(x, c):
    f = Quadratic(x).value if c > 0 else math.sin
    return f(x)


def partial_made_in_a_loop(x, c):
    f = math.sin
    for i in range(3):
        if i > c:
            f = functools.partial(scaled, f(x))
    return f(x)


def method_from_a_loop(x, c):
    o = Quadratic(x)
    f = math.sin
    for i in range(4):
        if i > c:
            f = o.counted
        x = f(x)
    return x + o.calls


def arrays_that_change(x, c):
    a, b = np.array([x, 2 * x]), np.array([3.0, x])

    def g(y):
        return np.sum(a * y)

    h = (lambda y: np.max(b * y)) if c > 0 else g
    s = 0.0
    for i in range(3):
        s += h(x)
        a[0] += 1.0
        if i > c + 1:
            h = lambda y: y
    return s


def which_array_a_function_has(x, c):
    """A store to the one must be seen through the function, whichever it is in later iterations."""
    a, b = np.array([x, 1.0, 2.0]), np.array([3.0, x, 1.0])
    f = math.sin
    s = 0.0
    for i in range(4):
        s += f(x)
        b[i % 3] = b[(i + 1) % 3] + s
        a[1:] = a[:-1] * 1.5
        if i > c:
            f = (lambda y, t=a: y * t[2]) if i % 2 else (lambda y, t=b: y + t[0])
    return s


def item_of_a_list(x, c):
    fs = [math.sin, lambda y: y * x, functools.partial(scaled, x), Quadratic(x).value, Quadratic(x)]
    i = 0 if c > 0 else 4
    j = 1 if c > 0 else 3
    return fs[i](x) * fs[j](x)


def field_of_an_object(x, c):
    o = Quadratic(x)
    o.w = math.sin if c > 0 else (lambda y: y * x)
    d = {"f": o.w}
    d["f"] = d["f"] if c > 2 else (lambda y: y**3)
    return o.w(x) + used(d["f"], x)


def in_threads(x, c):
    out = np.zeros(4)
    k = 2.0 * x
    f = math.sin if c > 0 else (lambda y: k * y)
    for i in prange(4):
        g = f if i > 1 else (lambda y: y + k)
        out[i] = g(x * i)
    return np.sum(out)


def truth_of_it(x, c):
    f = None
    if c > 0:
        f = Quadratic(x).value
    return f(x) if f else x


def mapped(x, c):
    f = math.sin if c > 0 else (lambda y: y * x)
    return np.sum(adc.vmap(f)(np.array([x, 2 * x])))


def differentiated(x, c):
    f = square if c > 0 else (lambda y: y * y * y)
    return adc.grad(f)(x) * x


differentiated.python = lambda x, c: 2 * x * x if c > 0 else 3 * x**3  # type: ignore[attr-defined]


def variable_assigned_by_it(x, c):
    n = 0.0

    def add(y):
        nonlocal n
        n += y
        return n

    f = add if c > 0 else math.sin
    f(x)
    f(x)
    return f(x) + n


def variable_changed_later(x, c):
    k = 1.0
    f = math.sin if c > 0 else (lambda y: y * k)
    k = x
    r = f(x)
    k = 3 * x
    return r + f(x) + used(f, x)


def in_tuples(x, c):
    t, u = (picked(x, c), x), (picked(x, -c), 2.0)
    t = t if c > 2 else u
    return t[0](t[1])


def repeated(x, f, n):
    if n == 0:
        return f(x)
    return repeated(x, f, n - 1) * 0.5


def passed_down_a_recursion(x, c):
    k = x * 2
    return repeated(x, math.sin if c > 0 else (lambda y: y * k), 3)


def function_in_a_function(x, c):
    f = math.sin if c > 0 else (lambda y: x * y * y)
    g = lambda t: f(t) + 1.0
    return used(g, x)


def defaults_of_several_types(x, c):
    f = (lambda y, k=x: y * k) if c > 0 else (lambda y, k=2, z="a": y * k if z == "a" else y)
    return f(x)


PROGRAMS = [
    returned, either_of_those_returned, method_of_one_object, methods_of_two_objects, object_made_in_the_branch,
    partial_made_in_a_loop, method_from_a_loop, arrays_that_change, which_array_a_function_has, item_of_a_list,
    field_of_an_object, in_threads, truth_of_it, variable_assigned_by_it, variable_changed_later, in_tuples,
    passed_down_a_recursion, function_in_a_function, defaults_of_several_types,
]  # fmt: skip


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_passed_about(fn: Any) -> None:
    for c in (1.0, -1.0, 3.0):
        check(fn, c)


@pytest.mark.parametrize("c", [1.0, -1.0])
def test_mapped_and_differentiated(c: float) -> None:
    f = (lambda y: np.sin(y)) if c > 0 else (lambda y: y * 0.7)
    assert np.isclose(jit_grad(mapped)(0.7, c), np.sum(f(np.array([0.7, 1.4]))))
    assert np.isclose(jit_grad(differentiated)(0.7, c), differentiated.python(0.7, c))


def object_made_in_the_loop(x, c, n=4.0):
    f = math.sin
    for i in range(int(n)):
        x = f(x)
        if i > c:
            f = Quadratic(x).value
    return x


def wrapped_again_and_again(x, c):
    def wrap(f, k):
        return lambda y: k * f(y)

    f = math.sin
    i = 0
    while i < 3 + c:
        f = wrap(f, x)
        i += 1
    return f(x)


def method_of_an_array(x, c):
    a = np.array([x, 1.0])
    return (a.sum if c > 0 else a.max)()


@pytest.mark.parametrize(
    "fn", [wrapped_again_and_again, method_of_an_array], ids=lambda f: f.__name__
)
def test_refused_with_a_way_out(fn: Any) -> None:
    with pytest.raises(CompileError) as caught:
        jit_grad(fn)(0.7, 1.0)
    assert caught.value.help


def object_made_in_few_trips(x, c):
    method = math.sin
    for i in range(4):
        x = method(x)
        if i > c:
            method = Quadratic(x).value
    return x


@pytest.mark.parametrize("f", [object_made_in_few_trips, object_made_in_the_loop], ids=lambda f: f.__name__)
def test_an_object_made_in_a_loop(f: Any) -> None:
    for c in (0.0, 1.0, 9.0):
        assert jit_grad(f)(0.7, c) == f(0.7, c)
        step = (f(0.7 + 1e-6, c) - f(0.7 - 1e-6, c)) / 2e-6
        assert jit_grad(f).grad(0.7, c) == pytest.approx(step, rel=1e-8)


def test_types_of_all_forms_are_shown() -> None:
    choice = Tuple(
        (Scalar(i64), Static("a"), Static(math.sin)), Form("choice", object, (Static("a"), Static(math.sin)))
    )
    assert str(choice) == "one of 'a', sin"
    assert str(Tuple((Scalar(i64),), Form("function", functools.partial, ("partial", "k")))) == "function partial"
    assert str(Tuple((Scalar(i64),), Form("text", str, ("n is {}",)))) == "str"


def in_an_array_list(x, n):
    a, c = np.array([x, 1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0, 4.0])
    held = [a]
    for i in range(n):
        b = held[0]
        a[1:] = b[:-1] * 2.0  # the first time the same memory
        held[0] = c
    return np.sum(a) + np.sum(held[0])


def test_an_item_that_the_loop_replaces_may_still_be_the_first() -> None:
    for n in (1, 2, 3):
        check(in_an_array_list, n)
