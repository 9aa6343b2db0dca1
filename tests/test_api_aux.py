"""``has_aux``: the gradient passes through what a function returns in addition to its value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad


def weighted(a, b, w):
    out = np.empty_like(a)
    for i in range(len(a)):
        out[i] = math.sin(a[i]) * b[i]
    return np.sum(w * out), (out, len(a), np.sum(out))


A, B, W = np.arange(4.0) + 0.1, np.arange(4.0) * 0.5, np.arange(4.0) - 1.5
OUT = np.sin(A) * B


def check_aux(aux: Any) -> None:
    out, n, total = aux
    assert np.allclose(out, OUT, rtol=1e-15) and n == 4 and isinstance(n, int) and total == pytest.approx(OUT.sum())


@pytest.mark.parametrize("engine", ["native", "interpreter"])
def test_value_and_gradients(engine: Any) -> None:
    f = jit_grad(weighted, _engine=engine) if engine == "native" else jit_grad(_engine=engine)(weighted)
    for _ in range(2):
        (value, aux), (a_bar, b_bar) = adc.value_and_grad(f, argnums=(0, 1), has_aux=True)(A, B, W)
        assert value == pytest.approx(np.sum(W * OUT))
        check_aux(aux)
        assert np.allclose(a_bar, W * np.cos(A) * B) and np.allclose(b_bar, W * np.sin(A))
        a_bar, aux = adc.grad(f, has_aux=True)(A, B, W)
        check_aux(aux)
        assert np.allclose(a_bar, W * np.cos(A) * B)


def test_by_name() -> None:
    (value, aux), (a_bar, named) = adc.value_and_grad(weighted, argnums=0, argnames="b", has_aux=True)(A, B, W)
    check_aux(aux)
    assert value == pytest.approx(np.sum(W * OUT)) and np.allclose(named["b"], W * np.sin(A))
    assert np.allclose(a_bar, W * np.cos(A) * B)
    named, aux = adc.grad(weighted, argnames=("b",), has_aux=True)(A, B, W)
    check_aux(aux)
    assert np.allclose(named["b"], W * np.sin(A))


def test_overlapping_arguments() -> None:
    base = np.arange(6.0)
    a, b = base[:4], base[1:5]
    (value, aux), (a_bar, b_bar) = adc.value_and_grad(weighted, argnums=(0, 1), has_aux=True)(a, b, W)
    assert value == pytest.approx(np.sum(W * np.sin(a) * b)) and np.allclose(aux[0], np.sin(a) * b)
    assert np.allclose(a_bar, W * np.cos(a) * b) and np.allclose(b_bar, W * np.sin(a))


@dataclass
class State:
    x: float
    history: Any


def test_containers() -> None:
    def run(p, x):
        s = State(p["w"] * x, [x, x * x])
        return s.x * s.x, {"state": s, "given": p}

    p = {"w": 2.0, "n": 1}
    (value, aux), (p_bar, x_bar) = adc.value_and_grad(run, argnums=(0, 1), has_aux=True)(p, 3.0)
    assert value == 36.0 and aux == {"state": State(6.0, [3.0, 9.0]), "given": p} and aux["given"] is p
    assert p_bar == {"w": 36.0, "n": None} and x_bar == 24.0


def test_the_arguments_stay_as_they_were() -> None:
    def changed(a):
        a[0] = 5.0
        return np.sum(a * a), a

    given = A.copy()
    (value, left), a_bar = adc.value_and_grad(changed, has_aux=True)(given)
    assert np.array_equal(given, A) and left[0] == 5.0 and np.array_equal(left[1:], A[1:])
    assert value == pytest.approx(25.0 + np.sum(A[1:] ** 2)) and np.allclose(a_bar, [0.0, *(2 * A[1:])])


def test_one_array_twice_and_what_is_known_beforehand() -> None:
    def f(a):
        return 2.5, (a * 2.0, None, "text", a.shape)

    (value, (double, nothing, text, shape)), a_bar = adc.value_and_grad(f, has_aux=True)(A)
    assert value == 2.5 and np.array_equal(double, 2 * A) and (nothing, text, shape) == (None, "text", (4,))
    assert np.array_equal(a_bar, np.zeros(4))

    def twice(a):
        b = a * a
        return np.sum(b), (b, b)

    (_, (first, second)), a_bar = adc.value_and_grad(twice, has_aux=True)(A)
    assert np.array_equal(first, A * A) and np.array_equal(second, A * A) and np.allclose(a_bar, 2 * A)


def test_mistakes() -> None:
    def alone(a):
        return a * a

    def three(a):
        return a, a, a

    def first_an_integer(a):
        return 1, a

    def hands_on_what_it_changes(p):
        p["n"] = p["n"] + 1
        return p["w"] ** 2, p

    for function, message in (
        (alone, "alone returns a float; with has_aux it is to return a pair"),
        (three, "three returns a tuple; with has_aux it is to return a pair"),
        (first_an_integer, "first_an_integer returns a pair of an? int"),
    ):
        with pytest.raises(adc.AdcError, match=message):
            adc.grad(function, has_aux=True)(1.5)
    with pytest.raises(adc.AdcError, match="hands on an argument that it changes"):
        adc.grad(hands_on_what_it_changes, has_aux=True)({"w": 1.0, "n": 1})
    with pytest.raises(adc.AdcError, match="a float and other results, with has_aux=True"):
        adc.grad(weighted)(A, B, W)
    with pytest.raises(adc.AdcError, match="has_aux is for first derivatives"):
        adc.grad(adc.grad(weighted, has_aux=True))


def test_it_can_be_looked_at() -> None:
    both = adc.value_and_grad(weighted, has_aux=True)
    both(A, B, W)
    assert "weighted.grad" in both.dump_ir("adjoint")
    assert "a: array of float64 with 1 axis: active" in str(both.report())
    twice = adc.grad(adc.grad(lambda x: x * x * x))
    assert "math." not in twice.dump_ir("adjoint", "f64") and twice(2.0) == 12.0


def test_it_is_shown_when_asked_for(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ADC_DUMP_IR", "adjoint")

    def pair(x):
        return x * x, x

    assert adc.grad(pair, has_aux=True)(3.0) == (6.0, 3.0)
    assert "pair.grad" in capfd.readouterr().err
