"""Tuples, lists and other containers read by name: their contents at the time of the call count."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.driver import specialise

WEIGHTS: tuple[float, ...] = (1.0, 2.0)
NUMBERS = [1.0, 2.0]
OFFSETS: tuple[int, ...] = (0, 1, -1)
NESTED: tuple[tuple[int, ...], ...] = ((0, 1), (1, 0))
LIMITS = {"low": 1.0}


class Pair(NamedTuple):
    first: int
    second: float


PAIR = Pair(1, 2.0)


@jit_grad
def weighted(x):
    return x * sum(WEIGHTS) + len(WEIGHTS)


@jit_grad
def summed(x):
    return x * sum(NUMBERS)


@jit_grad
def shifted(v):
    total = 0.0
    for i in range(len(v)):
        for q in range(len(OFFSETS)):
            total += (q + 1.0) * v[(i + OFFSETS[q]) % len(v)] * v[i]
    return total


@jit_grad
def nested(v):
    return v[NESTED[0][1]] * 2.0 + v[NESTED[1][0]] * 3.0


@jit_grad
def of_pair(v):
    return v[PAIR.first] * PAIR.second


@jit_grad
def limited(x):
    return x * LIMITS["low"] + (LIMITS["high"] if "high" in LIMITS else 0.0)


def test_a_tuple_of_another_length(monkeypatch: pytest.MonkeyPatch) -> None:
    for held in ((1.0, 2.0), (1.0, 2.0, 3.0), (5.0,), (), (2.0, 1.0), (1, 2.5), (1.0, 2.0)):
        monkeypatch.setitem(globals(), "WEIGHTS", held)
        assert weighted(2.0) == 2.0 * sum(held) + len(held)
        assert weighted.grad(2.0) == sum(held)


def test_a_list_that_grows_and_shrinks() -> None:
    NUMBERS[:] = [1.0, 2.0]
    assert summed(2.0) == 6.0
    NUMBERS.append(3.0)
    assert summed(2.0) == 12.0 and summed.grad(2.0) == 6.0
    del NUMBERS[1:]
    assert summed(2.0) == 2.0
    NUMBERS[0] = 7.0
    assert summed(2.0) == 14.0


def test_integers_in_tuples(monkeypatch: pytest.MonkeyPatch) -> None:
    v = np.array([0.5, -1.0, 2.0, 3.0, 1.5])
    for held in ((0, 1, -1), (0, 2, -1), (2**40, 1, 1), (1, -2), (0, 1, -1)):
        monkeypatch.setitem(globals(), "OFFSETS", held)
        at = np.arange(5)
        expected = sum((q + 1.0) * v[(at + o) % 5] * v for q, o in enumerate(held))
        assert shifted(v) == pytest.approx(np.sum(expected), rel=1e-14)
        gradient = sum((q + 1.0) * (v[(at + o) % 5] + v[(at - o) % 5]) for q, o in enumerate(held))
        assert shifted.grad(v) == pytest.approx(gradient, rel=1e-13)


def test_tuples_in_tuples_and_named_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    v = np.array([1.0, 10.0, 100.0])
    assert nested(v) == 20.0 + 30.0
    monkeypatch.setitem(globals(), "NESTED", ((0, 2), (0, 1)))
    assert nested(v) == 200.0 + 3.0
    assert np.array_equal(nested.grad(v), [3.0, 0.0, 2.0])
    assert of_pair(v) == 20.0
    monkeypatch.setitem(globals(), "PAIR", Pair(2, 3.0))
    assert of_pair(v) == 300.0
    monkeypatch.setitem(globals(), "PAIR", Pair(0, 4.0))
    assert np.array_equal(of_pair.grad(v), [4.0, 0.0, 0.0])


def test_equal_tuples_made_anew_compile_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    compile_functions = specialise.compile_functions
    monkeypatch.setattr(specialise, "compile_functions", lambda *a: compiled.append(a) or compile_functions(*a))
    v = np.arange(4.0)
    for far in (1000, 1000, 1001, 1001):
        monkeypatch.setitem(globals(), "OFFSETS", tuple([far, far + 1]))
        shifted(v)
    assert len(compiled) == 2


def test_keys_of_a_dict() -> None:
    LIMITS.pop("high", None)
    assert limited(2.0) == 2.0
    LIMITS["high"] = 5.0
    assert limited(2.0) == 7.0
    LIMITS["low"] = 3.0
    assert limited(2.0) == 11.0 and limited.grad(2.0) == 3.0


def test_a_container_that_becomes_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    assert weighted(1.0) == sum(WEIGHTS) + len(WEIGHTS)
    monkeypatch.setitem(globals(), "WEIGHTS", [1.0, 4.0])
    assert weighted(1.0) == 7.0
    monkeypatch.setitem(globals(), "WEIGHTS", "text")
    with pytest.raises(adc.AdcError):
        weighted(1.0)
