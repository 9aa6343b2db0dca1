"""Extremes of loops that write to memory too: their gradients go to the place of the extreme and keep nothing of the
loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adc import jit_grad, prange
from adc.ir import ops
from adc.ir.text.parser import parse_module
from adc.ir.verifier import verify
from adc.passes.differentiation.prepare.split_extremes import split_extremes

RNG = np.random.default_rng(28)


def rescaled(x: Any, y: Any) -> float:
    """The rows are made and used again, in loops that also find their extremes."""
    total = 0.0
    for row in x:
        e = np.tanh(row) + y
        low, high = e.min(), e.max()
        total += high + np.sum(((e - low) / (high - low + 1.0)) ** 2)
    return total


def in_steps(x: Any, y: Any) -> float:
    """A step depends on the largest speed; the state changes in place."""
    u = x[0] * 1.0
    t = 0.0
    for _ in range(4):
        s = np.abs(u) + 0.1 * y
        dt = 0.4 / np.max(s)
        u -= dt * (u * u - np.roll(u, 1))
        t += dt * dt
    return t + np.sum(u * u)


def stored_twice(x: Any, y: Any) -> float:
    """What an iteration stores of a term is gone when the loop ends, or is another element's."""
    n = y.shape[0]
    z, w = np.zeros((n, 2)), np.zeros(n)
    column = int(y[0] > 9.0)
    best, least = -9.0, 9.0
    for i in prange(1, n, 2):
        v = x[0, i] * y[i]
        z[i, 0] = v
        z[i, column] = v * v
        best = max(best, v)
        least = min(least, x[0, i] + y[i])
        w[n - 1 - i] = x[0, i] + y[i]
    return best * 2.0 + least + np.sum(z) + np.sum(w * w)


def in_place(x: Any, y: Any) -> float:
    """The terms are stored where they come from; a sum and a condition are in the loop as well."""
    a = x * 1.0
    total = 0.0
    for k in range(a.shape[0]):
        best, s = -9.0, 0.0
        for i in prange(a.shape[1]):
            a[k, i] = np.sin(a[k, i]) * y[i]
            best = max(best, a[k, i])
            s += a[k, i]
            if y[i] > 0.0:
                a[0, i] += y[i]
        total += best * s
    return total + np.sum(a * a)


@pytest.mark.parametrize("function", [rescaled, in_steps, stored_twice, in_place])
def test_derivatives(function: Any) -> None:
    for rows, n in ((1, 1), (3, 2), (4, 9)):
        x, y = RNG.normal(size=(rows, n)), RNG.normal(size=n)
        dx, dy = RNG.normal(size=(rows, n)), RNG.normal(size=n)
        compiled = jit_grad(argnums=(0, 1))(function)
        value, found = compiled.value_and_grad(x, y)
        assert value == pytest.approx(function(x, y), rel=1e-12)
        along = np.sum(found[0] * dx) + np.sum(found[1] * dy)
        h = 1e-6
        ahead, behind = (function(x + s * h * dx, y + s * h * dy) for s in (1, -1))
        assert along == pytest.approx((ahead - behind) / (2 * h), rel=1e-5, abs=1e-7)
        assert compiled.jvp((x, y), (dx, dy))[1] == pytest.approx(along, rel=1e-10)


def of_kept_terms(v: Any) -> float:
    e = v * 2.0
    m = np.max(e)
    return m + 0.0 * np.sum((e - m) ** 2)


def test_ties_no_numbers_and_nothing() -> None:
    compiled = jit_grad(of_kept_terms)
    np.testing.assert_array_equal(compiled.grad(np.array([1.0, 3.0, 2.0, 3.0])), [0, 2, 0, 0])
    assert np.isnan(compiled.value_and_grad(np.array([1.0, np.nan, 5.0]))[0])
    single = compiled.grad(np.array([1.0, 3.0, 2.0], dtype=np.float32))
    assert single.dtype == np.float32 and single.tolist() == [0, 2, 0]
    np.testing.assert_array_equal(compiled.grad(np.arange(8.0)[::-2]), [2, 0, 0, 0])
    with pytest.raises(ValueError, match="zero-size"):
        compiled.grad(np.zeros(0))


def test_no_loop_is_a_chain_and_no_running_extreme_is_kept() -> None:
    compiled = jit_grad(argnums=(0, 1))(in_steps)
    compiled.grad(RNG.normal(size=(3, 6)), RNG.normal(size=6))
    assert "arith.maximumf" not in compiled.dump_ir("adjoint")


TEXT = """
func.func @f(%n: index, %k: index, %x: memref<?xf64>, %z: memref<?x?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %low = arith.constant -9.0 : f64
  %m = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%low) -> f64 {
    %v = memref.load %x[%i] : memref<?xf64>
    memref.store %v, %z[%i, %c0] : memref<?x?xf64>
    OTHER
    scf.reduce(%v : f64) {kinds = ["max"]}
  }
  func.return %m : f64
}
"""


@pytest.mark.parametrize(
    ("other", "arrays"),
    [
        ("%w = arith.mulf %v, %v : f64", 0),
        ("memref.store %low, %x[%i] : memref<?xf64>", 0),
        ("memref.store %low, %z[%i, %k] : memref<?x?xf64>", 1),
        ("adc.accumulate %low, %z[%i, %k] : memref<?x?xf64>", 1),
    ],
)
def test_terms_are_read_where_nothing_overwrites_them(other: str, arrays: int) -> None:
    module = parse_module(TEXT.replace("OTHER", other))
    func = module.funcs["f"]
    active = {r for op in func.walk() if op.opdef is ops.parallel for r in op.results}
    split_extremes(module, func, active)
    verify(module)
    made = [op.opdef for op in func.walk()]
    assert (made.count(ops.parallel), made.count(ops.alloc)) == (2, arrays)
    (result,) = active
    assert func.body.terminator.operands == (result,)
