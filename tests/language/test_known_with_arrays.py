"""``zip`` and ``map`` of known items with an array whose length is known only at run time."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adc
from tests.programs.harness import check

W = (0.1, -0.2, 0.3)
V = np.array([0.3, -0.7, 1.1, 0.4])


def summed(v, m):
    total = sum(w * a for w, a in zip(W, v)) + sum(a for w, a in zip(W, v) if a > 0)
    rows = sum(w * row * row for w, row in zip((2.0, 3.0), m))
    return total * np.sum(rows) + sum(k * a for k, (w, a) in enumerate(zip(W, v)))


def extremes(v, m):
    best = max(w * a for w, a in zip(W, v)) - min([a * a for w, a in zip(W, m[1])])
    return best * (2.0 if any(a > 1.0 for w, a in zip(W, v)) else 3.0) + all(a < w for w, a in zip(W, v))


def functions(v, m):
    found = [w * f(a) for (f, w), a in zip([(math.sin, 1.0), (math.exp, 2.0)], v)]
    pairs = list(zip(W, v))
    found.extend(a * w for w, a in zip(W, v))
    return np.sum(np.array(found) ** 2) + pairs[1][0] * pairs[-1][1] + np.stack([w * r for w, r in zip(W, m)])[1, 0]


def of_one_length(v, m):
    named = dict(zip("abcd", v, strict=True))
    squares = {k: a * a for k, a in zip("abcd", v, strict=True)}
    first, second, *_ = zip("abcd", v, strict=True)
    p, q = map(lambda w, row: w * row[0], W, m)
    return named["c"] * squares["b"] + first[1] * second[1] + p * q


@pytest.mark.parametrize("fn", [summed, extremes, functions, of_one_length], ids=lambda f: f.__name__)
def test_values_and_gradients(fn):
    check(fn, (V, np.outer([1.0, 2.0], V)))


def test_as_long_as_the_shortest():
    def f(v):
        total, last = 0.0, 0.0
        kept = [w * a for w, a in zip(W, v)]
        for w, last in zip(W, v):
            total += w * last
        return total + sum(w * a for w, a in zip(W, v)), len(kept), last

    compiled = adc.jit_grad(f)
    for n in range(5):
        assert compiled(V[:n]) == f(V[:n])


def test_nothing_to_add_up():
    f = adc.jit_grad(lambda m: sum(w * row for w, row in zip(W, m)))
    np.testing.assert_array_equal(f(np.ones((1, 2))), [0.1, 0.1])
    with pytest.raises(ValueError, match="needs one of them at least"):
        f(np.ones((0, 2)))


@pytest.mark.parametrize("n", [2, 4])
def test_strict(n):
    def known(v):
        s = 0.0
        for w, a in zip(W, v, strict=True):
            s += w * a
        return s

    def arrays(v):
        return sum(a * b * w for a, b, w in zip(V[:3], V[1:], v, strict=True))

    for f in (known, arrays):
        with pytest.raises(ValueError) as expected:
            f(V[:n])
        with pytest.raises(ValueError) as raised:
            adc.jit_grad(f)(V[:n])
        assert str(expected.value) in str(raised.value)
        assert adc.jit_grad(f)(V[:3]) == f(V[:3])


def test_unpacked_into_too_few():
    def f(v):
        a, b = map(lambda w, x: w * x, W, v)
        return a * b

    assert adc.jit_grad(f)(V[:2]) == f(V[:2])
    with pytest.raises(ValueError, match="3 values cannot be unpacked into 2"):
        adc.jit_grad(f)(V)


def test_keys_need_all_items():
    def by_name(v):
        return dict(zip("abc", v))["a"]

    def rows(m):
        pairs = list(zip("abc", m))
        return sum(np.sum(row) * (2.0 if name == "b" else 1.0) for name, row in pairs)

    for f, given in ((by_name, V), (rows, np.outer(V, V))):
        compiled = adc.jit_grad(f)
        assert compiled(given) == pytest.approx(f(given), rel=1e-15)
        with pytest.raises(ValueError, match="each of them needs one"):
            compiled(given[:2])


def test_names_in_pairs():
    """Names of items that the run may leave out: a list of a length that is not known, of tuples with constants."""

    def f(v):
        pairs = list(zip("abc", v))
        total = 0.0
        for name, x in pairs:
            total += x * x if name == "b" else x
        return pairs, total

    compiled = adc.jit_grad(f)
    for n in (0, 1, 2, 4):
        assert compiled(V[:n]) == f(V[:n])
    assert np.array_equal(adc.grad(lambda v: f(v)[1])(V), [1.0, 2 * V[1], 1.0, 0.0])
