"""``heapq``, ``bisect``, ``itertools`` and ``sorted``, and calls that determine the length of an array."""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
import operator
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import AdcError
from tests.programs.harness import check

V = np.array([0.3, 1.2, -0.7, 2.0, 0.4])


def fast_marching(slow, source):
    times = np.full(slow.shape, np.inf)
    times[source] = 0
    heap = [(0.0, source)]
    done = np.zeros(slow.shape, bool)
    while heap:
        t, (i, j) = heapq.heappop(heap)
        if done[i, j]:
            continue
        done[i, j] = True
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            a, b = i + di, j + dj
            if 0 <= a < slow.shape[0] and 0 <= b < slow.shape[1] and t + slow[a, b] < times[a, b]:
                times[a, b] = t + slow[a, b]
                heapq.heappush(heap, (times[a, b], (a, b)))
    return np.sum(times * times)


def test_fast_marching():
    check(fast_marching, (0.5 + np.random.default_rng(0).random((5, 4)), (0, 0)))


def heaps(x):
    heap = []
    for v in x:
        heapq.heappush(heap, v * v)
    total = heapq.heappushpop(heap, x[0]) + 2.0 * heapq.heapreplace(heap, x[1])
    for k in range(len(heap)):
        total += heap[k] * k  # where items are is seen
    other = [x[3], x[1], x[0], x[2]]
    heapq.heapify(other)
    total += other[0] - other[3] + 3.0 * sum(heapq.nlargest(2, x))
    return total - heapq.nsmallest(1, x, key=lambda v: v * v)[0]


def places(x):
    kept = []
    for v in x:
        bisect.insort(kept, v)
    grid = [0.0, 1.0, 2.0, 3.0]
    at = bisect.bisect(grid, x[1]) + bisect.bisect_left(kept, x[0]) * 10
    return at * x[0] + kept[0] * kept[-1] + bisect.bisect_right(kept, -x[3], key=lambda v: -v * v)


def orders(x):
    pairs = sorted(zip(x, range(len(x))))
    falling = sorted(zip(x, range(len(x))), reverse=True)
    signs = sorted(range(len(x)), key=lambda i: (int(x[i] > 0.35), 0))  # equal ones stay in their order
    known = sorted([(x[0], 1), (x[1], 0)], key=lambda t: (t[1], t[0]))
    total = sum(x[i] * k for k, i in enumerate(signs)) + known[0][0]
    return total + pairs[0][0] * pairs[1][1] + falling[0][0] * falling[1][1]


def streams(x):
    total = sum(v * v for v in itertools.chain(x, [1.0], x[1:])) + sum(itertools.islice(x, 1, None, 2))
    total += sum(k * v for k, v in enumerate(itertools.chain.from_iterable([(x[0], 2.0), (x[3],)])))
    total += sum(map(lambda a, b: a * b, x, x[1:])) + sum(itertools.starmap(min, [(x[0], x[1])]))
    total += sum(a * b for a, b in zip(x, itertools.repeat(2.0))) + sum(itertools.repeat(x[0], 3))
    total += sum(a * b for a, b in zip(x, itertools.count(2, 3))) + sum(itertools.islice(x, 2, 100))
    total += sum(a * b for a, b in zip(x, itertools.cycle([1.0, 2.0]))) + sum(map(sum, [[x[0], 1.0], [x[1]]]))
    return total + sum(a * b for a, b in zip(x, itertools.cycle(x[:3])))


def lists_of_streams(x):
    total = sum(itertools.accumulate(x)) + list(itertools.accumulate(x, lambda a, b: a * 0.5 + b))[-1]
    total += sum(itertools.accumulate(x, max, initial=0.1)) + sum(itertools.takewhile(lambda a: a > -0.5, x))
    total += 2 * sum(itertools.dropwhile(lambda a: a < 1, x)) + 3 * sum(itertools.filterfalse(lambda a: a > 0, x))
    return total + 5 * sum(itertools.compress(x, x > 0))


def endless(x):
    y = x[0]
    for n in itertools.count(1):
        d = np.sin(y) / n
        y = y + 0.1 * d
        if abs(d) < 0.05:
            break
    return y * n


@dataclass
class Triple:
    a: float
    b: float
    c: float

    def times(self, u, *, by=2.0):
        return self.a * self.c * u * by


def spread(x):
    def first(a, b, c):
        return a * b - c * c

    named = dict(zip(("p", "q", "r"), x))
    squares = {n: v * v for n, v in zip(["p", "q", "r"], x)}
    items, texts = tuple(zip("abc", x)), list(zip(["u", "v", "u"], x))
    total = named["p"] * squares["q"] + items[2][1] + sum(v * (2.0 if n == "u" else 3.0) for n, v in texts)
    y = x[:3]
    total += first(*y) + (lambda a, b: a * b)(*x[:2]) + Triple(*y).b * 3.0 + Triple(*y).times(*x[3:4])
    return total + first(x[0], *x[1:3]) + first(*x[:2], c=x[1])


def quiet(x):
    total = 0.0
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        y = np.where(x > 0, np.log(np.abs(x)), 0.0)
        for v in y:
            with np.errstate(all="ignore"):
                if v > 0.5:
                    return total * v
                total += v * v
    return total


class Settings:
    def __init__(self, **values):
        self.__dict__.update(values, scale=2.0)


def known_orders(x):
    given = {"b": x[0], "a": x[1]}
    total = 0.0
    for k, name in enumerate(sorted(given)):
        total += (k + 1) * given[name]
    for k, (_, value) in enumerate(sorted(given.items(), reverse=True)):
        total += (k + 3) * value
    names = sorted(["qq", "p"], key=len)
    second = operator.itemgetter(1)
    u, v = operator.itemgetter(0, 2)(x)
    return total + names.index("qq") * x[2] + second(x) * max(enumerate(x), key=second)[1] * u - v


def deletions(x):
    items, named, y = list(x), {"a": x[0], "b": x[1]}, 2.0 * x
    del items[0], named["a"]
    settings = Settings(first=y[2])
    total = 0.0
    for v in x:
        w = v * v
        total += w
        del w
    del y
    items.insert(int(x[1]), 3.0)
    return total * items[0] * named["b"] * settings.first * settings.scale * items.pop(int(x[3] + 0.5))


def places_from_the_end(x):
    v = np.sort(x)
    k = bisect.bisect_left(v, 9.0, 0, -1) + bisect.bisect_right(v, 9.0, 0, -2)  # to Python's own -1 is no number here
    return v[k - 1] * x[k - 4]


def test_what_was_deleted():
    def f(x):
        y = 2.0 * x
        del y
        return y  # noqa: F821

    def sometimes(x):
        y = 2.0 * x
        if x > 3.0:
            del y
        return y

    def in_a_loop(x):
        y = 2.0 * x
        for k in range(int(x)):
            if k > 3:
                del y
        return y

    def twice(x):
        y = 2.0 * x
        del y
        del y  # noqa: F821
        return x

    for function in (f, sometimes, in_a_loop, twice):
        with pytest.raises(AdcError, match="'y' was deleted"):
            adc.jit_grad(function)(1.0)


def test_what_is_deleted_where_it_is_not_read():
    def f(x):
        total, y = 0.0, 2.0 * x
        if x > 0.5:
            z = x * y
            total += z
            del z, y
        else:
            del y
        y = 3.0 * x
        return total * y

    check(f, (1.0,), (0.25,))


@pytest.mark.parametrize(
    "fn",
    [
        *(known_orders, deletions, heaps, places, places_from_the_end, orders),
        *(streams, lists_of_streams, endless, spread, quiet),
    ],
    ids=lambda f: f.__name__,
)
def test_values_and_gradients(fn):
    check(fn, (V,))


def test_an_array_that_is_too_short_for_what_is_known():
    def named(x):
        return dict(zip("pqr", x))["p"]

    with pytest.raises(ValueError, match="2 items is paired with 3 known items"):
        adc.jit_grad(named)(V[:2])

    def f(a, b):
        return a * b

    with pytest.raises(TypeError, match="takes 2 positional arguments but 5 were given"):
        adc.jit_grad(lambda x: f(*x))(V)


def test_empty_heaps():
    def popped(x, n):
        heap = []
        for k in range(n):
            heapq.heappush(heap, x[k])
        return heapq.heappop(heap)

    compiled = adc.jit_grad(popped)
    assert compiled(V, 3) == V[2]
    with pytest.raises(IndexError):
        compiled(V, 0)


@pytest.mark.parametrize("kinds", [{"divide": "raise"}, {"all": "call"}])
def test_errors_of_numpy_that_nobody_would_raise(kinds):
    def f(x):
        with np.errstate(**kinds):
            return 1.0 / x

    with pytest.raises(AdcError, match="is not supported: compiled code does not report"):
        adc.jit_grad(f)(V)


def test_changes_while_a_chain_is_gone_through_are_refused():
    def f(x):
        for v in itertools.chain(x, x):
            x[0] += v
        return x[0]

    with pytest.raises(AdcError, match="ahead of the loop"):
        adc.jit_grad(f)(V.copy())


def test_what_starmap_gives_does_not_change_with_the_arguments():
    def f(x, y):
        total = 0.0
        for z in itertools.starmap(np.add, [(x, y), (y, x)]):
            x[0] = 5.0
            total += z[0]
        kept = list(itertools.starmap(np.multiply, [(x, y)]))
        x[0] = 7.0
        return total + kept[0][0]

    check(f, (V, V + 1.0))


def test_fsum():
    exact = jit_grad(lambda x: math.fsum(x))
    given = np.random.default_rng(3)
    for n in (0, 1, 2, 9, 30):
        x = given.standard_normal(n) * 10.0 ** given.integers(-40, 40, n)
        x = np.concatenate([x, -x[::2], [1.0, 2.0**-53, 2.0**-106]])
        assert exact(x) == math.fsum(x)
        assert np.array_equal(exact.grad(x), np.ones(len(x)))
    squares = adc.grad(lambda x: math.fsum(v * v for v in x if v < 2))
    assert squares(np.array([1.0, -1.0, 3.0])).tolist() == [2.0, -2.0, 0.0]
    for x in ([1e308, 1e308], [np.inf, -np.inf]):
        with pytest.raises((OverflowError, ValueError), match="in fsum"):
            exact(np.array(x))
