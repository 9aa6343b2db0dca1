"""Results with containers of functions of arrays and numbers: compiled code calls what makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from adc import jit_grad

X = np.arange(4.0)


@dataclass
class State:
    u: np.ndarray
    t: float


class Point(NamedTuple):
    x: float
    y: np.ndarray


def as_dict(x, k=2.0):
    return {"scaled": k * x, "sum": np.sum(x), "inner": (x[0], [k])}


def as_object(x, k=2.0):
    return State(k * x, k)


def as_namedtuple(x, k=2.0):
    return Point(k * x[1], x - k)


def twice_the_same(x, k=2.0):
    state = State(x * k, k)
    return [state, state]


def as_it_came(x, k=2.0):
    x[0] = k
    return {"x": x, "tail": x[1:]}


def grown(x, k=2.0):
    found = []
    for item in x:
        if item > k:
            found.append(item)
    return {"found": found, "count": len(found)}


PROGRAMS = as_dict, as_object, as_namedtuple, twice_the_same, as_it_came, grown


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, State):
        found, expected = (type(found), vars(found)), (State, vars(expected))
    if isinstance(expected, dict):
        found, expected = (type(found), list(found.items())), (type(expected), list(expected.items()))
    if isinstance(expected, tuple | list):
        alike = type(found) is type(expected) and len(found) == len(expected)
        return alike and all(map(same, found, expected))
    return bool(np.array_equal(found, expected))


@pytest.mark.parametrize("engine", ["native", "interpreter"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_each_call_makes_a_new_result(program, engine):
    compiled = jit_grad(program, _engine=engine)
    calls = [(X,), (X, 1.5), (X + 1.0,), (X, 1.5)]
    results = [compiled(*[np.array(a) if isinstance(a, np.ndarray) else a for a in call]) for call in calls]
    for result, call in zip(results, calls, strict=True):
        assert same(result, program(*[a.copy() if isinstance(a, np.ndarray) else a for a in call]))
    assert len({id(result) for result in results}) == len(results)
    assert same(compiled(x=X.copy(), k=0.5), program(X.copy(), 0.5))


def test_an_object_that_is_there_twice_is_one():
    first, second = jit_grad(twice_the_same)(X)
    assert first is second


def test_arguments_in_a_result_are_the_arguments():
    x = X.copy()
    compiled = jit_grad(as_it_came)
    for _ in range(2):
        result = compiled(x)
        assert result["x"] is x and result["tail"].base is x


def test_of_arguments_that_share_memory_the_one_that_was_returned_comes_back():
    second = jit_grad(lambda x, y: y)
    x = np.arange(6.0)
    for a, b in ((x, x[1:4]), (x[1:4], x), (x, x[::-1]), (x[::2], x[:3]), (x.reshape(2, 3), x)):
        assert second(a, b) is b


def test_what_comes_before_a_result_can_fail():
    def fails(x, n):
        return {"value": x[n]}

    compiled = jit_grad(fails)
    for _ in range(2):
        assert compiled(X, 1) == {"value": 1.0}
        with pytest.raises(IndexError):
            compiled(X, 9)
