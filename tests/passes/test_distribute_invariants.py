"""What is the same in each iteration is computed before the loop: values and derivatives are those of Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from adc.ir import ops
from adc.ir.text.parser import parse_module
from adc.passes.distribution.distribute_invariants import DistributeInvariants
from tests.programs.harness import check


def arrays(u, x, n):
    u = u.copy()
    for _ in range(n):
        w = np.exp(-x * x)
        u = u + 0.01 * w * np.sin(u)
    return np.sum(u * u)


def numbers(u, x, n):
    u = u.copy()
    for t in range(1, n):
        for i in range(1, len(x)):
            u[i] += 0.01 * math.exp(-(x[i] ** 2)) * math.sin(u[i - 1]) / t
    return np.sum(u * u)


def rows(u, x, n):
    out = np.zeros((len(u), len(x)))
    for i in prange(len(u)):
        for j in range(len(x)):
            out[i, j] = math.exp(-(x[j] ** 2)) * math.sin(u[i]) * n
    return np.sum(out**2)


def branches(u, x, n):
    s = 0.0
    for t in range(n):
        for i in range(len(x)):
            if x[i] > 0.5:
                s += math.exp(x[i]) * u[i] * t
            else:
                s += math.sin(x[i]) * u[i] * u[i]
    return s


def sums(u, x, n):
    """An array is filled in several steps, and read after the last."""
    u = u.copy()
    for t in range(1, n):
        w = np.zeros(len(x))
        for k in range(3):
            for i in range(1, len(x)):
                w[i] += math.sin(k * x[i - 1])
        for i in range(2, len(x) - 1):
            u[i] += w[i] * math.tanh(x[i + 1]) * 0.1 / t
    return np.sum(u**3)


def read_between(u, x, n):
    """An array is read between its writes: that it is the same in each iteration does not help."""
    u = u.copy()
    for _ in range(n):
        w = np.zeros(len(x))
        for i in range(len(x)):
            w[i] = math.exp(x[i])
        u = u + 0.1 * w * np.cos(u)
        for i in range(len(x)):
            w[i] = w[i] * math.sin(x[i])
        u = u + 0.1 * w
    return np.sum(u)


def changed(u, x, n):
    """The argument of the function changes at the end of a step."""
    x, u = x.copy(), u.copy()
    for _ in range(n):
        w = np.exp(-x)
        u += w * np.sin(u)
        x[0] += 0.1
    return np.sum(u)


def recurrence(u, x, n):
    s = 0.0
    for t in range(n - 5):
        y = 1.0
        for i in range(len(x)):
            y = math.cos(y * x[i]) + 1.0
            s += y * u[i] * t
    return s


def in_views(u, x, n):
    u = u.copy()
    for _ in range(n):
        v = u[1:]
        w = np.zeros(len(x))
        w[1:] = 0.01 * np.exp(x[1:])
        v += w[1:]
        v *= np.cos(w[:-1])
    return np.sum(u)


def fields(u, x, n):
    a, f = np.outer(u, x), np.zeros((len(u), len(x)))
    for _ in range(n):
        for i in range(1, len(u) - 1):
            for j in range(1, len(x) - 1):
                c = math.sqrt(a[i, j] ** 2 + a[i, j + 1] ** 2 + 1.0) / (1.0 + a[i - 1, j] ** 2)
                f[i, j] = f[i, j] + 0.1 * math.exp(-c) * (math.sin(f[i, j]) + 1.0)
    return np.sum(f)


def two_results(u, x, n):
    """The inner loop, which stays, has two results."""
    s, p = 0.0, 1.0
    for t in range(n):
        w = np.exp(-x * x)
        for i in range(len(x)):
            s += w[i] * t * p
            p = math.cos(p * x[i]) + u[i]
    return s + p


PROGRAMS = [two_results, arrays, numbers, rows, branches, sums, read_between, changed, recurrence, in_views, fields]


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_programs_are_right(fn):
    rng = np.random.default_rng(4)
    u, x = rng.random(7), rng.random(7)
    check(fn, (u, x, 6), (u, x, 0), (u[:3], x[:3], 1))


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_jacobians_in_forward_mode_are_gradients(fn):
    rng = np.random.default_rng(5)
    u, x = rng.random(7), rng.random(7)
    found = adc.jacobian(fn, argnums=1, mode="forward")(u, x, 6)
    np.testing.assert_allclose(found, adc.grad(fn, argnums=1)(u, x, 6), rtol=1e-11, atol=1e-13)


def network(w, x):
    n, h = x.shape[1], 4
    return np.tanh(x @ w[: n * h].reshape(n, h)) @ w[n * h : n * h + h]


def test_the_runs_of_a_jacobian_share_the_values():
    rng = np.random.default_rng(6)
    x, w = rng.random((9, 3)), rng.random(16)
    y = np.tanh(x @ w[:12].reshape(3, 4))
    by_first = x[:, :, None] * ((1.0 - y * y) * w[12:])[:, None, :]
    expected = np.concatenate([by_first.reshape(9, 12), y], axis=1)
    np.testing.assert_allclose(adc.jacobian(network)(w, x), expected, rtol=1e-13)


@pytest.mark.parametrize("shape", [(3, 4), (0, 4), (3, 0)])
def test_so_do_directions_of_a_matrix(shape):
    def matrix_network(w, x):
        return np.tanh(x @ w)

    rng = np.random.default_rng(7)
    w, x = rng.random(shape), rng.random((5, shape[0]))
    y = np.tanh(x @ w)
    expected = np.zeros((*y.shape, *w.shape))
    for j in range(shape[1]):
        expected[:, j, :, j] = (1.0 - y[:, j] ** 2)[:, None] * x
    jacobian = adc.jacobian(matrix_network, mode="forward")
    np.testing.assert_allclose(jacobian(w, x), expected, rtol=1e-13)


def test_an_error_comes_when_it_did():
    @jit_grad
    def refused(u, x, n):
        s = 0.0
        for t in range(n):
            if u[t] > 1.0:
                raise ValueError("too large")
            w = np.zeros(4)
            for i in range(4):
                w[i] = math.exp(x[i + t * 0])
            s += np.sum(w) * u[t]
        return s

    with pytest.raises(ValueError, match="too large"):
        refused(np.array([2.0]), np.ones(2), 1)
    with pytest.raises(IndexError):
        refused(np.array([0.5]), np.ones(2), 1)
    assert refused(np.array([2.0]), np.ones(2), 0) == 0.0


def test_what_no_iteration_reads_contributes_nothing():
    def roots(x, first, n):
        s = 0.0
        for t in range(n):
            for i in range(len(x)):
                y = math.exp(math.sqrt(x[i]))
                if t * i >= first:
                    s += y * t
        return s

    found = adc.grad(roots)(np.array([0.0, 4.0, 0.25, 1.0]), 6, 5)
    # t * i >= 6: for i = 2 in steps 3 and 4, for i = 3 in steps 2, 3 and 4
    np.testing.assert_allclose(found, [0.0, 0.0, 7.0 * math.exp(0.5), 9.0 * math.exp(1.0) / 2.0], rtol=1e-14)


def decay(p, t):
    a = p[0] * np.exp(-p[1] * t) + p[2] * np.exp(-p[3] * t)
    b = p[4] * np.cos(p[5] * t + p[6])
    return a * b / (1.0 + np.exp(-(t - p[7]) / p[8])) + p[9]


def test_runs_of_longer_functions_share_the_values():
    """At its only call a function with tangents is inlined, though it is long."""
    p, t = np.linspace(0.5, 1.5, 10), np.linspace(0.0, 3.0, 11)
    jacobian = adc.jacobian(decay, mode="forward")
    step = 1e-30
    for k in range(10):
        moved = decay(p + 1j * step * np.eye(10)[k], t).imag / step
        np.testing.assert_allclose(jacobian(p, t)[:, k], moved, rtol=1e-12, atol=1e-14)

    @jit_grad
    def total(p, t):
        return np.sum(jacobian(p, t))

    total(p, t)
    assert "jvp" not in total.dump_ir("lowered")


@pytest.mark.parametrize("cheap", ["none", "contract"])
def test_long_chains_of_statements(cheap):
    """Costs are found, and needs, however many operations depend on each other."""
    chain = "".join(
        f"""
      %v{k + 1} = arith.mulf %v{k}, %a fastmath<{cheap}> : f64
      %w{k + 1} = arith.addf %w{k}, %v{k + 1} : f64"""
        for k in range(1200)
    )
    module = parse_module(f"""
func.func @f(%x: memref<?xf64>, %y: memref<?x?xf64>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %m = memref.dim %x, 0 : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {{
    scf.parallel (%j) = (%c0) to (%m) step (%c1) {{
      %a = memref.load %x[%j] : memref<?xf64>
      %v0 = math.exp %a : f64
      %w0 = math.sin %a : f64{chain}
      %b = memref.load %y[%i, %j] : memref<?x?xf64>
      %e = math.exp %w1200 : f64
      %p = arith.mulf %e, %b : f64
      memref.store %p, %y[%i, %j] : memref<?x?xf64>
      scf.reduce()
    }}
    scf.reduce()
  }}
  func.return
}}
""")
    DistributeInvariants().run(module)
    assert sum(op.opdef is ops.alloc for op in module.funcs["f"].body.walk()) == 1


def pairs(x, n):
    s = 0.0
    for t in range(n):
        w = np.exp(-np.abs(x[:, None] - x[None, :]))
        s += np.sum(w) * t
    return s


def pairs_in_a_branch(x, n):
    s = 0.0
    for t in range(3):
        if n > 0:
            w = np.exp(-np.abs(x[:, None] - x[None, :]))
            s += np.sum(w) * t
    return s


def convolution(x, n):
    s = 0.0
    for t in range(n):
        for i in range(len(x) // 2):
            for j in range(len(x) // 2):
                s += x[i + j] * math.exp(math.sin(x[j]) * x[i]) * t
    return s


@pytest.mark.parametrize("fn", [pairs, pairs_in_a_branch, convolution], ids=lambda fn: fn.__name__)
def test_no_memory_is_taken_for_iterations_that_do_not_run(fn):
    compiled = check(fn, (np.linspace(0.1, 0.9, 6) ** 2, 4))
    assert compiled(np.ones(1 << 23), 0) == 0.0  # its square takes more bytes than there are addresses


@pytest.mark.parametrize(
    ("array", "subscripts", "made"),
    [
        ("memref<?x?xf64>", "%i, %j", 1),
        ("memref<?x?xf64>", "%j, %ahead", 1),
        ("memref<?x?xf64>", "%i, %sum", 0),
        ("memref<?xf64>", "%sum", 0),
        ("memref<?x?xf32>", "%i, %j", 0),
    ],
)
def test_an_array_that_is_made_is_no_larger_than_another(array, subscripts, made):
    element = array[-4:-1]
    module = parse_module(f"""
func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %a: {array}, %out: memref<?xf64>, %n: index, %m: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : {element}
  scf.for %t = %c0 to %c8 step %c1 {{
    scf.for %i = %c0 to %n step %c1 {{
      scf.for %j = %c0 to %m step %c1 {{
        %sum = arith.addi %i, %j : index
        %ahead = arith.addi %i, %c1 : index
        %0 = memref.load %y[%j] : memref<?xf64>
        %1 = memref.load %x[%i] : memref<?xf64>
        %2 = arith.mulf %0, %1 : f64
        %3 = math.exp %2 : f64
        %4 = memref.load %out[%t] : memref<?xf64>
        %5 = arith.mulf %3, %4 : f64
        memref.store %zero, %a[{subscripts}] : {array}
        memref.store %5, %out[%t] : memref<?xf64>
        scf.yield
      }}
      scf.yield
    }}
    scf.yield
  }}
  func.return
}}
""")
    DistributeInvariants().run(module)
    assert sum(op.opdef is ops.alloc for op in module.funcs["f"].body.walk()) == made


def test_choices_that_several_numbers_need():
    """A part of another array, chosen, that a number needs in two ways."""

    def f(w, x):
        s, t = w[0] * 0.5, w[-1]
        u = np.sin(x) + t
        v = u[::-1].copy()
        u = np.where(v > 0.1, u, np.sin(u) + math.sin(s))
        u = np.where(v > 0.1, u, np.sin(u) + np.tanh(t))
        z = np.concatenate((u[:2], v[2:])) * w[3]
        return u + z[: len(x)] * s

    w, x = np.random.default_rng(0).random(9), np.linspace(-1.0, 2.0, 5)
    found, other = (adc.jacobian(f, mode=mode)(w, x) for mode in ("forward", "reverse"))
    np.testing.assert_allclose(found, other, rtol=1e-12, atol=1e-14)
