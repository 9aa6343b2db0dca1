"""Lists of arrays of run-time length: compared with NumPy, with derivatives; and refusals of changes to an array that
the list itself holds in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from tests.numpy.checking import check_function

Array = Any
X = np.linspace(0.1, 1.0, 4)


def copies(u0: Array, n: int) -> Any:
    u = u0.copy()
    out = [u.copy()]
    for _ in range(n):
        u += 0.1 * np.sin(u)
        out.append(u.copy())
    return np.array(out)


def new_each_time(u0: Array, n: int) -> Any:
    u, out = u0, []
    for _ in range(n):
        u = u + 0.1 * u * (1 - u)
        out.append(u)
    return np.stack(out), np.stack(out, axis=1), np.vstack(out), np.concatenate(out), np.column_stack(out)


def from_the_last(u0: Array, n: int) -> Any:
    out = [u0]
    for k in range(n):
        out.append(out[-1] + 0.1 * np.cos(out[max(k - 1, 0)]))
    return np.array(out), out[-2][1]


def before_it_is_replaced(u0: Array, n: int) -> Any:
    u, out = u0.copy(), []
    for _ in range(n):
        out.append(u)
        w = np.empty_like(u)
        w[0] = u[1]
        w[1:] = u[:-1] * 2
        u = w
    return np.array(out)


def in_a_while(u: Array, n: int) -> Any:
    t, ts, ys = 0.0, [0.0], [u]
    while t < 0.1 * n:
        k1 = -u * u
        u = u + 0.065 * (k1 - (u + 0.13 * k1) ** 2)
        t += 0.13
        ts.append(t)
        ys.append(u)
    return np.array(ts), np.array(ys)


def under_a_condition(u0: Array, n: int) -> Any:
    u, snapshots = u0.copy(), []
    for k in range(n):
        u += 0.1 * np.roll(u, 1)
        if k % 2 == 0:
            snapshots.append(u.copy())
    return np.mean(snapshots, axis=0), snapshots[-1], len(snapshots)


def in_a_dict(u: Array, n: int) -> Any:
    history: dict[str, list[Any]] = {"t": [], "u": []}
    for k in range(n):
        u = u * 0.9
        history["t"].append(k * 0.1)
        history["u"].append(u)
    return np.array(history["u"]).T @ np.array(history["t"])


def in_tuples(u: Array, n: int) -> Any:
    rows = []
    for k in range(n):
        u = u - 0.1 * u
        rows.append((0.1 * k, u))
    return sum(t * np.sum(u) for t, u in rows)


def of_lists(x: Array, n: int) -> Any:
    rows = []
    for i in range(n):
        rows.append([x[i], x[i] ** 2, 1.0])
    design = np.array(rows)
    return design.T @ design


def of_matrices(x: Array, n: int) -> Any:
    power, out = np.eye(2), []
    for _ in range(n):
        power = power @ x.reshape(2, 2)
        out.append(power)
    return np.array(out), np.concatenate(out, axis=1), np.stack(out, axis=2), np.dstack(out)


def of_small_matrices(x: Array, n: int) -> Any:
    power, out = np.eye(2), []
    for _ in range(n):
        power = power @ x
        out.append(power.copy())
    return np.array(out), out[-1]


def gone_through(u: Array, n: int) -> Any:
    items = []
    for k in range(n):
        items.append(u * k)
    total = 0.0
    for i, v in enumerate(items):
        total += i * v[0]
    for a, b in zip(items, items[2:], strict=False):
        total += a @ b
    for v in reversed(items):
        total = total * 0.5 + v[1]
    return total + np.sum(items[::2]) + len(items[1:])


def joined(u: Array, n: int) -> Any:
    first, second = [], [u]
    for k in range(n):
        first.append(u * k)
        second.append(u + k)
    both = first + second
    first += [u * 3.0]
    both.extend(second)
    return np.array(both), np.array(first)


def turned(u: Array, n: int) -> Any:
    arrays, numbers = [], []
    for k in range(n):
        arrays.append(u * k)
        numbers.append(k * u[0])
    arrays.reverse()
    numbers.reverse()
    return np.array(arrays), numbers


def of_rows_of_the_last(u: Array, n: int) -> Any:
    rows = [[u[0], 1.0, u[1]]]
    for _ in range(n):
        last = rows[-1]
        rows.append([last[k] + last[(k + 1) % 3] for k in range(3)])
    return np.array(rows)


def taken_out(u: Array, n: int) -> Any:
    stack, total = [u], 0.0
    for k in range(1, n + 3):
        kept = stack[-1]
        stack.append(kept * k)
        if k % 2 == 0:
            last = stack.pop()
            stack.append(u + k)  # in the place of it
            total += last @ kept + stack[0][1]
        first = stack[0]
        stack[0] = stack[-1] * 0.5
        stack.insert(1, first + 1.0)
        total += first[0]
    second = stack.pop(1)
    left = np.array(stack)
    stack.clear()
    stack.append(second)
    return left, second, total, stack[-1], len(stack)


def lower_hull(u: Array, n: int) -> Any:
    points = np.stack([np.cos(3.0 * u), np.sin(7.0 * u)], axis=1)[np.argsort(np.cos(3.0 * u))]
    hull: list[Array] = []
    for p in points:
        while len(hull) >= 2:
            a, b = hull[-1] - hull[-2], p - hull[-2]
            if a[0] * b[1] - a[1] * b[0] > 0:
                break
            hull.pop()
        hull.append(p)
    return np.array(hull)


def by_a_function(u0: Array, n: int) -> Any:
    def step(u: Array, out: list[Array]) -> None:
        out.append(u.copy())
        u += 1.0

    u = u0.copy()
    out: list[Array] = []
    for _ in range(n):
        step(u, out)
    return np.array(out)


def by_comprehensions(u: Array, n: int) -> Any:
    items = [u * k for k in range(n)]
    return np.array(items), np.array([np.sum(v**2) for v in items])


def nested(u: Array, n: int) -> Any:
    rows = []
    for i in range(n):
        row = []
        for j in range(n):
            row.append(u * i * j)
        rows.append(np.array(row))
    return np.array(rows)


def complex_ones(u: Array, n: int) -> Any:
    z, out = u + 0j, []
    for _ in range(n):
        z = z * np.exp(0.3j)
        out.append(z)
    return np.array(out).real, np.abs(out[-1])


def handed_out(u: Array, n: int) -> Any:
    out = [(0.0, u.copy())]
    for k in range(n):
        out.append((k * 1.0, u * k))
    return out


def refined_in_each_step(u: Array, n: int) -> Any:
    state, out = u.copy(), []
    for _ in range(n):
        guess = state.copy()
        for _ in range(n + 2):
            delta = 0.5 * (np.sin(state) - guess)
            guess += delta
            if np.abs(delta).max() < 1e-3:
                break
        state = guess
        out.append(state)
    return np.stack(out)


def made_in_either_branch(u: Array, n: int) -> Any:
    state, out = u.copy(), []
    for k in range(n):
        guess = 2.0 * state if k % 2 else state.copy()
        j = 0
        while j < 3:
            if k > 2:
                guess[0] += 1.0
            else:
                guess *= 0.5
            j += 1
        state = guess
        out.append(state)
    return np.stack(out)


PROGRAMS = [
    copies, new_each_time, from_the_last, before_it_is_replaced, in_a_while, under_a_condition, in_a_dict, in_tuples,
    of_lists, of_matrices, gone_through, joined, turned, of_rows_of_the_last, taken_out, lower_hull, by_a_function,
    by_comprehensions, nested, complex_ones, handed_out, refined_in_each_step, made_in_either_branch,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_is_numpys(program: Callable[..., Any]) -> None:
    compiled = check_function(program, (X, 4), by=(0,), rtol=1e-12)
    for got, expected in zip(_flat(compiled(X, 1)), _flat(program(X, 1)), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)


def _flat(value: Any) -> list[Any]:
    return [x for item in value for x in _flat(item)] if isinstance(value, tuple | list) else [value]


def test_an_item_that_is_handed_out() -> None:
    check_function(of_small_matrices, (X.reshape(2, 2), 4), by=(0,), rtol=1e-12)


def test_other_dtypes_and_no_items() -> None:
    def program(u: Any, n: int) -> Any:
        out = []
        for k in range(n):
            out.append(u + u.dtype.type(k))
        return out

    for dtype in (np.float32, np.int64, np.int16, np.complex64):
        ours, theirs = adc.jit_grad(program)(X.astype(dtype), 3), program(X.astype(dtype), 3)
        assert [a.dtype for a in ours] == [a.dtype for a in theirs]
        np.testing.assert_array_equal(ours, theirs)
    assert adc.jit_grad(program)(X, 0) == []
    with pytest.raises(ValueError, match="need at least one array"):
        adc.jit_grad(lambda u, n: np.stack(program(u, n)))(X, 0)


def test_derivatives_of_lists() -> None:
    value, back = adc.pullback(handed_out, X, 2)
    (found, _) = back([(None, np.ones(4)), (1.0, None), (0.0, np.full(4, 2.0))])
    assert len(value) == 3 and found.tolist() == [3.0] * 4
    _, tangent = adc.jvp(handed_out, (X, 2), (np.ones(4), None))
    assert [float(t[1][0]) for t in tangent] == [1.0, 0.0, 1.0]
    second = adc.hessian(lambda u, n: np.sum(from_the_last(u, n)[0] ** 2))(X, 3)
    np.testing.assert_allclose(second, second.T, rtol=1e-12)


def in_place(u0: Array, n: int) -> Any:
    u, out = u0.copy(), []
    for _ in range(n):
        u += 0.1 * u
        out.append(u)
    return np.array(out)


def after_the_loop(u: Array, n: int) -> Any:
    out = []
    for _ in range(n):
        u = u * 1.1
        out.append(u)
    u[0] = 5.0
    return np.array(out)


def one_of_two(u0: Array, n: int) -> Any:
    u, w, out = u0.copy(), np.zeros_like(u0), []
    for _ in range(n):
        w[:] = u * 1.1
        out.append(w)
        u, w = w, u
    return np.array(out)


def after_the_append(u: Array, n: int) -> Any:
    out = []
    for _ in range(n):
        w = u * 2.0
        out.append(w)
        w[0] = 7.0
    return np.array(out)


def before_the_loop(u0: Array, n: int) -> Any:
    u = u0.copy()
    out = [u]
    for k in range(n):
        out.append(u0 + k)
    u[0] = 5.0
    return np.array(out)


def in_a_function(u0: Array, n: int) -> Any:
    def change(u: Array) -> None:
        u[0] += 1.0

    u, out = u0.copy(), []
    for _ in range(n):
        u = u * 1.5
        out.append(u)
        change(u)
    return np.array(out)


def by_the_caller(u0: Array, n: int) -> Any:
    def step(u: Array, out: list[Array]) -> None:
        out.append(u)

    u = u0.copy()
    out: list[Array] = []
    for _ in range(n):
        step(u, out)
        u += 1.0
    return np.array(out)


def by_what_it_returns(u: Array, n: int) -> Any:
    def make(u: Array) -> Any:
        v, out = u * 2, []
        for _ in range(n):
            out.append(v)
        return v, out

    v, out = make(u)
    v[0] = 9.0
    return np.array(out)


def refined_after_the_append(u: Array, n: int) -> Any:
    state, out = u.copy(), []
    for _ in range(n):
        guess = state.copy()
        out.append(guess)
        for _ in range(3):
            guess += 0.1
            if guess[0] > 9.0:
                break
        state = guess
    return np.stack(out)


def refined_from_the_last(u: Array, n: int) -> Any:
    state, out = u.copy(), []
    for k in range(n):
        guess = state if k % 2 else state.copy()
        for _ in range(3):
            guess += 0.1
            if guess[0] > 9.0:
                break
        state = guess
        out.append(state)
    return np.stack(out)


CHANGED = [
    in_place, after_the_loop, one_of_two, after_the_append, before_the_loop, in_a_function, by_the_caller,
    by_what_it_returns, refined_after_the_append, refined_from_the_last,
]  # fmt: skip


@pytest.mark.parametrize("program", CHANGED, ids=lambda f: f.__name__)
def test_an_array_that_changes_later_is_refused(program: Callable[..., Any]) -> None:
    with pytest.raises(adc.AdcError, match="this array may be changed later") as caught:
        adc.jit_grad(program)(X, 3)
    assert "xs.append(u.copy())" in str(caught.value)


def item_stored_to(u: Array, n: int) -> Any:
    out = [u.copy()]
    for _ in range(n + int(0.0 * u[0])):
        last = out[-1]
        last[0] += 1.0
        out.append(last * 2)
    return np.array(out)


def several_shapes(u: Array, n: int) -> Any:
    out = []
    for k in range(n + int(0.0 * u[0])):
        out.append(u[: k + 1])
    return np.concatenate(out)


def the_callers(xs: list[Array], n: int) -> Any:
    for k in range(n):
        xs.append(xs[0] * k)
    return np.array(xs)


def in_recursion(u: Array, n: int) -> Any:
    def f(u: Array, n: int) -> Any:
        out = [u]
        for k in range(n):
            out.append(u * k)
        return out[-1] * 2.0 if np.sum(out[-1]) > 100.0 else f(out[-1], n)

    return f(u, n)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (item_stored_to, "cannot store into this array: it is in a list whose length depends on the run"),
        (several_shapes, "must all have one shape; for rows of several lengths extend a list of numbers"),
        (in_recursion, "not supported in a function that calls itself"),
        (the_callers, "a list of arrays that was passed to the function cannot change its length"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_else_is_refused(program: Callable[..., Any], says: str) -> None:
    with pytest.raises((adc.AdcError, ValueError)) as caught:
        adc.jit_grad(program)([X] if program is the_callers else X, 3)
    assert says in str(caught.value)


def test_what_refusals_say_to_write_works() -> None:
    def numbers(u: Any, n: int) -> Any:
        out: list[Any] = []
        for k in range(n):
            out.extend(u[: k + 1])
        return np.array(out)

    def a_copy(xs: Any, n: int) -> Any:
        ys = list(xs)
        for k in range(n):
            ys.append(ys[0] * k)
        return ys

    def levels(u: Any) -> Any:
        out = [u]
        for _ in range(2):
            out.append(out[-1][::2] * 2.0)
        return np.concatenate(out)

    np.testing.assert_array_equal(adc.jit_grad(levels)(X), levels(X))
    np.testing.assert_array_equal(adc.jit_grad(numbers)(X, 3), several_shapes(X, 3))
    np.testing.assert_array_equal(adc.jit_grad(a_copy)([X], 3), a_copy([X], 3))


def test_numbers_beside_arrays_change_their_type() -> None:
    def f(u: Any, n: int) -> Any:
        out: list[Any] = []
        for k in range(n):
            out.append((k, u * k))
        if n > 1:
            out.append((0.5, u))
        return sum([k / 3 * np.sum(v) for k, v in out])

    compiled = adc.jit_grad(f)
    for n in range(4):
        assert compiled(X, n) == pytest.approx(f(X, n))
    np.testing.assert_allclose(compiled.grad(X, 3), 0.5 / 3 + 1 / 3 + 4 / 3)
