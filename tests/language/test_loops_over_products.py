"""``for`` over ``itertools.product`` and others that count: loops in the code, unrolled only if the items must be
known."""

from __future__ import annotations

import itertools
from itertools import product

import numpy as np
import pytest

from adc import jit_grad
from tests.programs.harness import check

X = np.random.default_rng(5).normal(size=(4, 4))


def repulsion(x):
    g = np.zeros((3, 3, 3, 3))
    for a, b, c, d in product(range(3), repeat=4):
        g[a, b, c, d] = x[a, b] * x[c, d] + np.sum(np.exp(x[a] - x[d]))
    return np.sum(g * g)


def triples(x):
    total = 0.0
    for i, j, k in itertools.product(range(3), range(1, 3), range(3, 0, -1)):
        if i == j:
            continue
        if x[i, j] > 9.0:
            break
        total = total + np.cos(x[i, j]) * x[j, k] * (i - k)
    else:
        total *= 2
    return total * i


def of_rows(x):
    return sum(np.sin(u) * v * w for u, v, w in product(x[0], x[1], range(2)))


def appended(x):
    found = []
    for a, b in product(range(2), range(3)):
        found.append(x[a, b] ** 3)
    return np.sum(np.array(found) * np.arange(6.0)) + len(found)


def functions_by_counter(x):
    functions, total = (np.sin, np.cos), 0.0
    for a, b in product(range(2), range(2)):
        total += functions[a](x[a, b]) * (2 * b + 1)
    return total


def by_a_counter_of_enumerate(x):
    functions, total = (np.sin, np.cos, np.exp), 0.0
    for k, i in enumerate(range(1, 4)):
        total += functions[k](x[i, k])
    return total


def by_counters_of_zip(x):
    functions, total = (np.sin, np.cos, np.exp), 0.0
    for i, k in zip(range(1, 4), range(2, -1, -1)):
        total += functions[k](x[i, k])
    return total


def by_keys(x):
    pairs = {}
    for a, b in product(range(2), repeat=2):
        pairs[a, b] = x[a, b] * 2
    return pairs[0, 1] * pairs[1, 1]


def signs(x):
    total = 0.0
    for k, sign in product(range(3), (1, -1)):
        total += sign * x[k, k] ** (2 if sign == 1 else 3)
    return total


def none_of_nothing(x):
    total = 1.0
    for () in product():
        total += x[0, 0]
    for _, b in product(range(0), range(2)):
        total += x[b, b]
    return total * x[1, 1]


PROGRAMS = (
    repulsion, triples, of_rows, appended, functions_by_counter, by_a_counter_of_enumerate, by_counters_of_zip,
    by_keys, signs, none_of_nothing,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_products(program):
    check(program, (X,))


def test_code_does_not_grow_with_what_is_counted():
    def few(x):
        total = 0.0
        for a, b in product(range(2), repeat=2):
            total += np.sin(x[a, b])
        return total

    def more(x):
        total = 0.0
        for a, b in product(range(4), repeat=2):
            total += np.sin(x[a, b])
        return total

    counts = []
    for f in map(jit_grad, (few, more)):
        f(X)
        counts.append(f.dump_ir("traced").count("math.sin"))
    assert counts == [1, 1]
