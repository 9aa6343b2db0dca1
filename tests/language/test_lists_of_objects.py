"""Objects of classes in lists of run-time length: each is the same object wherever it is."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import ArgumentError, CompileError
from tests.programs.harness import check

M, X, V = np.linspace(0.2, 1.9, 6), np.linspace(1.2, -0.8, 6) ** 3, np.sin(np.arange(6.0))


class Body:
    def __init__(self, m, x, v):
        self.m = m
        self.x = x
        self.v = v

    def kick(self, d):
        self.v += d
        return self

    @property
    def momentum(self):
        return self.m * self.v

    @momentum.setter
    def momentum(self, value):
        self.v = value / self.m

    def __lt__(self, other):
        return self.x < other.x


@dataclass
class Vec:
    x: float
    y: float = 1.0

    def __add__(self, other):
        return Vec(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vec(self.x * k, self.y * k)


@dataclass
class Particle:
    at: Vec
    speed: Vec


class Cloud:
    def __init__(self):
        self.bodies = []
        self.best = None

    def add(self, body):
        self.bodies.append(body)
        if self.best is None or body.x > self.best.x:
            self.best = body

    def step(self, dt):
        for b in self.bodies:
            b.x += dt * b.v


def made(m, x, v):
    return [Body(a, b, c) for a, b, c in zip(m, x, v)]


def shifted(body, d):
    return Body(body.m, body.x + d, body.v)


# Held against plain Python, with gradients ----------------------------------------------------------------------------


def attracting(m, x, v):
    bodies = [Body(a, b, c) for a, b, c in zip(m, x, v)]
    for _ in range(3):
        for a in bodies:
            for b in bodies:
                if b is not a:
                    d = b.x - a.x
                    a.kick(0.1 * b.m * d / (d * d + 0.5))
        for b in bodies:
            b.x += 0.1 * b.v
    return sum(b.x * b.x * b.m for b in bodies) + max(bodies, key=lambda b: b.v).x


def shared(m, x, v):
    bodies = []
    for k in range(len(x)):
        b = Body(m[k], x[k], v[k])
        bodies.append(b)
        b.x += 1.0
    heavy = [b for b in bodies if b.m > 1.0]
    heavy.append(bodies[0])
    heavy.append(bodies[0])
    for b in heavy:
        b.x *= 2.0
    first, best = bodies[1], Body(0.0, -100.0, 1.0)
    for b in bodies:
        if b.x > best.x:
            best = b
    best.momentum = best.x
    bodies[0], bodies[1] = bodies[1], bodies[0]
    first.v = 3.0
    bodies.insert(2, bodies.pop())
    bodies.remove(heavy[0])
    bodies.sort(key=lambda b: b.x)
    return sum(k * b.x * b.v for k, b in enumerate(bodies)) + 10 * (bodies[0] is first) + len(bodies)


def from_calls(m, x, v):
    cloud = Cloud()
    for b in made(m, x, v):
        cloud.add(shifted(b, 0.5))
    cloud.step(0.1)
    cloud.best.x *= 2.0
    last = shifted(cloud.bodies[0], 1.0)
    cloud.add(last)
    last.v = x[0]
    return sum(b.x * b.v for b in cloud.bodies) + cloud.best.x


def born_and_gone(m, x, v):
    bodies, total = [Body(1.0, b, c) for b, c in zip(x, v)], 0.0
    for k in range(4):
        bodies = [b for b in bodies if b.x < 0.9]
        for b in list(bodies):
            b.x += 0.3 * b.v
            if b.v > 0.5:
                bodies.append(shifted(b, m[k]))
        total += sum(b.x * b.x for b in sorted(bodies))
    return total


def nested(m, x, v):
    hub = Vec(1.0)
    ps = [Particle(Vec(a, b), hub) for a, b in zip(x, v)]
    for p in ps:
        p.at = p.at + p.speed * 0.5
        p.speed.x += p.at.y
        p.at.y *= 2.0
    pairs = [(p, k) for k, p in enumerate(ps)]
    for p, k in pairs:
        p.at.x += k
    copied = copy.deepcopy(ps)
    copied[0].at.x = 50.0
    other = dataclasses.replace(ps[0].at, y=3.0)
    ps[1].at = other
    other.x += hub.x
    return sum(p.at.x * p.at.y for p in ps) + copied[1].at.x * copied[0].speed.x + sum((p.at for p in ps), Vec(0.0)).y


def with_arrays(m, x, v):
    bodies = [Body(k, np.array([a, b]), [a, b]) for k, (a, b) in enumerate(zip(x, v))]
    before = bodies[0].x
    for b in bodies:
        b.x = b.x + b.v[1] * b.m
        b.v = [b.v[1], b.v[0]]
    return sum(np.sum(b.x**2) + b.v[0] for b in bodies) + before[0]


def of_kinds(m, x, v):
    bodies = [Body("light" if k < 1.0 else "heavy", a, b) for k, a, b in zip(m, x, v)]
    for b in bodies:
        if b.m == "light":
            b.x *= 2.0
    return sum(b.x * b.v for b in bodies if b.m == "light") + len([b for b in bodies if b.m == "heavy"])


def in_try(m, x, v):
    out, prev = [], None
    for k in range(len(x)):
        try:
            out.append(Body(m[k], x[k], v[k]))
            if x[k] < -0.1:
                raise ValueError
            out[-1].x += 1.0
        except ValueError:
            out[-1].x = m[k] * 2
        if prev is not None:
            prev.v += out[-1].x
        prev = out[-1]
    while out:
        b = out.pop()
        if b.x * b.v > 0.4:
            return b.x * b.v
    return 0.0


PROGRAMS = [attracting, shared, from_calls, born_and_gone, nested, with_arrays, of_kinds, in_try]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(program):
    check(program, (M, X, V))


def test_other_lengths():
    compiled = jit_grad(attracting)
    for n in (1, 2, 5):
        assert compiled(M[:n], X[:n], V[:n]) == attracting(M[:n], X[:n], V[:n])
    with pytest.raises(ValueError):
        compiled(M[:0], X[:0], V[:0])  # max() of nothing


def test_mapped_with_schedules_and_twice():
    def moved(x):
        return attracting(M, x, V)

    xs = np.stack([X, 2 * X])
    each = np.stack([adc.grad(moved)(x) for x in xs])
    assert np.array_equal(adc.grad(lambda xs: np.sum(adc.vmap(moved)(xs)))(xs), each)
    assert np.array_equal(jit_grad(moved, checkpoint="sqrt").grad(X), each[0])
    change = np.cos(X)
    away = (adc.grad(moved)(X + 1e-6 * change) - adc.grad(moved)(X - 1e-6 * change)) / 2e-6
    assert np.allclose(adc.hvp(moved, (X,), (change,)), away, atol=1e-6)


def test_given_to_python():
    def f(x):
        bodies = [Body(1.0, a * a, a) for a in x]
        return bodies, [b for b in bodies if b.v > 0], bodies[1], {"pairs": [(b, 2.0) for b in bodies]}

    bodies, some, one, pairs = jit_grad(f)(X)
    assert [b.x for b in bodies] == [b.x for b in f(X)[0]]
    assert one is bodies[1] and some[0] is bodies[0] and pairs["pairs"][2][0] is bodies[2]
    _, tangents = adc.jvp(f, (X,), (np.ones(6),))
    assert [b.x for b in tangents[0]] == list(2 * X) and tangents[2].x == 2 * X[1]
    _, back = adc.pullback(f, X)
    with pytest.raises(ArgumentError, match="return arrays of their attributes"):
        back((bodies, None, None, None))
    cloud = Cloud()

    @jit_grad
    def fill(cloud, x):
        for a in x:
            cloud.add(Body(1.0, a, a))

    fill(cloud, X)
    assert [b.x for b in cloud.bodies] == list(X) and cloud.best is cloud.bodies[0]


class Other(Body):
    pass


class Registered:
    def __init__(self, x):
        self.x = x
        self.me = self


def of_two_classes(x):
    bodies = []
    for a in x:
        bodies.append(Body(a, a, a) if a > 0 else Other(a, a, a))
    return bodies[0].x


def attribute_later(x):
    bodies = [Body(a, a, a) for a in x]
    for b in bodies:
        b.force = 0.0
    return bodies[0].x


def array_in_place(x):
    rows = x.reshape((3, 2))
    bodies = [Body(1.0, row, 1.0) for row in rows]
    for b in bodies:
        b.x += 1.0
    return bodies[0].x[0]


def list_in_place(x):
    bodies = [Body(1.0, [a, a], a) for a in x]
    bodies[0].x[0] = 2.0
    return bodies[0].x[0]


def array_changed_later(x):
    rows = x.reshape((3, 2)).copy()
    bodies = [Body(1.0, row, 1.0) for row in rows]
    rows[0, 0] = 1.0
    return bodies[0].x[0]


def list_with_a_name(x):
    pair = [1.0, 2.0]
    bodies = [Body(1.0, pair, a) for a in x]
    pair[0] = 3.0
    return bodies[0].x[0]


def from_two_calls(x):
    bodies = made(x, x, x)
    bodies.extend(made(x, x, x))
    return bodies[0].x


def changed_meanwhile(x):
    bodies = [Body(a, a, a) for a in x]
    for b in bodies:
        if b.x > 0:
            bodies.append(b)
    return bodies[0].x


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (of_two_classes, "Body"),
        (attribute_later, "other attributes.*\n(.*\n)*.*in __init__"),
        (array_in_place, "keeps a copy.*\n(.*\n)*.*assign a new array"),
        (array_changed_later, "may be changed later"),
        (from_two_calls, "in different calls"),
        (changed_meanwhile, "changes its length"),
        (lambda x: len([Registered(a) for a in x]), "leads back|nested too deeply"),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_refused(function, said):
    with pytest.raises(CompileError, match=said):
        jit_grad(function)(X if function is array_in_place else np.resize(X, 66))  # fewer are taken one by one


@pytest.mark.parametrize("function", [list_in_place, list_with_a_name], ids=lambda v: v.__name__)
def test_lists_that_are_attributes(function):
    assert jit_grad(function)(X) == function(X)


def test_objects_of_the_caller_are_refused():
    def f(bodies, x):
        out = []
        for a in x:
            for b in bodies:
                if b.x > a:
                    out.append(b)
        return len(out)

    with pytest.raises(CompileError, match="Body"):
        jit_grad(f)([Body(1.0, 2.0, 3.0), Body(1.0, 0.5, 3.0)], X)


def test_none_at_run_time():
    def f(x):
        best = None
        for b in [Body(a, a, a) for a in x]:
            if b.x > 100:
                best = b
        return best.x

    with pytest.raises(AttributeError):
        jit_grad(f)(X)
    assert jit_grad(f)(X * 1000) == f(X * 1000)
