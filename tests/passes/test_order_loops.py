"""Parallel loops are interchanged where this makes accesses contiguous; results are the same bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from adc.ir import ops
from adc.ir.interpret import interpreter
from adc.ir.text.parser import parse_module
from adc.passes.simd.order_loops import OrderLoops

RNG = np.random.default_rng(4)
NEST = """
func.func @f(%a: memref<?x?xf64>, %b: memref<?x?xf64>, %x: memref<?xf64>, %m: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c30 = arith.constant 30 : index
  scf.parallel (%j) = (%c0) to (%n) step (%c1) {
    BEFORE
    scf.parallel (%i) = (%c0) to (LIMIT) step (%c1) {
      %u = memref.load %x[%j] : memref<?xf64>
      BODY
      scf.reduce()
    }
    scf.reduce()
  } {threads = true}
  func.return
}
"""
DOWN = "memref.store %u, %a[%i, %j] : memref<?x?xf64>"


def exchanged(body: str, before: str = "", limit: str = "%m") -> bool:
    """Whether the loop that threads share now is the other one."""
    text = NEST.replace("BODY", body).replace("BEFORE", before).replace("LIMIT", limit)
    module = parse_module(text)
    OrderLoops().run(module)
    outer, inner = (op for op in module.funcs["f"].walk() if op.opdef is ops.parallel)
    assert "threads" in outer.attrs and "threads" not in inner.attrs
    return outer.regions[0].args[0].hint == "i"


def test_which_change_places() -> None:
    assert exchanged(DOWN)
    assert exchanged(DOWN, before="%v = memref.load %x[%j] : memref<?xf64>")
    assert not exchanged("memref.store %u, %a[%j, %i] : memref<?x?xf64>")
    assert not exchanged(DOWN, limit="%c3") and exchanged(DOWN, limit="%c30")
    both = "%w = memref.load %b[%j, %i] : memref<?x?xf64>\nmemref.store %w, %a[%i, %j] : memref<?x?xf64>"
    assert not exchanged(both)  # one of the two is apart either way
    assert not exchanged(DOWN, before="%k = arith.addi %j, %c1 : index", limit="%k")  # a triangle
    assert not exchanged(DOWN, before="%v = memref.load %a[%c0, %j] : memref<?x?xf64>")  # which the loop writes


def by_columns(a: Any, x: Any, y: Any) -> float:
    total = 0.0
    for j in prange(a.shape[1]):
        for i in range(a.shape[0]):
            a[i, j] = x[i] * y[j] + a[i, j] * a[i, j]
    for j in range(a.shape[1]):
        total += a[j % a.shape[0], j] ** 2
    return total


@pytest.mark.parametrize("shape", [(1, 1), (4, 7), (90, 70), (0, 3), (3, 0)])
def test_values_and_gradients(shape: tuple[int, int]) -> None:
    a, x, y = RNG.normal(size=shape), RNG.normal(size=shape[0]), RNG.normal(size=shape[1])
    if 0 in shape:
        x, y = np.ones(shape[0]), np.ones(shape[1])
    plain, compiled = a.copy(), a.copy()
    if shape[0]:
        assert jit_grad(by_columns)(compiled, x, y) == by_columns(plain, x, y)
        np.testing.assert_array_equal(compiled, plain)
    g = adc.grad(lambda a, v, c: np.sum((v @ a) * c), argnums=(0, 1))(a, x, y)
    np.testing.assert_array_equal(g[0], np.outer(x, y))
    np.testing.assert_allclose(g[1], a @ y, rtol=1e-12, atol=1e-13)


def middle_first(u: Any, v: Any, c: Any) -> float:
    n, m, k = u.shape
    for b in range(m):
        for d in range(k):
            w = c[d]
            for a in range(1, n):
                v[a, b, d] = w * (u[a, b, d] - u[a - 1, b, d]) + v[a, b, d] * c[d]
    return np.sum(v * v)


def last_first(u: Any, v: Any, c: Any) -> float:
    n, m, k = u.shape
    for d in range(k):
        for b in range(m):
            for a in range(1, n):
                v[a, b, d] = c[d] * (u[a, b, d] - u[a - 1, b, d]) + v[a, b, d] * c[d]
    return np.sum(v * v)


@pytest.mark.parametrize("function", [middle_first, last_first], ids=lambda f: f.__name__)
def test_nests_of_three_are_sorted(function: Any) -> None:
    made = jit_grad(argnums=(0, 2))(function)
    for shape in ((3, 20, 30), (1, 1, 1), (2, 0, 5), (17, 18, 1)):
        u, v, c = RNG.normal(size=shape), RNG.normal(size=shape), RNG.normal(size=shape[2])
        plain, compiled = v.copy(), v.copy()
        assert made(u, compiled, c) == pytest.approx(function(u, plain, c), rel=1e-13)
        np.testing.assert_array_equal(compiled, plain)
        du, dc = RNG.normal(size=shape), RNG.normal(size=shape[2])
        by_u, by_c = made.value_and_grad(u, v.copy(), c)[1]
        tangent = made.jvp((u, v.copy(), c), (du, None, dc))[1]
        assert np.sum(by_u * du) + np.dot(by_c, dc) == pytest.approx(tangent, rel=1e-11)
    text = made.dump_ir("lowered", "f64[:, :, ::1], f64[:, :, ::1], f64[::1]")
    nest = text[: text.index("memref.store")]
    assert nest.rindex("(%a") < nest.rindex("(%b") < nest.rindex("(%d")


def diffused(u: Any, c: Any, by_rows: bool) -> float:
    n, m = u.shape
    w = u.copy()
    for _ in range(3):
        v = w.copy()
        if by_rows:
            for i in range(1, n - 1):
                for j in range(1, m - 1):
                    v[i, j] = w[i, j] + c[i, j] * (w[i + 1, j] + w[i - 1, j] + w[i, j + 1] * w[i, j - 1])
        else:
            for j in range(1, m - 1):
                for i in range(1, n - 1):
                    v[i, j] = w[i, j] + c[i, j] * (w[i + 1, j] + w[i - 1, j] + w[i, j + 1] * w[i, j - 1])
        w = v
    return np.sum(w * w)


def test_adjoints_are_summed_along_rows() -> None:
    """The loops are in order before the reverse sweep is made of them, so that gathers and blocks go along rows."""
    made = [jit_grad(argnums=(0, 1))(lambda u, c, rows=rows: diffused(u, c, rows)) for rows in (True, False)]
    for shape in ((1, 4), (3, 3), (9, 14)):
        u, c = RNG.normal(size=shape), RNG.normal(size=shape)
        (value, rows), (other, columns) = (f.value_and_grad(u, c) for f in made)
        assert value == other == pytest.approx(diffused(u, c, True), rel=1e-13)
        for by_rows, by_columns in zip(rows, columns, strict=True):
            np.testing.assert_array_equal(by_rows, by_columns)
    assert made[0].dump_ir("adjoint") == made[1].dump_ir("adjoint")


def extremes(x: Any) -> Any:
    return x.max(axis=0), np.min(x * x, axis=0), x.prod(axis=0)


def of_planes(x: Any) -> Any:
    y = np.exp(x.max(axis=1) - 1.0)
    return np.max(x, axis=(0, 1)), x.min(axis=0), y, np.prod(x, axis=(0, 1))


def shifted(x: Any) -> Any:
    """What is subtracted is computed in the loop over columns, which writes to the array afterwards."""
    y = x.copy()
    for j in prange(y.shape[1]):
        low = y[0, j] * 0.5
        most = 0.0
        for i in range(y.shape[0]):
            most = max(most, y[i, j] - low)
        y[0, j] = most
    return y


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_columns_are_reduced_row_by_row(dtype: Any) -> None:
    flat, deep, other = jit_grad(extremes), jit_grad(of_planes), jit_grad(shifted)
    for n, m in ((5, 40), (1, 17), (40, 5), (3, 1)):
        x = (RNG.normal(size=(n, m, 21)) * 3).astype(dtype)
        if dtype != np.int64:
            x[n // 2, m // 2] = np.nan
            x[:, 0, 0] = 0.0
        for compiled, given in ((flat, x[:, 0]), (flat, x[:, :, 3]), (deep, x), (other, x[:, m // 2])):
            if compiled is deep and dtype == np.int64:
                given = np.clip(given, -1, 1)
            for found, expected in zip(compiled(given), compiled.__wrapped__(given), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == np.float32 else 1e-13)


def test_columns_that_a_statement_before_changes() -> None:
    def stored(x: Any) -> Any:
        x[0] = x.max(axis=0)
        x[:] = x - np.min(x, axis=0)
        return np.sum(x * x)

    def divided(x: Any) -> Any:
        total = 0.0
        for k in range(3):
            x /= np.max(np.abs(x) + 0.1 * k, axis=0)
            total += np.sum(x * np.min(x, axis=0))
        return total

    def multiplied(x: Any) -> Any:
        x[0] = x.max(axis=0)
        x[:] = x + np.prod(x[1:], axis=0)
        return np.sum(x)

    for function in (stored, divided, multiplied):
        compiled = jit_grad(function)
        for shape in ((20, 33), (5, 7, 9), (4, 1), (1, 20)):
            x = RNG.normal(size=shape)
            mine, theirs = x.copy(), x.copy()
            assert compiled(mine) == pytest.approx(function(theirs), rel=1e-12)
            np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-14)
            direction = RNG.normal(size=shape)
            ahead, behind = (function(x + s * 1e-6 * direction) for s in (1, -1))
            assert np.sum(compiled.grad(x.copy()) * direction) == pytest.approx((ahead - behind) / 2e-6, rel=1e-5)


def test_gradients_of_columns() -> None:
    def loss(x: Any) -> Any:
        most, least, product = extremes(x)
        return np.sum(most * most) + np.sum(least) + np.sum(np.sin(product))

    x = np.round(RNG.normal(size=(4, 30)), 1)  # some columns have equal elements
    x[:, 0] = 1.0
    gradient, forward = jit_grad(loss).grad(x), np.empty_like(x)
    for place in np.ndindex(x.shape):
        direction = np.zeros_like(x)
        direction[place] = 1.0
        forward[place] = adc.jvp(loss, (x,), (direction,))[1]
    np.testing.assert_allclose(gradient, forward, rtol=1e-12, atol=1e-12)


def test_which_columns_are_reduced_row_by_row() -> None:
    def loops(function: Any, *args: Any) -> bool:
        compiled = jit_grad(function)
        compiled(*args)
        module = parse_module(compiled.dump_ir("lowered"))
        rows = [op for op in module.funcs[function.__name__].walk() if op.opdef is ops.for_]
        return any(inner.opdef is ops.parallel for op in rows for inner in op.regions[0].walk())

    def most(x: Any) -> Any:
        return x.max(axis=0)

    def along(x: Any) -> Any:
        return x.max(axis=1)

    assert loops(most, np.ones((30, 40)))
    assert not loops(along, np.ones((30, 40)))


TOTAL = """
func.func @f(%a: memref<?x?xf64>, %m: index, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %start = arith.constant START : f64
  %s = scf.parallel (%j) = (%c0) to (%n) step (%c1) init (%start) -> f64 {
    %t = scf.parallel (%i) = (%c0) to (%m) step (%c1) init (%zero) -> f64 {
      %u = memref.load %a[PLACE] : memref<?x?xf64>
      scf.reduce(%u : f64) {kinds = ["add"]}
    }
    scf.reduce(TERM : f64) {kinds = ["add"]}
  } {threads = true}
  func.return %s : f64
}
"""


def outer_of_total(place: str, term: str = "%t") -> str:
    text = TOTAL.replace("PLACE", place).replace("START", "3.0").replace("TERM", term)
    module = parse_module(text)
    OrderLoops(exchange_only=True).run(module)
    a = RNG.random((4, 6))
    found = interpreter.run(module, "f", [a, 4, 6] if place == "%i, %j" else [a, 6, 4])[0]
    np.testing.assert_allclose(found, 3.0 + np.sum(a), rtol=1e-14)
    hint = next(op for op in module.funcs["f"].walk() if op.opdef is ops.parallel).regions[0].args[0].hint
    assert hint is not None
    return hint


def test_totals_go_along_rows() -> None:
    assert outer_of_total("%i, %j") == "i"
    assert outer_of_total("%j, %i") == "j"


def by_memory(a: Any) -> Any:
    b, c = a.transpose(2, 0, 1), a.T
    ends = np.sqrt(b.sum(axis=0)).sum() + np.log(b.sum(axis=1)).sum() + (b * b).sum(axis=2).sum() + np.sum(c * b.T)
    return ends + np.sum(np.sqrt(c.sum(axis=(0, 1)))) + np.sum(c.mean(axis=1) ** 2) + np.sum(c[0].sum(axis=1) ** 2)


@pytest.mark.parametrize("shape", [(3, 3, 3), (1, 1, 1), (70, 70, 70)])
def test_sums_of_transposed_arrays(shape: tuple[int, ...]) -> None:
    a = RNG.random(shape) + 0.5
    value, gradient = adc.value_and_grad(by_memory)(a)
    np.testing.assert_allclose(value, by_memory(a), rtol=1e-12)
    along, h = RNG.normal(size=shape), 1e-6
    slope = (by_memory(a + h * along) - by_memory(a - h * along)) / (2 * h)
    np.testing.assert_allclose(np.sum(gradient * along), slope, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(adc.jvp(by_memory, (a,), (along,))[1], np.sum(gradient * along), rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("extents", [(5, 3), (3, 100), (60, 50), (200, 7)])
def test_sums_of_columns(extents: tuple[int, int]) -> None:
    def of_columns(x: Any) -> Any:
        spread = x.T - x.T.mean(axis=1)[:, None]
        return np.sum(np.sqrt((spread * spread).sum(axis=1) + 1.0))

    x = RNG.normal(size=extents)
    value, gradient = adc.value_and_grad(of_columns)(x)
    np.testing.assert_allclose(value, of_columns(x), rtol=1e-13)
    off = x - x.mean(axis=0)
    np.testing.assert_allclose(gradient, off / np.sqrt((off * off).sum(axis=0) + 1.0), rtol=1e-10, atol=1e-13)


SUMS = """
func.func @f(%a: memref<?x?x?xf64>, %w: memref<?x?x?xf64>, %b: memref<?x?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %a, 0 : memref<?x?x?xf64>
  %m = memref.dim %w, 0 : memref<?x?x?xf64>
  %d = memref.dim %w, 1 : memref<?x?x?xf64>
  scf.parallel (%p) = (%c0) to (%n) step (%c1) {
    scf.parallel (%c) = (%c0) to (%m) step (%c1) {
      scf.parallel (%i) = (%c0) to (%d) step (%c1) {
        %s = scf.parallel (%j) = (%c0) to (%d) step (%c1) init (%zero) -> f64 {
          %x = memref.load %a[PLACE] : memref<?x?x?xf64>
          %y = memref.load %w[%c, %i, %j] : memref<?x?x?xf64>
          %xy = arith.mulf %x, %y : f64
          scf.reduce(%xy : f64) {kinds = ["add"]}
        }
        memref.store %s, %b[%p, %c, %i] : memref<?x?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    }
    scf.reduce()
  } {threads = true}
  func.return
}
"""


@pytest.mark.parametrize("place, outermost", [("%p, %c, %j", "p"), ("%j, %c, %p", "c")])
def test_loops_around_sums_stay_where_sums_go_along_rows(place: str, outermost: str) -> None:
    module = parse_module(SUMS.replace("PLACE", place))
    OrderLoops(exchange_only=True).run(module)
    outer = next(op for op in module.funcs["f"].walk() if op.opdef is ops.parallel)
    assert outer.regions[0].args[0].hint == outermost
