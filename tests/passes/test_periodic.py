"""Remainders of neighbours: no check of the divisor in loops up to it, no division where one wrap is enough."""

from __future__ import annotations

import numpy as np
import pytest

from adc import jit_grad, jvp
from adc.passes.bounds.split_index_sets import SplitIndexSets
from adc.passes.canonicalize.canonicalize import Canonicalize
from adc.passes.simplify.cse import CSE
from adc.passes.simplify.dce import DCE
from tests.passes.rewriting import run_text

EXTENTS = ((1, 1), (1, 4), (2, 1), (2, 3), (3, 2), (7, 9))


def laplacian(u, w):
    n, m = u.shape
    total = 0.0
    for i in range(n):
        for j in range(m):
            around = u[(i - 1) % n, j] + u[(i + 1) % n, j] + u[i, (j - 1) % m] + u[i, (j + 1) % m]
            total += w[i, j] * (around - 4.0 * u[i, j]) ** 2
    return total


def by_numpy(u, w):
    def apply(a):
        return sum(np.roll(a, shift, axis) for shift in (1, -1) for axis in (0, 1)) - 4.0 * a

    return np.sum(w * apply(u) ** 2), apply(2.0 * w * apply(u))


@pytest.mark.parametrize("extents", EXTENTS)
def test_gradient(extents: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    u, w, d = rng.standard_normal((3, *extents))
    value, gradient = jit_grad(laplacian).value_and_grad(u, w)
    expected, exact = by_numpy(u, w)
    assert np.isclose(value, expected, rtol=1e-13) and np.allclose(gradient, exact, rtol=1e-12, atol=1e-12)
    tangent = jvp(laplacian, (u, w), (d, np.zeros(extents)))[1]
    assert np.isclose(tangent, np.sum(exact * d), rtol=1e-11, atol=1e-11)


def test_an_empty_axis_divides_nothing() -> None:
    compiled = jit_grad(laplacian)
    for extents in ((0, 3), (3, 0)):
        assert compiled.value_and_grad(np.zeros(extents), np.zeros(extents))[0] == 0.0


def far(x, n):
    """Distances of more than one divisor, and divisors that are smaller than the range, or negative."""
    total = 0.0
    for i in range(len(x)):
        total += x[(i - 2 * len(x) - 1) % len(x)] * (i + 1.0) + x[(3 * i) % len(x)] ** 2
        if n != 0:
            total += x[abs((i - 1) % n) % len(x)]
    return total


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 9])
def test_distances_that_wrap_more_than_once(n: int) -> None:
    x = np.random.default_rng(4).standard_normal(5)
    value, gradient = jit_grad(far).value_and_grad(x, n)
    assert np.isclose(value, far(x, n), rtol=1e-13)
    step = 1e-6 * np.eye(len(x))
    assert np.allclose(gradient, [(far(x + s, n) - far(x - s, n)) / 2e-6 for s in step], rtol=1e-7, atol=1e-7)


def test_a_loop_that_runs_has_limits_that_are_apart() -> None:
    body = """
            %p = arith.cmpi {}, %n, %c0 : index
            %v = arith.select %p, %x, %y : f64
            %s = arith.addf %c, %v : f64
            scf.yield %s : f64
          }}
          func.return %r : f64
        }}"""
    head = """func.func @f(%n: index, %x: f64, %y: f64) -> f64 {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %e = arith.minsi %n, %c1 : index
          %r = scf.for %i = %c0 to %e step %c1 iter_args(%c = %x) -> (f64) {"""
    passes = (Canonicalize(), DCE())
    for predicate in ("ne", "sgt"):
        text = run_text(passes, head + body.format(predicate))
        assert text.count("cmpi") == 1 and "select" not in text  # whether it runs
    text = run_text(passes, head.replace("%c0 to %e", "%e to %c1") + body.format("ne"))
    assert "cmpi" in text  # runs where n is zero


def test_the_rims_of_a_periodic_loop_do_not_divide() -> None:
    """Of the four remainders of five parts, one is left: 1 % n."""
    before = """func.func @f(%a: memref<?xf64>, %b: memref<?xf64>) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %n = memref.dim %a, 0 : memref<?xf64>
          scf.for %i = %c0 to %n step %c1 {
            %x = arith.subi %i, %c1 : index
            %r = arith.remsi %x, %n : index
            %ne = arith.cmpi ne, %r, %c0 : index
            %xo = arith.xori %r, %n : index
            %lt = arith.cmpi slt, %xo, %c0 : index
            %and = arith.andi %ne, %lt : i1
            %up = arith.addi %r, %n : index
            %at = arith.select %and, %up, %r : index
            %k = adc.bound %at, %n : index
            %v = memref.load %a[%k] : memref<?xf64>
            memref.store %v, %b[%i] : memref<?xf64>
            scf.yield
          }
          func.return
        }"""
    text = run_text((Canonicalize(), CSE(), SplitIndexSets(), Canonicalize(), CSE(), DCE()), before)
    assert text.count("scf.for") == 1 and text.count("memref.store") == 2 and "remsi" not in text
