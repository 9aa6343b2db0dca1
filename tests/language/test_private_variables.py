"""Iteration variables of a parallel loop that are set on some paths only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from adc.errors import CompileError


def two_conditions(z, out):
    for i in prange(len(z)):
        if z[i] > 0.5:
            t = np.sqrt(z[i])
        if z[i] > 0.7:
            out[i] = t


def two_branches(z, out):
    for i in prange(len(z)):
        if z[i] > 2.0:
            t = z[i] * z[i]
            u = 1.0
        elif z[i] > 0.7:
            t = math.sin(z[i])
        if z[i] > 2.0:
            out[i] = t + u
        elif z[i] > 0.7:
            out[i] = t


def an_array(z, out):
    for i in prange(len(z)):
        if z[i] > 0.5:
            w = z[i] * np.array((0.0, 1.0, 2.0))
            w[1] += 1.0
        if z[i] > 0.7:
            out[i] = np.sum(w)


def a_tuple(z, out):
    for i in prange(len(z)):
        if z[i] > 0.5:
            p = (z[i], i)
        if z[i] > 0.7:
            a, k = p
            out[k] = a


def updated_later(z, out):
    for i in prange(len(z)):
        if z[i] > 0.5:
            s = 1.0
        if z[i] > 0.7:
            s += z[i]
            out[i] = s


def by_an_inner_loop(z, out):
    for i in prange(len(z)):
        for j in range(3):
            if j == 1 or j == 2:
                t = z[i] * j
            if j > 1:
                out[i] += t


def in_the_last_inner_iteration(z, out):
    for i in prange(len(z)):
        for j in range(i + 1):
            last = z[j]
        out[i] = last


def with_continue(z, out):
    for i in prange(len(z)):
        if z[i] > 0.5:
            t = z[i]
        if z[i] < 0.7:
            continue
        out[i] = t


def after_another_loop(z, out):
    for i in prange(len(z)):
        t = z[i]
        out[i] = t
    for i in prange(len(z)):
        if z[i] > 0.5:
            t = 2.0 * z[i]
        if z[i] > 0.7:
            out[i] += t


PROGRAMS = [
    two_conditions, two_branches, an_array, a_tuple, updated_later, by_an_inner_loop, in_the_last_inner_iteration,
    with_continue, after_another_loop,
]  # fmt: skip
Z = np.array([0.0, 0.6, 4.0, 0.8, 0.69, 1.5])


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(fn: Any) -> None:
    def total(z):
        out = np.zeros(len(z))
        fn(z, out)
        return np.sum(np.sin(out))

    out, expected = np.zeros(len(Z)), np.zeros(len(Z))
    jit_grad(fn)(Z, out)
    fn(Z, expected)
    assert np.array_equal(out, expected)
    h = 1e-6
    difference = [(total(Z + h * e) - total(Z - h * e)) / (2 * h) for e in np.eye(len(Z))]
    assert np.allclose(adc.grad(total)(Z), difference, atol=1e-8)
    forward = [adc.jvp(total, (Z,), (e,))[1] for e in np.eye(len(Z))]
    assert np.allclose(adc.grad(total)(Z), forward, rtol=1e-12, atol=1e-14)


def test_a_variable_that_the_iteration_has_not_set() -> None:
    def f(z, out):
        for i in prange(len(z)):
            if z[i] > 0.5:
                t = z[i]
            out[i] = t

    with pytest.raises(UnboundLocalError, match="cannot access local variable 't'"):
        f(np.array([0.0, 1.0]), np.zeros(2))
    for z in (np.array([0.0, 1.0]), np.array([1.0, 0.0])):
        for run in (jit_grad(f), jit_grad(f).pullback):
            with pytest.raises(UnboundLocalError, match=r"'t' where it is not .* in this iteration of a parallel loop"):
                run(z, np.zeros(2))


def carried_from_before(z, out):
    t = 0.0
    for i in prange(len(z)):
        if z[i] > 0.5:
            t = z[i]
        out[i] = t


def carried_between(z, out):
    for i in prange(len(z)):
        if i > 0:
            out[i] = t  # noqa: F821
        t = z[i]  # noqa: F841


def perhaps_set_before(z, out):
    if z[0] > 0:
        t = z[0]
    for i in prange(len(z)):
        if z[i] > 0.5:
            t = z[i]
        out[i] = t


@pytest.mark.parametrize("fn", [carried_from_before, carried_between, perhaps_set_before], ids=lambda f: f.__name__)
def test_what_may_be_carried_is_refused(fn: Any) -> None:
    with pytest.raises(CompileError, match="parallel loop"):
        jit_grad(fn)(Z, np.zeros(len(Z)))
