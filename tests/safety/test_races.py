"""Parallel loops with races: refused if that is certain, else the result of plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from adc.backend.runtime import on_threads
from adc.border.signature import abstracts_of
from adc.driver.compiler import Staged
from adc.errors import CompileError
from adc.ir import ops

N = 50_000


def assign(a, i, x):
    a[i] = x


def scatter(out, idx, v):
    for i in prange(idx.shape[0]):
        out[idx[i]] = v[i]


def scatter_add(out, idx, v):
    for i in prange(idx.shape[0]):
        out[idx[i]] += v[i]


def through_callee(out, idx, v):
    for i in prange(idx.shape[0]):
        assign(out, idx[i], v[i])


def through_view(out, idx, v):
    w = out[2:]
    for i in prange(idx.shape[0]):
        w[idx[i]] = v[i]


def overlapping_windows(out, idx, v):
    for i in prange(idx.shape[0]):
        window = out[i : i + 2]
        window[0] = v[i]
        window[1] = 2.0 * v[i]


def modulo(out, idx, v):
    for i in prange(idx.shape[0]):
        out[i % 3] = v[i]


def halves(out, idx, v):
    for i in prange(idx.shape[0]):
        out[i // 2] = v[i]


def in_a_branch(out, idx, v):
    for i in prange(idx.shape[0]):
        if v[i] > 0.5:
            out[0] = v[i]


def reads_what_others_write(out, idx, v):
    for i in prange(idx.shape[0]):
        out[i] = out[idx[i]] + v[i]


def scratch_outside(out, idx, v):
    scratch = np.zeros(3)
    for i in prange(idx.shape[0]):
        scratch[idx[i] % 3] = v[i]
        out[i] = scratch[0] - scratch[1]


def inner_loop(out, idx, v):
    for i in prange(idx.shape[0] - 3):
        for k in range(3):
            out[i + k] = v[i]


def stride_of_data(out, idx, v):
    m = idx[0] * 0 + 1
    for i in prange(idx.shape[0] // 4):
        for j in range(4):
            out[i * m + j] = v[4 * i + j]


def inside_time_loop(out, idx, v):
    for _ in range(2):
        for i in prange(idx.shape[0]):
            out[idx[i]] = v[i] - out[i]


MEETING = [
    scatter, scatter_add, through_callee, through_view, overlapping_windows, modulo, halves, in_a_branch,
    reads_what_others_write, scratch_outside, inner_loop, stride_of_data, inside_time_loop,
]  # fmt: skip


@pytest.mark.parametrize("fn", MEETING, ids=lambda f: f.__name__)
def test_iterations_that_may_meet_give_what_python_gives(fn: Any) -> None:
    rng = np.random.default_rng(3)
    idx, v = rng.integers(0, 40, N), rng.random(N)
    expected = np.linspace(0.0, 1.0, N + 5)
    fn(expected, idx, v)
    compiled = jit_grad(fn)
    for threads in (1, 2):
        with on_threads(threads):
            out = np.linspace(0.0, 1.0, N + 5)
            compiled(out, idx, v)
            assert np.array_equal(out, expected), threads


def misfit(v, idx, n):
    out = np.zeros(n)
    for i in prange(idx.shape[0]):
        out[idx[i]] = v[i] * v[i]
    for i in prange(idx.shape[0]):
        out[idx[i]] += 0.5 * v[i]
    total = 0.0
    for k in prange(n):
        total += out[k] * out[k]
    return total


def test_gradient_of_iterations_that_meet() -> None:
    rng = np.random.default_rng(3)
    idx, v = rng.integers(0, 40, 500), rng.random(500)
    found = []
    for threads in (1, 2):
        with on_threads(threads):
            found.append(adc.grad(misfit)(v, idx, 40))
    assert np.array_equal(*found)
    last = {int(j): i for i, j in enumerate(idx)}  # the assignment that stays
    out = np.zeros(40)
    for j, i in last.items():
        out[j] = v[i] * v[i]
    np.add.at(out, idx, 0.5 * v)
    expected = out[idx]  # 2 out * 0.5
    for j, i in last.items():
        expected[i] += 2 * out[j] * 2 * v[i]
    assert np.allclose(found[0], expected, rtol=1e-12)


# Certain races --------------------------------------------------------------------------------------------------------


def one_element(out, v):
    for i in prange(v.shape[0]):
        out[0] = v[i]


def one_element_through_callee(out, v):
    for i in prange(v.shape[0]):
        assign(out, 3, v[i])


def neighbour(out, v):
    for i in prange(v.shape[0] - 1):
        out[i + 1] = out[i] + v[i]


def neighbour_through_view(out, v):
    w = out[1:]
    for i in prange(v.shape[0] - 1):
        w[i] = out[i] + v[i]


def carried(out, v):
    s = 0.0
    for i in prange(v.shape[0]):
        s = v[i] - s
        out[i] = s


def last_value(out, v):
    last = 0.0
    for i in prange(v.shape[0]):
        last = v[i]
    out[0] = last


def two_ways(out, v):
    s = 0.0
    for i in prange(v.shape[0]):
        s += v[i]
        s *= 0.5
    out[0] = s


@pytest.mark.parametrize(
    "fn",
    [one_element, one_element_through_callee, neighbour, neighbour_through_view, carried, last_value, two_ways],
    ids=lambda f: f.__name__,
)
def test_certain_races_are_refused_with_both_lines(fn: Any) -> None:
    for call in (jit_grad(fn), jit_grad(fn).pullback):
        with pytest.raises(CompileError) as caught:
            call(np.zeros(20), np.ones(20))
        shown = str(caught.value)
        assert "parallel loop" in shown and "test_races.py" in shown
        assert shown.count("-->") >= 2 and "prange" in shown


# Independent loops stay parallel --------------------------------------------------------------------------------------


def rows(out, v):
    for i in prange(out.shape[0]):
        row = out[i]
        for j in range(out.shape[1]):
            row[j] = v[j] * i


def callee_of_own(out, v):
    for i in prange(v.shape[0]):
        assign(out, i, v[i] * 2.0)


def own_scratch(out, v):
    for i in prange(v.shape[0]):
        scratch = np.zeros(3)
        scratch[1] = v[i]
        out[i] = scratch[1] + scratch[0]


def evens(out, v):
    for i in prange(v.shape[0]):
        out[2 * i] = v[i]
        out[2 * i + 1] = -v[i]


def norms(out, v):
    s = 0.0
    top = 0.0
    for i in prange(v.shape[0]):
        s += v[i] * v[i]
        top = max(top, v[i])
    out[0] = s + top


@pytest.mark.parametrize(
    "fn, shape", [(rows, (30, 20)), (callee_of_own, 20), (own_scratch, 20), (evens, 40), (norms, 1)],
    ids=lambda x: getattr(x, "__name__", ""),
)  # fmt: skip
def test_independent_iterations_stay_parallel(fn: Any, shape: Any) -> None:
    compiled, v = jit_grad(fn), np.linspace(0.0, 1.0, 20)
    out, expected = np.zeros(shape), np.zeros(shape)
    compiled(out, v)
    fn(expected, v)
    assert np.allclose(out, expected, rtol=1e-14)
    staged = Staged(compiled._subject, abstracts_of(compiled._subject.parameters.names, (out, v)))
    traced = staged.traced()
    loops = [op for op in staged.primal(traced).funcs[traced.entry].walk() if op.opdef is ops.parallel]
    assert any(loop.attrs.get("threads") for loop in loops)
