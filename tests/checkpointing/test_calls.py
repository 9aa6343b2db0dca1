"""Calls that are run again in the reverse sweep: the same numbers as without, in every mode, in less memory."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import adc
from adc import errors, jit_grad, prange
from adc.ir import ops
from tests.checkpointing.test_memory import measured

pytestmark = pytest.mark.usefixtures("stages")

Again = Callable[[Any], Any]
Program = tuple[Any, tuple[Any, ...], tuple[int, ...]]
RNG = np.random.default_rng(7)
A, B = RNG.random(5) + 0.5, RNG.random(5) + 0.5


def plain(fn: Any) -> Any:
    return fn


# Functions that are called, and programs that call them: each is made with adc.checkpoint and without ----------------


def power(x, n):
    y = x
    for _ in range(n):
        y = math.sin(y) * x + y
    return y


def floats(again: Again) -> Program:
    inner = again(power)

    def f(x, y, n):
        return inner(x * y, n) * inner(y, n=n + 1) + inner(x, 0)

    return f, (0.7, 1.3, 4), (0, 1)


def pair(x, u):
    if x > 10.0:
        return x, u[0]
    for i in range(u.shape[0]):
        if u[i] > 100.0:
            return u[i], x
        x = math.sin(x * u[i])
    return x * x, u[1] * x


def tuples_and_early_returns(again: Again) -> Program:
    inner = again(pair)

    def f(x, u):
        a, b = inner(x, u)
        c, _ = inner(20.0 * x, u)
        u[2] = 200.0 * a
        d, e = inner(x, u)
        return a * b + c * d + e

    return f, (0.7, A), (0, 1)


def fresh(u, c):
    v = np.sin(u) * c
    w = np.exp(-v) + u
    return v * w, w + 1.0


def arrays(again: Again) -> Program:
    inner = again(fresh)

    def f(u, c):
        v, w = inner(u, c)
        v, _ = inner(v, 2.0 * c)
        v *= w
        w, x = inner(v + w, c)
        return np.sum(v * w * x)

    return f, (A, 0.3), (0, 1)


def block(u, n):
    for _ in range(n):
        u = np.sin(u) * u + 0.1
    return u


def carried(n: int) -> Callable[[Again], Program]:
    """The array that is returned may be the argument, or one that was made."""

    def make(again: Again) -> Program:
        inner = again(block)

        def f(u, n):
            v = inner(u, n)
            v[0] = v[0] * v[1]
            w = inner(v, 2)
            w[1] *= 3.0
            return np.sum(w * w) + np.sum(u * v)

        return f, (A, n), (0,)

    return make


def smooth(u, c):
    for _ in range(3):
        u[1:-1] += c * (u[:-2] - 2.0 * u[1:-1] * u[1:-1] + u[2:])


def in_place(again: Again) -> Program:
    inner = again(smooth)

    def f(u, c):
        v = u.copy()
        inner(v, c)
        inner(u, c * c)
        v[2] *= u[1]
        inner(v, c)
        return np.sum(u * v) + np.max(v)

    return f, (A, 0.1), (0, 1)


def weighted(out, u, w):
    for i in range(u.shape[0]):
        out[i] = u[i] * u[i] * math.exp(w[i])


def outputs_and_later_changes(again: Again) -> Program:
    """``out`` need not be kept, ``u`` is kept as it is, ``w`` is changed later."""
    inner = again(weighted)

    def f(u, w):
        out = np.zeros_like(u)
        inner(out, u, w)
        w *= out
        inner(w, 0.1 * u, w)
        total = np.sum(out * w)
        inner(out, 0.1 * w, u)
        w[:] = 1.0
        return total + np.sum(out)

    return f, (A, B), (0, 1)


def views(u, first):
    u[1:] = u[:-1] * u[1:]
    if first:
        return u[:3]
    return np.sin(u[2:])


def views_of_arguments(again: Again) -> Program:
    inner = again(views)

    def f(u):
        a = inner(u, True)
        a[0] = a[1] * a[2]
        b = inner(u[::-1], False)
        b[0] *= a[0]
        return np.sum(a * b) * u[4]

    return f, (A,), (0,)


def closures(again: Again) -> Program:
    def f(u, x, n):
        scale = np.exp(x)

        @again
        def step(v):
            for i in range(v.shape[0]):
                v[i] = math.sin(v[i] * scale) + u[i]
            return scale * v[0]

        w = u * x
        total = 0.0
        for _ in range(n):
            total += step(w)
            scale = scale * 0.9
        g = again(lambda y, k=2.0: y**k * scale)
        return total + g(x) + g(x, k=3.0) + np.sum(w)

    return f, (A, 0.4, 3), (0, 1)


class Layer(NamedTuple):
    w: Any
    b: float

    def apply(self, u):
        return np.tanh(self.w @ u + self.b)


class Checked:
    def __init__(self, k: float) -> None:
        self.k = k

    @adc.checkpoint
    def always(self, u):
        return self.k * u * u


def methods(again: Again) -> Program:
    def f(w, u, b):
        layer = Layer(w, b)
        v = again(layer.apply)(u)
        v = again(Layer.apply)(Layer(2.0 * w, b), v)
        return np.sum(Checked(b).always(v))

    return f, (np.outer(A, B), A, 0.2), (0, 1, 2)


@adc.rrule
def cube(x):
    def pullback(g):
        return (g * 3.0 * x * x,)

    return x * x * x, pullback


def with_rules(again: Again) -> Program:
    def inside(u, x):
        total = 0.0
        for i in range(u.shape[0]):
            total += _cubed(u[i] * x)
        return total

    inner, ruled = again(inside), again(_cubed)

    def f(u, x):
        return inner(u, x) * inner(u, x * x) + ruled(x)

    return f, (A, 0.6), (0, 1)


def mixed(a, b):
    for i in range(1, a.shape[0]):
        a[i] = a[i] * b[i - 1] + b[0]
    return a[1] * b[2]


def looked_at(a, b):
    return np.sum(np.sin(a) * b)


def overlapping(again: Again) -> Program:
    writes, reads = again(mixed), again(looked_at)

    def f(u):
        x = reads(u, u) + reads(u[1:], u[:-1])
        y = writes(u, u) + writes(u[1:], u[:-1])
        u[0] = x * y
        return reads(u, u[::-1]) * y

    return f, (A,), (0,)


def nested(again: Again) -> Program:
    inside = again(block)

    @again
    def middle(u, x):
        u *= x
        v = inside(u, 2)
        w = inside(v * u, 3)
        u[0] = w[1]
        return w * inside(u, 0)

    def f(u, x):
        return np.sum(middle(u, x) * middle(u, x * x)) + np.sum(u)

    return f, (A, 0.8), (0, 1)


def wave_step(u, v, c):
    for i in range(1, u.shape[0] - 1):
        v[i] = 2.0 * u[i] - v[i] + c * (u[i - 1] - 2.0 * u[i] + u[i + 1]) * u[i]
    return v[1]


def time_loop(schedule: Any) -> Callable[[Again], Program]:
    """Buffers that change places, and a number that is carried."""

    def make(again: Again) -> Program:
        inner = again(wave_step)

        def swapping(u, c, n):
            v = u.copy()
            total = 0.0
            for _ in adc.steps(n, checkpoint=schedule):
                total += inner(u, v, c) * total + 0.1
                u, v = v, u
            return total + np.sum(u * v)

        return swapping, (A, 0.1, 7), (0, 1)

    return make


def open_loop(again: Again) -> Program:
    inner = again(smooth)

    def f(u, c):
        k = 0
        while u[2] > 0.3 and k < 9:
            inner(u, c)
            u *= 0.9
            k += 1
        return np.sum(u) * k

    return f, (A, 0.1), (0, 1)


def row(out, u, i, c):
    t = 0.0
    for j in range(u.shape[0]):
        t += math.sin(u[j] * c + i)
    out[i] = t * u[i]


def in_parallel(again: Again) -> Program:
    inner, other = again(row), again(power)

    def f(u, c):
        out = np.zeros_like(u)
        for i in prange(u.shape[0]):
            inner(out, u, i, c)
            out[i] *= other(c * u[i], 2)
        return np.sum(out)

    return f, (A, 0.4), (0, 1)


def branches(again: Again) -> Program:
    inner, arrays_ = again(smooth), again(block)

    def f(u, c):
        for k in range(4):
            if u[k] > 0.8:
                inner(u, c)
            else:
                u = arrays_(u, k)
        return np.sum(u)

    return f, (A, 0.1), (0, 1)


def recursion(again: Again) -> Program:
    def tree(u, lo, hi, x):
        if hi - lo == 1:
            u[lo] *= x
            return math.sin(u[lo])
        mid = (lo + hi) // 2
        return again(tree)(u, lo, mid, x) * x + again(tree)(u, mid, hi, x * 1.1)

    def f(u, x):
        return tree(u, 0, u.shape[0], x) + np.sum(u)

    return f, (A, 0.8), (0, 1)


def sqrt_of_some(u):
    v = np.sqrt(u)
    return v, v[0] + v[1]


def strong_zeros(again: Again) -> Program:
    """Where the cotangent is zero and the derivative infinite, nothing comes back."""
    inner = again(sqrt_of_some)

    def f(u, x):
        w = u * np.array([1.0, 1.0, 0.0, 1.0, 1.0])
        v, s = inner(w)
        return v[3] * x + (s if x > 0.0 else 0.0)

    return f, (A, 0.8), (0, 1)


def _cubed(x):
    return x * x * x


PROGRAMS: dict[str, Callable[[Again], Program]] = {
    f.__name__: f
    for f in (
        *(floats, tuples_and_early_returns, arrays, in_place, outputs_and_later_changes, views_of_arguments),
        *(closures, methods, with_rules, overlapping, nested, open_loop, in_parallel, branches, recursion),
        strong_zeros,
    )
}
PROGRAMS |= {f"carried-{n}": carried(n) for n in (0, 1, 4)}
PROGRAMS |= {f"loop-{s}": time_loop(s) for s in (None, "sqrt", "recompute-all", "revolve:2", "every:3")}


def copied(args: Any) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


def differences(f: Any, args: Any, argnums: tuple[int, ...]) -> list[Any]:
    """Central differences of plain Python."""

    def along(k: int, at: Any) -> float:
        values = []
        for step in (1e-6, -1e-6):
            moved = copied(args)
            if isinstance(moved[k], np.ndarray):
                moved[k][at] += step
            else:
                moved[k] += step
            values.append(f(*moved))
        return (values[0] - values[1]) / 2e-6

    def of(k: int) -> Any:
        if not isinstance(args[k], np.ndarray):
            return along(k, None)
        return np.array([along(k, at) for at in np.ndindex(args[k].shape)]).reshape(args[k].shape)

    return [of(k) for k in argnums]


def assert_close(found: Any, expected: Any, tolerance: float = 1e-11) -> None:
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name: str) -> None:
    """Those of plain Python by differences, and those without checkpoint; values, effects, and repeated calls. The
    interpreter would say it if memory were used after it was freed."""
    f, args, argnums = PROGRAMS[name](plain)
    value, gradients = jit_grad(f, argnums=argnums).value_and_grad(*copied(args))
    assert_close(gradients, differences(f, args, argnums), 1e-6)
    checkpointed = PROGRAMS[name](adc.checkpoint)[0]
    again = jit_grad(checkpointed, argnums=argnums)
    for _ in range(2):
        found, by = again.value_and_grad(*copied(args))
        assert_close([found, *by], [value, *gradients])
    changed, expected = copied(args), copied(args)
    assert_close([again(*changed), *changed], [f(*expected), *expected], 1e-13)
    interpreted = jit_grad(checkpointed, argnums=argnums, _engine="interpreter").grad(*copied(args))
    assert_close(interpreted, gradients)


MODES = ("tuples_and_early_returns", "carried-4", "in_place", "closures", "overlapping", "recursion", "loop-revolve:2")


@pytest.mark.parametrize("name", MODES)
def test_other_modes(name: str) -> None:
    f, args, argnums = PROGRAMS[name](plain)
    again = PROGRAMS[name](adc.checkpoint)[0]
    _, expected = adc.pullback(f, *copied(args))
    given = copied(args)
    _, back = adc.pullback(again, *given)
    for seed in (1.0, -2.0, 1.0):
        assert_close(back(seed), expected(seed))
    rng = np.random.default_rng(0)
    dots = [rng.random(a.shape) if isinstance(a, np.ndarray) else 0.3 if isinstance(a, float) else None for a in args]
    assert_close(adc.jvp(again, copied(args), dots), adc.jvp(f, copied(args), dots))
    hvp = adc.hvp(f, copied(args), dots, argnums=argnums)
    assert_close(adc.hvp(again, copied(args), dots, argnums=argnums), hvp)
    interpreted = jit_grad(again, argnums=argnums, _engine="interpreter").grad.jvp(copied(args), dots)[1]
    assert_close(interpreted, hvp)


def test_gradients_of_gradients() -> None:
    inner = adc.checkpoint(power)

    def f(x, n):
        return inner(x, n) * inner(x * x, n)

    def direct(x, n):
        return power(x, n) * power(x * x, n)

    second = adc.grad(adc.grad(f))(0.7, 4)
    step = 1e-6
    first = adc.grad(direct)
    assert second == pytest.approx((first(0.7 + step, 4) - first(0.7 - step, 4)) / (2 * step), rel=1e-7)
    np.testing.assert_allclose(adc.hessian(f)(0.7, 4), second, rtol=1e-12)

    def taken_inside(x, n):
        return adc.grad(f)(x, n) * x

    def pushed_inside(x, n):
        return adc.jvp(lambda y: f(y, n), (x,), (1.0,))[1] * x

    for g in (taken_inside, pushed_inside):
        assert jit_grad(g)(0.7, 4) == pytest.approx(first(0.7, 4) * 0.7, rel=1e-12)
        assert adc.jvp(g, (0.7, 4), (1.0, None))[1] == pytest.approx(first(0.7, 4) + 0.7 * second, rel=1e-11)
        assert adc.grad(g)(0.7, 4) == pytest.approx(first(0.7, 4) + 0.7 * second, rel=1e-11)


def steep(u, n):
    for i in range(n):
        if u[i] > 2.0:
            raise ValueError(f"too steep at {i}")
        u[i] = u[i] * u[0]
    return u[n - 1]


def test_errors_leave_as_they_are() -> None:
    inner = adc.checkpoint(steep)

    @jit_grad
    def f(u, n):
        return inner(u, n) + inner(u, n)

    u = np.array([1.1, 1.0, 3.0])
    with pytest.raises(ValueError, match="too steep at 2"):
        f.grad(u, 3)
    with pytest.raises(IndexError, match="3 is out of bounds"):
        f.grad(np.array([1.0, 1.0, 1.0]), 4)
    np.testing.assert_allclose(f.grad(u, 2), differences(f.__wrapped__, (u, 2), (0,))[0], rtol=1e-7)


@pytest.mark.parametrize("threads", [1, 3])
def test_loops_on_threads_and_short_floats(threads: int) -> None:
    f, _, _ = in_parallel(adc.checkpoint)
    g, _, _ = in_parallel(plain)
    for dtype, tolerance in ((np.float64, 1e-11), (np.float32, 2e-4)):
        u = RNG.random(400).astype(dtype)
        found = jit_grad(f, argnums=(0, 1), threads=threads).grad(u, 0.4)
        assert found[0].dtype == dtype
        assert_close(found, jit_grad(g, argnums=(0, 1)).grad(u, 0.4), tolerance)


# Memory ---------------------------------------------------------------------------------------------------------------


def heavy(u, x):
    v = u
    for _ in range(10):
        v = np.sin(v) * x + u
    return v


def heavy_in_place(u, x):
    for _ in range(10):
        u[:] = np.sin(u) * x + u


def chain(again: Again) -> Any:
    h = again(heavy)

    def f(u, x):
        a = h(h(h(h(h(u, x), x), x), x), x)
        a = h(h(h(h(h(a, x), x), x), x), x)
        a = h(h(h(h(h(a, x), x), x), x), x)
        a = h(h(h(h(h(a, x), x), x), x), x)
        return np.sum(a)

    return f


def loop(again: Again) -> Any:
    h = again(heavy_in_place)

    def f(u, x):
        v = u.copy()
        for _ in range(20):
            h(v, x)
        return np.sum(v)

    return f


def nest(again: Again) -> Any:
    h = again(heavy_in_place)

    @again
    def several(v, x):
        for _ in range(4):
            h(v, x)

    def f(u, x):
        v = u.copy()
        for _ in range(20):
            several(v, x)
        return np.sum(v)

    return f


# Arrays that are there at a time with checkpoint, at most; how often each sine is computed.
MEMORY = {chain: (100, 20, 1), loop: (40, 20, 1), nest: (50, 80, 2)}


@pytest.mark.parametrize("make", MEMORY)
def test_memory_and_repetitions(make: Any) -> None:
    most, calls, again = MEMORY[make]
    u = RNG.random(40)
    peaks = []
    for fn, runs in ((plain, 1), (adc.checkpoint, 1 + again)):
        f = make(fn)
        peak, statistics = measured(jit_grad(f), f, [u, 0.3], (0,))
        peaks.append(peak / u.nbytes)
        assert statistics.executed[ops.sin] == runs * calls * 10 * u.size
    assert peaks[1] < most < 0.5 * peaks[0]


def test_steps_that_keep_no_more_than_their_state() -> None:
    """However many steps there are: what calls keep is freed when a piece has been reversed."""

    def make(schedule: Any) -> Any:
        h = adc.checkpoint(heavy_in_place)

        def f(u, x, n):
            v = u.copy()
            for _ in adc.steps(n, checkpoint=schedule):
                h(v, x)
            return np.sum(v)

        return f

    u = RNG.random(40)
    f = make("recompute-all")
    compiled = jit_grad(f, argnums=(0, 1))
    few, many = (measured(compiled, f, [u, 0.3, n], (0,))[0] for n in (4, 12))
    assert many == few
    assert_close(compiled.grad(u, 0.3, 12), jit_grad(make(None), argnums=(0, 1)).grad(u, 0.3, 12))


def test_schedules_inside_each_other_keep_what_they_say() -> None:
    def f(u, days, per_day):
        v = u.copy()
        for _ in adc.steps(days, checkpoint="recompute-all"):
            for _ in adc.steps(per_day, checkpoint=adc.revolve(3)):
                v[1:] = np.sin(v[:-1]) + v[1:]
        return np.sum(v)

    u = RNG.random(100)
    few, many = (measured(jit_grad(f), f, [u, days, 6], (0,))[0] for days in (3, 12))
    assert many == few


def test_forecasts() -> None:
    """What is predicted is enough, and what is allowed is kept to."""
    h, g = adc.checkpoint(fresh), adc.checkpoint(heavy_in_place)

    def f(u, c, n):
        v, w = h(u, c)
        g(v, c)
        for _ in range(n):
            v[1:] += c * np.sin(v[:-1]) * w[1:]
        return np.sum(v)

    u, n = RNG.random(200), 14
    stored = jit_grad(f, argnums=(0, 1))
    table, expected = stored.grad.forecast(u, 0.3, n), stored.grad(u, 0.3, n)
    for budget in (table.least, 2 * table.least):
        compiled = jit_grad(f, argnums=(0, 1), memory=budget)
        predicted = compiled.grad.forecast(u, 0.3, n).peak
        taken, _ = measured(compiled, f, [u, 0.3, n], (0,))
        assert taken - 4096 <= predicted <= budget and predicted <= 1.1 * taken + 8192
        assert_close(compiled.grad(u, 0.3, n), expected)


# The function itself --------------------------------------------------------------------------------------------------


def test_outside_of_compiled_code_it_is_the_function() -> None:
    def f(x, *, k=2):
        """Doubled."""
        return k * x

    g = adc.checkpoint(f)
    assert g(3.0) == 6.0 and g(3.0, k=5) == 15.0
    assert g.__name__ == "f" and g.__doc__ == "Doubled."
    assert Checked(3.0).always(2.0) == 12.0
    with pytest.raises(errors.AdcError, match="takes a function, not float"):
        adc.checkpoint(3.0)  # type: ignore[arg-type]
    with pytest.raises(errors.AdcError, match="takes a function"):
        jit_grad(lambda x: adc.checkpoint(3.0)(x))(1.0)


def test_a_function_that_is_differentiated_itself() -> None:
    power_ = adc.checkpoint(power)
    expected = adc.grad(power, argnames="x")(0.7, 3)
    assert adc.grad(power_, argnames="x")(0.7, 3) == expected
    assert jit_grad(power_).grad(0.7, 3) == expected["x"]
    assert jit_grad(lambda x: adc.grad(power_)(x, 3))(0.7) == expected["x"]


def test_the_report_says_so() -> None:
    f, args, _ = in_place(adc.checkpoint)
    compiled = jit_grad(f)
    compiled.grad(*copied(args))
    assert "calls of smooth" in str(compiled.grad.report())
    assert "run again; kept until then: copies of u" in str(compiled.grad.report())
    g, args, _ = overlapping(adc.checkpoint)
    compiled = jit_grad(g)
    compiled.grad(*copied(args))
    assert "keep a tape: it writes to an array that may overlap another one" in str(compiled.grad.report())


def test_calls_in_loops_are_inlined_where_nothing_is_differentiated() -> None:
    f, _, _ = in_parallel(adc.checkpoint)
    assert not re.search(r"call @(row|power)", jit_grad(f).dump_ir("lowered", "f64[::1], f64"))
