"""Nests that are matrix products become one operation; similar ones stay."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import adc
from adc.ir import ops
from adc.ir.text.parser import parse_module
from adc.passes.sums.match_products import MatchProducts
from tests.numpy.checking import function_of

RNG = np.random.default_rng(5)
MATRIX = "memref<?x?xf64>"
NEST = """
func.func @f(%a: {m}, %b: {m}, %c: {m}, %m: index, %n: index, %k: index, %x: f64) {{
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%m) step (%c1) {{
    scf.parallel (%j) = (%c0) to (%n) step (%c1) {{
      %s = scf.parallel (%l) = (%c0) to (%k) step (%c1) init (%zero) -> f64 {{
        %p = memref.load {left} : {m}
        %q = memref.load {right} : {m}
        %pq = arith.mulf %p, %q {flags}: f64
        scf.reduce(%pq : f64) {{kinds = ["add"]}}
      }}
      memref.store {value}, %c[%i, %j] : {m}
      scf.reduce()
    }}
    scf.reduce()
  }}
  func.return
}}
"""


def matched(
    left: str = "%a[%i, %l]", right: str = "%b[%l, %j]", flags: str = "fastmath<contract> ", value: str = "%s"
) -> bool:
    """Whether the nest became a product."""
    module = parse_module(NEST.format(m=MATRIX, left=left, right=right, flags=flags, value=value))
    MatchProducts().run(module)
    found = [op.opdef for op in module.funcs["f"].walk()]
    assert (ops.matmul in found) != (ops.store in found)
    return ops.matmul in found


@pytest.mark.parametrize("left", ["%a[%i, %l]", "%a[%l, %i]"])
@pytest.mark.parametrize("right", ["%b[%l, %j]", "%b[%j, %l]"])
def test_any_order_of_subscripts(left: str, right: str) -> None:
    assert matched(left, right)
    assert matched(right, left)


@pytest.mark.parametrize(
    "change",
    [
        {"flags": ""},  # the user's order of summation
        {"left": "%a[%i, %j]"},  # not the counters of a product
        {"left": "%a[%l, %l]"},
        {"left": "%a[%m, %l]", "right": "%b[%j, %l]"},  # a vector, and rows of a matrix
        {"left": "%c[%i, %l]"},  # reads what it writes
        {"value": "%x"},
    ],
)
def test_what_only_looks_alike(change: dict[str, str]) -> None:
    assert not matched(**change)


def _is_product(f: Any, *signature: str) -> bool:
    return "linalg.matmul" in adc.jit_grad(f).dump_ir("lowered", ", ".join(signature))


SHAPES = [(1, 1, 1), (2, 3, 4), (13, 17, 33), (64, 64, 64), (40, 300, 7), (5, 600, 530), (0, 3, 2), (3, 0, 2)]


def layouts(a: np.ndarray) -> list[np.ndarray]:
    wide = np.zeros((2 * a.shape[0], 3 * a.shape[1]), a.dtype)
    wide[::2, ::3] = a
    return [a, np.asfortranarray(a), wide[::2, ::3], a[::-1, ::-1]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_and_gradients(dtype: Any) -> None:
    f = adc.jit_grad(function_of("a @ b", "a", "b"))
    g = adc.grad(function_of("np.sum((a @ b) * c)", "a", "b", "c"), argnums=(0, 1))
    near = {"rtol": 1e-12, "atol": 1e-12} if dtype == np.float64 else {"rtol": 2e-4, "atol": 1e-4}
    for (m, k, n), x, y in itertools.product(SHAPES, range(4), range(4)):
        if (x, y) not in ((0, 0), (1, 0), (0, 1), (2, 3), (1, 1)):
            continue
        a, b = (layouts(RNG.normal(size=s).astype(dtype))[z] for s, z in (((m, k), x), ((k, n), y)))
        c = RNG.normal(size=(m, n)).astype(dtype)
        np.testing.assert_allclose(f(a, b), a @ b, **near)
        by_a, by_b = g(a, b, c)
        np.testing.assert_allclose(by_a, c @ b.T, **near)
        np.testing.assert_allclose(by_b, a.T @ c, **near)


def test_bits_do_not_depend_on_threads() -> None:
    a, b = RNG.normal(size=(301, 307)), RNG.normal(size=(307, 211))
    scalar = function_of("np.sum(np.tanh(a @ b))", "a", "b")
    results = []
    for threads in (1, 2, 3):
        f = adc.value_and_grad(adc.jit_grad(threads=threads)(scalar), argnums=(0, 1))
        results.append(f(a, b))
    for value, (by_a, by_b) in results[1:]:
        assert value == results[0][0]
        np.testing.assert_array_equal(by_a, results[0][1][0])
        np.testing.assert_array_equal(by_b, results[0][1][1])


def test_in_loops_and_slices_of_larger_arrays() -> None:
    body = """
    out = np.zeros((x.shape[0], x.shape[1], w.shape[2]))
    for t in range(x.shape[0]):
        out[t] = x[t] @ w[t]
    return np.sum(out * out)
    """
    x, w = RNG.normal(size=(3, 9, 10)), RNG.normal(size=(3, 10, 11))
    by_x, by_w = adc.grad(function_of(body, "x", "w"), argnums=(0, 1))(x, w)
    out = x @ w
    np.testing.assert_allclose(by_x, 2 * out @ w.transpose(0, 2, 1), rtol=1e-12)
    np.testing.assert_allclose(by_w, 2 * x.transpose(0, 2, 1) @ out, rtol=1e-12)


@pytest.mark.parametrize("word", ["range", "adc.prange"])
def test_one_matrix_for_all_of_a_loop(word: str) -> None:
    """The cotangent of ``w`` is added to by all iterations, which may run on several threads."""
    body = f"""
    total = 0.0
    for t in {word}(x.shape[0]):
        total += np.sum((x[t] @ w) ** 2)
    return total
    """
    x, w = RNG.normal(size=(40, 31, 33)), RNG.normal(size=(33, 35))
    by_x, by_w = adc.grad(adc.jit_grad(threads=2)(function_of(body, "x", "w")), argnums=(0, 1))(x, w)
    np.testing.assert_allclose(by_x, 2 * (x @ w) @ w.T, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(by_w, 2 * np.einsum("tik,tij->kj", x, x @ w), rtol=1e-10, atol=1e-10)


def test_a_matrix_times_itself() -> None:
    a = RNG.normal(size=(20, 20))
    g = adc.grad(function_of("np.sum(np.sin(a @ a) + a @ a.T)", "a"))(a)
    c = np.cos(a @ a)
    np.testing.assert_allclose(g, c @ a.T + a.T @ c + 2 * np.ones((20, 20)) @ a, rtol=1e-11)


def test_few_known_extents_stay_loops() -> None:
    small = function_of("np.array([[x, 1.0], [2.0, x]]) @ np.array([[x, 0.5], [x, x]])", "x")
    assert not _is_product(small, "f64")
    assert _is_product(function_of("a @ b", "a", "b"), "f64[:, :]", "f64[:, :]")


def test_forward_mode_and_second_order() -> None:
    a, b, d = (RNG.normal(size=(9, 9)) for _ in range(3))
    f = function_of("np.sum(np.tanh(a @ b))", "a", "b")
    c = np.tanh(a @ b)
    tangent = adc.jit_grad(f).jvp((a, b), (d, None))[1]
    assert tangent == pytest.approx(np.sum((1 - c**2) * (d @ b)), rel=1e-12)
    product = adc.hvp(f, (a, b), (d, None), argnums=0)
    np.testing.assert_allclose(product, (-2 * c * (1 - c**2) * (d @ b)) @ b.T, rtol=1e-10)


def test_zeros_that_are_nothing() -> None:
    """What the reverse sweep multiplies by a cotangent of zero adds nothing, even if it is infinite."""
    a, b = RNG.normal(size=(20, 21)), RNG.normal(size=(21, 22))
    a[3, 4] = b[5, 6] = np.inf
    keep = np.ones((20, 22))
    keep[3] = keep[:, 6] = 0.0
    f = function_of("c = a @ b\nreturn np.sum(np.where(keep > 0, c, 0.0))", "a", "b", "keep")
    by_a, by_b = adc.grad(f, argnums=(0, 1))(a, b, keep)
    finite_a, finite_b = np.where(np.isinf(a), 0, a), np.where(np.isinf(b), 0, b)
    np.testing.assert_allclose(by_a, keep @ finite_b.T, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(by_b, finite_a.T @ keep, rtol=1e-12, atol=1e-13)


def test_cotangents_through_reshaped_results() -> None:
    x, w = RNG.normal(size=(3, 5, 7)), RNG.normal(size=(7, 6))
    f = function_of("np.sum(np.tanh((x.reshape(-1, 7) @ w).reshape(3, 5, 6)))", "x", "w")
    by_x, by_w = adc.grad(f, argnums=(0, 1))(x, w)
    g = 1 - np.tanh(x @ w) ** 2
    np.testing.assert_allclose(by_x, g @ w.T, rtol=1e-12)
    np.testing.assert_allclose(by_w, np.einsum("btd,bth->dh", x, g), rtol=1e-12, atol=1e-13)
    text = adc.jit_grad(argnums=(0, 1))(f).dump_ir("lowered", "f64[:, :, ::1], f64[:, ::1]")
    assert text.count("linalg.matmul") == 4


def test_products_stay_whole_beside_loops_over_their_rows() -> None:
    def layer(x, w):
        return np.sum(np.tanh(x @ w))

    f = adc.jit_grad(layer)
    f(RNG.random((7, 3)), RNG.random((3, 5)))
    text = f.dump_ir("lowered")
    primal = text[: text.index("func.func", 10)] if "func.func" in text[10:] else text
    (product,) = [line for line in primal.splitlines() if "linalg.matmul" in line]
    assert product.startswith("    linalg"), "it is in another loop than that over threads"


def columns(x: Any) -> Any:
    return x.T @ x


def columns_of_two(x: Any, y: Any) -> Any:
    return x.T @ y


def rows(x: Any) -> Any:
    return x @ x.T


def rows_of_two(x: Any, y: Any) -> Any:
    return x @ y.T


def part_of_an_array(x: Any) -> Any:
    y = np.ones((x.shape[1] + 1, x.shape[1] + 2))
    y[1:, 2:] = x.T @ x
    return y


@pytest.mark.parametrize(("one", "two"), [(columns, columns_of_two), (rows, rows_of_two)])
def test_symmetric_products(one: Any, two: Any) -> None:
    """Half of the sums are mirrored, and all have the bits of the product of two arrays; on any number of threads."""
    compiled = [adc.jit_grad(threads=threads)(one) for threads in (1, 2, 3)]
    general = adc.jit_grad(two)
    for n in (0, 1, 47, 95, 96, 97, 150, 241):
        for dtype in ("float64", "float32") if n == 97 else ("float64",):
            x = RNG.normal(size=(30, n)).astype(dtype)
            if n > 100:
                x[3, 7], x[4, 100] = np.inf, np.nan
            x = x if one is columns else x.T.copy()
            expected = general(x, x.copy())
            for f in compiled:
                np.testing.assert_array_equal(f(x), expected)
            if np.isfinite(x).all():
                np.testing.assert_allclose(expected, one(x), rtol=1e-4 if dtype == "float32" else 1e-10, atol=1e-5)
    f = adc.jit_grad(part_of_an_array)
    x = RNG.normal(size=(20, 100))
    np.testing.assert_allclose(f(x), part_of_an_array(x), rtol=1e-10, atol=1e-12)


def test_gradient_of_a_symmetric_product() -> None:
    def energy(x: Any, w: Any) -> Any:
        return np.sum(x.T @ x * w)

    x, w = RNG.normal(size=(20, 100)), RNG.normal(size=(100, 100))
    gradient = adc.jit_grad(energy).grad(x, w)
    np.testing.assert_allclose(gradient, x @ (w + w.T), rtol=1e-10, atol=1e-12)
