"""skip-zero-terms: which loops of the reverse sweep get a branch, and that gradients are unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.ir import ops
from adc.ir.interpret import interpreter
from adc.ir.text.parser import parse_module
from adc.ir.verifier import verify
from adc.passes.branches.skip_zero_terms import SkipZeroTerms


def nearest(a, b):
    total = 0.0
    for p in range(len(a)):
        best = np.inf
        for c in range(len(b)):
            square = 0.0
            for i in range(a.shape[1]):
                square += (a[p, i] - b[c, i]) ** 2
            if square < best:
                best = square
        total += best
    return total


def hinges(a, b):
    total = 0.0
    for p in range(len(a)):
        for c in range(len(b)):
            product = 1.0
            for i in range(a.shape[1]):
                product -= a[p, i] * b[c, i]
            total += max(0.0, product) if product > -0.5 else 0.0
    return total


def pooled(a, b):
    out = np.zeros(len(a) - 1)
    for p in range(len(out)):
        largest = a[p, 0] * b[0, 0]
        for c in range(2):
            s = 0.0
            for i in range(a.shape[1]):
                s += a[p + c, i] * b[c, i]
            largest = s if s > largest else largest
        out[p] = largest
    return np.sum(out * out)


@pytest.mark.parametrize("function", [nearest, hinges, pooled], ids=lambda f: f.__name__)
@pytest.mark.parametrize("engine", ["native", "interpreter"])
def test_gradients(function: Callable[..., Any], engine: str) -> None:
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((6, 4)), rng.standard_normal((3, 4))
    da, db = rng.standard_normal(a.shape), rng.standard_normal(b.shape)
    compiled = jit_grad(function, _engine=engine)
    ga, gb = adc.grad(compiled, argnums=(0, 1))(a, b)
    h = 1e-6
    slope = (function(a + h * da, b + h * db) - function(a - h * da, b - h * db)) / (2 * h)
    assert np.sum(ga * da) + np.sum(gb * db) == pytest.approx(slope, rel=1e-7)


def test_what_is_not_chosen_may_be_infinite() -> None:
    a, b = np.ones((3, 2)), np.zeros((2, 2))
    b[1] = np.inf
    ga, gb = adc.grad(jit_grad(nearest), argnums=(0, 1))(a, b)
    assert np.array_equal(ga, np.full((3, 2), 2.0))
    assert np.array_equal(gb, [[-6.0, -6.0], [0.0, 0.0]])


def test_the_user_s_own_products_are_not_skipped() -> None:
    @jit_grad
    def primal(x, v):
        factor = x if x > 0.0 else 0.0
        out = np.ones(len(v))
        for i in range(len(v)):
            out[i] = out[i] + factor * v[i]
        return out

    assert np.array_equal(primal(-1.0, np.array([1.0, np.inf])), [1.0, np.nan], equal_nan=True)


HEAD = """func.func @f(%a: memref<?xf64>, %b: memref<?xf64>, %x: f64, %on: i1, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %z = arith.select %on, %x, %zero : f64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> (f64) {
    %u = memref.load %a[%i] : memref<?xf64>
    %t = arith.mulf %u, %z : f64
    %v = memref.load %b[%i] : memref<?xf64>
"""
TAIL = """    scf.yield %next : f64
  } {adc.reverse = true}
  func.return %r : f64
}"""
ADDS = "    %w = arith.addf %v, %t : f64\n    memref.store %w, %b[%i] : memref<?xf64>\n"
SUMS = "    %next = arith.subf %s, %t : f64\n"


@pytest.mark.parametrize(
    "body, skipped",
    [
        (ADDS + SUMS, True),
        ("    %next = arith.addf %t, %s : f64\n", True),
        # A value of its own, a product of what is carried, another place, what was stored in between.
        ("    memref.store %t, %b[%i] : memref<?xf64>\n" + SUMS, False),
        ("    %next = arith.mulf %s, %t : f64\n", False),
        ("    %next = arith.subf %t, %s : f64\n", False),
        (ADDS.replace("%b[%i]", "%a[%i]") + SUMS, False),
        ("    memref.store %s, %b[%i] : memref<?xf64>\n" + ADDS + SUMS, False),
        (ADDS.replace("%v, %t", "%v, %u") + SUMS, False),
    ],
)
def test_which_loops(body: str, skipped: bool) -> None:
    module = parse_module(HEAD + body + TAIL)
    verify(module)
    outcomes = []
    for changed in (False, True):
        if changed:
            module = SkipZeroTerms().run(module)
            verify(module)
        for on in (True, False):
            a, b = np.arange(1.0, 5.0), np.arange(5.0, 9.0)
            results = interpreter.run(module, "f", [a, b, 3.0, on, 4])
            outcomes.append([*results, *a, *b])
    assert outcomes[:2] == outcomes[2:]
    assert any(op.opdef is ops.if_ for op in module.funcs["f"].walk()) == skipped
