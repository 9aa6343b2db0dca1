"""What the sides of a branch keep for the reverse of a call is one entry of the record, not one per side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from adc.ir import ops
from adc.ir.schedules import TAPE
from adc.ir.text.parser import parse_module
from adc.ir.types import MemRefType
from tests.forward_mode import check_gradients


def halves(x, lo, hi):  # type: ignore[no-untyped-def]
    """Both sides keep a number and a buffer."""
    if hi - lo < 3:
        s = 0.3
        for k in range(lo, hi):
            s = np.sin(s + x[k]) * s
        return s
    middle = (lo + hi) // 2
    left, right = halves(x, lo, middle), halves(x, middle, hi)
    if left > right:
        q = 1.0
        for k in range(lo, middle):
            q = q * (1.0 + 0.1 * x[k] * left)
        return q * right
    w = 0.5
    while w < 2.0:
        w = w * (1.2 + 0.1 * np.sin(left) ** 2)
    return w * left * np.exp(-right)


def nested(x, i, depth):  # type: ignore[no-untyped-def]
    """Branches in branches: a result of an inner one is also what an outer side gives."""
    at = x[i % len(x)]
    if depth == 0:
        return np.sin(at)
    if i % 3 == 0:
        s = 1.0
        for k in range(len(x)):
            s = s * (1.0 + 0.1 * x[k] * at)
        return nested(x, i + 1, depth - 1) * s
    if i % 3 == 1:
        if at > 0.5:
            c = np.cos(x[0]) * nested(x, 2 * i, depth - 1)
            return c * c
        e = np.exp(-x[1]) + nested(x, i + 2, depth - 1)
        return e * x[2] * e
    t = nested(x, i + 1, depth - 1)
    return t * nested(x, i + 2, depth - 1) + np.tanh(t)


def rows(x, i):  # type: ignore[no-untyped-def]
    """One side keeps a row of the caller's array, the other one a row of its own: who frees it has to know."""
    if i == len(x):
        return 1.0
    row = x[i] * x[i] if i % 2 else x[i]
    s = 0.0
    for k in range(len(row)):
        s += np.sin(row[k]) * row[k]
    return s * rows(x, i + 1) + s


def of_halves(x):  # type: ignore[no-untyped-def]
    return halves(x, 0, len(x))


def of_nested(x):  # type: ignore[no-untyped-def]
    return nested(x, 1, 6)


def of_rows(x):  # type: ignore[no-untyped-def]
    return rows(x, 0)


@pytest.mark.parametrize(("f", "shape"), [(of_halves, (17,)), (of_nested, (4,)), (of_rows, (5, 3))])
def test_against_forward_mode(f: Callable[..., Any], shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(3).random(shape)
    compiled = jit_grad(f)
    assert compiled(x) == pytest.approx(f(x), rel=1e-13)
    gradient = compiled.grad(x)
    check_gradients(compiled, [x], {0: gradient}, rel=1e-11, abs=1e-13)
    np.testing.assert_array_equal(compiled.grad(x), gradient)  # what the first call freed is used again


def expand(a, n, m):  # type: ignore[no-untyped-def]
    if m == 1:
        return a[n - 1]
    total = 0.0
    for k in range(m):
        total += a[k * n] * expand(a, n, m - 1) * total + a[k]
    return total


def of_expand(a, n):  # type: ignore[no-untyped-def]
    return expand(a, n, n)


def test_one_buffer_for_both_versions() -> None:
    """A loop that is there twice, fast and cold, has its buffers in the record once."""
    module = parse_module(jit_grad(of_expand).dump_ir("adjoint", "f64[::1], i64"))
    recording = [f for f in module.funcs.values() if any(op.opdef is ops.pack for op in f.walk())]
    assert recording
    for func in recording:
        (pack,) = (op for op in func.walk() if op.opdef is ops.pack)
        kept = [v for v in pack.operands if isinstance(v.type, MemRefType)]
        made = [op for op in func.walk() if op.opdef is ops.alloc and TAPE in op.attrs]
        assert kept
        assert len(made) == 2 * len(kept)
