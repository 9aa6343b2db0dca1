"""promote-elements: elements that a loop updates are carried; arrays look as after plain Python, errors included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from adc.ir import ops
from adc.ir.text.parser import parse_module
from adc.ir.verifier import verify
from adc.passes.memory.promote_elements import PromoteElements

RNG = np.random.default_rng(11)
LOOP = """
func.func @f(%a: memref<?xf64> {adc.alias = 0}, %b: memref<?xf64> {adc.alias = 0}, %c: memref<?xf64>, %i: index,
             %n: index, %m: memref<?xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  BEFORE
  scf.for %j = %c0 to LIMIT step %c1 {
    BODY
    scf.yield
  }
  AFTER
  func.return
}
"""
SUM = """%x = memref.load %c[%j] : memref<?xf64>
    %y = memref.load %a[%i] : memref<?xf64>
    %z = arith.addf %y, %x : f64
    memref.store %z, %a[%i] : memref<?xf64>"""


def carried(body: str, before: str = "", limit: str = "%n", after: str = "") -> tuple[int, bool]:
    """How many values the loop carries, and whether the element is loaded on a condition."""
    text = LOOP.replace("BODY", body).replace("LIMIT", limit)
    module = parse_module(text.replace("BEFORE", before).replace("AFTER", after))
    module = PromoteElements().run(module)
    verify(module)
    func = module.funcs["f"]
    loop = next(op for op in func.walk() if op.opdef is ops.for_)
    return len(loop.results), any(op.opdef is ops.if_ for op in func.body.ops)


def test_which_are_carried() -> None:
    assert carried(SUM) == (1, True)
    assert carried(SUM, limit="%c9") == (1, False)
    assert carried(SUM, before="%w = memref.load %a[%i] : memref<?xf64>") == (1, False)
    later = "%w = memref.load %a[%i] : memref<?xf64>"
    assert carried(SUM, after=later) == (1, False)
    check = '%t = arith.cmpi slt, %i, %c9 : index\nadc.assert %t {error = "IndexError", message = "no"} : i1\n'
    assert carried(SUM, after=check + later) == (1, True)  # there may be no such element
    twice = SUM + SUM.replace("%x", "%p").replace("%y", "%q").replace("%z", "%r")
    assert carried(twice) == (1, True)
    assert carried(SUM.replace("%a[%i]", "%a[%j]")) == (0, False)
    assert carried(SUM.replace("%c[%j]", "%b[%j]")) == (0, False)  # the same memory
    assert carried(SUM.replace("%c[%j]", "%a[%j]")) == (0, False)
    assert carried("%x = arith.constant 1.0 : f64\nmemref.store %x, %a[%i] : memref<?xf64>") == (0, False)
    raising = '\nadc.assert %t {error = "ValueError", message = "no"} : i1'
    assert carried(SUM + raising, before="%t = arith.cmpi eq, %n, %c9 : index") == (0, False)


def in_rows(a: Any, x: Any) -> float:
    y = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            y[i] += a[i, j] * x[j]
            y[i] -= np.tanh(a[i, j]) * x[j] * x[j]
    return np.sum(y * y)


def into_the_argument(a: Any, x: Any) -> float:
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            x[i % len(x)] += a[i, j] * a[i, j] * x[i % len(x)]
    return np.sum(x)


def all_into_one(a: Any, x: Any) -> float:
    total = np.ones(2)
    for i in range(a.shape[0]):
        for j in range(i, a.shape[1]):
            total[1] = total[1] * (1.0 + 0.1 * a[i, j]) + x[j]
    return total[1] + total[0]


def periodic(a: Any, x: Any) -> float:
    n, m = a.shape
    e = np.zeros(n)
    for i in range(n):
        for j in range(m):
            e[i] += a[i, j] * (a[(i + 1) % n, j] + a[i, (j + 1) % m]) + x[j] * np.tanh(a[i, j])
    return np.sum(e)


@pytest.mark.parametrize("function", [in_rows, into_the_argument, all_into_one, periodic], ids=lambda f: f.__name__)
def test_values_and_gradients(function: Callable[..., Any]) -> None:
    made = jit_grad(argnums=(0, 1))(function)
    for shape in ((1, 1), (3, 4), (4, 3), (2, 0), (5, 9)):
        a, x = RNG.normal(size=shape), RNG.normal(size=max(shape[1], 1))
        da, dx = RNG.normal(size=shape), RNG.normal(size=len(x))
        plain, compiled = x.copy(), x.copy()
        assert made(a, compiled) == pytest.approx(function(a, plain), rel=1e-13, abs=1e-15)
        np.testing.assert_allclose(compiled, plain, rtol=1e-14)
        by_a, by_x = made.grad(a, x)
        ahead = function(a + 1e-6 * da, x + 1e-6 * dx)
        back = function(a - 1e-6 * da, x - 1e-6 * dx)
        assert np.sum(by_a * da) + by_x @ dx == pytest.approx((ahead - back) / 2e-6, rel=1e-6, abs=1e-7)


def test_an_element_of_no_array_is_not_loaded() -> None:
    def f(y: Any, x: Any, i: int) -> float:
        for j in range(len(x)):
            y[i] += x[j]
        return 0.0

    made, empty = jit_grad(argnums=1)(f), np.zeros(0)
    assert made(np.zeros(0), empty, 5) == 0.0 and made(np.zeros(2), empty, 7) == 0.0
    with pytest.raises(IndexError):
        made(np.zeros(2), np.ones(1), 7)


def test_errors_leave_what_was_stored_before() -> None:
    def f(y: Any, x: Any) -> float:
        for j in range(len(x)):
            if x[j] < 0.0:
                raise ValueError("negative")
            y[1] += x[j]
        return y[1]

    x, plain, compiled = np.array([1.0, 2.0, -1.0, 4.0]), np.zeros(3), np.zeros(3)
    for run, y in ((f, plain), (jit_grad(argnums=1)(f), compiled)):
        with pytest.raises(ValueError, match="negative"):
            run(y, x)
    np.testing.assert_array_equal(compiled, plain)
