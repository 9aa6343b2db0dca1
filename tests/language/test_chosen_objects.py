"""Objects chosen at run time: each is one object under all its names."""

from __future__ import annotations

import numpy as np
import pytest

from adc import jit_grad
from adc.errors import CompileError
from tests.programs.harness import check

X = np.array([0.4, -0.3, 1.7, 0.8, 0.1])


class Cell:
    def __init__(self, at):
        self.at = at
        self.mass = 0.0


def item_in_a_variable(x):
    cells = [Cell(k + 0.5) for k in range(3)]
    for v in x:
        cell = cells[int(abs(v)) % 3]
        cell.mass += v * cell.at
    return sum(c.mass**2 for c in cells)


def grid(x):
    cells = [[Cell(i + 0.5 * j) for j in range(2)] for i in range(2)]
    for v in x:
        cells[int(abs(v)) % 2][int(abs(3 * v)) % 2].mass += v
    for v in x:
        row = cells[int(abs(v)) % 2]
        cell = row[int(abs(7 * v)) % 2]
        cell.mass *= 1 + 0.1 * cell.at
        for other in row:
            other.at += 0.1 * v
    return sum(c.mass**2 * c.at for row in cells for c in row)


def best_of_a_loop(x):
    cells = [Cell(k + 0.5) for k in range(3)]
    best = cells[0]
    for v in x:
        k = int(abs(v)) % 3
        if cells[k].mass <= best.mass:
            best = cells[k]
        best.mass += v * v
    return sum(c.mass**2 for c in cells) + best.at


def chosen_by_a_condition(x):
    a, b = Cell(1.0), Cell(x[0])
    best = a if a.at < b.at else b
    best.mass = x[1]
    b.mass += 3 * x[2]
    return a.mass + 10 * b.mass


def nearer(a, b):
    return a if a.at < b.at else b


def returned(x):
    a, b = Cell(1.0), Cell(x[0])
    nearer(a, b).mass = x[1]
    return a.mass + 10 * b.mass


def item(cells, k):
    return cells[k]


def item_returned(x):
    cells = [Cell(1.0), Cell(x[0])]
    best = item(cells, int(x[0] > 0))
    best.mass = x[1]
    cells[1].mass *= x[2]
    return cells[0].mass + 10 * cells[1].mass


def given_or_new(x):
    def some(cell, v):
        return cell if v > 0 else Cell(3.0)

    a = Cell(1.0)
    b = some(a, x[0])
    b.mass = x[1]
    c = some(a, -x[0])
    c.mass += x[2]
    return a.mass + b.at * b.mass + c.mass


def returned_beside_what_it_may_be(x):
    def three(a, b):
        return (a if a.at > b.at else b), a, b

    best, a, b = three(Cell(1.0), Cell(x[0]))
    best.mass = x[1]
    a.mass += 1
    b.mass *= 3
    return a.mass + 10 * b.mass + best.mass


def passed_with_what_it_may_be(x):
    def told(p, q):
        p.mass = x[2]
        return q.mass

    a, b = Cell(1.0), Cell(2.0)
    best = a if x[0] > 0 else b
    return told(best, a) * x[1] + a.mass


class Pair:
    def __init__(self, a, b):
        self.a = a
        self.b = b
        self.best = None

    def choose(self):
        self.best = self.a if self.a.at > self.b.at else self.b


def attribute(x):
    pair = Pair(Cell(1.0), Cell(x[0]))
    for v in x:
        pair.choose()
        pair.best.mass += v
        pair.a.at -= pair.best.mass
    return pair.a.mass + 10 * pair.b.mass + pair.best.at


def least_by_a_key(x):
    cells = Cell(1.0), Cell(2.0), Cell(x[0])
    best = min(cells, key=lambda c: c.at)
    best.mass = x[1]
    cells[2].mass += 3
    first, *rest = sorted(cells, key=lambda c: -c.at)
    first.mass += x[2]
    return sum((k + 1) * c.mass * c.at for k, c in enumerate(cells)) + rest[0].mass


def chosen_of_new(v):
    a, b = Cell(1.0), Cell(v)
    return (a if v > 0 else b), a, b


def chosen_in_a_call(x):
    best, a, b = chosen_of_new(x[0])
    best.mass = x[1]
    a.mass += 1
    return a.mass + 10 * b.mass + best.mass


def chosen_in_a_call_of_a_call(x):
    def again(v):
        return Pair(*chosen_of_new(v)[1:]), chosen_of_new(v)

    pair, (best, a, b) = again(x[0])
    best.mass = x[1]
    a.mass += 1
    pair.choose()
    pair.best.mass += x[2]
    return a.mass + 10 * b.mass + best.mass + 100 * pair.a.mass + 1000 * pair.b.mass


def in_an_attribute_that_a_call_chose(x):
    def made(v):
        pair = Pair(Cell(1.0), Cell(v))
        pair.choose()
        return pair

    pair = made(x[0])
    pair.best.mass = x[1]
    pair.a.mass += 1
    return pair.a.mass + 10 * pair.b.mass + pair.best.mass


def given_and_new(x):
    def some(cell, v):
        other = Cell(3.0)
        return (cell if v > 0 else other), other

    a = Cell(1.0)
    c, b = some(a, x[0])
    c.mass += x[1]
    a.at += c.mass
    b.mass += a.at * 2
    return a.mass + b.mass * 3 + c.mass + a.at


def identity(x):
    a, b = Cell(1.0), Cell(2.0)
    c = a if x[0] > 0 else b
    y = (x[1] if c is a else x[2]) + (x[3] if c is not b else 2 * x[4])
    return y * (x[3] if c in [b] else x[4]) + (1.0 if c == a else 2.0)


def first_that_is_far(x):
    def far(cells, least):
        for cell in cells:
            if cell.at > least:
                return cell
        return cells[0]

    cells = [Cell(1.0), Cell(x[0])]
    far(cells, x[3]).mass = x[1]
    next(c for c in cells if c.at < 1.5).mass += x[2]
    return cells[0].mass + 10 * cells[1].mass


PROGRAMS = (
    first_that_is_far,
    item_in_a_variable,
    grid,
    best_of_a_loop,
    chosen_by_a_condition,
    returned,
    item_returned,
    given_or_new,
    returned_beside_what_it_may_be,
    passed_with_what_it_may_be,
    attribute,
    least_by_a_key,
    chosen_in_a_call,
    chosen_in_a_call_of_a_call,
    in_an_attribute_that_a_call_chose,
    given_and_new,
    identity,
)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(f):
    check(f, (X,), (-X,))


def test_lists_are_not_mixed_up():
    """Also where a call has chosen."""

    def shorter(a, b):
        return a if a[0] < b[0] else b

    def f(x):
        a, b = [1.0, 2.0], [x[0], 3.0]
        shorter(a, b)[0] = x[1]
        return a[0] + 10 * b[0]

    for x in (X, -X, X + 2.0):
        value, derivative = jit_grad(f).value_and_grad(x)
        assert value == f(x)
        chosen = 1.0 if x[0] > 1.0 else 10.0
        assert list(derivative[:2]) == ([10.0, 1.0] if chosen == 1.0 else [0.0, 10.0])


def first_of_its_own(v):
    cells = []
    for k in range(3):
        if k > v - 5:
            cells.append(Cell(v + k))
    return cells[0]


def test_objects_that_two_calls_made_are_not_told_apart_in_silence():
    def f(x):
        a, b = first_of_its_own(x[0]), first_of_its_own(x[1])
        c = a if x[2] > 0 else b
        return x[3] if c is a else x[4]

    with pytest.raises(CompileError, match="whether these are one object"):
        jit_grad(f)(X)


def test_an_object_of_a_call_beside_none_is_refused():
    def f(x):
        last = None
        for v in x:
            if v > 0:
                last = first_of_its_own(v)
        return last.at

    with pytest.raises(CompileError):
        jit_grad(f)(np.resize(X, 66))  # fewer are taken one by one


def test_a_function_that_calls_itself_and_chooses_of_what_it_makes_is_refused():
    def f(x):
        def go(k):
            a, b = Cell(x[k]), Cell(1.0)
            if k == 4:
                return (a if x[k] > 0 else b), a
            best, c = go(k + 1)
            best.mass += x[k]
            c.mass += 1
            return (best if x[k] > 0 else a), c

        return go(0)[0].mass

    with pytest.raises(CompileError, match="in one case"):
        jit_grad(f)(X)


def test_a_list_chosen_for_an_object_keeps_its_names():
    def f(x):
        a, b, kept = [1.0, 2.0], [x[0], 3.0], []
        for v in x:
            if v > 0:
                kept.append(Kept([v, 1.0]))
        kept.append(Kept(a if x[0] > 0 else b))
        a[0] = 5.0
        return sum(k.items[0] for k in kept) * x[1]

    for x in (X, -X):
        assert jit_grad(f)(x) == f(x)


class Kept:
    def __init__(self, items):
        self.items = items


class Ball:
    def __init__(self, centre, radius):
        self.centre = np.array(centre)
        self.radius = radius

    def distance(self, origin, way):
        to = self.centre - origin
        along = to @ way
        left = along**2 - to @ to + self.radius**2
        return along - np.sqrt(left) if left > 0 else np.inf


def closest(balls, origin, way, depth=0):
    least, hit = np.inf, None
    for ball in balls:
        t = ball.distance(origin, way)
        if t < least:
            least, hit = t, ball
    if hit is None:
        return 0.25
    if depth < 2:
        return least + 0.5 * closest(balls, origin + 0.01 * (depth + 1), way, depth + 1)
    return least * hit.radius + hit.centre[2]


def rays(x):
    balls = [Ball([0.0, 0.0, 5.0], 1 + x[0] ** 2), Ball([0.5, x[1], 4.0], 0.6), Ball([9.0, 0.0, 1.0], x[3])]
    origin = np.array([0.0, 0.1, x[4]])
    return sum(
        closest(balls, origin, np.array(way) / 3) for way in ([0.0, 0.0, 3.0], [1.0, 2.0, 2.0], [2.0, -1.0, 2.0])
    )


def test_one_of_three_or_none():
    check(rays, (X,))
