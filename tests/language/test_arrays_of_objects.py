"""Arrays of objects in lists of run-time length that are changed in place: the object's own array, or a refusal."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from adc.errors import CompileError
from tests.programs.harness import check

X = np.array([0.5, 1.7, -0.3, 1.1])


class Body:
    def __init__(self, m, x, v):
        self.m = m
        self.x = x
        self.v = v

    def kick(self, d):
        self.v += d

    def push(self, dt):
        self.x += self.v * dt

    def x_now(self):
        return self.x

    def move_to(self, x):
        self.x = x


def made(x):
    return [Body(a, np.array([a, 2 * a]), np.zeros(2)) for a in x]


def attracting(x):
    bodies = made(x)
    for _ in range(3):
        for b in bodies:
            for o in bodies:
                if o is not b:
                    d = o.x - b.x
                    b.v += d * 0.1 / (d @ d + 1.0)
        for b in bodies:
            b.x += b.v * 0.1
    return sum(b.x @ b.x for b in bodies)


def elements_and_methods(x):
    bodies = made(x)
    for b in bodies:
        b.kick(np.array([1.0, b.m]))
        b.push(0.1)
        b.v[:] = 0
        b.v[0] = b.x[1]
        b.v[1] += b.m
        b.x[:] = b.x[::-1] * 2
        b.x[0:1] *= b.v[1]
    bodies[0].x += bodies[1].x
    bodies[0].x += bodies[0].x
    for b in [bodies[0], bodies[0]]:
        b.x *= 1.5
    return sum(b.x[0] * b.v[0] + b.x[1] for b in bodies)


def while_it_grows(x):
    bodies, out, total = [], [], 0.0
    for a in x:
        start = np.array([a, 1.0])
        start[1] = a * a
        bodies.append(Body(a, start, np.zeros(2)))
        bodies[0].x += 1.0
        for b in bodies:
            b.x *= 1.1
        kept = bodies[-1].x.copy()
        bodies[-1].x -= 2.0
        total += kept[0]
    for b in bodies:
        out.append(b.x.copy())
        b.x += 1.0
    return total + sum(b.x @ b.x for b in bodies) + np.sum(np.array(out) ** 2)


def chosen(x):
    bodies = made(x)
    best = bodies[0]
    for b in bodies:
        if b.x[0] > best.x[0]:
            best = b
    best.x[1] = 7.0 * x[0]
    bodies[len(x) - 1].x[1] += 1.0
    return sum(b.x[1] * b.x[1] for b in bodies)


PROGRAMS = [attracting, elements_and_methods, while_it_grows, chosen]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(program):
    check(program, (X,))


def test_other_lengths_and_schedules():
    compiled = jit_grad(attracting)
    for n in (0, 1, 3):
        assert compiled(X[:n]) == attracting(X[:n])
    assert np.array_equal(jit_grad(attracting, checkpoint="sqrt").grad(X), adc.grad(attracting)(X))


# Other names of the array: each of these gives something else in Python than with copies ------------------------------


def named(x):
    p = np.zeros(2)
    bodies = [Body(a, p, np.zeros(2)) for a in x]
    bodies[0].x += 1.0
    return bodies[1].x[0]


def named_in_loop(x):
    bodies, p = [], np.zeros(2)
    for a in x:
        p = np.array([a, a])
        bodies.append(Body(a, p, np.zeros(2)))
        bodies[-1].x += 1.0
    return p[0]


def read_before(x):
    bodies = made(x)
    p = bodies[0].x
    bodies[0].x += 1.0
    return p[0]


def changed_by_name(x):
    bodies = made(x)
    p = bodies[0].x
    p += 1.0
    return bodies[0].x[0]


def read_before_it_grew(x):
    bodies = [Body(a, np.array([a, a]), np.zeros(2)) for a in x]
    p = bodies[0].x
    for a in x:
        bodies.append(Body(1.0, np.zeros(2), np.zeros(2)))
    bodies[0].x += 1.0
    return p[0]


def shared(x):
    bodies = made(x)
    bodies[0].x = bodies[1].x
    bodies[0].x += 1.0
    return bodies[1].x[0]


def recorded(x):
    bodies, out = made(x), []
    for b in bodies:
        out.append(b.x)
        b.x += 1.0
    return out[0][0]


def from_method(x):
    bodies = made(x)
    p = bodies[0].x_now()
    bodies[0].x += 1.0
    return p[0]


def from_method_by_name(x):
    bodies = made(x)
    p = bodies[0].x_now()
    p += 1.0
    return bodies[0].x[0]


def changed_in_method(x):
    bodies = made(x)
    p = bodies[0].x
    bodies[0].kick(1.0)
    bodies[0].push(0.1)
    return p[0]


def given_to_method(x):
    bodies, p = made(x), np.zeros(2)
    bodies[0].move_to(p)
    bodies[0].push(1.0)
    return p[0]


def twice(x):
    bodies = []
    for a in x:
        p = np.array([a, a])
        bodies.append(Body(a, p, p))
    bodies[0].x += 1.0
    return bodies[0].v[0]


def of_two_objects(x):
    bodies = []
    for a in x:
        p = np.array([a, a])
        bodies.append(Body(a, p, np.zeros(2)))
        bodies.append(Body(a, p, np.zeros(2)))
    bodies[0].x += 1.0
    return bodies[1].x[0]


def of_the_caller(x):
    bodies = [Body(1.0, x[2 * k : 2 * k + 2], np.zeros(2)) for k in range(len(x) // 2)]
    for b in bodies:
        b.x += 1.0
    return x[0]


def copied(x):
    bodies = [Body(a, np.array([a, a]), np.zeros(2)) for a in x]
    other = copy.copy(bodies[0])
    bodies.append(other)
    other.x += 1.0
    return bodies[0].x[0]


def broadcast(x):
    bodies = made(x)
    p = np.broadcast_to(bodies[0].x, (2, 2))
    bodies[0].x += 1.0
    return p[0, 0]


def added_in_loop(x):
    bodies = made(x)
    p = bodies[0].x
    for b in bodies:
        b.x += p
    return bodies[1].x[0]


def _both(b, p):
    b.x += 1.0
    return p[0]


def passed_with_object(x):
    bodies = made(x)
    return _both(bodies[0], bodies[0].x)


def assigned_on_the_right(x):
    bodies = made(x)

    def one(b):
        b.x = np.ones(2)
        return 1.0

    bodies[0].x += one(bodies[0])
    return bodies[0].x[0]


def in_tuple(x):
    bodies = made(x)
    pair = bodies[0].x, 1.0
    bodies[0].x += 1.0
    return pair[0][0]


def in_parallel(x):
    bodies = made(x)
    for k in prange(len(bodies)):
        bodies[k].x += 1.0
    return bodies[0].x[0]


REFUSED = [
    *(named, named_in_loop, read_before, changed_by_name, read_before_it_grew, shared, recorded, from_method, twice),
    *(from_method_by_name, changed_in_method, given_to_method, of_two_objects, copied, broadcast),
    *(added_in_loop, passed_with_object, assigned_on_the_right, in_tuple, in_parallel),
]


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused(function):
    with pytest.raises(CompileError, match=r"cannot store into this array|may be changed later|in a parallel loop"):
        jit_grad(function)(X.copy())


def test_arrays_of_the_caller_are_changed_by_objects_whose_number_is_known():
    x, y = X.copy(), X.copy()
    assert jit_grad(of_the_caller)(x) == of_the_caller(y)
    assert x.tolist() == y.tolist()
    np.testing.assert_array_equal(adc.grad(of_the_caller)(X), [1.0, 0.0, 0.0, 0.0])


def item(xs, k):
    return xs[k]


def test_items_that_functions_return_are_not_changed():
    def f(x):
        xs = []
        for a in x:
            xs.append(np.array([a, a]))
        p = item(xs, 1)
        p[0] = 50.0
        return xs[1][0]

    with pytest.raises(CompileError, match="cannot store into this array"):
        jit_grad(f)(X)
