"""Containers as arguments and results: values, effects, gradients in the container of the argument."""

from __future__ import annotations

import copy
import dataclasses
import enum
import math
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import adc
from adc.errors import ArgumentError, CompileError, DifferentiationError
from tests.bits import is_exact_function

Pair = namedtuple("Pair", "a b")


class Kind(enum.Enum):
    RELU = 1
    TANH = 2


@dataclass(frozen=True)
class Layer:
    w: np.ndarray
    b: np.ndarray
    kind: Kind = Kind.TANH
    name: str = "layer"

    def __call__(self, x):
        y = self.w @ x + self.b
        return np.tanh(y) if self.kind is Kind.TANH else np.maximum(y, 0.0)


@dataclass
class State:
    x: Any
    v: Any = 0.0
    steps: int = 0
    log: list = field(default_factory=list)
    note: str | None = None

    def energy(self):
        return 0.5 * (self.x * self.x + self.v * self.v)


class Plain:
    rate = 0.5

    def __init__(self, p, data):
        self.p = p
        self.data = data


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


def floats(value: Any) -> list[Any]:
    """Where the floats in nested containers are: (container, key) pairs, arrays as they are; each object once."""
    found: list[Any] = []
    seen: set[int] = set()

    def visit(value: Any, owner: Any, key: Any) -> None:
        if isinstance(value, float):
            found.append((owner, key))
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
            if id(value) not in seen:
                seen.add(id(value))
                found.append(value)
        elif id(value) not in seen and not isinstance(value, str | int | enum.Enum | type(None) | Callable):
            seen.add(id(value))
            for k, item in parts(value):
                visit(item, value, k)

    visit(value, None, None)
    return found


def parts(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, tuple | list):
        return list(enumerate(value))
    if isinstance(value, dict):
        return list(value.items())
    names = [f.name for f in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else None
    if names is None:
        names = [*getattr(value, "__slots__", ()), *getattr(value, "__dict__", ())]
    return [(n, getattr(value, n)) for n in names if hasattr(value, n)]


def flat(value: Any) -> list[float]:
    """All floats of a value in order, None counting as none; arrays element by element."""
    if value is None or isinstance(value, str | int | enum.Enum):
        return []
    if isinstance(value, float | np.floating):
        return [float(value)]
    if isinstance(value, np.ndarray):
        return list(map(float, value.ravel())) if value.dtype.kind == "f" else []
    if callable(value) and not dataclasses.is_dataclass(value):
        return []
    return [x for _, item in parts(value) for x in flat(item)]


def moved(value: Any, steps: list[float]) -> Any:
    """A deep copy with the floats shifted, in the order of ``flat``; for containers without shared objects."""
    rest = iter(steps)

    def visit(value: Any) -> Any:
        if value is None or isinstance(value, str | int | enum.Enum):
            return value
        if isinstance(value, float):
            return value + next(rest)
        if isinstance(value, np.ndarray):
            return value + np.array([next(rest) for _ in range(value.size)]).reshape(value.shape)
        if isinstance(value, tuple):
            items = [visit(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if isinstance(value, list):
            return [visit(item) for item in value]
        if isinstance(value, dict):
            return {k: visit(item) for k, item in value.items()}
        if callable(value) and not dataclasses.is_dataclass(value):
            return value
        made = object.__new__(type(value))
        for name, item in parts(value):
            object.__setattr__(made, name, visit(item))
        return made

    return visit(value)


def equal(a: Any, b: Any, tol: float = 1e-11) -> bool:
    """The same classes, and the same values up to rounding."""
    if type(a) is not type(b):
        floats = isinstance(a, float | np.floating) and isinstance(b, float | np.floating)
        return floats and equal(float(a), float(b), tol)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and np.allclose(a, b, rtol=tol, atol=0.1 * tol)
    if isinstance(a, float | np.floating):
        return math.isclose(a, b, rel_tol=tol, abs_tol=0.1 * tol)
    if a is None or isinstance(a, str | int | enum.Enum) or (callable(a) and not dataclasses.is_dataclass(a)):
        return a == b
    first, second = parts(a), parts(b)
    return [k for k, _ in first] == [k for k, _ in second] and all(
        equal(x, y, tol) for (_, x), (_, y) in zip(first, second, strict=True)
    )


def check(fn: Callable[..., Any], *args: Any, tol: float = 1e-7) -> Any:
    """Value, effects, gradient and pullback of a function of containers; returns the gradient by the first."""
    plain, mine = moved(args, [0.0] * 10**4), moved(args, [0.0] * 10**4)
    expected, result = fn(*plain), adc.jit_grad(fn)(*mine)
    rounding = 0.0 if is_exact_function(fn) else 1e-11
    assert equal(result, expected, rounding), f"{result}, not {expected}"
    assert equal(mine, plain, rounding), f"{mine} after the call, not {plain}"
    given = moved(args, [0.0] * 10**4)
    wrt = tuple(k for k, a in enumerate(args) if flat(a))
    if not isinstance(expected, float | np.floating):
        return None
    value, gradients = adc.value_and_grad(fn, argnums=wrt)(*given)
    assert equal(given, args), "changed by the gradient"
    assert equal(float(value), float(expected), rounding)
    _, back = adc.pullback(fn, *moved(args, [0.0] * 10**4))
    pulled = back(1.0)
    for k, gradient in zip(wrt, gradients, strict=True):
        assert equal(pulled[k], gradient), f"{pulled[k]}, not {gradient}"
        same_structure(args[k], gradient)
    assert all(pulled[k] is None for k in range(len(args)) if k not in wrt)
    rng = np.random.default_rng(3)
    for _ in range(3):
        step = rng.uniform(-1, 1, len(flat(args)))

        def at(h: float, step: Any = step) -> float:
            return float(fn(*moved(args, list(h * step))))

        differences = [(at(h) - at(-h)) / (2 * h) for h in (2e-4, 1e-4)]
        truth = (4 * differences[1] - differences[0]) / 3
        mine_ = float(np.dot(flat(tuple(gradients)), [s for s, k in zip(step, owners(args), strict=True) if k in wrt]))
        assert abs(mine_ - truth) <= tol * max(1.0, abs(truth)), f"{mine_}, not {truth}: {gradients}"
    return gradients[0]


def owners(args: tuple[Any, ...]) -> list[int]:
    return [k for k, a in enumerate(args) for _ in flat(a)]


def same_structure(value: Any, gradient: Any) -> None:
    """A gradient is of the class of what it is of, with None where that has no floats."""
    if not flat(value):
        assert gradient is None, f"{gradient} for {value}"
    elif isinstance(value, float):
        assert isinstance(gradient, float)
    elif isinstance(value, np.ndarray):
        assert gradient.shape == value.shape and gradient.dtype == value.dtype
    else:
        assert type(gradient) is type(value), f"{type(gradient)}, not {type(value)}"
        for (k, a), (m, b) in zip(parts(value), parts(gradient), strict=True):
            assert k == m
            same_structure(a, b)


def network(layers, x):
    for layer in layers:
        x = layer(x)
    return np.sum(x * x)


def mixed(p, s):
    total = p.a * p.b["k"] + math.sin(s[0].x) * s[1][0]
    if s[0].note is None:
        total += s[0].energy()
    else:
        total -= s[0].x
    return total * len(p.b) + s[0].steps


def steps(s, n, dt):
    for _ in range(n):
        s.v -= dt * s.x
        s.x += dt * s.v
        s.steps += 1
    s.log.append(s.x)
    s.note = "done"
    return s.energy()


def fields_of_arrays(s, n):
    for _ in range(n):
        s.v[:] -= 0.1 * s.x
        s.x = s.x + 0.1 * s.v
    s.log.extend([s.v, 2.0])
    return np.sum(s.x * s.v)


def plain_object(o, k):
    o.p = o.p * o.rate + k
    o.data[1] *= o.p
    o.more = o.data[0] * 2.0
    return o.p * o.more + np.sum(o.data)


def slots(o):
    o.a, o.b = o.b * 2.0, o.a
    return o.a * o.a + o.b


def in_branch(s, flag):
    if s.x > 0.5:
        s.x *= 2.0
        s.log.append(1.0)
        s.log.pop()
    elif flag:
        s.v = s.x * 3.0
    return s.x * s.x + s.v


def early(s, n):
    for k in range(n):
        s.x = s.x * 1.1
        if s.x > 1.0:
            s.v += k
            return s.x * s.v
    s.note = None
    return s.x


def list_of_states(states, n):
    for k in range(n):
        for i in range(len(states)):
            states[i].x += 0.1 * states[i - 1].v
            states[i].v -= 0.1 * states[i].x * (k + 1)
    total = 0.0
    for s in states:
        total += s.energy()
    return total


def by_index(states, i):
    states[i].x *= 2.0
    return states[0].x * states[1].x + states[i].v


def helper(s, k):
    s.x *= k
    s.log.append(s.x)
    return s


def in_callee(s, k):
    t = helper(helper(s, k), 2.0)
    return t.x * s.log[0] + t.energy()


def dictionary(d, k):
    d["out"] = d["in"] * k
    d["in"] = d["out"][1] * 1.0
    del_me = d.get("none", 2.0)
    return np.sum(d["out"]) * d["in"] * del_me


def optional(x, w=None, f=None, mode="sum"):
    y = x if w is None else x * w
    if f is not None:
        y = f(y)
    return np.sum(y) if mode == "sum" else np.sum(y * y)


A = np.array([0.5, -1.0, 2.0])
W = np.arange(6.0).reshape(2, 3) / 5


def test_model():
    layers = [Layer(W, A[:2].copy()), Layer(W.T.copy(), A.copy(), Kind.RELU, "last")]
    gradient = check(network, layers, A.copy())
    assert gradient[1].name is None and gradient[1].kind is None


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (mixed, (Pair(1.5, {"k": 2.0, "name": "n"}), (State(0.7), [3.0, 1]))),
        (mixed, (Pair(1.5, {"k": 2.0}), (State(0.7, note="x"), [3.0]))),
        (steps, (State(0.7, 0.2), 5, 0.1)),
        (steps, (State(0.7, 0.2, log=[1.0]), 0, 0.1)),
        (fields_of_arrays, (State(A.copy(), A * 2), 3)),
        (plain_object, (Plain(0.5, A.copy()), 3)),
        (slots, (Slots(0.5, 2.0),)),
        (in_branch, (State(0.7), True)),
        (in_branch, (State(0.2), True)),
        (in_branch, (State(0.2), False)),
        (early, (State(0.7, 1.0), 10)),
        (early, (State(0.7, 1.0), 2)),
        (list_of_states, ([State(0.3, 1.0), State(0.5, -0.5)], 3)),
        (by_index, ([State(0.3, 1.0), State(0.5, -0.5)], 1)),
        (by_index, ((State(0.3, 1.0), State(0.5, -0.5)), -2)),
        (in_callee, (State(0.3, 1.0), 1.5)),
        (dictionary, ({"in": 2.0, "out": A.copy()}, A.copy())),
        (optional, (A.copy(),)),
        (optional, (A.copy(), 2.0)),
        (optional, (A.copy(), None, np.sin, "squares")),
    ],
    ids=lambda v: v.__name__ if callable(v) else "",
)
def test_container(fn, args):
    check(fn, *args)


def test_identity_of_results():
    def make(s, x):
        s.log.append(x)
        t = State(x, s.x, log=s.log)
        return {"s": s, "t": t, "pair": Pair(x, [x, s.v]), "both": [t, t]}

    s, x = State(1.0, 2.0), 3.0
    d = adc.jit_grad(make)(s, x)
    assert d["s"] is s and d["t"].log is s.log == [3.0] and type(d["t"]) is State and d["t"].v == 1.0
    assert d["pair"] == Pair(3.0, [3.0, 2.0]) and d["both"][0] is d["both"][1] is d["t"]


def test_aliases_among_arguments():
    def f(a, b, c):
        a.x += 1.0
        b.x *= 3.0
        c[0].v += a.x
        return a.x * b.x + b.v

    def g(a, b):
        return f(a, b, [a])

    s = State(1.0, 2.0)
    plain = State(1.0, 2.0)
    assert adc.jit_grad(g)(s, s) == g(plain, plain) and s == plain
    t, u = State(1.0, 2.0), State(0.5)
    assert adc.jit_grad(f)(t, u, [t]) == f(State(1.0, 2.0), State(0.5), [State(1.0, 2.0)]) - 0.0
    gradient = adc.grad(lambda a, b: a.x * b.x)(s, s)
    assert gradient.x == 2 * s.x


def test_arrays_that_overlap_within_containers():
    def f(s):
        s.x[:] = 2.0 * s.v[::-1]
        return np.sum(s.v * s.v)

    base = np.arange(1.0, 5.0)
    mine, truth = base.copy(), base.copy()
    assert adc.jit_grad(f)(State(mine[1:], mine[:-1])) == f(State(truth[1:], truth[:-1]))
    assert np.array_equal(mine, truth)
    gradient = adc.grad(f)(State(base[1:], base[:-1]))
    assert np.array_equal(base, np.arange(1.0, 5.0))
    h = 1e-6
    for k in range(4):
        values = []
        for sign in (1, -1):
            b = base.copy()
            b[k] += sign * h
            values.append(f(State(b[1:], b[:-1])))
        shared = gradient.v[k] if k < 3 else gradient.x[2]
        assert shared == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-6)


def test_pullback_in_containers():
    def f(s, k):
        s.x = s.x * k
        s.log.append(s.v * k)
        return {"e": s.energy(), "s": s, "new": State(k * k, [k])}

    s = State(2.0, 3.0)
    result, back = adc.pullback(f, s, 0.5)
    assert result["s"] is s and s.x == 1.0 and s.log == [1.5]
    ds, dk = back({"e": 1.0})
    assert type(ds) is State and ds.x == pytest.approx(1.0 * 0.5) and ds.v == 3.0 and dk == pytest.approx(2.0)
    assert ds.log is None and ds.steps is None
    assert back({"new": {"x": 1.0, "v": [10.0]}})[1] == pytest.approx(1.0 + 10.0)
    ds, dk = back(None, final={"s": {"x": 1.0, "v": 5.0, "log": [2.0]}})
    assert ds.x == 0.5 and ds.v == 5.0 + 2.0 * 0.5 and dk == 2.0 + 2.0 * 3.0
    assert back({"s": {"x": 1.0, "v": 5.0, "log": [2.0]}})[0].v == ds.v
    for wrong, message in (
        ({"e": 1.0, "z": 2.0}, "'z'"),
        ({"s": {"y": 1.0}}, "field 'y'"),
        ({"s": {"steps": 1.0}}, r"\['s'\]\.steps"),
        ({"new": {"v": [1.0, 2.0]}}, r"\['new'\]\.v"),
        (3.0, "dict"),
    ):
        with pytest.raises(ArgumentError, match=message):
            back(wrong)


def test_no_gradient():
    def f(s, n, name):
        return s.x * n

    with pytest.raises(DifferentiationError, match="'n'"):
        adc.grad(f, argnums=1)(State(1.0), 2, "a")
    with pytest.raises(DifferentiationError, match="'s'"):
        adc.grad(f)(State(1, None), 2.0, "a")
    assert adc.pullback(f, State(1.0), 2.0, "a")[1](1.0)[2] is None
    assert adc.pullback(f, State(1, None), 2.0, "a")[1](1.0)[0] is None


def test_fields_that_are_not_set():
    def f(s):
        return s.x * s.v

    s = State(1.0)
    del s.x
    with pytest.raises(CompileError, match="the field 'x' of State is not set"):
        adc.jit_grad(f)(s)


def test_frozen_is_frozen():
    def f(layer):
        layer.b = layer.b * 2.0
        return 1.0

    with pytest.raises(CompileError, match="cannot assign to field 'b' of Layer, a frozen dataclass"):
        adc.jit_grad(f)(Layer(W, A))


def test_unsuitable():
    class Sub(list):
        pass

    class Odd:
        def __getattr__(self, name):
            return 1.0

    def f(x):
        return 1.0

    for value, message in ((Sub(), "Sub"), ({1.0}, "set"), (Odd(), "__getattr__"), (bytearray(1), "bytearray")):
        with pytest.raises(ArgumentError, match=message):
            adc.jit_grad(f)([value])


MODEL = State(2.0, A, log=[1.0, {"k": 3.0}])


def test_captured():
    model = copy.deepcopy(MODEL)

    def f(x):
        return x * model.x + np.sum(model.v) * model.log[1]["k"] + MODEL.energy()[1]

    compiled = adc.jit_grad(f)
    assert compiled(0.5) == pytest.approx(f(0.5)) and compiled.grad(0.5) == 2.0
    model.x, model.log[1]["k"] = 5.0, -1.0
    assert compiled(0.5) == pytest.approx(f(0.5)) and compiled.grad(0.5) == 5.0
    model.log.insert(0, 4)
    model.log[1] = {"k": 7.0}
    assert compiled(0.5) == pytest.approx(f(0.5))
    model.v = A[:2].copy()
    assert compiled(0.5) == pytest.approx(f(0.5))


def test_captured_is_not_written():
    def f(x):
        MODEL.x = x
        return x

    with pytest.raises(CompileError, match="'MODEL' comes from outside"):
        adc.jit_grad(f)(1.0)

    def g(s, x):
        s.x = x
        return MODEL.x * s.x

    assert adc.jit_grad(g)(State(1.0), 3.0) == 6.0
    with pytest.raises(ArgumentError, match="MODEL"):
        adc.jit_grad(g)(MODEL, 3.0)


def test_tuples_and_containers_are_told_apart():
    def f(p):
        return p[0] * p[1]

    compiled = adc.jit_grad(f)
    for value in ((2.0, 3.0), Pair(2.0, 3.0), [2.0, 3.0], (2.0, 3.0), {0: 2.0, 1: 3.0}):
        assert compiled(value) == 6.0
        gradient = compiled.grad(value)
        assert type(gradient) is type(value) and flat(gradient) == [3.0, 2.0]


def test_second_derivative_and_many_threads():
    def f(x, s):
        return x * x * s.x

    assert adc.grad(adc.grad(f))(3.0, State(2.0)) == 4.0


@dataclasses.dataclass
class Holder:
    a: float
    b: object = None


@dataclasses.dataclass(frozen=True)
class FrozenHolder:
    a: float
    b: object = None


UNUSABLE = {
    "an array of dtype complex256": np.zeros(2, "G"),
    "an array of dtype <U1": np.array(["a"]),
    "an array of dtype >f8": np.zeros(2, ">f8"),
    "an array of dtype object": np.zeros(2, object),
    "a NumPy scalar of type float128": np.longdouble(1.0),
    "a set": {1.0},
    "a bytearray": bytearray(2),
    "a memoryview": memoryview(b"x"),
    "a MaskedArray": np.ma.zeros(2),
    "a set ": [1.0, ({2.0},)],
    "an array of dtype float128": {"k": [np.zeros(2, np.longdouble)]},
}


def replaced_in(o, x):
    o.a = o.a * x
    return o


captured: Any = None


def test_attributes_that_cannot_be_used_are_refused_when_they_are():
    given = adc.jit_grad(lambda o, x: o.a * x)
    outer = adc.jit_grad(lambda x: captured.a * x)
    changed = adc.jit_grad(replaced_in)
    reads = adc.jit_grad(lambda o, x: x if o.b is None else o.a)
    reads_outer = adc.jit_grad(lambda x: x if captured.b is None else -x)
    global captured
    for reason, value in UNUSABLE.items():
        for cls in (Holder, FrozenHolder):
            captured = o = cls(2.0, value)
            for _ in range(2):
                assert given(o, 3.0) == outer(3.0) == 6.0
            assert given.grad(o, 3.0) == cls(3.0, None)
            for f, args in ((reads, (o, 3.0)), (reads_outer, (3.0,))):
                with pytest.raises(CompileError, match=f"the attribute 'b' of {cls.__name__} .*: {reason.strip()}"):
                    f(*args)
            captured = o = cls(2.0)  # which is noticed
            assert reads(o, 3.0) == reads_outer(3.0) == 3.0
        o = Holder(2.0, value)
        assert changed(o, 3.0) is o and o.a == 6.0 and o.b is value
    assert given.pullback(o, 3.0)[1](1.0) == (Holder(3.0, None), 6.0)
    assert adc.jvp(given, (o, 3.0), ({"a": 1.0}, 0.0)) == (18.0, 3.0)
    assert given(Holder(2.0, 2**70), 3.0) == 6.0
    with pytest.raises(CompileError, match="does not fit into 64 bits"):
        reads(Holder(2.0, 2**70), 3.0)
    before = len(given._known())
    for n in range(3):  # another object of the same kind is no other case
        assert given(Holder(2.0, np.zeros(n, np.longdouble)), 3.0) == 6.0
    assert len(given._known()) == before


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda o, x: dataclasses.asdict(o)["a"], "cannot be used here: a set"),
        (lambda o, x: dataclasses.astuple(o)[0], "cannot be used here: a set"),
        (lambda o, x: o == type(o)(x, 1.0), "cannot be used here: a set"),
        (lambda o, x: getattr(o, "b"), "cannot be used here: a set"),  # noqa: B009
        (lambda o, x: copy.copy(o).b, "cannot be used here: a set"),
        (lambda o, x: dataclasses.replace(o, a=x).b, "cannot be used here: a set"),
        (lambda o, x: copy.copy(o) if isinstance(o, Holder) else o, "cannot return an object with an attribute"),
        (lambda o, x: dataclasses.replace(o, a=x), "cannot return an object with an attribute"),
    ],
)
def test_what_takes_a_whole_object_uses_its_attributes(function, message):
    for cls in (Holder, FrozenHolder):
        with pytest.raises(CompileError, match=message):
            adc.jit_grad(function)(cls(2.0, {1.0}), 3.0)


def test_the_cotangent_of_an_object_that_is_given_twice_is_added_once() -> None:
    def inner(a, b):
        return np.sum(a[0] * b[0])

    x, ones = np.array([1.0, 2.0, 3.0]), np.ones(3)
    held = [x]
    _, back = adc.pullback(inner, held, held)
    for final in ({"a": [ones]}, {"b": [ones]}):
        (da,), (db,) = back(1.0, final=final)
        assert da is db and np.array_equal(da, 2.0 * x + 1.0)
        assert np.array_equal(back(0.0, final=final)[0][0], ones)

    def of_pair(pair):
        return np.sum(pair[0][0] * pair[1][0])

    _, back = adc.pullback(of_pair, (held, held))
    assert np.array_equal(back(1.0, final={"pair": ([ones], None)})[0][1][0], 2.0 * x + 1.0)
    assert np.array_equal(back(1.0, final={"pair": ([ones], [x])})[0][1][0], 3.0 * x + 1.0)
