"""``[None] * n`` whose items become arrays, or tuples with arrays, where ``n`` depends on the run."""

from __future__ import annotations

import numpy as np
import pytest

from adc import errors, jit_grad
from tests.programs.harness import check

U = np.random.default_rng(3).normal(size=(6, 2))


def backwards(u):
    n = len(u)
    gains, v = [None] * n, np.ones(2)
    for t in range(n - 1, -1, -1):
        gains[t] = np.sin(u[t]) * v
        v = v * 0.9 + gains[t]
    total = 0.0
    for t in range(n):
        total += gains[t] @ u[t]
    return total


def forwards_and_backwards(u):
    n = len(u)
    a, b = [None] * n, [None] * n
    a[0], b[-1] = u[0], np.ones(2)
    for t in range(1, n):
        a[t] = np.tanh(a[t - 1]) * u[t]
    for t in range(n - 2, -1, -1):
        b[t] = b[t + 1] * np.cos(u[t])
    return sum(x @ y for x, y in zip(a, b))


def one_more(u, n):
    found = [u[0]] + [None] * n
    for t in range(n):
        found[t + 1] = 0.5 * found[t] + np.sin(u[t])
    return np.sum(np.array(found) ** 2) + np.sum(np.stack(found)[-1])


def shapes_of_the_loop(u):
    """The shapes of the arrays follow from what the loop computes."""
    n = len(u)
    ks, s, v = [None] * n, [None] * n, np.array([1.0, 0.5])
    for t in range(n - 1, -1, -1):
        a = np.array([[2.0 + u[t, 0] ** 2, 0.1], [0.1, 3.0]])
        b = np.array([[0.0], [1.0]])
        quu = b.T @ a @ b + np.eye(1)
        s[t] = -np.linalg.solve(quu, b.T @ a)
        ks[t] = -np.linalg.solve(quu, b.T @ (v * u[t]))
        v = a @ v * 0.3 + s[t].T @ ks[t]
    total, x = 0.0, np.ones(2)
    for t in range(n):
        w = ks[t] + s[t] @ x
        x = np.tanh(x + w[0] * u[t])
        total += w @ w
    return total


def tuples(u):
    n = len(u)
    steps = [None] * n
    for t in range(n):
        steps[t] = (np.outer(u[t], u[t]), u[t] * 2, u[t, 0])
    total = 0.0
    for m, v, x in steps:
        total += v @ m @ v * x
    return total


def some_are_none(u):
    n = len(u)
    found = [None] * n
    for t in range(n):
        if u[t, 0] > 0:
            found[t] = np.exp(u[t])
    found[1] = u[1]
    found[0] = None
    total, count = 0.0, 0
    for t in range(n):
        if found[t] is None:
            count += 1
        else:
            total += np.sum(found[t] * u[t])
    for item in found:
        if item is not None:
            total += item[1] ** 2
    return total + count, count, len(found)


def given_to_functions(u):
    def step(x, k):
        return np.tanh(x @ k) + k

    n = len(u)
    ks = [None] * n
    for t in range(n):
        ks[t] = u[t] ** 2
    x = np.ones(2)
    for t in range(n):
        x = step(x, ks[t])
    return np.sum(x)


def set_twice(u):
    n = len(u)
    found = [None] * n
    for _ in range(3):
        for t in range(n):
            found[t] = u[t] if found[t] is None else found[t] * u[t]
    return np.sum(np.array(found))


def matrices_in_single_precision(u):
    found = [None] * len(u)
    for t in range(len(u)):
        found[t] = np.outer(u[t], u[t])
    return float(np.sum(found[-1] * found[0]))


def complex_numbers(u):
    found = [None] * len(u)
    for t in range(len(u)):
        found[t] = np.exp(1j * u[t])
    return np.sum(np.abs(sum(found)) ** 2)


def appended(u):
    found = [None]
    for t in range(len(u)):
        found.append(np.sin(u[t]))
    return sum(x @ x for x in found[1:]), found[0] is None


def numbers(u):
    found = [None] * len(u)
    for t in range(len(u)):
        found[t] = np.sin(u[t, 0])
    return np.sum(np.array(found)) + max(found)


def smoothed(u):
    """Items of one list become items of another."""
    n = len(u)
    m, last = [None] * n, [None] * n
    m[0] = u[0]
    for t in range(1, n):
        m[t] = np.sin(u[t]) * m[t - 1] + u[t]
    last[-1] = m[-1]
    for t in reversed(range(n - 1)):
        last[t] = m[t] + 0.3 * (last[t + 1] - m[t])
    swapped = [None] * n
    for t in range(n):
        swapped[t] = last[n - 1 - t]
    return sum(v @ v * (k + 1) for k, v in enumerate(swapped))


def joined(u):
    n = len(u)
    made = [np.sin(v) for v in u]
    found = [None] * n + made + [None] * n
    for t in range(n):
        found[t] = u[t]
    return sum(v @ v for v in found if v is not None)


def none_added(u):
    """Items that are None are added to a list of arrays."""
    found = [None] * len(u)
    for t in range(len(u)):
        found[t] = np.sin(u[t])
    found.append(None)
    found.insert(0, None)
    found.append(u[0])
    return sum(v @ v * (k + 1) for k, v in enumerate(found) if v is not None)


PROGRAMS = (
    none_added, backwards, forwards_and_backwards, shapes_of_the_loop, tuples, some_are_none, given_to_functions,
    set_twice, smoothed, joined, complex_numbers, appended, numbers,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(program):
    check(program, (U,), (U[:3],))


def test_single_precision():
    f, u = jit_grad(matrices_in_single_precision), U.astype(np.float32)
    assert f(u) == pytest.approx(matrices_in_single_precision(u), rel=1e-6)
    g = f.grad(u)
    assert g.dtype == np.float32
    np.testing.assert_allclose(g[0], 2 * (U[0] @ U[-1]) * U[-1], rtol=1e-5)


def test_length_from_an_argument():
    check(one_more, (U, 5), (U, 2), (U, 0))


def test_code_does_not_depend_on_the_length():
    f = jit_grad(backwards)
    f(U)
    assert f.dump_ir("traced").count("math.sin") == 1


def unset(u):
    found = [None] * len(u)
    for t in range(1, len(u)):
        found[t] = u[t]
    return found


def used(u):
    found = unset(u)
    total = 0.0
    for t in range(len(u)):
        total += np.sum(found[t] * 2)
    return total


def together(u):
    return np.sum(np.array(unset(u)))


@pytest.mark.parametrize(("program", "error"), [(used, TypeError), (together, ValueError)])
def test_none_is_no_array(program, error):
    with pytest.raises(error):
        program(U)
    for f in (jit_grad(program), jit_grad(program).grad):
        with pytest.raises(error, match="None"):
            f(U)


def rows_of_a_triangle(u):
    found = [None] * len(u)
    for t in range(1, len(u)):
        found[t] = u[:t, 0]
    return sum(np.sum(x * x) for x in found[1:])


def levels(u):
    def halved(x):
        return 0.5 * (x[::2] + x[1::2])

    n = int(np.log2(len(u)))
    found, x = [None] * n, u[:, 0]
    for k in range(n):
        x = halved(x)
        found[k] = x
    return sum(np.sum(x**2) for x in found)


def two_shapes(u):
    found = [None] * len(u)
    found[0] = u[0]
    found[1] = u[:, 0]
    return np.sum(found[0]) + np.sum(found[1] ** 2)


@pytest.mark.parametrize("program", [rows_of_a_triangle, levels, two_shapes])
def test_several_shapes_are_compiled_for_one_size(program):
    check(program, (U[:4],), (np.vstack([U[:4], U[:4] * 2]),))


def given_back(u):
    found = [None] * len(u)
    for t in range(len(u)):
        if t != 1:
            found[t] = np.sin(u[t])
    return found


def numbers_given_back(u):
    found = [None] * len(u)
    for t in range(len(u)):
        if t != 1:
            found[t] = np.sin(u[t, 0])
    return found


def pairs_given_back(u):
    found = [None] * len(u)
    for t in range(len(u)):
        if t != 1:
            found[t] = (u[t] ** 2, u[t, 0] * 3)
    return found


ONES = np.ones(2)


@pytest.mark.parametrize(
    ("program", "cotangents", "expected"),
    [
        (given_back, [ONES, None, 2 * ONES], np.cos(U[:3]) * [[1], [0], [2]]),
        (given_back, [ONES, ONES, None], np.cos(U[:3]) * [[1], [0], [0]]),
        (numbers_given_back, [1.0, None, 2.0], np.cos(U[:3]) * [[1, 0], [0, 0], [2, 0]]),
        (pairs_given_back, [(ONES, 1.0), None, (0 * ONES, 2.0)], [2 * U[0] + [3, 0], [0, 0], [6, 0]]),
    ],
)
def test_derivatives_of_lists_with_none(program, cotangents, expected):
    f = jit_grad(program)
    _, back = f.pullback(U[:3])
    np.testing.assert_allclose(back(cotangents)[0], expected)
    result, tangent = f.jvp((U[:3],), (np.ones((3, 2)),))
    assert result[1] is None and tangent[1] is None
    total = sum(np.sum(x * c) for d, ct in zip(tangent, cotangents) for x, c in _leaves(d, ct))
    assert total == pytest.approx(np.sum(back(cotangents)[0]))


def _leaves(tangent, cotangent):
    if tangent is None or cotangent is None:
        return []
    return zip(tangent, cotangent) if isinstance(tangent, tuple) else [(tangent, cotangent)]


def table(u):
    n = len(u)
    found = [[None] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            found[i][j] = u[i] * u[j]
    return sum(np.sum(found[i][j]) * (i + 2 * j) for i in range(n) for j in range(n))


def lists_as_items(u):
    n = len(u)
    found = [None] * n
    for t in range(n):
        found[t] = [np.tanh(u[t]), u[t]]
    return sum(x @ y for x, y in reversed(found))


@pytest.mark.parametrize("program", [table, lists_as_items])
def test_lists_in_lists(program):
    check(program, (U,), (U[:1],))


def lists_on_paths(u):
    found = [None] * len(u)
    for t in range(len(u)):
        if u[t, 0] > 0:
            found[t] = [u[t], u[t] * 2]
    return sum(x[1].sum() for x in found if x is not None)


def tuples_on_paths(u):
    found = [None] * len(u)
    for t in range(len(u)):
        if u[t, 0] > 0:
            found[t] = (u[t], u[t] * 2)
    return sum(x[1].sum() for x in found if x is not None)


def test_lists_beside_none_have_a_way_out():
    with pytest.raises(errors.CompileTypeError, match=r"beside these lists(.|\n)*xs\[k\] = tuple\(row\)"):
        jit_grad(lists_on_paths)(U)
    check(tuples_on_paths, (U,))
