"""Ints that a loop makes floats are ints in its first iteration, where that can be seen."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adc

X = np.array([0.5, 1.5, 0.7, 2.0])


def sign_of_zero(x: Any) -> Any:
    t = 0
    s = 0.0
    for k in range(len(x)):
        t = -t
        s += math.copysign(1.0, t) * x[k]
        t = t * 1.0
    return s


def sign_of_a_product(x: Any) -> Any:
    t = 0
    s = 0.0
    for k in range(len(x)):
        s += math.copysign(1.0, t * (k - 3)) * x[k]
        t = x[k]
    return s


def asked(x: Any) -> Any:
    t = 0
    for v in x:
        t = t + 3 * v if isinstance(t, int) else t * v
    return t


def asked_in_inner_loop(x: Any) -> Any:
    s = 0
    c = 0.0
    for i in range(3, 0, -1):
        for v in x:
            if type(s) is int:
                c += 10.0 * v
            s += v * i
    return s + c


def scaled(t: Any, v: Any) -> Any:
    return v * 3 if isinstance(t, int) else t + v


def asked_in_a_function(x: Any) -> Any:
    t = 0
    for k in range(len(x)):
        t = scaled(t, x[k])
    return t


def flag(x: Any) -> Any:
    t: Any = True
    out = 0.0
    for k in range(len(x)):
        if t is True:
            out += x[k]
            t = x[k]
            continue
        if x[k] > 3:
            break
        t = t * x[k]
        out += t
    else:
        out += 100
    return out


def beside_another(x: Any) -> Any:
    s, p = 0, 0
    for v in x:
        s = s + (p * 3 if isinstance(p, int) else p * v)
        p = v
    return s


def in_a_list(x: Any) -> Any:
    held = [0, 1]
    for v in x:
        if isinstance(held[0], int):
            held[1] = held[1] + 1
        held[0] = held[0] + v
    return held[0] * held[1]


def endless(x: Any) -> Any:
    s = 0
    i = 0
    while True:
        if i >= len(x):
            return s if not isinstance(s, int) else -1.0
        s += x[i]
        i += 1


def set_in_the_loop(x: Any) -> Any:
    t = 0
    for i in range(len(x)):
        y = x[i] * (2.0 if isinstance(t, int) else 3.0)
        t = t + y
    return y + i + t


def beyond_53_bits(x: Any) -> Any:
    t = 2**53 + 1
    k = 0
    while k < len(x):
        t = t - 2**53 + x[k]
        k += 1
    return t


PROGRAMS = [
    sign_of_zero,
    sign_of_a_product,
    asked,
    asked_in_inner_loop,
    asked_in_a_function,
    flag,
    beside_another,
    in_a_list,
    endless,
    set_in_the_loop,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_first_iteration_has_ints(program: Any) -> None:
    compiled = adc.jit_grad(program)
    for x in (X, X[:1]):
        assert compiled(x) == program(x)
    value, gradient = adc.value_and_grad(program)(X)
    assert value == program(X)
    step = 1e-6 * np.eye(len(X))
    differences = [(program(X + d) - program(X - d)) / 2e-6 for d in step]
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("program", [asked, flag, in_a_list, endless], ids=lambda program: program.__name__)
def test_no_iteration(program: Any) -> None:
    assert adc.jit_grad(program)(X[:0]) == program(X[:0])


def test_set_in_no_iteration() -> None:
    with pytest.raises(UnboundLocalError):
        adc.jit_grad(set_in_the_loop)(X[:0])


def test_beyond_53_bits() -> None:
    assert adc.jit_grad(beyond_53_bits)(X[:1]) == beyond_53_bits(X[:1]) == 1.5


def shown(x: Any) -> Any:
    s = 0
    for v in x:
        print(s)
        s = s + v
    return s


def test_shown(capfd: pytest.CaptureFixture[str]) -> None:
    shown(X)
    expected = capfd.readouterr().out
    adc.jit_grad(shown)(X)
    assert capfd.readouterr().out == expected


def plain(x: Any) -> Any:
    s = 0
    for v in x:
        s = s + 2 * v
    return s


def test_one_loop_where_nothing_can_be_seen() -> None:
    whole, divided = (adc.jit_grad(f).dump_ir("traced", "f64[:]") for f in (plain, asked))
    assert whole.count("scf.for") == 1
    assert "scf.if" not in whole
    assert "scf.if" in divided


def deep(x: Any) -> Any:
    s = 0
    for i in range(2):
        for j in range(2):
            for k in range(2):
                print(s)
                s = s + x[i + j + k]
    return s


def test_shown_in_three_loops(capfd: pytest.CaptureFixture[str]) -> None:
    deep(X)
    expected = capfd.readouterr().out
    adc.jit_grad(deep)(X)
    assert capfd.readouterr().out == expected


def numpys_in_a_list(x: Any) -> Any:
    held = [np.int64(0)]
    s = 0.0
    for v in x:
        s += v if isinstance(held[0], np.integer) else 10 * v
        held[0] = held[0] + v
    return s


def test_numpys_integers() -> None:
    assert adc.jit_grad(numpys_in_a_list)(X) == numpys_in_a_list(X)
