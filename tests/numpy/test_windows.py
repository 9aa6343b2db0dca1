"""Reshapes and diagonals of windows on array arguments: only at run time is it known whether they are views or copies.
They are copied, and stores that would reveal this are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from tests.numpy.checking import check_function

A = np.random.default_rng(1).random((5, 5))
ROWS = np.random.default_rng(2).random((4, 4, 4))


MAPPED: list[Callable[[Any], Any]] = [
    lambda m: m.ravel() * 2,
    lambda m: m.reshape(2, 8).sum(axis=0) + m.T.reshape(-1)[:8],
    lambda m: np.diag(m) + m.diagonal(1).sum(),
    lambda m: np.trace(m) * m.swapaxes(0, 1).reshape(2, 8)[1],
    lambda m: np.linalg.solve(m + 4 * np.eye(4), m.ravel()[:4]),
]


@pytest.mark.parametrize("program", MAPPED)
def test_rows_under_vmap(program: Callable[[Any], Any]) -> None:
    for axis in (0, 1, 2):
        expected = np.stack([program(np.take(ROWS, k, axis)) for k in range(ROWS.shape[axis])])
        np.testing.assert_allclose(adc.vmap(program, in_axes=axis)(ROWS), expected, rtol=1e-12)
    check_function(adc.vmap(program), (ROWS,), by=(0,), rtol=1e-12)


def of_the_matrix(b: Any) -> Any:
    return np.trace(b) + b.ravel() @ np.arange(b.size) + np.diag(b) @ np.diag(b)


def flat(b: Any) -> Any:
    return b.reshape(-1)


def in_functions(a: Any, n: int) -> Any:
    return of_the_matrix(a[1:, 1:]) * of_the_matrix(a[:2, :2].T) + of_the_matrix(a[::2, ::-2])


def replaced(a: Any, n: int) -> Any:
    r = flat(a[1:, 1:])
    a = a * 2
    return r.sum() + a[0, 0]


def read_before_the_store(a: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        total += of_the_matrix(a[i:, i:])
        a[i, i] = total * 0.01
    return total


def new_in_each_iteration(a: Any, n: int) -> Any:
    def f(b: Any) -> Any:
        total = 0.0
        for _ in range(n):
            r = b.ravel()
            total += r.sum()
            b[0, 0] = total
        return total

    return f(a[1:, 1:])


def complex_ones(a: Any, n: int) -> Any:
    def f(b: Any) -> Any:
        return b.T.ravel().real.sum() + np.abs(np.diagonal(b)).sum()

    return f((a * (1 + 1j))[1:, 1:])


def other_axes(a: Any, n: int) -> Any:
    def f(b: Any) -> Any:
        return np.diagonal(b[None, 1:, :], 0, 1, 2).sum() + np.trace(b[1:, :-1], offset=1)

    return f(a[1:, 1:])


PROGRAMS = [in_functions, replaced, read_before_the_store, new_in_each_iteration, complex_ones, other_axes]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_is_numpys(program: Callable[..., Any]) -> None:
    check_function(program, (A, 3), by=(0,), rtol=1e-12)


def stored_and_read(a: Any) -> Any:
    r = flat(a[1:, 1:])
    a[2, 2] = 9.0
    return r.sum()


def stored_in_the_function(a: Any) -> Any:
    def f(b: Any) -> Any:
        r = b.ravel()
        b[0, 0] = 2.0
        return r.sum()

    return f(a[1:, 1:])


def read_in_the_next_iteration(a: Any) -> Any:
    def f(b: Any) -> Any:
        r, total = np.zeros(b.size), 0.0
        for _ in range(b.shape[0]):
            total += r.sum()
            r = b.ravel()
            b[0, 0] = total
        return total

    return f(a[1:, 1:])


def made_before_the_loop(a: Any) -> Any:
    def f(b: Any) -> Any:
        r, total = np.diagonal(b), 0.0
        for _ in range(b.shape[0]):
            total += r.sum()
            b[0, 0] = total
        return total

    return f(a[1:, 1:])


def stored_to_what_may_be_a_copy(a: Any) -> Any:
    r = flat(a[1:, 1:])
    r[0] = 9.0
    return a.sum() + r.sum()


def returned_by_recursion(a: Any) -> Any:
    def f(b: Any, n: int) -> Any:
        return b.ravel() if n == 0 else f(b[:, 1:], n - 1)

    return f(a[1:, 1:], a.shape[0] - 2).sum()


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (stored_and_read, "this store may change what flat(...) gave before"),
        (stored_in_the_function, "this store may change what x.reshape(...) gave before"),
        (read_in_the_next_iteration, "this store may change what x.reshape(...) gave before"),
        (made_before_the_loop, "this store may change what np.diagonal(x) gave before"),
        (stored_to_what_may_be_a_copy, "of an array that is no whole one may be a view or a copy"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_stores_that_could_tell_are_refused(program: Callable[[Any], Any], says: str) -> None:
    with pytest.raises(adc.AdcError) as caught:
        adc.jit_grad(program)(A)
    assert says in str(caught.value)


def test_a_recursion_over_the_rows_is_compiled_for_their_number() -> None:
    made = adc.jit_grad(returned_by_recursion)
    assert made(A) == pytest.approx(returned_by_recursion(A), rel=1e-14)
    step = np.zeros(A.shape)
    step[-1, -1] = 0.5
    change = returned_by_recursion(A + step) - returned_by_recursion(A - step)
    assert made.grad(A)[-1, -1] == pytest.approx(change, rel=1e-12)
    assert made.grad(A)[0, 0] == 0.0


def test_what_refusals_say_to_write_works() -> None:
    def copied(a: Any) -> Any:
        r = flat(a[1:, 1:]).copy()
        a[2, 2] = 9.0
        r[0] = 2.0
        return r.sum()

    assert adc.jit_grad(copied)(A.copy()) == pytest.approx(copied(A.copy()), rel=1e-14)
