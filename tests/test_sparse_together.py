"""Sparse Jacobians with respect to arrays of rows, whose sweeps are one run: against dense ones and complex steps."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import DifferentiationError
from adc.sparse import matrices, rows
from adc.sparse.memory import Memory

RNG = np.random.default_rng(5)


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether there was code for all sweeps, each time that it was asked for."""
    asked: list[bool] = []

    def compiled(*args: Any) -> Any:
        made = original(*args)
        asked.append(made is not None)
        return made

    original = matrices.compiled
    monkeypatch.setattr(matrices, "compiled", compiled)
    return asked


def observed(cameras, points, weights, seen):
    """Two numbers and a weight's error for each observation, with an angle that may be zero."""
    errors, lost = np.empty((len(weights), 2)), np.empty(len(weights))
    for i in range(len(weights)):
        c, p = cameras[seen[i, 0]], points[seen[i, 1]]
        square = c[0] * c[0] + c[1] * c[1]
        if square == 0.0:
            x = p[0] + c[0] * p[2]
        else:
            angle = np.sqrt(square)
            x = p[0] * np.cos(angle) + p[2] * np.sin(angle) * c[0] / angle
        errors[i, 0] = weights[i] * (x / p[2] - c[2])
        errors[i, 1] = weights[i] * (p[1] / p[2])
        lost[i] = 1.0 - weights[i] ** 2
    return errors, lost


def rows_of(n: int, m: int, seen: Any) -> Any:
    """The pattern of ``observed``, with zeros in it."""
    p = len(seen)
    wide = np.zeros((3 * p, 3 * n + 3 * m + p), bool)
    for i, (c, q) in enumerate(seen):
        columns = [*range(3 * c, 3 * c + 3), *range(3 * (n + q), 3 * (n + q) + 3), 3 * (n + m) + i]
        wide[2 * i, columns] = wide[2 * i + 1, columns] = True
        wide[2 * p + i, 3 * (n + m) + i] = True
    return wide


def arguments(n: int, m: int, p: int, dtype: Any = np.float64) -> Any:
    seen = np.column_stack([np.arange(p) % n, np.arange(p) % m])
    arrays = RNG.uniform(0.3, 1.2, (n, 3)), RNG.uniform(0.3, 1.2, (m, 3)), RNG.uniform(0.3, 1.2, p)
    return *(a.astype(dtype) for a in arrays), seen


def by_complex_steps(f: Any, args: Any, count: int) -> Any:
    """The Jacobian of plain Python by its first ``count`` arguments."""
    columns = []
    for k in range(count):
        for at in np.ndindex(args[k].shape):
            moved = [a.astype(complex) if n < count else a for n, a in enumerate(args)]
            moved[k][at] += 1e-30j
            columns.append(np.concatenate([np.ravel(part.imag) / 1e-30 for part in f(*moved)]))
    return np.array(columns).T


def of_complex(cameras, points, weights, seen):
    x = cameras[seen[:, 0]], points[seen[:, 1]]
    c, p = (a.T for a in x)
    angle = np.sqrt(c[0] ** 2 + c[1] ** 2)
    turned = p[0] * np.cos(angle) + p[2] * np.sin(angle) * c[0] / angle
    return np.stack([weights * (turned / p[2] - c[2]), weights * (p[1] / p[2])], axis=1), 1.0 - weights**2


@pytest.mark.parametrize("given", [True, False])
def test_observations(given: bool, together: list[bool]) -> None:
    jacobian = None
    for sizes in ((2, 3, 7), (1, 1, 1), (3, 2, 16)):
        args = arguments(*sizes)
        pattern = {"pattern": rows_of(*sizes[:2], args[3])} if given else {}
        if given or jacobian is None:
            jacobian = adc.sparse_jacobian(observed, argnums=(0, 1, 2), mode="forward", **pattern)
        truth = by_complex_steps(of_complex, args, 3)
        for _ in range(2):
            found = jacobian(*args)
            np.testing.assert_allclose(found.toarray(), truth, rtol=1e-12, atol=1e-14)
            args[0][...] += 0.1
            truth = by_complex_steps(of_complex, args, 3)
        assert found.nnz == (rows_of(*sizes[:2], args[3]).sum() if given else found.nnz)
    assert together and all(together)


def test_a_branch_at_single_observations(together: list[bool]) -> None:
    """Where the angle is zero its root has no derivative, and none is asked for."""
    args = arguments(3, 2, 6)
    args[0][1] = 0.0
    found = adc.sparse_jacobian(observed, argnums=(0, 1, 2), pattern=rows_of(3, 2, args[3]), mode="forward")(*args)
    dense = adc.jacobian(observed, argnums=(0, 1, 2))(*args)
    rows = [np.concatenate([part.reshape(count, -1) for part in parts], axis=1)
            for parts, count in zip(dense, (12, 6), strict=True)]  # fmt: skip
    np.testing.assert_allclose(found.toarray(), np.concatenate(rows), rtol=1e-13, atol=1e-15)
    assert np.all(np.isfinite(found.data)) and together == [True]


def test_layouts_and_single_precision(together: list[bool]) -> None:
    n, m, p = 3, 4, 9
    args = arguments(n, m, p)
    pattern = rows_of(n, m, args[3])
    jacobian = adc.sparse_jacobian(observed, argnums=(0, 1, 2), pattern=pattern, mode="forward")
    truth = jacobian(*args).toarray()
    wide = np.repeat(args[1], 2, axis=0)[::2]
    backwards = args[2][::-1].copy()[::-1]
    for cameras in (np.asfortranarray(args[0]), args[0][::-1].copy()[::-1]):
        found = jacobian(cameras, wide, backwards, np.asfortranarray(args[3]))
        np.testing.assert_allclose(found.toarray(), truth, rtol=1e-14)
    single = jacobian(*(a.astype(np.float32) for a in args[:3]), args[3])
    np.testing.assert_allclose(single.toarray(), truth, rtol=2e-5, atol=1e-6)
    assert all(together)


def test_pattern_that_is_too_small() -> None:
    args = arguments(2, 3, 6)
    pattern = rows_of(2, 3, args[3])
    pattern[4, np.flatnonzero(pattern[4])[3]] = False
    jacobian = adc.sparse_jacobian(observed, argnums=(0, 1, 2), pattern=pattern, mode="forward")
    for _ in range(2):
        with pytest.raises(DifferentiationError, match="row 4"):
            jacobian(*args)


def test_no_rows() -> None:
    for sizes in ((2, 3, 0), (2, 3, 4)):
        args = arguments(*sizes)
        pattern = rows_of(2, 3, args[3])
        found = adc.sparse_jacobian(observed, argnums=(0, 1, 2), pattern=pattern, mode="forward")(*args)
        assert found.shape == (3 * sizes[2], 15 + sizes[2])
        assert found.nnz == pattern.sum()


def norms(x, scale):
    """By the counter of a loop, by a number that all elements have, and by a row alone."""
    found = np.empty(len(x))
    for i in range(len(x)):
        total = 0.0
        for k in range(x.shape[1]):
            total += x[i, k] ** 2 * scale
        found[i] = math.sqrt(total) + x[i, 1]
    return found


def test_loops_along_rows_and_numbers(together: list[bool]) -> None:
    x = RNG.uniform(0.3, 1.2, (5, 3))
    for argnums in (0, (0, 1), (1, 0)):
        found = adc.sparse_jacobian(norms, argnums=argnums, mode="forward")(x, 0.7)
        dense = adc.jacobian(norms, argnums=argnums)(x, 0.7)
        parts = dense if isinstance(dense, tuple) else (dense,)
        expected = np.concatenate([part.reshape(5, -1) for part in parts], axis=1)
        np.testing.assert_allclose(found.toarray(), expected, rtol=1e-14)
    assert together == [True] * 3


def test_zeros_stay_strong(together: list[bool]) -> None:
    """Where the root of zero is not differentiated its infinite derivative does not matter."""

    def f(x):
        found = np.empty((len(x), 2))
        for i in range(len(x)):
            root = np.sqrt(x[i, 0])
            found[i, 0] = root * x[i, 1]
            found[i, 1] = x[i, 1] ** 2
        return found

    x = np.array([[0.0, 2.0], [1.0, 3.0]])
    made = adc.sparse_jacobian(f, mode="forward")(x).toarray()
    with np.errstate(all="ignore"):
        dense = adc.jacobian(f)(x).reshape(4, 4)
    np.testing.assert_array_equal(made, dense)
    assert made[0, 0] == np.inf and made[0, 1] == 0.0 and together == [True]


def test_arrays_that_are_changed_or_handed_on_go_one_by_one(together: list[bool]) -> None:
    def changed(x):
        y = x.copy()
        y[:, 0] *= y[:, 1]
        return y

    def whole(x):
        return x @ np.array([[1.0, 2.0], [0.5, 3.0]])

    x = RNG.uniform(0.3, 1.2, (4, 2))
    for f in (changed, whole):
        found = adc.sparse_jacobian(jit_grad(f), mode="forward")(x)
        np.testing.assert_allclose(found.toarray(), adc.jacobian(f)(x).reshape(8, 8), rtol=1e-14)


def scaled(x, *, c):
    return np.array([x[0, 0] * x[0, 1] * c, x[1, 0] - c])


def scaled_by_others(x, *others):
    return np.array([x[0, 0] * x[0, 1] * others[0], x[1, 0] - others[1]])


@pytest.mark.parametrize("mode", ["auto", "forward"])
def test_arguments_by_keyword_and_further_ones(mode: Any) -> None:
    x = RNG.uniform(0.3, 1.2, (2, 2))
    pattern = np.array([[True, True, False, False], [False, False, True, False]])
    expected = np.array([[2.0 * x[0, 1], 2.0 * x[0, 0], 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    for given in ({}, {"pattern": pattern}):
        by_keyword = adc.sparse_jacobian(scaled, argnums=0, mode=mode, **given)(x, c=2.0)
        by_place = adc.sparse_jacobian(scaled_by_others, argnums=0, mode=mode, **given)(x, 2.0, 3.0)
        for found in (by_keyword, by_place):
            np.testing.assert_array_equal(found.toarray(), expected)
    np.testing.assert_array_equal(adc.jacobian(scaled, argnums=0, mode=mode)(x, c=2.0).reshape(2, 4), expected)
    found = adc.jacobian(scaled_by_others, argnums=0, mode=mode)(x, 2.0, 3.0)
    np.testing.assert_array_equal(found.reshape(2, 4), expected)


def test_calls_at_the_same_time_have_matrices_of_their_own():
    """Sweeps store their results in memory that is kept between calls: of other shapes, dtypes and threads too."""

    def curved(x):
        y = np.empty(len(x) - 1)
        for i in range(len(x) - 1):
            y[i] = x[i] * x[i] * x[i + 1]
        return y

    jacobian = adc.sparse_jacobian(jit_grad(threads=1)(curved))

    def truth(x):
        found = np.zeros((len(x) - 1, len(x)))
        for i in range(len(x) - 1):
            found[i, i], found[i, i + 1] = 2.0 * x[i] * x[i + 1], x[i] * x[i]
        return found

    inputs = [RNG.uniform(0.5, 1.5, n) for n in (50, 50, 9, 2, 50, 9)]
    one_by_one = [jacobian(x) for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(jacobian, inputs * 5))
    for x, found in zip(inputs * 6, one_by_one + at_once, strict=True):
        np.testing.assert_allclose(found.toarray(), truth(x), rtol=1e-13)
    single = inputs[0].astype(np.float32)
    np.testing.assert_allclose(jacobian(single).toarray(), truth(single), rtol=1e-5)
    np.testing.assert_allclose(jacobian(inputs[0]).toarray(), truth(inputs[0]), rtol=1e-13)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small matrices count as large."""
    monkeypatch.setattr(rows, "LARGE", 1)


def test_rows_that_are_alike(large: None) -> None:
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
        args = arguments(3, 2, 7, dtype)
        pattern = rows_of(3, 2, args[3])
        jacobian = adc.sparse_jacobian(observed, argnums=(0, 1, 2), pattern=pattern, mode="forward")
        found = [jacobian(*args)]
        args[0][...] += 0.1
        found.append(jacobian(*args))
        for made in found[::-1]:
            truth = by_complex_steps(of_complex, [*(a.astype(float) for a in args[:3]), args[3]], 3)
            np.testing.assert_allclose(made.toarray(), truth, rtol=tolerance, atol=tolerance)
            assert made.nnz == pattern.sum()
            args[0][...] -= 0.1


def test_single_precision_in_rows_that_are_alike(large: None) -> None:
    def turned(x):
        y = np.empty_like(x)
        for i in range(len(x)):
            y[i, 0] = x[i, 0] * x[i, 1]
            y[i, 1] = x[i, 0] - x[i, 1] * x[i, 1]
        return y

    x = RNG.uniform(0.5, 1.5, (5, 2)).astype(np.float32)
    found = adc.sparse_jacobian(turned, pattern=np.kron(np.eye(5), np.ones((2, 2))) > 0, mode="forward")(x)
    truth = np.stack([x[:, 1], x[:, 0], np.ones(5, np.float32), -2 * x[:, 1]], axis=1).ravel()
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.data, truth)


@pytest.mark.parametrize("missing", ["entry", "column", "result"])
def test_entries_that_are_missing_from_rows_that_are_alike(large: None, missing: str) -> None:
    args = arguments(2, 3, 6)
    pattern = rows_of(2, 3, args[3])
    if missing == "entry":
        pattern[4, np.flatnonzero(pattern[4])[3]] = False
    elif missing == "column":  # of a camera, for all observations: rows are still alike
        pattern[:, [0, 3]] = False
    else:
        pattern[12:] = False
    jacobian = adc.sparse_jacobian(observed, argnums=(0, 1, 2), pattern=pattern, mode="forward")
    for _ in range(2):
        with pytest.raises(DifferentiationError, match="leaves out nonzero entries"):
            jacobian(*args)


def test_not_a_number_in_rows_that_are_alike(large: None) -> None:
    args = arguments(2, 3, 6)
    args[1][2, 0] = np.nan
    pattern = rows_of(2, 3, args[3])
    found = adc.sparse_jacobian(observed, argnums=(0, 1, 2), pattern=pattern, mode="forward")(*args).toarray()
    args[1][2, 0] = 0.5
    truth = by_complex_steps(of_complex, args, 3)
    known = np.isfinite(found)
    np.testing.assert_allclose(found[known], truth[known], rtol=1e-12, atol=1e-14)
    assert not np.all(known) and np.all(known[~np.isin(np.arange(18) // 2, np.flatnonzero(args[3][:, 1] == 2))])


def test_memory_is_used_again_when_nobody_has_it() -> None:
    memory = Memory()
    first = memory.array((100, 200), np.float64)
    first[...] = 1.0
    place, view = first.ctypes.data, first[3:, ::2]
    del first
    other = memory.array((20_000,), np.float64)
    other[...] = 2.0
    assert other.ctypes.data != place and np.all(view == 1.0)
    del view
    again = memory.copy(np.full((200, 100), 3.0))
    assert again.ctypes.data == place and np.all(again == 3.0) and np.all(other == 2.0)
    assert memory.array((3,), np.float32).shape == (3,) and memory.array((0, 4), float).size == 0


def test_matrices_keep_their_contents(large: None) -> None:
    def curved(x):
        y = np.empty((len(x), 2))
        for i in range(len(x)):
            y[i, 0] = x[i, 0] * x[i, 1]
            y[i, 1] = x[i, 0] - x[i, 1] * x[i, 1]
        return y

    x = RNG.uniform(0.5, 1.5, (5000, 2))
    jacobian = adc.sparse_jacobian(jit_grad(threads=1)(curved), mode="forward")

    def truth(x):
        return np.stack([x[:, 1], x[:, 0], np.ones(len(x)), -2.0 * x[:, 1]], axis=1).ravel()

    kept = [(jacobian(k * x), k) for k in (1.0, 2.0, 3.0)]
    views = [(jacobian(k * x).data[::2], k) for k in (4.0, 5.0)]
    jacobian(6.0 * x).indices[:] = 0
    for made, k in kept:
        np.testing.assert_array_equal(made.data, truth(k * x))
        np.testing.assert_array_equal(made.indices, np.repeat(np.arange(10_000).reshape(-1, 2), 2, axis=0).ravel())
    for data, k in views:
        np.testing.assert_array_equal(data, truth(k * x)[::2])
    np.testing.assert_array_equal(jacobian(x).indices, kept[0][0].indices)
