"""Sparse Jacobians and Hessians from Python: against dense ones, closed forms, and the required places."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import adc
from adc import jit_grad, prange
from adc.errors import ArgumentError, ArgumentValueError, DifferentiationError, ShapeError

RNG = np.random.default_rng(11)


def dense(f: Any, *args: Any, **options: Any) -> Any:
    """The dense Jacobian of a function of arrays as a matrix."""
    made = adc.jacobian(f, **options)(*args)
    return made.reshape(-1, np.asarray(args[options.get("argnums", 0)]).size)


def same(f: Any, *args: Any, **options: Any) -> Any:
    """The sparse Jacobian, after it was found to be the dense one."""
    made = adc.sparse_jacobian(f, **options)(*args)
    np.testing.assert_allclose(made.toarray(), dense(f, *args), rtol=1e-12, atol=1e-14)
    return made


def reaction(u, c):
    r = -4.0 * u + c * u**3
    r[1:] += u[:-1]
    r[:-1] += u[1:]
    r[:, 1:] += u[:, :-1]
    r[:, :-1] += u[:, 1:]
    return r


def test_five_point_stencil(capsys: Any) -> None:
    n = 100
    u = RNG.standard_normal((n, n))
    jacobian = adc.sparse_jacobian(reaction)
    found = jacobian(u, 0.7)
    line = sp.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(n, n))
    expected = sp.kron(line, sp.eye_array(n)) + sp.kron(sp.eye_array(n), line)
    expected += sp.diags_array(3 * 0.7 * u.ravel() ** 2)
    assert abs(found - expected).max() < 1e-13 and found.format == "csr"
    colouring = jacobian.colouring(u, 0.7)
    assert found.nnz == colouring.entries == 5 * n * n - 4 * n
    assert colouring.sweeps == 5 and colouring.detection_sweeps <= 5 and colouring.way == "forward"
    assert "10000 x 10000 with 49600 entries" in str(colouring) and "5 forward sweeps" in str(colouring)


def burgers(u, nu, steps):
    n = len(u)
    v = u.copy()
    for _ in range(steps):
        w = v.copy()
        for i in prange(1, n - 1):
            slope = w[i] - w[i - 1] if w[i] > 0.0 else w[i + 1] - w[i]
            v[i] = w[i] - 0.1 * w[i] * slope + nu * (w[i - 1] - 2.0 * w[i] + w[i + 1])
    return v


def test_time_steps() -> None:
    sparse, full, u = adc.sparse_jacobian(burgers), adc.jacobian(burgers), np.linspace(-0.5, 2.0, 40)
    for steps in (0, 1, 3):
        made = sparse(u, 0.1, steps)
        np.testing.assert_allclose(made.toarray(), full(u, 0.1, steps), rtol=1e-12, atol=1e-15)
        assert made.nnz <= 40 * (2 * steps + 1)


def test_branches_go_another_way() -> None:
    """A pattern of one call is not that of the next one: it grows, and the numbers are right at every call."""
    up, down = np.linspace(0.5, 2.0, 20), np.linspace(-0.5, -2.0, 20)

    def upwind(u, n):
        y = np.zeros(n)
        for i in range(1, n - 1):
            if u[i] > 0.0:
                y[i] = u[i - 1] * u[i]
            else:
                y[i] = u[i + 1] * u[i]
        return y

    jacobian = adc.sparse_jacobian(upwind)
    counts, full = [], adc.jacobian(upwind)
    for u in (up, down, up, np.where(np.arange(20) % 3 == 0, up, down)):
        made = jacobian(u, 20)
        np.testing.assert_allclose(made.toarray(), full(u, 20), rtol=1e-12)
        counts.append(made.nnz)
    assert counts == [36, 54, 54, 54]


def test_small_entries_of_another_branch_are_not_missed() -> None:
    def f(x):
        y = x.copy()
        for i in range(1, len(x)):
            if x[i] > 0.0:
                y[i] += 1e-14 * x[i - 1]
        return y

    jacobian, x = adc.sparse_jacobian(f), np.full(5, -1.0)
    assert jacobian(x).nnz == 5
    np.testing.assert_array_equal(jacobian(-x).toarray(), np.eye(5) + 1e-14 * np.eye(5, k=-1))


def test_results_of_another_shape() -> None:
    def f(x):
        n = int(x[0])
        y = np.zeros(n)
        for i in range(n):
            y[i] = x[i] * x[0]
        return y

    jacobian, full, x = adc.sparse_jacobian(f), adc.jacobian(f), np.arange(5.0)
    for n in (0, 4, 3):
        x[0] = n
        np.testing.assert_allclose(jacobian(x).toarray(), full(x))


def test_numbers_that_are_chosen_depend_on_all() -> None:
    def f(x):
        return np.maximum(x[1:], 0.5 * x[:-1]) + abs(x[1:])

    assert same(f, RNG.standard_normal(9)).nnz == 16


def in_place(x, n):
    k = 0
    while k < n:
        for i in range(1, len(x)):
            if i % 2 == k % 2:
                x[i] *= x[i - 1]
        k += 1
    return x[::-1] * 2.0


def test_changed_arguments_and_while_loops() -> None:
    x = RNG.uniform(0.5, 1.5, 11)
    before = x.copy()
    made = adc.sparse_jacobian(in_place)(x, 3)
    assert np.array_equal(x, before)
    # By hand, in Python: what each element is a product of.
    sets = [{i} for i in range(11)]
    for k in range(3):
        for i in range(1, 11):
            if i % 2 == k % 2:
                sets[i] = sets[i] | sets[i - 1]
    places = {(10 - i, j) for i, members in enumerate(sets) for j in members}
    assert set(zip(*made.nonzero(), strict=True)) == places
    np.testing.assert_allclose(made.toarray(), dense(in_place, x, 3), rtol=1e-12)


def test_containers() -> None:
    """Rows and columns are the elements of all floats, one after the other."""

    def f(state, k):
        u, (v, c) = state
        return {"a": c * u[1:] * v[:-1], "n": k, "b": (np.sum(v), u[::2])}

    u, v, c = RNG.standard_normal(5), RNG.standard_normal(5), 1.5
    made = adc.sparse_jacobian(f)((u, (v, c)), 3).toarray()
    a, b = np.zeros((4, 11)), np.zeros((1, 11))
    for i in range(4):
        a[i, i + 1], a[i, 5 + i], a[i, 10] = c * v[i], c * u[i + 1], u[i + 1] * v[i]
    b[0, 5:10] = 1.0
    np.testing.assert_allclose(made, np.vstack([a, b, np.eye(11)[0:5:2]]), rtol=1e-12)


def test_several_arguments_in_the_order_asked_for() -> None:
    def f(x, y):
        return x * y[::-1]

    x, y = RNG.standard_normal((2, 4))
    made = adc.sparse_jacobian(f, argnums=(1, 0))(x, y).toarray()
    np.testing.assert_allclose(made, np.hstack([np.diag(x)[:, ::-1], np.diag(y[::-1])]))

    def g(x, y):
        return np.sum(x**2 * y) + np.sum(y[1:] * y[:-1])

    made = adc.sparse_hessian(g, argnums=(1, 0))(x, y).toarray()
    expected = np.block([[np.eye(4, 4, 1) + np.eye(4, 4, -1), 2 * np.diag(x)], [2 * np.diag(x), 2 * np.diag(y)]])
    np.testing.assert_allclose(made, expected, atol=1e-14)


def test_layouts_and_single_precision() -> None:
    u, jacobian = RNG.standard_normal((6, 10)).astype(np.float32), adc.sparse_jacobian(reaction)
    wide = jacobian(u[:, ::2].astype(np.float64), 0.5)
    for laid_out in (u[:, ::2], np.asfortranarray(u[:, ::2])):
        made = jacobian(laid_out, np.float32(0.5))
        assert made.dtype == np.float32
        np.testing.assert_allclose(made.toarray(), wide.toarray(), rtol=1e-5, atol=1e-6)


def test_no_elements_and_single_numbers() -> None:
    assert adc.sparse_jacobian(lambda x: x * x)(np.zeros(0)).shape == (0, 0)
    assert adc.sparse_jacobian(lambda x: np.sum(x * x))(np.zeros(0)).shape == (1, 0)
    assert adc.sparse_jacobian(lambda x, n: np.zeros(n) * x)(1.0, 0).shape == (0, 1)
    assert adc.sparse_hessian(lambda x: np.sum(x**3))(np.zeros(0)).shape == (0, 0)
    assert adc.sparse_jacobian(lambda x: x**3)(2.0).toarray() == [[12.0]]
    assert adc.sparse_jacobian(lambda x: np.floor(x))(np.ones(3)).nnz == 0
    assert adc.sparse_jacobian(lambda x: x, pattern=(np.array([], int), np.array([], int)))(np.zeros(0)).nnz == 0


def test_dense_pattern() -> None:
    a = RNG.standard_normal((70, 70))
    made = adc.sparse_jacobian(lambda x: np.tanh(a @ x))
    x = 0.1 * RNG.standard_normal(70)
    assert made.colouring(x).sweeps == 70
    np.testing.assert_allclose(made(x).toarray(), (1 - np.tanh(a @ x) ** 2)[:, None] * a, atol=1e-13)


@pytest.mark.parametrize("mode", ["auto", "reverse", "forward"])
def test_few_dense_rows_by_reverse_mode(mode: Any) -> None:
    """One row has all columns, the others have one: n forward sweeps, or two reverse ones."""

    def f(x):
        y = np.sin(x)
        y[0] = np.sum(x * x)
        return y

    x = RNG.standard_normal(50)
    jacobian = adc.sparse_jacobian(f, mode=mode)
    colouring = jacobian.colouring(x)
    assert (colouring.way, colouring.sweeps) == (("forward", 50) if mode == "forward" else ("reverse", 2))
    expected = np.diag(np.cos(x))
    expected[0] = 2 * x
    np.testing.assert_allclose(jacobian(x).toarray(), expected, rtol=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_random_index_patterns(data: Any) -> None:
    n, m, count = data.draw(st.integers(1, 130)), data.draw(st.integers(1, 40)), data.draw(st.integers(0, 80))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    i, j, k = rng.integers(0, m, count), rng.integers(0, n, count), rng.integers(0, n, count)
    x = rng.standard_normal(n)
    made = SCATTER(x, i, j, k, m)
    expected = np.zeros((m, n))
    places = np.zeros((m, n), bool)
    for a, b, c in zip(i, j, k, strict=True):
        expected[a, b] += np.cos(x[c])
        expected[a, c] -= x[b] * np.sin(x[c])
        places[a, b] = places[a, c] = True
    np.testing.assert_allclose(made.toarray(), expected, rtol=1e-10, atol=1e-12)
    assert made.nnz == np.count_nonzero(places)


@jit_grad
def scatter(x, i, j, k, m):
    y = np.zeros(m)
    for e in range(len(i)):
        y[i[e]] += x[j[e]] * np.cos(x[k[e]])
    return y


SCATTER = adc.sparse_jacobian(scatter)


def test_integers_decide_and_plans_are_kept() -> None:
    x, zero = RNG.standard_normal(6), np.zeros(4, int)
    i = np.arange(4)
    first = SCATTER.colouring(x, i, i.copy(), i.copy(), 4)
    assert SCATTER.colouring(2 * x, i.copy(), i, i.copy(), 4) is first
    assert SCATTER(x, i, i.copy(), zero, 4).nnz == 7 and first.entries == 4


# Patterns that are given ----------------------------------------------------------------------------------------------


def differences(x):
    return x[1:] * x[:-1]


TRUE = np.eye(5, 6, dtype=bool) | np.eye(5, 6, 1, dtype=bool)


@pytest.mark.parametrize(
    "pattern", [TRUE, np.nonzero(TRUE), sp.csr_array(TRUE), sp.coo_matrix(TRUE), np.ones((5, 6), bool)]
)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_given_pattern(pattern: Any, mode: Any) -> None:
    x = RNG.standard_normal(6)
    jacobian = adc.sparse_jacobian(differences, pattern=pattern, mode=mode)
    np.testing.assert_allclose(jacobian(x).toarray(), dense(differences, x))
    assert "given" in str(jacobian.colouring(x))


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_pattern_that_is_too_small(mode: Any) -> None:
    for row, column in ((0, 0), (4, 5)):
        pattern = TRUE.copy()
        pattern[row, column] = False
        jacobian = adc.sparse_jacobian(differences, pattern=pattern, mode=mode)
        where = f"leaves out nonzero entries, in (row {row}|column {column}) "
        with pytest.raises(DifferentiationError, match=where) as caught:
            jacobian(RNG.standard_normal(6))
        assert "adc finds it" in caught.value.help


def test_pattern_of_a_hessian_that_is_too_small() -> None:
    hessian = adc.sparse_hessian(lambda x: np.sum(x[1:] * x[:-1]), pattern=np.eye(6, dtype=bool))
    with pytest.raises(DifferentiationError, match="given for the Hessian of"):
        hessian(np.ones(6))


def test_bad_patterns() -> None:
    x = np.ones(6)
    for pattern, error in (
        (np.ones((6, 6), bool), ShapeError),
        (sp.eye_array(5), ShapeError),
        (np.ones((5, 6)), ArgumentError),
        ("dense", ArgumentError),
        (([0, 5], [0, 1]), ArgumentError),
        (([0, 1], [-1, 1]), ArgumentError),
        (([0, 1], [1]), ArgumentError),
        (([0.0], [1.0]), ArgumentError),
    ):
        with pytest.raises(error):
            adc.sparse_jacobian(differences, pattern=pattern)(x)
    with pytest.raises(ArgumentValueError):
        adc.sparse_jacobian(differences, mode="sideways")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="overlap"):
        adc.sparse_jacobian(overwrites)(x, x)
    found = adc.sparse_jacobian(lambda x, y: x * y, argnums=1)(x, x)
    np.testing.assert_array_equal(found.toarray(), np.diag(x))


def overwrites(x, y):
    x[0] = 2.0 * y[1]
    return x * y


def test_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(ArgumentError, match="not installed") as caught:
        adc.sparse_jacobian(differences)
    assert caught.value.help == "pip install scipy"


# What is called, and what fails ---------------------------------------------------------------------------------------


def smooth(v):
    return np.tanh(v)


def cubed(z):
    return z * z * z


@pytest.fixture
def ruled() -> Any:
    @adc.frule(smooth)
    def smooth_rule(tangents, v):
        y = np.tanh(v)
        return y, (1.0 - y * y) * tangents[0]

    adc.scalar_rule(cubed, lambda z: 3.0 * z * z)
    yield
    adc.no_rule(smooth)
    adc.no_rule(cubed)


def test_derivative_rules(ruled: None) -> None:
    """A rule with arrays may do anything, so all depends on all of its arguments; one of numbers is exact."""

    def f(x):
        y = x.copy()
        for i in range(1, len(x)):
            y[i] = cubed(x[i - 1])
        y[:3] = smooth(x[:3])
        return y

    x = RNG.standard_normal(7)
    assert same(f, x).nnz == 9 + 4


def energy(v):
    return np.sum(v * v)


def test_a_rule_for_reverse_mode_alone() -> None:
    @adc.rrule(energy)
    def energy_rule(v):
        def pullback(g):
            return 2.0 * g * v

        return np.sum(v * v), pullback

    x = RNG.standard_normal(5)
    try:
        made = adc.sparse_jacobian(lambda x: energy(x[:2]) * x[2:], mode="reverse")(x).toarray()
    finally:
        adc.no_rule(energy)
    expected = np.hstack([np.outer(x[2:], 2 * x[:2]), (x[0] ** 2 + x[1] ** 2) * np.eye(3)])
    np.testing.assert_allclose(made, expected, rtol=1e-12)


def test_buffers_swapped_by_floats() -> None:
    def f(x, n):
        u, v = x.copy(), np.zeros(len(x))
        for _ in range(n):
            for i in range(1, len(x) - 1):
                v[i] = u[i - 1] * u[i + 1]
            if u[1] > 0.0:
                u, v = v, u
        return u

    sparse, full = adc.sparse_jacobian(f), adc.jacobian(f)
    for x in (np.full(6, -1.5), np.linspace(0.5, 1.5, 6), RNG.standard_normal(6)):
        np.testing.assert_allclose(sparse(x, 3).toarray(), full(x, 3), rtol=1e-12)


def lists(x, n):
    found = []
    for i in range(n):
        found.append(x[i] * x[i])
    total = np.zeros(n)
    for i in range(n):
        total[i] = found[i] + helper(x, n - 1 - i)
    return total


def helper(x, i):
    return 0.0 if i < 2 else np.exp(x[i])


def test_lists_and_calls() -> None:
    assert same(lists, RNG.standard_normal(8), 8).nnz == 8 + 6


def test_poles() -> None:
    """Infinite derivatives are found where they are, and nowhere else."""
    made = adc.sparse_jacobian(lambda x: np.sqrt(x) + x[::-1])(np.array([0.0, 1.0, 4.0, 0.0])).toarray()
    expected = np.diag([np.inf, 0.5, 0.25, np.inf]) + np.eye(4)[::-1]
    np.testing.assert_allclose(made, expected)


def test_errors_inside_leave_it_usable() -> None:
    def f(x, i):
        return x * x[i]

    jacobian, x = adc.sparse_jacobian(f), np.array([1.0, 2.0, 3.0])
    with pytest.raises(IndexError):
        jacobian(x, 3)
    np.testing.assert_allclose(jacobian(x, 2).toarray(), [[3, 0, 1], [0, 3, 2], [0, 0, 6]])


def test_several_threads() -> None:
    jacobian = adc.sparse_jacobian(reaction)
    inputs = [RNG.standard_normal((7 + k % 3, 9)) for k in range(12)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda u: jacobian(u, 0.3), inputs))
    full = adc.jacobian(reaction)
    for u, made in zip(inputs, found, strict=True):
        np.testing.assert_allclose(made.toarray(), full(u, 0.3).reshape(u.size, u.size), rtol=1e-12)


# Hessians -------------------------------------------------------------------------------------------------------------


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def test_extended_rosenbrock() -> None:
    n = 1000
    x = RNG.standard_normal(n)
    hessian = adc.sparse_hessian(rosenbrock)
    diagonal = np.full(n, 200.0)
    diagonal[-1:], diagonal[0] = 200.0, 0.0
    diagonal[:-1] += 1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0
    expected = sp.diags_array([-400.0 * x[:-1], diagonal, -400.0 * x[:-1]], offsets=[-1, 0, 1])
    made = hessian(x)
    assert abs(made - expected).max() < 1e-9 and made.nnz == 3 * n - 2
    assert hessian.colouring(x).sweeps == 3


def test_arrow_hessian_by_stars() -> None:
    """Rows and columns are dense, and two sweeps suffice."""

    def f(x):
        total = 0.0
        for i in range(1, len(x)):
            total += np.sin(x[0]) * x[i] ** 3
        return total

    x = RNG.standard_normal(80)
    hessian = adc.sparse_hessian(f)
    np.testing.assert_allclose(hessian(x).toarray(), adc.hessian(f)(x), rtol=1e-11, atol=1e-13)
    assert (hessian.colouring(x).way, hessian.colouring(x).sweeps) == ("symmetric", 2)


def test_hessian_through_while_loops_and_memory() -> None:
    def f(x, n):
        u = x.copy()
        k = 0
        while k < n:
            for i in range(1, len(u)):
                u[i] = u[i] + 0.1 * u[i] * u[i - 1]
            k += 1
        return np.sum(u[::3] ** 2)

    x = RNG.standard_normal(14)
    sparse, full = adc.sparse_hessian(f), adc.hessian(f)
    for n in (0, 1, 2):
        np.testing.assert_allclose(sparse(x, n).toarray(), full(x, n), rtol=1e-11, atol=1e-13)


def test_hessian_of_a_checkpointed_loop() -> None:
    checkpointed, x, h = jit_grad(checkpoint=adc.revolve(snapshots=2))(mixed), RNG.standard_normal(9), 1e-5
    differences = [(checkpointed.grad(x + e, 5) - checkpointed.grad(x - e, 5)) / (2 * h) for e in h * np.eye(9)]
    made = adc.sparse_hessian(checkpointed)(x, 5)
    np.testing.assert_allclose(made.toarray(), differences, atol=1e-8)


def mixed(u, steps):
    for _ in range(steps):
        for i in range(1, len(u)):
            u[i] = np.sin(u[i]) * u[i - 1]
    return u[1] + u[-1]
