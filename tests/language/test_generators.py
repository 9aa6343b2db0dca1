"""Generator functions: loops over what they yield, and lists of it."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

import adc
from adc.errors import AdcError
from tests.language.generators_elsewhere import SCALE, scaled
from tests.programs.harness import check

V = np.array([0.3, 1.25, -0.7, 2.0, 0.45])
assert SCALE == 3.0


def pairs(points, cutoff=2.5):
    n = len(points)
    for i in range(n):
        for j in range(i + 1, n):
            r = np.sqrt((points[i] - points[j]) ** 2)
            if r < cutoff:
                yield i, j, r


def neighbours(x):
    r, n = 0.5, 2.0  # names of the generator's, too
    total = 0.0
    for i, j, d in pairs(x, cutoff=1.5):
        total += x[i] * x[j] / (1.0 + d)
    return total * r * n + sum(d * d for _, _, d in list(pairs(x)))


def left_early(x):
    total = 0.0
    for i, _, d in pairs(x):
        if d < 0.2:
            continue
        total += d * x[i]
        if total > 1.0:
            break
    else:
        total += 100.0
    for _, _, d in pairs(x, 0.1):
        total -= d
    else:
        total *= 2.0
    return total


def integrate(f, y, dt, n):
    t = 0.0
    for _ in range(n):
        yield t, y
        y = y + dt * f(t, y)
        t += dt


def trajectory(x):
    def spring(t, y):
        return np.array([y[1], -x[0] * y[0]])

    total = 0.0
    for k, (t, y) in enumerate(integrate(spring, np.array([x[1], x[2]]), 0.1, 9), 2):
        total += k * y[0] ** 2 * np.exp(-t)
    return total


def count_from(k):
    while True:
        yield k
        k += 1


def endless(x):
    total = 0.0
    for k in count_from(2):
        total += x[k % 5] * k
        if k > 12 or total > 50.0:
            break
    return total


def inner(x):
    scale = 2.0

    def fibonacci(n):
        u, v = x[0], x[1]
        for _ in range(n):
            yield u * scale
            u, v = v, u + v
        yield from (v, u)

    def outer():
        yield x[2]
        for w in fibonacci(3):
            yield w * 2.0
        yield from fibonacci(2)

    first = sum(fibonacci(6))
    scale = 3.0
    return first + sum(outer()) * max(fibonacci(4)) + len(list(outer()))


def returns(x):
    def firsts(limit):
        for v in x:
            if v > limit:
                return
            yield v
            v = v * 2.0
            yield v

    def search(limit):
        for v in firsts(1.5):
            if v < limit:
                return v * 7.0
        return -1.0

    total = search(-0.2) + search(-9.0) * x[0]
    for v in firsts(1.2):
        for w in firsts(5.0):
            if w > 2.0:
                break
            total += v * w
    return total


class Tree:
    def __init__(self, value, *children):
        self.value, self.children = value, children

    def walk(self):
        yield self.value
        for child in self.children:
            yield from child.walk()


def trees(x):
    tree = Tree(x[0], Tree(x[1], Tree(x[2])), Tree(x[3]))
    found = list(tree.walk())
    return sum(v * v for v in found) + np.prod(np.array(found)) + sorted(tree.walk())[0]


def in_turns(x):
    u = x.copy()
    count = 0

    def steps(n):
        nonlocal count
        for k in range(n):
            u[1:-1] += 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
            count += 1
            yield k, u

    total = 0.0
    for _ in range(int(x[3] + 0.5)):
        for k, w in steps(3):
            total += w.sum() * k  # w is u, which both change
            u[0] *= 0.9
    if x[0] > 0:
        for k, w in steps(2):
            w[1] = x[2]
            total += w[2] * k
    return total + u[2] * count


def of_another_module(x):
    SCALE = 7.0  # not the one that the generator reads
    return sum(scaled(x)) * SCALE + sum(map(lambda v: v * SCALE, x))


def comprehensions(x):
    i = 2
    weights = [x[i] * d for i, _, d in pairs(x, 1.5) if d > 0.2]
    count = sum(1 for _ in pairs(x))
    total = max(d for *_, d in pairs(x)) + sum(d * w for i, j, d in pairs(x) for w in x[i:j] if w > 0.0)
    return total * count + np.sum(np.array([d for _, _, d in pairs(x)])) + sum(weights) * i


PROGRAMS = [
    *(comprehensions, neighbours, left_early, trajectory, endless),
    *(inner, returns, trees, in_turns, of_another_module),
]


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(fn):
    check(fn, (V,))


def twice(found):
    first = sum(r for _, _, r in found)
    return first + sum(r for _, _, r in found)


def gone_through_twice(x):
    return twice(pairs(x))


def in_turn(values):
    total = 0.0
    for _ in range(2):
        for v in values:
            total += v
    return total


def gone_through_again(x):
    return in_turn(2.0 * v for v in x)


def beside(x):
    return sum(k * v for k, v in zip(count_from(0), x))


def sent(x):
    def echo():
        y = yield x[0]
        yield y

    return sum(echo())


def summed_twice(x):
    g = (v * v for v in (x[0], x[1]))
    return sum(g) + sum(g)


def late(x):
    factor = 2.0
    g = (factor * x[k] for k in range(3))
    factor = 3.0
    return sum(g)


def between(x):
    total = 0.0
    for v in (x[k] for k in range(3)):
        total += v
        x[2] = 5.0
    return total


def stopped(x):
    def items():
        yield x[0]
        raise StopIteration

    return sum(items())


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (gone_through_twice, r"what pairs\(\) gives cannot be kept"),
        (gone_through_again, "a generator expression cannot be kept"),
        (beside, r"what count_from\(\) gives cannot be kept"),
        (sent, "what yield gives back"),
        (summed_twice, "a generator expression cannot be kept"),
        (stopped, r"write return"),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_refused(fn, message):
    with pytest.raises(AdcError, match=message):
        adc.jit_grad(fn)(V)


def used_where_they_stand(x):
    a, b = (v * v for v in (x[0], x[1]))
    most = max(*(x[k] for k in range(3)))
    most += math.prod(x[k] for k in range(3)) + [0.0, *(x[k] for k in range(2))][2]
    return a + 2.0 * b + most + sum(p * q for p, q in zip((x[k] for k in range(3)), (1.0, 2.0, 3.0)))


def test_generator_expressions_where_they_are_used():
    assert adc.jit_grad(used_where_they_stand)(V) == used_where_they_stand(V)
    assert adc.check_grads(used_where_they_stand, (V,)) is None


def handed_out(events, x):
    events.append(1.0)
    return x


class Counted:
    def __init__(self, x):
        self.x, self.calls = x, 0

    def itself(self):
        self.calls += 1
        return self

    def items(self):
        for v in self.x:
            yield v * self.calls


def evaluated_once(x):
    events, rows = [0.0], [x, 2.0 * x, 3.0 * x]
    total = sum(v * v for v in rows.pop().copy()) + len(rows)
    squares = [v * v for v in handed_out(events, x).copy()]
    counted = Counted(x)
    return total + squares[1] * len(events) + sum(v for v in counted.itself().items()) * counted.calls


def asked_late(x):
    events = []

    def noisy(k):
        for v in x:
            events.append(k)
            yield v

    def start():
        events.append(5.0)
        return x[0]

    total = sum(noisy(1.0), start()) + sum((v * v for v in noisy(2.0)), start())
    for k in range(len(events)):
        total = 0.9 * total + events[k]
    return total


def item_by_item(x):
    a, seen = x * 1.0, 0.0

    def items():
        nonlocal seen
        for i in range(len(a)):
            seen += 1.0
            yield a[i]

    def mix(total, v):
        a[3] += 0.25
        return 0.5 * total + v * seen

    def rank(v):
        a[2] -= 0.5
        return v * seen

    total = functools.reduce(mix, items(), x[1]) + functools.reduce(mix, (v * v for v in items() if v > 0.0))
    most, least = max(items(), key=rank), min((v * w for v in items() for w in scaled(x) if w > v), key=rank)
    return total + 2.0 * most + 3.0 * least + max(scaled(x[:0]), key=rank, default=x[4])


def with_functions_inside(x):
    def scaled_twice(k, v):
        def product(k, more=1.0):
            return k * more

        square = lambda v: v * v
        for i, w in enumerate(scaled(x)):
            yield product(k=w, more=k) + i * square(v=v)

    return sum(scaled_twice(2.0, x[0]))


@pytest.mark.parametrize("fn", [evaluated_once, asked_late, item_by_item, with_functions_inside, late, between])
def test_what_happens_between_items(fn):
    check(fn, (V,))


def nothing_folded(x):
    return functools.reduce(lambda a, b: a * b, scaled(x))


def nothing_ranked(x):
    return min(scaled(x), key=abs)


def never_set(x):
    def items():
        if x[0] > 100.0:
            late = 1.0
        yield late

    return sum(items())


@pytest.mark.parametrize(
    ("fn", "kind", "message"),
    [
        (nothing_folded, TypeError, r"reduce\(\) of empty iterable with no initial value"),
        (nothing_ranked, ValueError, r"min\(\) iterable argument is empty"),
        (never_set, UnboundLocalError, r"'late'"),
    ],
)
def test_errors_of_python(fn, kind, message):
    compiled = adc.jit_grad(fn)
    for f in (fn, compiled):
        with pytest.raises(kind):
            f(V[:0] if fn is not never_set else V)
    with pytest.raises(kind, match=message):
        compiled(V[:0] if fn is not never_set else V)


def test_an_error_in_a_generator_stands_at_its_line():
    def f(x):
        total = 0.0
        for v in scaled(x, "no number"):
            total += v
        return total

    with pytest.raises(AdcError) as caught:
        adc.jit_grad(f)(V)
    assert "generators_elsewhere.py" in str(caught.value)
