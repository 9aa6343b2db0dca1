"""Functions as values: passed, returned, stored, partial, decorated, nested; what they capture; how calls bind."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import CompileError
from tests.programs.harness import check


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def square(x: float) -> float:
    return x * x


def affine(a: float, b: float, c: float = 1.0) -> float:
    return a * b + c


def apply(f: Callable[..., Any], x: Any) -> Any:
    return f(x)


# Passed and stored ----------------------------------------------------------------------------------------------------

compiled_square = jit_grad(square)
scaled = functools.partial(affine, 2.5, c=3.0)


def passes(x: float, a: np.ndarray) -> float:
    s = apply(square, x) + apply(math.sin, x) + apply(np.exp, x) + apply(compiled_square, x)
    for i in range(len(a)):
        if a[i] > 0.5:
            s += apply(lambda t: t * a[i] + s, x)
        a[i] = apply(np.cos, a[i])
    return s


def stored(x: float, a: np.ndarray) -> float:
    table = (square, math.sin, functools.partial(affine, x), lambda t, b=2.0: t * b * x)
    named = {"sq": square, "own": lambda t: t * x}
    s = 0.0
    for i in range(len(a)):
        for f in table[:2]:
            s += f(a[i])
        s = table[3](s) + table[2](a[i], c=s) * named["own"](x) + named["sq"](a[i])
    return s


def mapped(f: Callable[..., Any], a: np.ndarray) -> None:
    for i in range(len(a)):
        a[i] = f(a[i])


def maps(x: float, a: np.ndarray) -> float:
    mapped(lambda t: t * x, a)
    mapped(functools.partial(affine, x, c=x), a)
    mapped(scaled, a)
    return np.sum(a * a)


def test_passed_and_stored() -> None:
    a = rng().uniform(0, 1, 4)
    check(passes, (0.7, a), pullback=True)
    check(stored, (0.3, a))
    check(maps, (0.7, a), pullback=True)


def test_functions_as_arguments() -> None:
    f = jit_grad(apply)
    for g in (math.sin, square, compiled_square, scaled, lambda t: 3 * t):
        assert np.isclose(f(g, 0.3), g(0.3))
        h = 1e-6
        assert np.isclose(adc.grad(f, argnums=1)(g, 0.3), (g(0.3 + h) - g(0.3 - h)) / (2 * h))


# Returned -------------------------------------------------------------------------------------------------------------


def adder(a: float) -> Callable[[float], float]:
    def add(x: float) -> float:
        return x * a + b

    b = a * a
    return add


def compose(f: Callable[..., Any], g: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: f(g(x))


def curried(x: float) -> Any:
    def one(y: float) -> Any:
        def two(z: float) -> float:
            return x * y * z

        return two

    return one


def pair(x: float, up: bool) -> Any:
    if up:
        return lambda t: t * x, x
    return lambda t: t + x, 2.0


def accumulator() -> Any:
    total = 0.0

    def add(v: float) -> float:
        nonlocal total
        total += v
        return total

    return add


def filler(a: np.ndarray) -> Any:
    def fill(i: int, v: float) -> None:
        a[i] += v

    return fill


def returned(x: float, a: np.ndarray) -> float:
    s = 0.0
    fill = filler(a)
    for i in range(len(a)):
        f = adder(x * i)
        s += compose(f, np.sin)(a[i])
        if s > 0.5:
            s = curried(x)(s)(a[i])
        g, factor = pair(x, True)
        h, other = pair(s, False)
        fill(i, g(factor) + h(other))
    add, another = accumulator(), accumulator()
    for i in range(3):
        another(add(x * i) + s)
    return add(1.0) * another(x) + np.sum(a * a)


def test_returned() -> None:
    check(returned, (0.7, rng().uniform(0, 1, 4)), pullback=True)


# Nested ---------------------------------------------------------------------------------------------------------------


def mutates(x: float, a: np.ndarray) -> float:
    scratch = np.zeros(len(a))

    def put(i: int, v: float) -> None:
        scratch[i] = v * x
        a[i] *= v

    def put_twice(i: int) -> None:
        put(i, a[i])
        put(i, x)

    for i in range(len(a)):
        if a[i] > 0.5:
            put_twice(i)
        else:
            put(i, x * i)
    return np.sum(scratch * a)


def counts(x: float, a: np.ndarray) -> float:
    total, largest, steps = 0.0, a[0], 0
    state = a * 1.0

    def visit(v: float) -> None:
        nonlocal total, largest, steps, state
        steps += 1
        if v > largest:
            largest = v
        for k in range(2):
            total += v * x * k
        state = state * x

    def twice(v: float) -> None:
        visit(v)
        apply(visit, v * v)

    for i in range(len(a)):
        if a[i] > 0.3:
            twice(a[i])
        total = total * 1.5
    while steps < 20:
        visit(x)
    return total * largest + steps + np.sum(state)


def deep(x: float) -> float:
    y = x

    def outer(t: float) -> None:
        def inner() -> None:
            nonlocal y
            y = y * t

        inner()
        inner()

    outer(x)
    outer(3.0)
    return y


def late(x: float, n: int) -> float:
    functions = []
    for k in (1, 2, 3):
        functions.append(lambda t: t * k)
    s = functions[0](x) + functions[2](x)
    for i in range(n):

        def g(t: float, i: int = i) -> float:
            return t * i + y

        y = x * i
        s += g(x) * s + x
    y = 3.0 * x
    return s + g(x)


def nested_recursion(x: float, n: int) -> float:
    def up(k: int, scale: float = 0.5) -> float:
        return x if k == 0 else x * up(k - 1) + scale * k

    def even(k: int) -> float:
        nonlocal calls
        calls += 1
        return x if k == 0 else odd(k - 1) * np.sin(x)

    def odd(k: int) -> float:
        return y if k == 0 else even(k - 1) + x

    calls = 0
    y = 2.0 * x
    s = 0.0
    for i in range(n):
        s += up(i) + even(i)
    return s + apply(odd, n) + calls


def two_of_one_kind(x: float) -> float:
    return makes(2.0)(x) * makes(3.0)(x)


def makes(a: float) -> Any:
    def make(t: float) -> float:
        return (lambda s: s * a)(t)

    return make


two, three = makes(2.0), makes(3.0)


def calls_both(x: float) -> float:
    return two(x) + 10 * three(x)


def shared(x: float, n: int) -> float:
    """Variables of an outer function that are first assigned in a branch or a loop, change type, and recursion."""
    if x > 0.5:
        s = x
    else:
        s = 2 * x
    count = 0
    log = [0.0, 1.0]

    def add(v: float) -> None:
        nonlocal s, count
        s += v * x
        count += x

    def walk(k: int) -> None:
        nonlocal s
        if k == 0:
            s = s + x * x
            return
        walk(k - 1)
        log[0] += s * k
        walk(k - 1)
        log[1] = log[0] * x
        s = s * x

    for i in range(n):
        last = x * i

        def bump(v: float) -> None:
            nonlocal last
            last += v

        add(i)
        bump(s)
    walk(3)
    return s * count + last + log[1]


def from_loop(x: float, n: int) -> float:
    for i in range(n):

        def f(t: float) -> float:
            return t * i

        if f(x) > 1.0:
            return f(x) * x
    return x


def loop_variable(x: float) -> float:
    s = 0.0
    for i in range(3):

        def f() -> float:
            nonlocal i
            i = i + 1
            return i * x

        s += f()
    return s


def test_shared_variables() -> None:
    check(shared, (0.7, 3), (0.3, 2))
    check(from_loop, (0.7, 5), (0.7, 1))
    with pytest.raises(adc.errors.CompileError, match="'i' is the variable of a loop"):
        jit_grad(loop_variable)(0.7)


def test_nested() -> None:
    a = np.array([0.42, 0.65, 0.2, 0.9])
    check(mutates, (0.7, a), pullback=True)
    check(counts, (0.7, a), pullback=True)
    check(deep, (1.3,))
    check(late, (0.7, 3))
    check(nested_recursion, (0.7, 4), pullback=True)
    check(two_of_one_kind, (0.7,))
    check(calls_both, (0.7,))


# How calls bind -------------------------------------------------------------------------------------------------------


def keyword_only(x: float, *, a: float, b: float = 2.0) -> float:
    return x * a + b


def positional_only(x: float, y: float = 2.0, /, z: float = 1.0) -> float:
    return x * y + z


def variadic(first: float, *rest: Any, scale: float = 1.0, **named: Any) -> float:
    s = first
    for r in rest:
        s = s * scale + (np.sum(r) if isinstance(r, np.ndarray) else r)
    for name in named:
        s += named[name] * len(name)
    return s + len(rest)


def forwards(*args: Any, **kwargs: Any) -> float:
    return variadic(*args, scale=2.0, **kwargs)


def binds(x: float, a: np.ndarray) -> float:
    s = keyword_only(x, a=x) + positional_only(x) + positional_only(x, x, z=x)
    t = (x, a, x * x)
    for i in range(3):
        more = {"up": a[i]}
        s += 0.01 * variadic(*t[:2], s, *t[1:], scale=x, left=x, **more)
        if i > 0:
            s = s + 0.001 * forwards(s, *t, u=x)
    first, *middle, last = (x, s, x * s, 2.0)
    return first * middle[0] * middle[1] + last + len(middle)


DEFAULT = np.array([1.0, 2.0])


def with_defaults(x: float, a: np.ndarray = DEFAULT, k: int = len(DEFAULT)) -> float:
    return np.sum(a) * x + k


def uses_defaults(x: float) -> float:
    return with_defaults(x) + with_defaults(x, k=5)


def test_binding() -> None:
    check(binds, (0.7, rng().uniform(0, 1, 4)), pullback=True)
    check(uses_defaults, (0.7,))


def doubled(f: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs) * 2.0

    return wrapper


@doubled
def decorated(x: float, y: float = 3.0) -> float:
    return x * x * y


@functools.lru_cache
def cached(x: float) -> float:
    return x * x


def decorates(x: float) -> float:
    @jit_grad(argnums=0)
    def g(t: float) -> float:
        return t * x

    @doubled
    def h(t: float) -> float:
        return t * x + 1.0

    @functools.cache
    def k(t: float) -> float:
        return t - x

    return g(x) + h(x) * decorated(x, y=x) + decorated(x) + cached(x) * k(2.0)


def test_decorated() -> None:
    check(decorates, (0.7,))


class Scale:
    def __init__(self, k: float) -> None:
        self.k = k

    def times(self, x: float) -> float:
        return self.k * x


three_times = Scale(3.0)
method = three_times.times


def methods(x: float) -> float:
    return apply(three_times.times, x) * method(x) + functools.partial(Scale(x).times)(x)


def test_bound_methods() -> None:
    check(methods, (0.7,))


# Captured from outside ------------------------------------------------------------------------------------------------


def test_gradients_by_captured_variables() -> None:
    c, d = 2.0, np.array([1.0, 3.0])

    def f(x: float) -> float:
        def inner(t: float) -> float:
            return t * c + np.sum(d) * x

        return apply(inner, x) * c

    both = adc.grad(f, argnums=0, argnames=("c", "d"))
    by_x, by_name = both(0.7)
    assert np.isclose(by_x, c * c + c * np.sum(d))
    assert np.isclose(by_name["c"], 2 * c * 0.7 + np.sum(d) * 0.7)
    assert np.allclose(by_name["d"], 0.7 * c)
    c = 5.0  # read at each call
    assert np.isclose(both(0.7)[0], 25.0 + 5.0 * 4.0)


# Refused --------------------------------------------------------------------------------------------------------------

OUTSIDE = 1.0


def writes_global(x: float) -> float:
    global OUTSIDE
    OUTSIDE = x
    return x


def reads_global(x: float) -> float:
    global OUTSIDE
    return x * OUTSIDE


def chooses(x: float) -> float:
    f = math.sin if x > 0.5 else square
    return f(x)


def chooses_local(x: float) -> float:
    if x > 0.5:
        f = lambda t: t * x
    else:
        f = lambda t: t + x
    return f(x)


def returns_function(x: float) -> Any:
    return lambda t: t * x


def too_many(x: float) -> float:
    return positional_only(x, x, x, x)


def wrong_name(x: float) -> float:
    return positional_only(x=x)


def twice(x: float) -> float:
    more = {"a": x}
    return keyword_only(x, a=x, **more)


def star_of_array(x: float, a: np.ndarray, least: float) -> float:
    return variadic(*a[a > least])


def test_functions_chosen_by_a_condition() -> None:
    for fn in (chooses, chooses_local):
        compiled = jit_grad(fn)
        for x in (0.3, 0.7):
            assert compiled(x) == fn(x)


def test_refused() -> None:
    assert jit_grad(reads_global)(3.0) == 3.0 * OUTSIDE
    for fn, message in (
        (writes_global, "'OUTSIDE' cannot be assigned"),
        (returns_function, "cannot return function"),
        (too_many, "takes 3 positional arguments but 4 were given"),
        (wrong_name, "no parameter 'x'"),
        (twice, "two values for 'a'"),
    ):
        with pytest.raises(adc.errors.CompileError, match=message) as caught:
            jit_grad(fn)(0.7)
        assert caught.value.loc.file == __file__
    with pytest.raises(adc.errors.CompileError, match="how many items"):
        jit_grad(star_of_array)(0.7, np.ones(3), 0.5)


def test_nonlocal_of_a_variable_outside_is_refused() -> None:
    state = 0.0

    def f(x: float) -> float:
        nonlocal state
        state = x
        return x

    with pytest.raises(adc.errors.CompileError, match="'state' is no variable of a compiled function"):
        jit_grad(f)(1.0)
    assert state == 0.0


def smaller(z, n, y):
    return min(0.25 * n, y) if y - 0.3 < 0.9 else 1.1 + 0.0 * z


def test_calls_that_are_repeated_do_not_repeat_their_record() -> None:
    """The value is cheap, so the reverse sweep calls the function again; what that recorded is another matter."""

    def outer(z, n, y):
        return math.tanh(smaller(math.sin(z), n, y) + y / (1.25 + y * y))

    def f(x, n, y):
        return x + outer(x, n, y)

    def derivative(y):
        inner = min(0.75, y) if y - 0.3 < 0.9 else 1.1
        slope = (1.0 if y < 0.75 else 0.0) + (1.25 - y * y) / (1.25 + y * y) ** 2
        return slope / math.cosh(inner + y / (1.25 + y * y)) ** 2

    compiled = jit_grad(f, argnums=(0, 2))
    for y in (0.4, 1.0, 1.4):
        assert compiled(0.3, 3, y) == pytest.approx(f(0.3, 3, y), rel=1e-14)
        assert compiled.grad(0.3, 3, y) == pytest.approx((1.0, derivative(y)), rel=1e-12)


# Arrays that a function makes of constants, and that its caller makes depend on something later.


def made(z):
    return np.zeros(4), math.sin(z * z)


def read_before_it_varies(x, n):
    m, p = made(x)
    t = m[1]
    m[2] = p
    return m[2] + t + p * n


def in_a_branch(x, n):
    m, p = made(x)
    u = np.zeros(3)
    if n > 7:
        r = 0.5
    else:
        u[1] = m[1]
        m[2] = p * x
        r = m[2]
    return r + u[1]


def in_a_loop_with_an_exit(x, n):
    m, p = made(x)
    r = 0.0
    for _ in range(1, 5):
        if n > 7:
            return np.sum(m)
        r += m[1] * p
    else:
        m[2] = p
    return r + m[2]


def in_every_iteration(x, n):
    r = 0.0
    k = 0
    while k < n:
        k += 1
        m, p = made(x * k)
        for _ in range(2):
            r += m[1] * p
            m[1] += p
            r += m[1] * r
    return r


@pytest.mark.parametrize(
    "function",
    [read_before_it_varies, in_a_branch, in_a_loop_with_an_exit, in_every_iteration],
    ids=lambda f: f.__name__,
)
def test_arrays_that_vary_after_the_call_that_made_them(function: Callable[..., float]) -> None:
    x, h, compiled = 0.3, 1e-6, jit_grad(function)
    for n in (0, 3, 9):
        assert compiled(x, n) == pytest.approx(function(x, n), rel=1e-13)
        numeric = (function(x + h, n) - function(x - h, n)) / (2 * h)
        assert compiled.grad(x, n) == pytest.approx(numeric, rel=1e-7, abs=1e-9)


@functools.singledispatch
def by_type(x):
    return 2.0 * x


@by_type.register
def _(x: int):
    return x


class ByType:
    scale = 2.0

    @functools.singledispatchmethod
    def by_method(self, x):
        return self.scale * x


@pytest.mark.parametrize(
    ("function", "args", "shown"),
    [
        (lambda x: by_type(x), (2.0,), "by_type.* functools.singledispatch,"),
        (by_type, (2.0,), "by_type.* functools.singledispatch,"),
        (lambda x: functools.partial(by_type, x)(), (2.0,), "by_type.* functools.singledispatch,"),
        (lambda o, x: o.by_method(x), (ByType(), 2.0), "by_method.* functools.singledispatchmethod,"),
    ],
)
def test_choice_by_the_type_of_an_argument_is_refused(function, args, shown):
    with pytest.raises(CompileError, match=shown) as raised:
        jit_grad(function)(*args)
    assert raised.value.kind == "unsupported-function"
    assert "choose with isinstance()" in raised.value.help
    assert jit_grad(by_type.dispatch(float))(2.0) == 4.0
