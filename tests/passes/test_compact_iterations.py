"""compact-iterations: iterations that do something are found first; the same bits as plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.passes.distribution.compact_iterations import CompactIterations
from tests.passes.rewriting import check, run_text

pytestmark = pytest.mark.usefixtures("stages")

RNG = np.random.default_rng(21)


def pairs(x: Any, w: Any, cut: float) -> float:
    """Both ends of a pair are in the derivative."""
    e = 0.0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            d = x[i] - x[j]
            if d * d < cut:
                t = d * d + 0.1
                s = 1.0 / (t * t * t)
                e += math.sqrt(w[i] * w[j]) * (s * s - s)
    return e


def skipped(x: Any, w: Any, cut: float) -> float:
    """Every third from the end; iterations end early; two values are carried."""
    total, product = 0.5, 1.0
    for i in range(len(x) - 1, -1, -3):
        if x[i] >= cut:
            continue
        product *= 1.0 + 0.01 * math.sin(x[i]) / w[i]
        total += math.exp(x[i] * w[i]) / (1.0 + product)
    return total * product


def stored(x: Any, w: Any, cut: float) -> float:
    y = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] * w[i] < cut:
            y[i] += math.exp(x[i]) / (1.0 + math.tanh(w[i]))
    return np.sum(y * x)


def scattered(x: Any, w: Any, cut: float) -> float:
    """Several iterations add to one element."""
    y = np.zeros(4)
    for i in range(len(x)):
        if x[i] < cut:
            y[i % 4] += math.sqrt(w[i]) * math.exp(x[i])
            y[(i * i) % 4] *= 1.0 + 0.01 * math.sin(x[i])
    return y[0] + 2.0 * y[1] * y[2] + y[3]


def chosen(x: Any, w: Any, cut: float) -> float:
    """An iteration stores zero if it does nothing else."""
    y, z = np.empty(len(x)), np.ones(len(x))
    for i in range(len(x)):
        z[i] = x[i] * 2.0
        if x[i] < cut:
            y[i] = math.exp(x[i]) * math.tanh(w[i])
            z[i] += math.sin(w[i])
        else:
            y[i] = 0.25
    return np.sum(y * w) + np.sum(z * y)


def own_array(x: Any, w: Any, cut: float) -> float:
    """Each iteration has an array of its own, an element of which is chosen at run time."""
    y, k = np.zeros(len(x)), np.arange(len(x)) % 3
    for i in range(len(x)):
        d = np.array([x[i], w[i], x[i] * w[i]])
        if x[i] < cut:
            y[i] = d[k[i]] / math.sqrt(1.0 + d[0] * d[0] + d[1] * d[1]) * math.sqrt(2.0 + d[k[i]] ** 2)
    return np.sum(y * y)


def by_mask(x: Any, w: Any, cut: float) -> float:
    m = x < cut
    return np.sum(np.exp(-w[m] * x[m]) * np.log(w[m])) + np.sum(np.where(m, x, w))


def changed(x: Any, w: Any, cut: float) -> float:
    """Left as it is: an iteration changes what the next one's condition reads."""
    z = x.copy()
    for i in range(1, len(x)):
        if z[i - 1] < cut:
            z[i] = math.sin(z[i]) + math.exp(-w[i]) / (1.0 + z[i] * z[i])
    return np.sum(z * w)


@pytest.mark.parametrize("n", [0, 1, 33, 700])
@pytest.mark.parametrize("cut", [-9.0, 0.1, 9.0, math.nan])
@pytest.mark.parametrize("function", [skipped, stored, scattered, chosen, own_array, by_mask, changed])
def test_value_and_gradient(function: Callable[..., Any], n: int, cut: float) -> None:
    compare(function, n, cut)


@pytest.mark.parametrize("n", [1, 40])
@pytest.mark.parametrize("cut", [-1.0, 0.5, 99.0])
def test_pairs(n: int, cut: float) -> None:
    compare(pairs, n, cut)


def test_strips_of_pairs() -> None:
    """Rows are longer than a strip."""
    x, w = RNG.normal(size=(2, 1100)) ** 2
    x[3:1050] += 1e3 + 100.0 * np.arange(1047)
    f = jit_grad(pairs, argnums=(0, 1))
    assert f(x, w, 0.4) == pairs(x, w, 0.4)
    few = np.r_[0:3, 1050:1100]
    assert f(x, w, 0.4) == pytest.approx(pairs(x[few], w[few], 0.4), rel=1e-13)
    for got, wanted in zip(f.grad(x, w, 0.4), f.grad(x[few], w[few], 0.4), strict=True):
        np.testing.assert_allclose(got[few], wanted, rtol=1e-11, atol=1e-13)
        assert not np.any(got[3:1050])


def test_signs_of_zeros() -> None:
    """-0.0 + 0.0 is 0.0, also in an iteration that adds nothing else."""

    def total(x: Any, w: Any) -> float:
        s = -0.0
        for i in range(len(x)):
            s += math.exp(x[i]) * math.sin(w[i]) / (1.0 + w[i]) if w[i] < -5.0 else 0.0
        return s

    def element(x: Any, w: Any) -> float:
        for i in range(len(x)):
            v = 0.0
            if w[i] < -5.0:
                v = math.exp(x[i]) * math.sin(w[i]) / (1.0 + w[i])
            x[i] = x[i] + v
        return x[3]

    for function in (total, element):
        x, w = np.full(100, -0.0), np.ones(100)
        assert math.copysign(1.0, jit_grad(function)(x.copy(), w)) == math.copysign(1.0, function(x, w)) == 1.0


LEFT = """
func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %bound: f64, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  scf.for %i = %c0 to %n step %c1 {
    %k = arith.subi %n, %i : index
    %a = memref.load %x[%k] : memref<?xf64>
    %below = arith.cmpf olt, %a, %bound : f64
    scf.if %below {
      %b = math.exp %a : f64
      %c = math.sin %b : f64
      memref.store %c, %x[%i] : memref<?xf64>
      scf.yield
    }
    scf.yield
  }
  scf.for %i_0 = %c0 to %n step %c1 {
    %a_0 = memref.load %x[%i_0] : memref<?xf64>
    %above = arith.cmpf ogt, %a_0, %zero : f64
    scf.if %above {
      %b_0 = math.exp %a_0 : f64
      %c_0 = math.sin %b_0 : f64
      memref.store %c_0, %y[%i_0] : memref<?xf64>
      scf.yield
    }
    scf.yield
  }
  scf.parallel (%i_1) = (%c0) to (%n) step (%c1) {
    %a_1 = memref.load %y[%i_1] : memref<?xf64>
    %below_1 = arith.cmpf olt, %a_1, %bound : f64
    %v = scf.if %below_1 -> (f64) {
      %b_1 = math.exp %a_1 : f64
      %c_1 = math.sin %b_1 : f64
      scf.yield %c_1 : f64
    } else {
      scf.yield %zero : f64
    }
    memref.store %v, %y[%i_1] : memref<?xf64>
    scf.reduce()
  }
  func.return
}
"""


def test_left() -> None:
    """A condition that reads what iterations write, one that is likely, and stores to what is read."""
    check([CompactIterations(sums=True), CompactIterations()], LEFT, LEFT)


def test_once() -> None:
    """The loop that runs where the condition holds often is not split again."""
    text = LEFT[: LEFT.index("  scf.for")] + LEFT[LEFT.index("  scf.parallel") :].replace("load %y", "load %x")
    once = run_text([CompactIterations()], text)
    assert once != text
    assert run_text([CompactIterations()], once) == once


def compare(function: Callable[..., Any], n: int, cut: float) -> None:
    """Values as plain Python has them, to the bit; gradients as forward mode has them."""
    x, w = RNG.normal(size=n), RNG.uniform(0.5, 1.5, n)
    f = jit_grad(function, argnums=(0, 1))
    expected = function(x.copy(), w.copy(), cut)
    assert f(x, w, cut) == pytest.approx(expected, rel=1e-13, abs=1e-300)
    value, gradient = f.value_and_grad(x, w, cut)
    assert value == f(x, w, cut)
    directions = RNG.normal(size=(2, n))
    _, tangent = adc.jvp(f, (x, w, cut), (directions[0], directions[1], 0.0))
    along = sum(np.sum(g * d) for g, d in zip(gradient, directions, strict=True))
    assert along == pytest.approx(tangent, rel=1e-10, abs=1e-12)
