"""Subscripts that are loaded: checked once before the loop, by the extremes of their array."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adc import jit_grad
from adc.ir import interpreter, ops
from adc.ir.parser import parse_module
from adc.passes.analysis.extremes import AT_LEAST


def gather(x, idx, n):
    total = 0.0
    for i in range(n):
        total += x[idx[i]] * x[idx[i]]
    return total


def pairs(x, links, n):
    """Two columns with different ranges."""
    out = np.zeros(len(links))
    for i in range(len(links)):
        out[i] = x[links[i, 0]] * x[links[i, 1] - 3]
    return np.sum(out)


def rows(x, first, n):
    """Limits of loops are loaded."""
    out = np.zeros(n)
    for i in range(n):
        s = 0.0
        for e in range(first[i], first[i + 1]):
            s += x[e] * 2.0
        out[i] = s
    return np.sum(out * out)


def changed(x, idx, n):
    """The indices change in the loop."""
    total = 0.0
    for i in range(n - 1):
        total += x[idx[i]]
        idx[i + 1] = idx[i] // 2
    return total


def outcome(function, args):
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    try:
        return float(function(*args)), args
    except IndexError:
        return "IndexError", args


@pytest.mark.parametrize("function", [gather, pairs, rows, changed], ids=lambda f: f.__name__)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_as_python_does_whatever_the_indices_are(function, data):
    """Negative ones, ones that are too large, in the part that is not used too."""
    n = 2 * data.draw(st.integers(0, 5))
    low = data.draw(st.sampled_from([0, 0, -6, -9]))
    high = data.draw(st.sampled_from([5, 6]))
    idx = np.array(data.draw(st.lists(st.integers(low, high), min_size=n, max_size=n + 4)))
    idx = idx[: len(idx) // 2 * 2].astype(np.int64)
    x = np.random.default_rng(0).standard_normal(6)
    used = max(0, min(n, len(idx)) - 1) if function is rows else min(n, len(idx))
    args = [x, idx.reshape(-1, 2) if function is pairs else idx, used]
    expected, found = outcome(function, args), outcome(jit_grad(function), args)
    if expected[0] == "IndexError":
        assert found[0] == "IndexError"
    else:
        assert found[0] == pytest.approx(expected[0], rel=1e-12, abs=1e-12)
    for mine, theirs in zip(found[1], expected[1], strict=True):
        assert np.array_equal(mine, theirs)


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_the_loop_is_parallel(dtype):
    def product(x, idx, out):
        for i in range(len(out)):
            out[i] = x[idx[i]] * 2.0
        return out[0]

    x, idx = np.arange(5.0), np.array([4, 0, 2, 2], dtype)
    compiled = jit_grad(product)
    out = np.empty(4)
    compiled(x, idx, out)
    assert np.array_equal(out, 2.0 * x[idx])
    assert "for i: threads" in str(compiled.report())


def test_long_arrays_of_which_little_is_used():
    """They are not gone through; checks are made one by one."""
    x, idx = np.ones(10), np.full(10_000_000, 3)
    compiled = jit_grad(gather)
    compiled(x, idx, 5)
    idx[7] = 99  # never reached
    assert compiled(x, idx, 5) == 5.0
    with pytest.raises(IndexError):
        compiled(x, idx, 8)


def test_few_steps_over_a_long_array():
    """It counts how often the inner loop runs: nothing is checked in it."""

    def summed(x, idx, steps):
        total = 0.0
        for _ in range(steps):
            for i in range(len(idx)):
                total += x[idx[i]]
        return total

    compiled = jit_grad(summed)
    args = np.ones(10), np.full(AT_LEAST + 1, 3), 3
    compiled(*args)
    statistics = interpreter.Statistics()
    interpreter.run(parse_module(compiled.dump_ir("lowered")), "summed", args, statistics=statistics)
    assert statistics.executed[ops.bound] == 0
