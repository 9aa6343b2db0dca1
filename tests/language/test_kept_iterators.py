"""Generator expressions and other iterators under a name, read once: as in Python to the bit; derivatives against
differences."""

from __future__ import annotations

import numpy as np
import pytest

from adc import jit_grad
from adc.errors import CompileError
from tests.language.as_in_python import check


def doubled(w):
    for x in w:
        yield x * 2


def in_a_loop(w):
    total = 0.0
    for i in range(3):
        scaled = (x * i for x in w)
        total += sum(scaled)
    return total


def variables_when_asked_for(w):
    k = 2.0
    g = (k * x for x in w)
    k = 3.0
    return sum(g) + k


def what_is_gone_through(w):
    xs = [w[0], w[1]]
    grown = (x * 2 for x in xs)
    xs.append(w[2])
    other = (x * 3 for x in xs)
    xs = [1.0]
    return sum(grown) + sum(other)


def what_is_gone_through_later(w):
    a = w.copy()
    g = (x for x in a)
    a[0] = 5.0
    a *= w[1]
    return sum(g)


def effects_in_order(w):
    n = 0

    def count(x):
        nonlocal n
        n += 1
        return x * n

    g = (count(x) for x in w)
    before = n
    total = sum(g)
    return total + before + 10 * n


def one_through_another(w):
    g = (a * b for a, b in zip(w, w[2:]))
    h = (v + 1.0 for v in g if v > 0.1)
    return sum(h)


def in_a_for(w):
    g = (x * x for x in w if x > 0.2)
    total = 0.0
    for v in g:
        if v > 0.7:
            continue
        total = total * 1.1 + v
        if total > 3.0:
            break
    else:
        total += 1.0
    for x in (2 * x for x in w[:2]):
        total += x
    return total


def pairs(w):
    both, numbered, squares = 0.0, 0.0, 0.0
    steps = zip(w[:-2], w[2:])
    for i in range(3):
        both += i * w[i]
    if both > 0.1:
        for a, b in steps:
            numbered += a * b
    items = enumerate(w)
    w = w * 2
    mapped = map(lambda x: x * x, w)
    backwards = reversed(w)
    for x in backwards:
        squares = squares * 0.5 + x
    return numbered + sum(i * x for i, x in items) + list(mapped)[2] + squares


def of_a_function(w):
    g = doubled
    smooth = doubled(w)
    all_of_it = g(w)
    total = 0.0
    for v in smooth:
        total += v * v
    if total > 0.0:
        total += sum(all_of_it)
    chosen = doubled(w)
    return total + max(x for x in chosen if x < 1.5)


def first(w):
    g = (x for x in w if x > 0.3)
    d = dict((i, x) for i, x in enumerate(w))
    return next(g) + d[2]


PROGRAMS = [
    in_a_loop, variables_when_asked_for, what_is_gone_through, what_is_gone_through_later, pairs, of_a_function,
    effects_in_order, one_through_another, in_a_for, first,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
def test_as_in_python(function):
    check(function)


def twice(w):
    g = (x for x in w)
    return sum(g) + sum(g)


def in_a_loop_around(w):
    g = zip(w, w)
    total = 0.0
    for _ in range(3):
        for a, b in g:
            total += a * b
    return total


def on_some_paths(w):
    if w[0] > 0:
        g = zip(w, w)
    else:
        g = zip(w, w[2:])
    return sum(a * b for a, b in g)


def in_a_lambda(w):
    g = enumerate(w)
    f = lambda: sum(i * x for i, x in g)
    return f() + f()


@pytest.mark.parametrize("function", [twice, in_a_loop_around, on_some_paths, in_a_lambda])
def test_read_more_than_once(function):
    with pytest.raises(CompileError) as refused:
        jit_grad(function)(np.ones(6))
    assert "test_kept_iterators.py" in str(refused.value)
    assert "help" in str(refused.value)
