"""What a function reads from outside: extra arguments, guards, aliasing, and what it writes."""

from __future__ import annotations

import functools
import math
import types

import numpy as np
import pytest

import adc
from adc.frontend.abstract import Array, Scalar, Static, abstract_of
from adc.frontend.entrance import trace
from adc.frontend.traced import ResultLeaf, ResultStatic, ResultTuple
from adc.ir import ops
from adc.ir.diagnostics import CompileError
from adc.ir.types import f64, i64
from tests.frontend.harness import check, run

RATE = 0.5
STEPS = 3
VERBOSE = False
DATA = np.arange(4.0)
PAIR = (2.0, np.array([1.0, 3.0]))
SINGLE = np.float32(0.1)


def helper(x):
    return x * RATE


def reads(x):
    y = helper(x)
    for _ in range(STEPS):
        y += DATA[STEPS - 1]
    if VERBOSE:
        y = -y
    return y * SINGLE + PAIR[0] * PAIR[1][1]


def test_globals_become_leaves():
    traced = check(reads, lambda: (1.5,))
    captures = {leaf.path[0]: leaf for leaf in traced.leaves if leaf.kind == "capture"}
    assert set(captures) == {"RATE", "STEPS", "DATA", "SINGLE", "PAIR.0", "PAIR.1"}
    assert captures["RATE"].abstract == Scalar(f64)
    assert captures["STEPS"].abstract == Scalar(i64)
    assert captures["SINGLE"].abstract == Scalar(np.float32 and abstract_of(SINGLE).type, weak=False)
    assert captures["DATA"].fetch() is DATA
    assert captures["PAIR.1"].fetch() is PAIR[1]
    guarded = {look.name: look.seen for look in traced.looks}
    assert guarded["helper"] is helper
    assert guarded["VERBOSE"] is False
    assert traced.looks.hold()


def test_values_are_read_when_called(monkeypatch):
    traced = trace(reads, [abstract_of(1.0)])
    monkeypatch.setitem(globals(), "RATE", 7.0)
    (rate,) = [leaf for leaf in traced.leaves if leaf.path == ("RATE",)]
    assert rate.fetch() == 7.0
    monkeypatch.setitem(globals(), "VERBOSE", True)
    assert [look.name for look in traced.looks if not look.holds()] == ["VERBOSE"]
    monkeypatch.setitem(globals(), "helper", lambda x: x)
    assert {look.name for look in traced.looks if not look.holds()} == {"VERBOSE", "helper"}


def make_closure(a, table, f):
    def inner(x):
        return f(x) * a + table[1]

    return inner


def test_closures():
    fn = make_closure(3.0, np.array([1.0, 2.0]), math.sin)
    traced = check(fn, lambda: (0.5,))
    assert [leaf.path[0] for leaf in traced.leaves] == ["x", "a", "table"]
    check(make_closure(2, np.ones(2), lambda t: t * t), lambda: (0.5,))
    check(make_closure(2, np.ones(2), helper), lambda: (3,))


def test_wrapped_functions_are_traced():
    class Decorated:
        __wrapped__ = staticmethod(helper)

        def __call__(self, *args):
            return 2 * helper(*args)

    check(make_closure(1.0, np.ones(2), functools.cache(helper)), lambda: (2.0,))
    check(make_closure(1.0, np.ones(2), adc.jit_grad(helper)), lambda: (2.0,))
    with pytest.raises(CompileError, match=r"what Decorated makes of .*helper\(\) is not known"):
        run(make_closure(1.0, np.ones(2), Decorated()), (2.0,))


def test_lambdas_on_one_line():
    first, second = (lambda x: x + 1, lambda x: x * 2)
    check(first, lambda: (3.0,))
    check(second, lambda: (3.0,))
    alike = [lambda x: x + 1, lambda x: x + 1]
    check(alike[1], lambda: (1.5,))


def writes(u, v, w):
    u[0] = v[0]
    view = w[1:]
    view[0] += 1.0
    return helper_write(v, w)


def helper_write(a, b):
    b[0] = a[1]
    return a[0]


def test_mutated():
    args = [abstract_of(np.ones(3))] * 3
    traced = trace(writes, args)
    assert traced.mutated == {0, 2}
    attrs = traced.module.funcs[traced.entry].arg_attrs
    assert ["adc.readonly" in a for a in attrs] == [False, True, False]
    callee = traced.module.funcs["helper_write"]
    assert ["adc.readonly" in a for a in callee.arg_attrs] == [True, False]


def test_read_only_arguments():
    fixed = Array(f64, 1, writable=False)
    with pytest.raises(CompileError, match="'w' is read-only"):
        trace(writes, [Array(f64, 1), fixed, fixed])
    traced = trace(helper_write, [fixed, Array(f64, 1)])
    assert traced.mutated == {1}


def adds_data(x):
    x[1:] = DATA[:-1] + x[:-1]


def test_captured_arrays_that_overlap_arguments():
    def temporaries(traced):
        return sum(op.opdef is ops.alloc for op in traced.module.funcs[traced.entry].walk())

    def shift(x):
        x[1:] = DATA[:-1] * 2

    plain = trace(shift, [Array(f64, 1)])
    assert temporaries(plain) == 0
    aliased = trace(shift, [Array(f64, 1, alias=0)], capture_aliases={"DATA": 0})
    assert temporaries(aliased) == 1
    numbers = [a.get("adc.alias") for a in aliased.module.funcs[aliased.entry].arg_attrs]
    assert numbers == [0, 0]


def static_arguments(x, mode, scale=2.0, extra=None):
    if mode == "double":
        x = x * scale
    if extra is not None:
        x = x + extra
    return x, mode, len(mode), extra


def test_static_arguments():
    traced = trace(static_arguments, [Scalar(f64), Static("double")])
    assert [leaf.path for leaf in traced.leaves] == [("x",)]
    assert traced.result == ResultTuple(
        (ResultLeaf(0, Scalar(f64)), ResultStatic("double"), ResultStatic(6), ResultStatic(None))
    )
    check(static_arguments, lambda: (1.5, "other", 2.0, 3.0))


def nested(p, k):
    (a, b), c = p
    return a * b[k] + c


def test_tuples_as_arguments():
    traced = check(nested, lambda: (((2.0, np.arange(3.0)), 4), 2))
    assert [leaf.path for leaf in traced.leaves] == [("p", 0, 0), ("p", 0, 1), ("p", 1), ("k",)]


def test_keywords():
    traced = trace(static_arguments, [Scalar(f64)], {"mode": Static("x"), "extra": Scalar(f64)})
    assert [leaf.path for leaf in traced.leaves] == [("x",), ("extra",)]
    with pytest.raises(TypeError):
        trace(static_arguments, [Scalar(f64)])


def one_signature(u, v):
    return norm(u) + norm(v) + norm(u[1:]) + norm(v[::2])


def norm(x):
    return math.sqrt(np.sum(x * x))


def test_callees_are_traced_once_per_signature():
    traced = check(one_signature, lambda: (np.arange(4.0), np.ones(3)))
    assert sorted(traced.module.funcs) == ["norm", "norm_1", "norm_2", "one_signature"]
    assert adds_data is not None


class Moved(types.ModuleType):
    """A module that loads its attributes when they are asked for, such as ``six.moves``."""

    def __getattr__(self, name):
        if name == "range":
            self.range = range
            return range
        raise AttributeError(name)


MOVED = Moved("moved")


def test_modules_of_other_classes():
    def program(x, n):
        for _ in MOVED.range(n):
            x = x * x
        return x

    assert adc.jit_grad(program).value_and_grad(1.5, 2) == (1.5**4, 4 * 1.5**3)
