"""NumPy's functions of index arrays and masks, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from tests.numpy.checking import check, function_of

R = np.random.default_rng(5)
A, B, C = R.normal(size=7), R.normal(size=(3, 4)), R.normal(size=(2, 3, 4))
K, V = np.array([0, 2, 2, -1]), np.arange(1.0, 5.0)
J = np.argsort(B, axis=1)


@pytest.mark.parametrize(
    "statement",
    [
        "np.add.at(a, k, v)",
        "np.subtract.at(a, k, 2.0)",
        "np.multiply.at(a, k, v)",
        "np.divide.at(a, k, v)",
        "np.maximum.at(a, k, v)",
        "np.minimum.at(a, k, -v)",
        "np.negative.at(a, k)",
        "np.add.at(a, [1, 1, 1], v[:3])",
        "np.add.at(a, m, 1.0)",
        "np.add.at(a, slice(1, 3), v[:2])",
        "np.add.at(a, 2, 1.0)",
        "np.add.at(b, (i, k), v)",
        "np.add.at(b, (i, slice(1, None)), v[1:])",
        "np.add.at(b, i, v)",
        "np.add.at(b.T, k, v[:3])",
        "np.add.at(a, k, a[k])",
        "np.add.at(b, (slice(None), k), v)",
        "np.power.at(b, (1, k), 2)",
        "np.add.at(n, k, 2)",
    ],
)
def test_at_counts_what_is_repeated(statement: str) -> None:
    inputs = {"i": np.array([0, 2, 2, 0]), "k": K, "v": V, "m": A > 0, "n": np.arange(7)}
    check(f"{statement}\nreturn a * a, b * b, n * 1", a=A, b=B, **inputs)


@pytest.mark.parametrize(
    "body",
    [
        "np.nonzero(a > 0)",
        "np.nonzero(b)",
        "b[np.nonzero(b > 0)] * 2",
        "(b > 0).nonzero()",
        "np.where(b < 0)",
        "b[np.where(b < 0)].sum()",
        "np.argwhere(b > 0)",
        "np.flatnonzero(b > 0)",
        "np.flatnonzero(a)",
        "a[np.flatnonzero(a > 0)]",
    ],
)
def test_where_elements_are(body: str) -> None:
    check(body, a=A, b=B, exact="sum" not in body)


@pytest.mark.parametrize(
    "body",
    [
        "np.take(a, k)",
        "np.take(a, 3) * np.take(a, [0, 1])",
        "a.take(k)",
        "np.take(b, k, axis=1)",
        "np.take(b, [[0, 1], [2, 0]], axis=0)",
        "np.take(b, 1, axis=-1)",
        "np.take(a, k + 9, mode='wrap')",
        "np.take(a, k * 5, mode='clip')",
        "np.take(b, k * 3)",
        "np.take_along_axis(b, j, axis=1)",
        "np.take_along_axis(b, j[:, :1], axis=-1)",
        "np.take_along_axis(b, j[:1], 1)",
        "np.take_along_axis(a, k, 0)",
        "np.compress(a > 0, a)",
        "np.compress([True, False, True], b, axis=0)",
        "np.extract(b > 0, b)",
        "np.choose(k % 3, [v, 2 * v, 7.0])",
        "np.choose(k, [v, -v], mode='clip')",
        "np.select([a > 1, a > 0], [a**2, 3 * a], -a)",
        "np.select([b > 0], [b])",
        "np.piecewise(a, [a < 0, a >= 0], [lambda x: x**2, lambda x: 3 * x])",
        "np.piecewise(a, [a < 0], [lambda x: 4 * x - 1, 0.5])",
        "np.isin(k, [2, 0])",
        "np.isin(k, i, invert=True)",
        "b[np.ix_([0, 2], k)]",
        "b[np.ix_(b[:, 0] > -9, i)] * 2",
    ],
)
def test_reading(body: str) -> None:
    check(body, a=A, b=B, k=K, j=J, v=V, i=np.array([0, 2]))


def test_pieces_of_any_number() -> None:
    body = "np.piecewise(v, [v > 0.3 * j for j in range(n)], [1.0, lambda x: x * x, 3.0])"
    compiled = check(body, v=V, n=3)
    check(body, v=V, n=2)
    with pytest.raises(ValueError, match=r"with 4 condition\(s\), either 4 or 5"):
        compiled(V, 4)


@pytest.mark.parametrize(
    "statement",
    [
        "np.put(a, k, v)",
        "np.put(a, k, 2.0)",
        "np.put(a, [0, 3, 5], [1.5, 2.5])",
        "np.put(b, [0, 11, -2], v)",
        "np.put_along_axis(b, j[:, :2], v[:2], axis=1)",
        "np.put_along_axis(b, j[:, :1], 9.0, axis=1)",
        "np.place(a, a > 0, [1.0, 2.0])",
        "np.place(b, b > 0, v)",
        "np.putmask(a, a > 0, a**2)",
        "np.putmask(a, a > 0, 3.0)",
        "np.putmask(a, a > 0, v)",
        "np.copyto(b, v)",
        "np.copyto(b, v, where=b > 0)",
        "np.copyto(b, 0.0, where=b > 0)",
        "b[np.ix_([0, 2], k[:2])] += 5",
    ],
)
def test_storing(statement: str) -> None:
    check(f"{statement}\nreturn a * a, b * b", a=A, b=B, k=K, j=J, v=V)


@pytest.mark.parametrize(
    ("body", "inputs"),
    [
        ("np.take(a, [7])", {"a": A}),
        ("np.take(b, [12])", {"b": B}),
        ("np.take_along_axis(b, j + 3, 1)", {"b": B, "j": J}),
        ("np.add.at(a, k, 1.0)", {"a": A, "k": K - 7}),
        ("np.choose(k, [a, a])", {"a": A[:4], "k": K}),
        ("np.put(a, [9], 1.0)", {"a": A}),
    ],
)
def test_errors_are_those_of_numpy(body: str, inputs: dict[str, Any]) -> None:
    plain = function_of(body, *inputs)
    with pytest.raises((IndexError, ValueError)) as theirs:
        plain(**{n: v.copy() for n, v in inputs.items()})
    with pytest.raises(theirs.type) as ours:
        adc.jit_grad(plain)(**{n: v.copy() for n, v in inputs.items()})
    assert str(theirs.value).strip() in str(ours.value)


def test_histogram_and_particles_on_a_grid() -> None:
    body = """
    n = rho.size
    for step in range(3):
        rho[:] = 0.0
        cell = np.floor(x).astype(np.int64)
        w = x - cell
        np.add.at(rho, cell % n, q * (1 - w))
        np.add.at(rho, (cell + 1) % n, q * w)
        field = np.zeros(n)
        field[1:-1] = rho[2:] - rho[:-2]
        x = x - 0.1 * (field[cell % n] * (1 - w) + field[(cell + 1) % n] * w)
    return x, rho
    """
    check(body, x=R.uniform(0, 6, 9), q=R.uniform(1, 2, 9), rho=np.zeros(6), exact=False)


def test_finite_elements_assembled() -> None:
    body = """
    k = np.zeros((len(p), len(p)))
    f = np.zeros(len(p))
    for e in range(len(cells)):
        h = p[cells[e, 1]] - p[cells[e, 0]]
        ke = np.array([[1.0, -1.0], [-1.0, 1.0]]) / h
        k[np.ix_(cells[e], cells[e])] += ke
        np.add.at(f, cells[e], h / 2)
    return k, f
    """
    check(body, p=np.array([0.0, 0.3, 0.9, 1.4]), cells=np.array([[0, 1], [1, 2], [2, 3]]))


def test_sparse_matrix_in_coordinates() -> None:
    body = """
    for t in range(3):
        y = np.zeros_like(x)
        np.add.at(y, rows, data * x[cols])
        x = x / np.sqrt(np.sum(x * x)) + 0.1 * y
    return x
    """
    rows, cols = np.array([0, 0, 1, 2, 2, 3]), np.array([0, 3, 1, 0, 2, 3])
    check(body, x=R.normal(size=4), data=R.normal(size=6), rows=rows, cols=cols, exact=False)


def test_gradient_twice_and_mapped() -> None:
    f = function_of("y = np.zeros(3)\nnp.add.at(y, k % 3, a ** 2)\nreturn np.sum(y ** 2)", "a", "k")
    k = np.array([0, 1, 1, 2, 0, 0, 2])
    sums = np.bincount(k, A**2, 3)
    expected = 8 * np.outer(A, A) * (k[:, None] == k) + np.diag(4 * sums[k])
    np.testing.assert_allclose(adc.hessian(f)(A, k), expected, atol=1e-12)
    check("np.add.at(a, k, 1.0)\nreturn a * a", a=A, k=K, vmap=True)
