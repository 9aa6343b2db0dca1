"""Successive calls with containers: the code of the last call is tried first, and checks itself whether it fits."""

import threading

import numpy as np
import pytest

import adc
from adc import jit_grad


class Model:
    def __init__(self, w, v=(1.0, 2.0)):
        self.w = w
        self.v = np.array(v)
        self.mode = "up"

    def value(self, x):
        self.last = x
        return (self.w if self.mode == "up" else -self.w) * np.sum(self.v * x)


def plain(m, x):
    return m.value(x)


def other_value(self, x):
    self.last = x
    return self.w * x


CHANGES = {
    "the same": lambda m: None,
    "a number": lambda m: setattr(m, "w", 5.0),
    "an int": lambda m: setattr(m, "w", 5),
    "a NumPy number": lambda m: setattr(m, "w", np.float64(5.0)),
    "a single": lambda m: setattr(m, "w", np.float32(5.0)),
    "a text": lambda m: setattr(m, "mode", "down"),
    "an equal text": lambda m: setattr(m, "mode", "".join(["u", "p"])),
    "another length": lambda m: setattr(m, "v", np.arange(7.0)),
    "another layout": lambda m: setattr(m, "v", np.arange(8.0)[::2]),
    "another dtype": lambda m: setattr(m, "v", np.arange(3, dtype=np.float32)),
    "not aligned": lambda m: setattr(m, "v", np.frombuffer(b"\0" * 17, np.uint8)[1:].view(np.float64)),
    "read-only": lambda m: m.v.setflags(write=False),
    "more attributes": lambda m: setattr(m, "more", 1.0),
    "a container": lambda m: setattr(m, "more", [1.0, {"a": 2.0}]),
    "a method": lambda m: setattr(Model, "value", other_value),
}


@pytest.mark.parametrize("engine", ["native", "interpreter"])
@pytest.mark.parametrize("name", CHANGES)
def test_a_call_after_a_change(name, engine):
    before = Model.value
    f = jit_grad(plain, argnums=1, _engine=engine)
    m, kept = Model(2.0), Model(2.0)
    try:
        for x in (1.5, 2.5):
            assert f(m, x) == plain(kept, x) and f.grad(m, x) == plain(kept, 1.0)
        CHANGES[name](m), CHANGES[name](kept)
        for x in (1.5, 2.5, np.float64(3.5)):
            expected = plain(kept, x)
            assert f(m, x) == pytest.approx(expected, rel=1e-6) and m.last == x
            assert f.grad(m, x) == pytest.approx(expected / x, rel=1e-6)
            value, back = f.pullback(m, x)
            assert value == pytest.approx(expected, rel=1e-6) and back(1.0)[1] == pytest.approx(expected / x, rel=1e-6)
        m = Model(2.0)
        Model.value = before
        assert f(m, 1.5) == plain(Model(2.0), 1.5)
    finally:
        Model.value = before


def test_effects_and_identity_at_each_call():
    def step(a, b, out):
        a[0] += 1.0
        b.append(a[0])
        out["sum"] = np.sum(out["u"]) + a[0]
        return out

    f = jit_grad(step)
    a, b, out = [1.0], [], {"u": np.ones(3)}
    for n in range(4):
        assert f(a, b, out) is out
        assert a == [n + 2.0] and b == [k + 2.0 for k in range(n + 1)] and out["sum"] == 3.0 + a[0]
    assert f(a, a, out) is out and a == [6.0, 6.0]  # one list in two places


def test_arrays_that_begin_to_overlap():
    def shift(p, q):
        for i in range(len(p["x"])):
            p["x"][i] = 2 * q["x"][i]
        return np.sum(p["x"])

    f = jit_grad(shift)
    x = np.arange(6.0)
    assert f({"x": np.zeros(5)}, {"x": x[1:]}) == 30.0
    assert f({"x": np.zeros(5)}, {"x": x[:-1]}) == 20.0
    y = x.copy()
    expected = shift({"x": y[1:]}, {"x": y[:-1]})
    assert f({"x": x[1:]}, {"x": x[:-1]}) == expected and np.array_equal(x, y)
    assert f({"x": np.zeros(5)}, {"x": np.arange(5.0)}) == 20.0


def test_rules_given_between_calls():
    def inner(x):
        return x * x

    f = jit_grad(lambda d: inner(d["x"]))
    assert f.grad({"x": 3.0}) == f.grad({"x": 3.0}) == {"x": 6.0}
    adc.scalar_rule(inner, lambda x: 100.0)
    assert f.grad({"x": 3.0}) == f.grad({"x": 3.0}) == {"x": 100.0}


def test_errors_of_the_function_come_through():
    f = jit_grad(lambda d, k: d["x"][k])
    assert f({"x": np.ones(3)}, 1) == f({"x": np.ones(3)}, 2) == 1.0
    for _ in range(2):
        with pytest.raises(IndexError):
            f({"x": np.ones(3)}, 7)
    assert f({"x": np.ones(8)}, 7) == 1.0


def test_threads_with_objects_of_two_kinds():
    f = jit_grad(lambda d: d["x"] * 2)
    wrong = []

    def work(value):
        for _ in range(300):
            if f({"x": value}) != 2 * value:
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(v,)) for v in (1.0, 3, np.float32(2.5), 7.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
