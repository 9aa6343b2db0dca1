"""Arrays without dimensions, where NumPy treats them as numbers; and views of one element."""

from __future__ import annotations

import copy
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import numpy as np
import pytest

import adc

V = np.arange(6.0) + 1


def subscripts(v, s):
    i = np.array(2)
    return v[i], v[i:], v[:i], v.reshape(2, 3)[np.array(1), i], [v[k] for k in range(i)], max(s, 1.0), min(9.0, s)


def shapes(v, s):
    n = np.array(3 if s < 2.0 else 2)
    items = [1.0, 2.0, 3.0, 4.0]
    items[n] = s * 2.0
    return np.zeros(n), np.ones((n, 2)), v.reshape(n, -1), np.broadcast_to(s, (2, n)), np.eye(n), items, items[n]


def stored_through(v, s):
    a = v[0, ...]
    a[...] = 9.0
    b = v.reshape(2, 3)[..., 1, 2]
    b += 1.0
    c, d = s[()], s[...]
    d *= 2.0
    v[1] = s
    v[2:4] = d
    return a * 1, c, s * 1, v


def functions(v, s):
    made = np.linspace(0, s, 4), np.arange(s + 2), np.full((2,), s), np.zeros_like(v[0]), np.ones_like(s)
    products = np.dot(s, v), np.inner(v, s), np.outer(s, v)
    return *made, *products, np.full_like(2.0, s), np.append(v, s), np.stack([s, s]), np.cumsum(s)


def accumulated(v, s):
    total = np.zeros(())
    for a in v:
        total += a * s
        np.multiply(total, 0.5, out=total)
    return total, total.shape, total.item(), float(total), int(s), s.ravel(), s[None], np.atleast_1d(s)


def leaves(result: Any) -> list[Any]:
    return [x for item in result for x in leaves(item)] if isinstance(result, (tuple, list)) else [result]


@pytest.mark.parametrize("fn", [subscripts, shapes, stored_through, functions, accumulated], ids=lambda f: f.__name__)
def test_values(fn):
    expected = leaves(fn(*copy.deepcopy((V, np.array(2.5)))))
    found = leaves(adc.jit_grad(fn)(*copy.deepcopy((V, np.array(2.5)))))
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert np.shape(x) == np.shape(y) and np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_array_equal(x, y)


def test_texts():
    def f(s):
        print(f"{s:.2f} {s} {s * 2}")

    shown = []
    for g in (f, adc.jit_grad(f)):
        with redirect_stdout(StringIO()) as out:
            g(np.array(2.5))
        shown.append(out.getvalue())
    assert shown[0] == shown[1] == "2.50 2.5 5.0\n"


def test_gradients():
    def f(v, s):
        a = v[1, ...]
        a[...] = s * v[0]
        b = v.reshape(2, 3)[..., 1, 2]
        b *= a
        return np.sum(np.dot(s, v)) + np.sum(np.linspace(0, s, 4) * v[np.array(3)])

    grads = adc.grad(f, argnums=(0, 1))(V.copy(), np.array(2.5))
    eps = 1e-6
    for k in range(6):
        step = eps * np.eye(6)[k]
        differences = (f(V + step, np.array(2.5)) - f(V - step, np.array(2.5))) / (2 * eps)
        assert grads[0][k] == pytest.approx(differences, rel=1e-7, abs=1e-7)
    differences = (f(V.copy(), np.array(2.5 + eps)) - f(V.copy(), np.array(2.5 - eps))) / (2 * eps)
    assert grads[1] == pytest.approx(differences, rel=1e-7)


def test_the_truth_of_arrays_of_one_element():
    def f(d):
        scale = np.ones((len(d), 1))
        for i in range(len(d)):
            while scale[i] < d[i]:
                scale[i] = scale[i] * 2.0
            if not d[i, np.newaxis] > 1.0 or (scale[i, :] == 2.0 and d[i]):
                scale[i] += d[i] ** 2
        return scale.sum()

    for d in (V, np.array([0.0, 0.5, 3.5])):
        assert adc.jit_grad(f)(d) == f(d)
        np.testing.assert_array_equal(adc.grad(f)(d), np.where(d <= 2.0, 2.0 * d, 0.0))
