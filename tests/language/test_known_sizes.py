"""Programs that are refused for arrays of all sizes: their code is for the sizes that arrays have, or what comes after
an ``if`` is compiled in each of its branches."""

import numpy as np
import pytest

import adc
from adc.errors import CompileError
from tests.programs.harness import check

WEIGHTS = np.array([[1.0, 2.0], [0.5, 3.0]])


def position(x):
    if x.shape == (3,):
        return np.diag(x)
    if x.shape == (4, 4):
        return x[:3, 3]
    raise ValueError("neither a vector nor a matrix")


def moved(x):
    return np.sum(position(x) ** 2)


def table(x):
    kept = [None] * len(x)
    kept[0], kept[-1] = x[0] ** 2, x * x[0]
    return np.sum(kept[-1]) + kept[0] if len(x) > 1 else kept[-1][0]


def first_or_all(x):
    if len(x) == 3:
        y = x
    else:
        y = x[0]
    return np.sum(y * y)


def of_a_global(x):
    def chosen():
        return x if WEIGHTS.shape == (2, 2) else x[0]

    return np.sum(chosen() * WEIGHTS[0, 1])


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("f", [table, first_or_all, of_a_global])
def test_vectors(f, n):
    check(f, (np.linspace(0.5, 1.5, n),))


@pytest.mark.parametrize("x", [np.array([0.5, 1.5, -2.0]), np.linspace(0.0, 1.5, 16).reshape(4, 4)])
def test_other_ranks(x):
    check(moved, (x,))


def test_other_sizes_are_other_code():
    gradient = adc.grad(moved)
    for x in (np.arange(3.0), np.arange(16.0).reshape(4, 4), np.arange(3.0) + 1, np.arange(25.0)[:16].reshape(4, 4)):
        expected = 2 * x if x.ndim == 1 else np.where(np.arange(4) == 3, 2 * x, 0) * (np.arange(4) < 3)[:, None]
        np.testing.assert_array_equal(gradient(x), expected)
    with pytest.raises(ValueError, match="neither"):
        gradient(np.ones(4))
    np.testing.assert_array_equal(gradient(np.arange(6.0)[::2]), [0.0, 4.0, 8.0])


def test_sizes_of_globals_are_looked_at(monkeypatch):
    gradient, x = adc.grad(of_a_global), np.array([0.5, 1.5, 2.5])
    assert gradient(x).tolist() == [2.0, 2.0, 2.0]
    monkeypatch.setitem(globals(), "WEIGHTS", np.full((2, 3), 4.0))
    assert gradient(x).tolist() == [4.0, 0.0, 0.0]
    assert gradient(x[:1]).tolist() == [4.0]


def test_in_every_mode():
    x, v = np.array([0.5, 1.5, -2.0]), np.array([1.0, 0.25, 2.0])
    np.testing.assert_allclose(adc.jvp(moved, (x,), (v,))[1], 2 * x @ v, rtol=1e-15)
    np.testing.assert_allclose(adc.hvp(moved, (x,), (v,)), 2 * v, rtol=1e-15)
    value, back = adc.pullback(moved, x)
    np.testing.assert_array_equal(back(3.0)[0], 6 * x)
    np.testing.assert_array_equal(adc.jacobian(position)(np.eye(4)).sum((1, 2)), np.ones(3))


def test_arguments_are_changed():
    def f(x, steps):
        if len(x) == 2:
            kept = x
        else:
            kept = np.outer(x, x)
        for _ in range(steps):
            kept *= 2.0
        return np.sum(kept)

    for n in (2, 3):
        ours, theirs = np.arange(1.0, n + 1), np.arange(1.0, n + 1)
        assert adc.jit_grad(f)(ours, 2) == f(theirs, 2)
        assert ours.tolist() == theirs.tolist()


def many_or_few(x, limit):
    count = 0
    for v in x:
        if v > limit:
            count += 1
    if count < 2:
        c = [0.5, limit]
    else:
        c = np.array([limit * x[0], x[1] ** 2, 1.0])
    total = 0.0
    for k, v in enumerate(c):
        total += v * (k + 1)
    if total > 100.0:
        return 0.0
    return total * len(c)


def in_a_loop(x, limit):
    total = 0.0
    for k in range(len(x)):
        if x[k] > limit:
            w = [x[k], 2 * limit]
        elif x[k] > 0.6:
            w = x[k]
        else:
            w = np.array([x[k] * limit, 1.0, x[0]])
        total += np.sum(w) * (k + 1)
        if total > 50.0:
            break
    return total


def nested(x, limit):
    if x[0] > limit:
        y = x
    else:
        y = np.outer(x, x)
    if x[1] > limit:
        z = y.sum()
    else:
        z = y * 2.0
    return np.sum(z * y)


@pytest.mark.parametrize("limit", [0.3, 0.8])
@pytest.mark.parametrize("f", [many_or_few, in_a_loop, nested])
def test_branches_apart(f, limit):
    check(f, (np.array([0.1, 0.7, 0.9, 1.4]), limit))


def test_what_has_no_common_type_at_the_end_is_refused():
    def f(x):
        total = 0.0
        a = x * 1.0
        if x[0] > 0.1:
            a = 1.0
        if x[0] > 0.2:
            b = np.outer(x, x)
        else:
            b = a
        return total + np.sum(b), "text" if x[0] > 0 else 1.0

    with pytest.raises(CompileError):
        adc.jit_grad(f)(np.array([0.5, 1.5]))


def test_the_refusal_that_is_left_is_shown():
    def pick(x, ndims):
        if x.ndim == ndims:
            return x
        return x[0]

    def f(x):
        y = pick(x, 1)
        return np.sum(y) + np.random.rand()

    with pytest.raises(CompileError, match=r"numpy\.random"):
        adc.jit_grad(f)(np.ones(3))
