"""Local containers of a function: records, objects, lists and dicts."""

from __future__ import annotations

import copy
import dataclasses
import enum
import math
from collections import namedtuple
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import adc
from adc import jit_grad
from tests.programs.harness import check

X = np.linspace(-1.0, 1.5, 6)
Pair = namedtuple("Pair", "a b")


class Point(NamedTuple):
    x: float
    y: float = 2.0

    def norm(self):
        return math.sqrt(self.x * self.x + self.y * self.y)


@dataclass(frozen=True)
class Vector:
    x: float
    y: float = 0.5
    unit: ClassVar[float] = 2.0

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vector(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __neg__(self):
        return Vector(-self.x, -self.y)

    @property
    def square(self):
        return self.x * self.x + self.y * self.y

    @staticmethod
    def polar(r, phi):
        return Vector(r * math.cos(phi), r * math.sin(phi))

    @classmethod
    def diagonal(cls, x):
        return cls(x, x)

    def __call__(self, t):
        return self.x + t * self.y * self.unit


@dataclass
class State:
    x: float
    v: float = 0.0
    steps: int = 0
    history: list = field(default_factory=list)

    def step(self, dt):
        self.v -= dt * self.x
        self.x += dt * self.v
        self.steps += 1

    @property
    def energy(self):
        return 0.5 * (self.x**2 + self.v**2)

    @energy.setter
    def energy(self, e):
        self.v = math.sqrt(2.0 * e)
        self.x = 0.0


@dataclass
class Particle(State):
    mass: float = 2.0

    def step(self, dt):
        super().step(dt / self.mass)


class Counter:
    start = 1.5

    def __init__(self, by):
        self.by = by
        self.total = self.start

    def add(self, x):
        self.total = self.total + self.by * x
        return self.total


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a
        self.b = a * a


class Mode(enum.Enum):
    LINEAR = "linear"
    SQUARE = "square"


def namedtuples(x):
    p = Point(x, y=x * x)
    q = Pair(p.x, b=p)
    r = p._replace(x=3.0 * x)
    a, b = q
    return p.norm() + a * b.y + r.x + r[1] + len(p) + q.b.x


def frozen(x):
    u = Vector(x)
    w = u + Vector.polar(x, 0.3) * 2.0 + 0.5 * -Vector.diagonal(x * x)
    t = dataclasses.replace(w, y=w.x * w.y)
    return w.square + t.y + u(x) + t.unit * u.y


def frozen_in_loop(x, n):
    p = Vector(x, 1.0)
    for k in range(n):
        if k % 2 == 0:
            p = p + Vector(0.1 * p.y, -0.1 * p.x)
        else:
            p = p * 0.9
    return p.x * p.y


def mutable(x):
    s = State(x, v=1.0)
    other = s
    s.step(0.1)
    other.v *= 2.0
    fresh = State(x)
    fresh.energy = s.energy
    return s.energy + s.v * other.x + fresh.v + s.steps


def mutable_in_loop(x, n):
    s = State(x, 1.0)
    for k in range(n):
        s.step(0.05)
        if s.x > 0.5:
            s.v = s.v - 0.1 * k * s.x
    return s.x * s.v + s.steps


def rebound_in_loop(x, n):
    s = State(x, 1.0)
    for _ in range(n):
        s = State(s.x + 0.1 * s.v, s.v - 0.1 * s.x)
        s.x *= 1.01
    s.v += 1.0
    return s.x * s.v


def swapped_in_loop(x, n):
    a, b = State(x), State(2.0 * x)
    for _ in range(n):
        a.x = math.sin(a.x + b.x)
        a, b = b, a
    return a.x - 3.0 * b.x


def inherited(x, n):
    p = Particle(x, 0.2)
    for _ in range(n):
        p.step(0.1)
    return p.energy * p.mass


def advance(s, dt):
    s.step(dt)
    s.history.append(s.x)
    return s


def in_callee(x):
    s = State(x, 0.3)
    t = advance(s, 0.1)
    advance(t, 0.2)
    return s.x * s.history[0] + s.history[-1] * len(s.history) + t.v


def chosen_by_branch(x):
    s = State(x) if x > 0.0 else State(-2.0 * x, 1.0)
    s.x += 1.0
    return s.x * s.x + s.v


def changed_in_branch(x):
    s = State(x, 1.0)
    if x > 0.3:
        s.v = s.x * s.x
    elif x < -0.5:
        s.history.append(x)
        s.history.pop()
        s.x = math.sin(s.x)
    return s.x * s.v


def plain_class(x, n):
    c = Counter(x)
    add = c.add
    for k in range(n):
        add(k * x)
    s = Slotted(c.total)
    s.a = s.b + 1.0
    return s.a


def arrays_in_objects(x, n):
    s = State(x, x * 0.0)
    for _ in range(n):
        s.v[1:] += s.x[:-1] * 0.5
        s.x = s.x + 0.1 * s.v
    return np.sum(s.x * s.v)


def lists(x):
    xs = [x, x * x]
    ys = xs
    ys.append(math.sin(x))
    xs.extend([1.0, x])
    xs.insert(0, 3.0)
    last = xs.pop()
    first = xs.pop(0)
    xs[1] = xs[1] + first
    xs[-1] *= 2.0
    both = xs + [last] * 2
    both += xs[1:3]
    return both[0] * both[1] + sum(both) + len(ys) + max(xs) - min(both) + xs[2]


def run_time_index(x, i):
    xs = [x, x * x, math.exp(x), 4.0]
    ys = [Vector(x), Vector(2.0 * x, x)]
    xs[i] = xs[i] * 3.0
    zs = (x, 2.0 * x)
    return xs[i] + xs[0] + xs[-1 - i] + ys[i % 2].x * ys[i % 2].y + zs[i % 2]


def lists_in_loop(x, n):
    xs = [0.0, x, 1.0]
    for k in range(n):
        xs[k % 3] = xs[(k + 1) % 3] * x + 0.5
        xs[0], xs[1] = xs[1], xs[0]
    return xs[0] * xs[1] + xs[2]


def grown_in_known_loop(x, n):
    xs, d = [], {}
    for k in range(3):
        xs.append(x * k)
        for j in range(2):
            if j < k:
                xs += [x + j]
        d[k] = xs[-1]
    total = 0.0
    for _ in range(n):
        ys = []
        for k in range(4):
            ys.append(xs[k] * total + d[k % 3] if k < 3 else x)
            if len(ys) == 3:
                break
        total += sum(ys) * len(ys)
    return total + len(xs) + k


def list_of_arrays(x, n):
    layers = [x, np.zeros(len(x)), x * 2.0]
    for k in range(n):
        layers[1] = layers[0] * layers[2]
        layers[0][1:] = layers[1][:-1]
        layers[2] += 0.1 * layers[1]
    return np.sum(layers[1] * layers[2]) + layers[0][2]


def dicts(x):
    d = {"a": x, "b": x * x, 3: 1.0}
    d["c"] = d["a"] * d["b"]
    d["a"] += 1.0
    d.update({"b": d["b"] * 2.0}, e=x)
    d |= {"f": 0.5}
    total = d.get("z", 0.25) + d.get("a") + d.pop("e")
    for key, value in d.items():
        if key != "a":
            total = total + value * len(d)
    for key in d:
        total = total * 1.1 if key in ("a", "c") else total
    return total + sum(d.values()) + ("a" in d) + len(list(d.keys()))


def dict_in_loop(x, n):
    d = {"x": x, "v": 1.0}
    for _ in range(n):
        d["v"] -= 0.1 * d["x"]
        if d["v"] > 0.5:
            d["x"] += 0.1 * d["v"]
    return d["x"] * d["v"]


def nested(x):
    tree = {"leaf": [Vector(x), State(x)], "pair": (x, [x * x, {"deep": math.sin(x)}])}
    tree["leaf"][1].x += tree["leaf"][0].x
    tree["pair"][1][1]["deep"] *= 2.0
    alias = tree["pair"][1]
    alias.append(5.0)
    a, (b, *_) = 1.0, (x, 2.0)
    return tree["leaf"][1].x * tree["pair"][1][1]["deep"] + tree["pair"][1][2] * a * b


def copies(x):
    s = State(x, 1.0)
    s.history.append(x)
    shallow, deep = copy.copy(s), copy.deepcopy(s)
    s.history[0] = 5.0 * x
    s.x = 7.0 * x
    return shallow.x + 10.0 * shallow.history[0] + 100.0 * deep.history[0]


def looked_at(x, mode):
    p, s, d = Pair(x, 2.0), State(x), {"k": x}
    total = 0.0
    if isinstance(p, tuple) and isinstance(s, State) and type(d) is dict and not isinstance(s, Vector):
        total += x
    if hasattr(s, "energy") and not hasattr(s, "nothing") and getattr(s, "missing", None) is None:
        total += s.x * 2.0
    if mode is Mode.SQUARE or mode.value.upper().startswith("SQ"):
        total += x * x
    if "-".join([mode.value.upper(), "b"]).endswith("-b") and chr(ord("a") + len(" ".join("bc".split()))) == "b":
        total += 2.5 * x
    if s == State(x) and p == (x, 2.0) and [x] == [x] and {"k": x} == d and s is not State(x):
        total += 3.0 * x
    if 2.0 in p and x in [1.0, x] and "k" in d:
        total += 0.5 * x
    return total


def stacked(x, n):
    values = np.array([[x, 1.0], [2.0 * x, x * x]])
    for k in range(n):
        values[k % 2, 0] += x
    weights = [np.sum(values[:, 0]), values[1, 1]]
    return np.dot(values[0], np.array(weights))


S = 0.7
CASES = [
    (namedtuples, [(S,)]),
    (frozen, [(S,)]),
    (frozen_in_loop, [(S, 5), (S, 0)]),
    (mutable, [(S,)]),
    (mutable_in_loop, [(S, 9), (S, 0)]),
    (rebound_in_loop, [(S, 4), (S, 0), (S, 1)]),
    (swapped_in_loop, [(S, 4), (S, 0), (S, 3)]),
    (inherited, [(S, 4)]),
    (in_callee, [(S,)]),
    (chosen_by_branch, [(S,), (-S,)]),
    (changed_in_branch, [(S,), (-S,), (0.1,)]),
    (plain_class, [(S, 4)]),
    (arrays_in_objects, [(X, 3), (X, 0)]),
    (lists, [(S,)]),
    (run_time_index, [(S, 0), (S, 1), (S, 3), (S, -2)]),
    (lists_in_loop, [(S, 7), (S, 0)]),
    (grown_in_known_loop, [(S, 2), (S, 0)]),
    (list_of_arrays, [(X, 3), (X, 1)]),
    (dicts, [(S,)]),
    (dict_in_loop, [(S, 6)]),
    (nested, [(S,)]),
    (copies, [(S,)]),
    (looked_at, [(S, Mode.SQUARE), (S, Mode.LINEAR)]),
    (stacked, [(S, 3)]),
]


@pytest.mark.parametrize(("fn", "cases"), CASES, ids=[fn.__name__ for fn, _ in CASES])
def test_local_container(fn, cases):
    check(fn, *cases)


def test_run_time_index_out_of_range():
    with pytest.raises(IndexError):
        adc.jit_grad(run_time_index)(S, 4)


def values_while_they_change(x, r):
    for e in r.values():
        r["v"] -= e * e * x
    for _, e in r.items():
        r["u"] += 0.1 * e
    return r["u"] + r["v"]


def values_numbered(x, r):
    for j, e in enumerate(r.values()):
        r["v"] = r["v"] * 0.5 + e * j
    return r["v"] * x


def values_under_a_name(x, r):
    v = r.values()
    t = 0.0
    for _ in range(3):
        r["v"] = r["v"] * 0.5 * x
        t += sum(v) + max(v) * len(v)
    return t + sum([e * x for e in v])


@pytest.mark.parametrize("function", [values_while_they_change, values_numbered, values_under_a_name])
def test_what_a_dict_holds_is_seen_while_it_changes(function):
    x, h = 0.3, 1e-6

    def plain(at):
        return function(at, {"u": 0.5, "v": 1.5})

    assert jit_grad(function)(x, {"u": 0.5, "v": 1.5}) == pytest.approx(plain(x), rel=1e-14)
    numeric = (plain(x + h) - plain(x - h)) / (2 * h)
    assert jit_grad(function).grad(x, {"u": 0.5, "v": 1.5}) == pytest.approx(numeric, rel=1e-7)


OPPOSITE, WEIGHTS, MIXED = (0, 2, 1, 3), (0.5, 0.25, 0.125, 0.75), (1, 0.5, True, np.float64(2.0))


def streamed(p, out):
    for q in range(4):
        for i in range(len(out)):
            out[i] += p[OPPOSITE[q], i] * WEIGHTS[q - 1] + MIXED[q]
    return np.sum(out * out)


def test_items_of_tuples_by_a_counter_keep_loops_parallel():
    p, out = np.arange(20.0).reshape(4, 5), np.ones(5)
    check(streamed, (p, out))
    plan = jit_grad(streamed).dump_ir("plan", "f64[:, ::1], f64[::1]")
    inner = [line for line in plan.splitlines() if " for i:" in line]
    assert inner and all("threads" in line or "parallel" in line for line in inner)
    with pytest.raises(IndexError):
        jit_grad(streamed)(p[:2].copy(), out)
