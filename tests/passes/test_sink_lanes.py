"""Iterations that share work become lanes: Jacobians, mapped functions and their gradients are those of Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adc
from adc import jit_grad, vmap
from adc.ir import ops
from adc.ir.text.parser import parse_module
from adc.passes.distribution.sink_lanes import SinkLanes


def network(w, x):
    """Views of the direction, products, tanh."""
    n = x.shape[1]
    first, offset = w[: 3 * n].reshape(3, n), w[3 * n : 3 * n + 3]
    hidden = np.tanh(x @ first.T + offset)
    return hidden.sum(axis=1) + w[0]


def oscillator(w, x):
    """Numbers that a loop carries, an array made in it, and sums."""
    y = np.array([w[0], 1.0])
    out = np.empty(len(x))
    total = 0.0
    for i in range(len(x)):
        y = y + 0.05 * np.array([y[1], -w[1] * y[0] + w[2] * x[i, 0]])
        total += y[0] * y[1]
        out[i] = total + np.dot(y, w[:2]) * w[-1]
    return out


def swapped(w, x):
    """Values that change places from step to step, with tangents in buffers."""
    a, b = w[0], w[-1] * w[1]
    out = np.zeros(len(x))
    for i in range(len(x)):
        a, b = b, a * x[i, 0] + np.sin(b)
        out[i] = a * b
    return out


def stencil(w, x):
    """Buffers that take turns, copies of parts, coefficients by a remainder."""
    u = x[:, 0].copy()
    for _ in range(4):
        v = u.copy()
        for i in range(1, len(u) - 1):
            v[i] = u[i] + w[i % len(w)] * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        u = v
    return u


def branches(w, x):
    """Branches on what is the same, and on what is not the derivative's business."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        if x[i, 0] > 0.0:
            s = w[0] * math.sqrt(x[i, 0])
            if i % 2:
                s += w[1] * w[2]
        else:
            s = w[2] ** 2 * x[i, 0]
        out[i] = max(s, w[-1]) + min(abs(s), 2.0)
    return out


def extremes(w, x):
    """The largest of products, and a sum over rows in place."""
    z = x * w[: x.shape[1]]
    out = z.max(axis=1)
    for i in range(1, len(out)):
        out[i] += 0.5 * out[i - 1]
    return out


def early(w, x):
    """A loop that ends when a number is large: its length depends on values, not on directions."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        v, k = w[0] + x[i, 0] ** 2, 0
        while v < 4.0 and k < 20:
            v = v * 1.3 + w[1] ** 2
            k += 1
        out[i] = v * w[2] + k
    return out


FUNCTIONS = (network, oscillator, swapped, stencil, branches, extremes, early)


def arguments(rng, count, rows, columns=4):
    return 0.3 + 0.5 * rng.random(count), rng.standard_normal((rows, columns))


def differences(f, w, x):
    step, columns = 1e-6, []
    for k in range(len(w)):
        up, down = w.copy(), w.copy()
        up[k] += step
        down[k] -= step
        columns.append((f(up, x) - f(down, x)) / (2 * step))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_jacobians_are_those_of_reverse_mode_and_of_differences(f):
    """Numbers of directions that do and do not fill the blocks; nests of no iteration, one, and many."""
    forward, reverse = (adc.jacobian(f, mode=mode) for mode in ("forward", "reverse"))
    for count, rows in ((15, 7), (16, 3), (17, 1), (19, 40), (15, 0)):
        if rows < 2 and f in (extremes, branches, early):
            continue
        w, x = arguments(np.random.default_rng(count), count, rows)
        found = forward(w, x)
        assert found.shape == (rows, count)
        np.testing.assert_allclose(found, reverse(w, x), rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(found, differences(f, w, x), rtol=1e-6, atol=1e-6)


def test_few_directions_and_none():
    def f(w, x):
        s = x[:, 0].copy()
        for i in range(1, len(s)):
            s[i] += s[i - 1] * np.sum(w * w)
        return s

    x = np.random.default_rng(0).standard_normal((5, 1))
    for count in range(4):
        w = 0.1 + np.arange(count, dtype=float)
        found = adc.jacobian(f, mode="forward")(w, x)
        np.testing.assert_allclose(found, differences(f, w, x) if count else np.zeros((5, 0)), rtol=1e-6, atol=1e-6)


def test_single_precision_and_threads():
    def f(w, x):
        return network(w, x) * w[1]

    w, x = (a.astype(np.float32) for a in arguments(np.random.default_rng(1), 17, 9))
    found = adc.jacobian(jit_grad(threads=2)(f), mode="forward")(w, x)
    assert found.dtype == np.float32
    wide = adc.jacobian(f, mode="reverse")(w.astype(float), x.astype(float))
    np.testing.assert_allclose(found, wide, rtol=2e-4, atol=2e-5)


def test_derivatives_that_are_not_finite_stay_in_their_columns():
    """The root of zero has an infinite derivative; along other directions it is nothing."""

    def f(w, x):
        out = np.zeros(len(x))
        for i in range(len(x)):
            out[i] = math.sqrt(w[i]) + w[3] * x[i, 0]
        return out

    w, x = np.arange(16.0), np.ones((16, 1))
    found, other = (adc.jacobian(f, mode=mode)(w, x) for mode in ("forward", "reverse"))
    np.testing.assert_array_equal(found, other)
    assert np.isinf(found[0, 0]) and np.isfinite(found[:, 1:]).all()


def test_gradient_of_a_jacobian():
    """Lanes without an iteration repeat the last one, and must not count twice in the reverse sweep."""

    @jit_grad
    def loss(w, x):
        return np.sum(adc.jacobian(network, mode="forward")(w, x) ** 3)

    reverse = adc.jacobian(network, mode="reverse")
    for count in (15, 16, 18):
        w, x = arguments(np.random.default_rng(count), count, 5)
        found = loss.grad(w, x)
        expected = np.empty(count)
        for k in range(count):
            values = []
            for sign in (1, -1):
                v = w.copy()
                v[k] += sign * 1e-6
                values.append(np.sum(reverse(v, x) ** 3))
            expected[k] = (values[0] - values[1]) / 2e-6
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_second_derivatives(f):
    """The gradients, whose tapes are freed, along all directions."""

    def loss(w, x):
        return np.sum(f(w, x) ** 2)

    w, x = arguments(np.random.default_rng(3), 17, 6)
    found = adc.hessian(loss)(w, x)
    columns = np.stack([adc.hvp(loss, (w, x), (row, np.zeros_like(x))) for row in np.eye(17)], axis=-1)
    np.testing.assert_allclose(found, columns, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found, found.T, rtol=1e-10, atol=1e-10)


def mapped(x, p):
    """What depends on ``p`` alone is the same for each row of a batch."""
    basis = np.empty((len(p), len(x)))
    for i in range(len(p)):
        for j in range(len(x)):
            basis[i, j] = math.exp(-p[i] * j) * math.sin(p[i] + j)
    y = basis @ x
    for i in range(1, len(y)):
        y[i] += 0.5 * y[i - 1]
    return y


@pytest.mark.parametrize("count", [1, 7, 8, 21])
def test_mapped_functions_and_their_gradients(count):
    rng = np.random.default_rng(count)
    x, p = rng.standard_normal((count, 5)), rng.random(3)

    @jit_grad
    def total(x, p):
        return np.sum(vmap(mapped, in_axes=(0, None))(x, p) ** 2)

    assert total(x, p) == pytest.approx(sum(np.sum(mapped(row, p) ** 2) for row in x), rel=1e-13)
    found = jit_grad(total, argnums=(0, 1)).grad(x, p)
    alone = [jit_grad(lambda r, q: np.sum(mapped(r, q) ** 2), argnums=(0, 1)).grad(row, p) for row in x]
    np.testing.assert_allclose(found[0], np.stack([g for g, _ in alone]), rtol=1e-11)
    np.testing.assert_allclose(found[1], sum(g for _, g in alone), rtol=1e-11)


def test_errors_are_raised():
    def f(w, x):
        out = np.zeros(len(x))
        for i in range(len(x)):
            out[i] = w[int(x[i, 0])] * w[0]
        return out

    w, x = np.arange(16.0), np.arange(5.0).reshape(5, 1)
    np.testing.assert_array_equal(adc.jacobian(f, mode="forward")(w, x), adc.jacobian(f, mode="reverse")(w, x))
    x[3] = 16.0
    with pytest.raises(IndexError):
        adc.jacobian(f, mode="forward")(w, x)


TEXT = """
func.func @f(%x: memref<?xf64> {adc.readonly = true}, %d: memref<?x?xf64> {adc.readonly = true}, %out: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %d, 0 : memref<?x?xf64>
  %m = memref.dim %x, 0 : memref<?xf64>
  scf.parallel (%k) = (%c0) to (%n) step (%c1) {
    %y = memref.alloc(%m) : memref<?xf64>
    scf.parallel (%i) = (%c0) to (%m) step (%c1) {
      %a = memref.load %x[%i] : memref<?xf64>
      %e = math.exp %a : f64
      %b = memref.load %d[%k, %i] : memref<?x?xf64>
      %p = arith.mulf %e, %b : f64
      memref.store %p, %y[%i] : memref<?xf64>
      scf.reduce()
    }
    %s = scf.for %j = %c0 to %m step %c1 iter_args(%sum = %zero) -> (f64) {
      %v = memref.load %y[%j] : memref<?xf64>
      %next = arith.addf %sum, %v : f64
      scf.yield %next : f64
    }
    STORE
    scf.reduce()
  }
  func.return
}
"""
STORE = "memref.store %s, %out[%k] : memref<?xf64>"


def _has_lanes(store: str) -> bool:
    func = SinkLanes().run(parse_module(TEXT.replace("STORE", store))).funcs["f"]
    return any(op.opdef is ops.parallel and op.attrs.get("adc.lanes") for op in func.walk())


def test_loops_that_read_what_others_write_stay():
    assert _has_lanes(STORE)
    reads = "%old = memref.load %out[%k] : memref<?xf64>\n    %new = arith.addf %old, %s : f64\n    "
    assert not _has_lanes(reads + STORE.replace("%s,", "%new,"))
    assert not _has_lanes("adc.accumulate %s, %out[%k] : memref<?xf64>")


def test_carried_copies_of_reversed_and_transposed_views():
    """Each step goes through a view of the array of the step before."""

    def turned(b, x):
        y = x.copy()
        for _ in range(3):
            z = y[::-1].copy()
            z[0] *= b[0]
            y = z.T.copy()
            y[0] += b[1] * y[1]
        return y.ravel()

    b, x = np.array([0.5, 2.0]), np.arange(1.0, 10).reshape(3, 3)
    found, other = (adc.jacobian(turned, mode=mode)(b, x) for mode in ("forward", "reverse"))
    np.testing.assert_allclose(found, other, rtol=1e-13)
    np.testing.assert_allclose(found, differences(turned, b, x), rtol=1e-6, atol=1e-6)
