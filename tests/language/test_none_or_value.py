"""Variables that are None first and a number, an array or a tuple later."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adc
from tests.programs.harness import check

V = np.array([0.3, -0.7, 1.1, 0.4])


class Optimiser:
    def __init__(self) -> None:
        self.momentum: Any = None
        self.last: Any = None
        self.steps = 0

    def step(self, g):
        if self.momentum is None:
            self.momentum = np.zeros_like(g)
        self.momentum = 0.9 * self.momentum + 0.1 * g
        self.steps += 1
        return self.momentum

    def change(self, x):
        found = 0.0 if self.last is None else x - self.last
        self.last = x * x
        return found


def extremum(v, n):
    best = None
    for a in v:
        if best is None or a > best:
            best = a
    return best * 2.0 + abs(best) ** n


def recurrence(v, n):
    last, total = None, 0.0
    k = 0
    while k < len(v) * n:
        if last is not None:
            total += math.sin(last) * v[k % 4]
        last = v[k % 4] if last is None else 0.5 * last + v[k % 4]
        k += 1
    return total + (last or 7.0)


def attributes(v, n):
    o = Optimiser()
    x, total = v.copy(), 0.0
    while o.steps < 2 * n:
        x -= 0.3 * o.step(np.cos(x))
        total += o.change(x[0])
    return np.sum(x * x) + total * o.last


def attributes_in_a_for(v, n):
    o = Optimiser()
    total = 0.0
    for k in range(3 * n):
        if o.last is None or abs(o.last - v[k % 4]) > 0.1:
            total += v[k % 4] ** 2
        o.last = v[k % 4] * 2
    return total * o.last


def arrays(v, n):
    before, total = None, 0.0
    for k in range(1, n + 2):
        row = v[k:] * k
        if before is not None:
            total += np.sum(row * before[: len(row)])
        before = row.copy()
    before[0] *= 2.0
    assert before is not None
    return total + np.sum(before)


def tuples(v, n):
    best = (None, -9.0)
    place = None
    for k in range(len(v)):
        if v[k] * n > best[1]:
            best = (k, v[k] * n)
            place = k, v[k]
    k, a = place
    return best[1] * v[best[0] or 0] + a * k


def items(v, n):
    d = {"best": None, "count": 0}
    for a in v:
        if d["best"] is None or a < d["best"]:
            d["best"] = a
        d["count"] += 1
    return d["best"] * d["count"] * n


def first_above(v, limit):
    for a in v:
        if a > limit:
            return a * a
    return None


def returned(v, n):
    found = first_above(v, 0.35)
    if not found:
        return v[0]
    other = first_above(v, 5.0)
    return found * (2.0 if other is None else other) * n


def passed(v, n):
    def smooth(last, a):
        if last is None:
            return a
        return 0.5 * last + a * a

    last = None
    for a in v:
        last = smooth(last, a)
    kept = np.zeros(2)
    kept[1] = last
    assert last is not None
    return math.exp(last) + kept.sum() * n


def complex_numbers(v, n):
    best = None
    for a in v:
        z = (a + 1j) ** 2
        if best is None or abs(z) > abs(best):
            best = z
    return best.imag * n + best.real


@pytest.mark.parametrize(
    "fn",
    [extremum, recurrence, attributes, attributes_in_a_for, arrays, tuples, items, returned, passed, complex_numbers],
    ids=lambda f: f.__name__,
)
def test_values_and_gradients(fn):
    check(fn, (V, 2))


def test_second_derivatives_and_maps():
    np.testing.assert_allclose(
        adc.hessian(lambda v: attributes(v, 1))(V), adc.jacobian(adc.grad(lambda v: attributes(v, 1)))(V), rtol=1e-13
    )
    rows = np.stack([V, 2 * V, -V])
    mapped = adc.vmap(lambda v: recurrence(v, 2))
    np.testing.assert_array_equal(adc.jit_grad(lambda m: mapped(m))(rows), [recurrence(v, 2) for v in rows])


def test_single_precision():
    def f(v):
        last = None
        for a in v:
            last = a if last is None else last * np.float32(0.5) + a
        return last

    found = adc.jit_grad(f)(V.astype(np.float32))
    assert found == f(V.astype(np.float32)) and type(found) is np.float32


def test_none_is_returned():
    def f(v):
        best = None
        for a in v:
            if a > 1.0:
                best = a
        return best

    compiled = adc.jit_grad(f)
    assert compiled(V) == f(V) and compiled(V[:2]) is None


def doubled(best, v):
    for a in v:
        best = a
    return best * 2.0


def subtracted(best, v):
    for a in v:
        best = a
    return 3.0 - best


def greater(best, v):
    for a in v:
        best = a
    return best > 0.1


def negative(best, v):
    for a in v:
        best = a
    return -best


def real_part(best, v):
    for a in v:
        best = a
    return best.real


def sine(best, v):
    for a in v:
        best = a
    return math.sin(best) + np.exp(best)


@pytest.mark.parametrize("fn", [doubled, subtracted, greater, negative, real_part, sine], ids=lambda f: f.__name__)
def test_what_none_has_not(fn):
    compiled = adc.jit_grad(fn)
    assert compiled(None, V) == fn(None, V)
    for g in (fn, compiled):
        with pytest.raises(AttributeError if fn is real_part else TypeError):
            g(None, V[:0])


def test_no_unpacking_of_none():
    def f(v):
        pair = None
        for a in v:
            pair = a, 2 * a
        a, b = pair
        return a * b

    assert adc.jit_grad(f)(V) == f(V)
    with pytest.raises(TypeError, match="cannot unpack None"):
        adc.jit_grad(f)(V[:0])


def test_what_a_condition_says_ends_with_its_branch():
    def f(v, n):
        o = Optimiser()
        for k in range(n):
            if o.last is None and k > 1:
                o.last = v[k]
            elif o.last is not None:
                o.last = o.last * v[k]
        return -1.0 if o.last is None else o.last

    compiled = adc.jit_grad(f)
    assert [compiled(V, n) for n in range(5)] == [f(V, n) for n in range(5)]


def test_a_call_in_the_test_may_change_it():
    def f(v, n):
        o = Optimiser()

        def reset():
            o.last = None
            return True

        total = 0.0
        for k in range(n):
            o.last = v[k] if k % 2 else None
            if o.last is not None and reset():
                total += 1.0 if o.last is None else 100.0
        return total

    assert adc.jit_grad(f)(V, 4) == f(V, 4)


def test_library_functions_take_no_none():
    def f(v):
        last = None
        for a in v:
            last = v * a
        return np.sum(last)

    compiled = adc.jit_grad(f)
    assert compiled(V) == pytest.approx(f(V))
    with pytest.raises(TypeError, match="not None"):
        compiled(V[:0])


def test_way_out():
    def half(x):
        return np.sum(x) / 2

    def f(v):
        last = None
        for a in v:
            last = v * a
        return half(last)

    with pytest.raises(adc.errors.CompileTypeError, match="assert x is not None"):
        adc.jit_grad(f)(V)


def test_items_appended_on_paths():
    def f(v):
        found = []
        if v[0] > 0:
            found.append((None, v[0]))
        if v[1] > 0:
            found.append((2.0 * v[1], 3.0))
        return found

    compiled = adc.jit_grad(f)
    for signs in ([1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]):
        assert compiled(np.array(signs)) == f(np.array(signs))


@pytest.mark.parametrize("known", [True, False])
def test_none_and_arrays_appended_on_paths(known):
    def f(v):
        found = [None, v] if known else []
        if v[0] > 0:
            found.append(None)
        if v[1] > 0:
            found.append(v * 2)
        return found

    compiled = adc.jit_grad(f)
    for signs in ([1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]):
        expected, found = (g(np.array(signs)) for g in (f, compiled))
        assert [x is None for x in expected] == [x is None for x in found]
        assert all(np.array_equal(x, y) for x, y in zip(expected, found) if x is not None)


def test_constants_beside_arrays_refused():
    def f(v):
        found = []
        if v[0] > 0:
            found.append(("none", v))
        if v[1] > 0:
            found.append(("array", v))
        return found

    with pytest.raises(adc.errors.CompileTypeError, match="beside arrays"):
        adc.jit_grad(f)(V)
