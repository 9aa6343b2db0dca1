"""Elements that are never read may have any value: derivatives are the same as with harmless numbers.

Each program reads only ``x[keep]``, in one of many spellings; ``x`` has zero, infinity or NaN elsewhere.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import adc
from adc import prange

KEEP = np.array([False, True, True, False, True])
GOOD = np.array([1.25, 0.5, 1.5, 0.75, 2.0])
BAD = {
    "zero": np.array([0.0, 0.0]),
    "infinity": np.array([math.inf, -math.inf]),
    "nan": np.array([math.nan, math.nan]),
    "mixed": np.array([-0.0, math.nan]),
}
FUNCTIONS = {
    "1/x": lambda x: 1.0 / x,
    "log": np.log,
    "sqrt": np.sqrt,
    "x**1.5": lambda x: x**1.5,
    "x*x": lambda x: x * x,
    "sin(x)/x": lambda x: np.sin(x) / x,
    "exp(1/x)": lambda x: np.exp(1.0 / x),
    "atan2": lambda x: np.arctan2(x, x * x),
}


def named(x, keep, g):
    r = g(x)
    v = r * r
    w = v * r - v
    s = 0.0
    for i in range(len(x)):
        if keep[i]:
            s += w[i]
    return s


def chosen(x, keep, g):
    y = g(x)
    return np.sum(np.where(keep, y * y - y, 0.0))


def chosen_in_two_steps(x, keep, g):
    y = np.where(keep, g(x) * x, 0.0)
    return np.sum(y * y * np.where(keep, x, 1.0))


def overwritten(x, keep, g):
    y = g(x)
    y *= y
    y += x * y
    for i in range(len(x)):
        if not keep[i]:
            y[i] = 0.0
    return np.sum(y * y)


def skipped(x, keep, g):
    y = g(x) * x
    s = 0.0
    for i in range(len(x)):
        if not keep[i]:
            continue
        t = y[i] * y[i]
        s += t * x[i]
    return s


def up_to_the_first(x, keep, g):
    y = g(x)
    z = y * y
    s = 0.0
    for i in range(1, len(x)):
        if not keep[i]:
            break
        s += z[i] * x[i]
    return s + z[4]


def in_a_while_loop(x, keep, g):
    n, s = 0, 0.0
    while n < 2:
        y = g(x)
        z = y * y
        for i in range(len(x)):
            if keep[i]:
                s += z[i] / (1.0 + n)
        n += 1
    return s


def callee(x, g):
    y = g(x)
    return y * y, x * y


def in_a_callee(x, keep, g):
    a, b = callee(x, g)
    s = 0.0
    for i in range(len(x)):
        if keep[i]:
            s += a[i] * b[i]
    return s


@dataclasses.dataclass
class Pair:
    a: np.ndarray
    b: np.ndarray


def in_fields(x, keep, g):
    y = g(x)
    pair = Pair(y * y, y * x)
    return np.sum(np.where(keep, pair.a * pair.b, 1.0))


def in_parallel(x, keep, g):
    y = g(x)
    z = np.empty(len(x))
    for i in prange(len(x)):
        z[i] = y[i] * y[i] * x[i]
    s = 0.0
    for i in range(len(x)):
        s += z[i] if keep[i] else 0.0
    return s


def of_pairs(x, keep, g):
    d = g(x)[:, None] * x[None, :]
    v = d * d - d
    s = 0.0
    for i in range(len(x)):
        for j in range(i):
            if keep[i] and keep[j]:
                s += v[i, j]
    return s


def in_rows(x, keep, g):
    table = np.empty((2, len(x)))
    table[0] = g(x)
    table[1] = table[0] * x
    return np.sum(np.where(keep, table, 0.0) ** 2)


def some_steps(x, keep, g):
    u = g(x)
    v = u.copy()
    for _ in range(3):
        for i in range(len(u)):
            v[i] = u[i] * u[i] + 0.25 * u[i]
        u, v = v, u
    return np.sum(np.where(keep, u, 0.0))


def extremes(x, keep, g):
    y = np.where(keep, g(x), 0.5)
    return np.sum(np.maximum(y * y, 0.1) + np.minimum(y, 7.0))


PROGRAMS = [
    *(named, chosen, chosen_in_two_steps, overwritten, skipped, up_to_the_first, in_a_while_loop),
    *(in_a_callee, in_fields, in_parallel, of_pairs, in_rows, some_steps, extremes),
]


def poisoned(bad: str) -> np.ndarray:
    x = GOOD.copy()
    x[~KEEP] = BAD[bad]
    return x


def check(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_first_and_second_derivatives(program):
    def f(x, keep):
        return program(x, keep, FUNCTIONS["1/x"])

    with np.errstate(all="ignore"):
        gradient, hessian = adc.grad(f), adc.hessian(f)
        wanted, curved = gradient(GOOD.copy(), KEEP), hessian(GOOD.copy(), KEEP)
        wanted[~KEEP] = 0.0
        curved[~KEEP], curved[:, ~KEEP] = 0.0, 0.0
        for bad in BAD:
            check(gradient(poisoned(bad), KEEP), wanted)
            check(hessian(poisoned(bad), KEEP), curved)


@pytest.mark.parametrize("program", [named, chosen, overwritten, some_steps], ids=lambda p: p.__name__)
def test_all_modes(program):
    g = FUNCTIONS["x**1.5"]

    def f(x, keep):
        return program(x, keep, g)

    along = np.array([0.3, -1.0, 0.5, 2.0, 0.25])
    with np.errstate(all="ignore"):
        gradient, hessian = adc.grad(f), adc.hessian(f)
        wanted, curved = gradient(GOOD.copy(), KEEP), hessian(GOOD.copy(), KEEP)
        wanted[~KEEP] = 0.0
        curved[~KEEP], curved[:, ~KEEP] = 0.0, 0.0

        def twice(x, keep, w):
            return np.sum(adc.grad(f)(x, keep) * w)

        back = adc.grad(twice)
        for bad in BAD:
            x = poisoned(bad)
            check(gradient(x, KEEP), wanted)
            check(adc.jvp(f, (x, KEEP), (along, None))[1], wanted @ along)
            check(adc.pullback(f, x, KEEP)[1](2.0)[0], 2.0 * wanted)
            check(adc.hvp(f, (x, KEEP), (along, None)), curved @ along)
            check(back(x, KEEP, along), curved @ along)
            check(hessian(x, KEEP), curved)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    g = FUNCTIONS[name]
    for program in (named, chosen, overwritten):
        gradient = adc.grad(lambda x, keep, program=program: program(x, keep, g))
        wanted = gradient(GOOD.copy(), KEEP)
        wanted[~KEEP] = 0.0
        for bad in BAD:
            check(gradient(poisoned(bad), KEEP), wanted)


def test_single_precision():
    gradient = adc.grad(lambda x, keep: named(x, keep, FUNCTIONS["1/x"]))
    wanted = gradient(GOOD.astype(np.float32), KEEP)
    for bad in BAD:
        found = gradient(poisoned(bad).astype(np.float32), KEEP)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found[KEEP], wanted[KEEP], rtol=1e-6)
        assert not found[~KEEP].any()


def test_a_schedule_and_many_at_once():
    def f(x, keep):
        return some_steps(x, keep, FUNCTIONS["1/x"])

    wanted = adc.grad(f)(GOOD.copy(), KEEP)
    wanted[~KEEP] = 0.0
    scheduled = adc.jit_grad(f, checkpoint=adc.revolve(2))
    rows = np.stack([poisoned(bad) for bad in BAD])
    for x in rows:
        check(scheduled.grad(x.copy(), KEEP), wanted)
    check(adc.vmap(adc.grad(f), in_axes=(0, None))(rows, KEEP), np.tile(wanted, (len(rows), 1)))


def test_jacobians_are_the_same_in_both_modes():
    """Also where an element is not finite and read: what does not depend on it stays as it is."""

    def f(x):
        y = 1.0 / x
        z = y * y
        z[1:] += x[:-1] * x[:-1]
        return z

    for bad in BAD:
        x = poisoned(bad)
        forward = adc.jacobian(f, mode="forward")(x)
        np.testing.assert_allclose(forward, adc.jacobian(f, mode="reverse")(x), rtol=1e-12, equal_nan=True)
        assert np.isfinite(forward[2, :4]).all() and not forward[2, 3:].any()


def test_a_zero_that_is_read_is_no_strong_one():
    """``sqrt(x) ** 2`` at 0 is zero times infinity, which no mode makes a number of, however it is written."""

    def plain(x):
        r = np.sqrt(x)
        return np.sum(r * r)

    def stored(x):
        r = np.empty(len(x))
        for i in range(len(x)):
            r[i] = math.sqrt(x[i])
        s = 0.0
        for i in range(len(x)):
            s += r[i] * r[i]
        return s

    x = np.array([0.0, 4.0])
    for f in (plain, stored):
        np.testing.assert_array_equal(adc.grad(f)(x), [math.nan, 1.0])
        assert math.isnan(adc.jvp(f, (x,), (np.ones(2),))[1])
        assert adc.jvp(f, (x,), (np.array([0.0, 1.0]),))[1] == 1.0


def after_a_choice(x, c):
    return np.sqrt(np.where(x <= 1.0, x * x, 1.0))


def before_a_choice(x, c):
    return np.where(x >= 0.0, np.sqrt(x), 0.0) * x


def before_an_extremum(x, c):
    return np.maximum(np.sqrt(x), -1.0) * x


def after_a_branch(x, c):
    y = x * x if c else 1.0
    return math.sqrt(y)


def before_a_branch(x, c):
    r = math.sqrt(x)
    y = r if c else 0.0
    return y * x


def between_branches(x, c):
    y = 2.0
    if c:
        y = x * x if x < 1.0 else 3.0
    r = math.sqrt(y)
    if x < 1.0:
        s = (r if c else 1.0) * x
    else:
        s = 0.5
    return s


@pytest.mark.parametrize(
    "program",
    [after_a_choice, before_a_choice, before_an_extremum, after_a_branch, before_a_branch, between_branches],
    ids=lambda p: p.__name__,
)
def test_zeros_that_are_read_after_choices_and_branches(program):
    """A factor of zero is none that was not chosen: NaN in all modes where it is read, nothing where it is not."""
    f = adc.jit_grad(program)
    assert math.isnan(f.grad(0.0, True)) and math.isnan(f.jvp((0.0, True), (1.0, None))[1])
    assert f.jvp((0.0, True), (0.0, None))[1] == 0.0
    for x, c in ((0.25, True), (0.25, False), (2.0, True), (0.0, False)):
        found = f.grad(x, c)
        np.testing.assert_allclose(found, f.jvp((x, c), (1.0, None))[1], rtol=1e-14)
        if x > 0.0:
            slope = (program(x + 1e-6, c) - program(x - 1e-6, c)) / 2e-6
            assert found == pytest.approx(slope, rel=1e-7, abs=1e-9)
            curve = (f.grad(x + 1e-6, c) - f.grad(x - 1e-6, c)) / 2e-6
            assert adc.grad(adc.grad(program))(x, c) == pytest.approx(curve, rel=1e-7, abs=1e-8)
            assert adc.hvp(program, (x, c), (1.0, None)) == pytest.approx(curve, rel=1e-7, abs=1e-8)


def test_kinks_leave_nothing_in_either_mode():
    """Where a rule says that the derivative is zero, infinities before and after do not matter."""
    cases = [
        (lambda x: math.sqrt(abs(x)), 0.0),
        (lambda x: math.sqrt(math.hypot(x, 0.0 * x)), 0.0),
        (lambda x: 1.0 / (1.0 + np.sqrt(abs(x))), 0.0),
        (lambda x: np.sqrt(np.maximum(x, 0.0)), -1.0),
    ]
    for f, x in cases:
        assert adc.grad(f)(x) == adc.jvp(f, (x,), (1.0,))[1] == 0.0


def test_zeros_that_come_out_of_memory_and_loops():
    """They are nothing in forward mode."""

    def stored(x):
        y = np.empty(len(x))
        for i in range(len(x)):
            y[i] = x[i] * x[i]
        return math.sqrt(y[0])

    def carried(x, n):
        y = 1.0
        for _ in range(n):
            y = x * x
        return math.sqrt(y)

    assert adc.jvp(stored, (np.zeros(2),), (np.ones(2),))[1] == 0.0 and math.isnan(adc.grad(stored)(np.zeros(2))[0])
    assert adc.jvp(carried, (0.0, 1), (1.0, None))[1] == 0.0 and math.isnan(adc.grad(carried)(0.0, 1))


def test_cotangents_that_cancel():
    """Infinities that cancel are NaN; in reverse mode they are nothing where the element is not seen to be read."""

    def element(x):
        y = np.sqrt(x)
        return (y[0] - y[0]) + y[1]

    def no_weight(x):
        y = np.sqrt(x)
        return y[0] * (x[1] - 4.0) + y[1]

    def numbers(x):
        r, s = math.sqrt(x[0]), math.sqrt(x[1])
        return (r - r) + s

    def whole(x):
        y = np.sqrt(x)
        return np.sum(y - y) + y[1]

    x = np.array([0.0, 4.0, 9.0])
    for f in (element, no_weight, numbers, whole):
        forward = adc.jacobian(f, mode="forward")(x)
        np.testing.assert_array_equal(forward, [math.nan, 0.25, 0.0])
        reverse = [0.0, 0.25, 0.0] if f in (element, no_weight) else forward
        np.testing.assert_array_equal(adc.grad(f)(x), reverse)


def test_a_zero_weight_still_varies():
    def f(w, x):
        y = np.log(x)
        z = y * y
        s = 0.0
        for i in range(len(x)):
            if x[i] > 0.5:
                s += w[i] * z[i]
        return s

    w, x = np.zeros(3), np.array([0.0, 1.5, 2.0])
    mixed = adc.jacobian(adc.grad(f, argnums=1), argnums=0)(w, x)
    np.testing.assert_allclose(mixed, np.diag([0.0, 2 * math.log(1.5) / 1.5, math.log(2.0)]), rtol=1e-14)
    np.testing.assert_allclose(adc.jacobian(adc.grad(f), argnums=1)(w, x), mixed, rtol=1e-14)


def test_missing_data_with_a_mask_of_its_own():
    def misfit(u, d, missing):
        return np.sum(np.where(missing, 0.0, (u - d) ** 2))

    u, d, missing = np.array([1.0, 2.0]), np.array([math.nan, 1.0]), np.array([True, False])
    check(adc.grad(misfit, argnums=(0, 1))(u, d, missing), ([0.0, 2.0], [0.0, -2.0]))


def test_a_rim_of_cells_that_only_a_temporary_sees():
    def inside(u):
        w = u * u * u
        v = np.zeros_like(u)
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = w[i, j] * u[i, j]
        return np.sum(v)

    u = np.random.default_rng(0).random((6, 7))
    wanted = np.zeros_like(u)
    wanted[1:-1, 1:-1] = 4.0 * u[1:-1, 1:-1] ** 3
    u[0], u[-1], u[:, 0], u[:, -1] = math.nan, math.inf, math.nan, 0.0
    check(adc.grad(inside)(u), wanted)


def test_scores_that_are_masked_by_minus_infinity():
    def concentration(q, allowed):
        z = np.where(allowed, q, -np.inf)
        e = np.exp(z - np.max(z))
        p = e / np.sum(e)
        return np.sum(p * p)

    allowed, along = np.array([True, True, False, True]), (np.ones(4), None)
    q, harmless = np.array([1.0, 2.0, math.nan, 0.5]), np.array([1.0, 2.0, 0.0, 0.5])
    check(adc.grad(concentration)(q, allowed), adc.grad(concentration)(harmless, allowed))
    check(adc.jvp(concentration, (q, allowed), along)[1], adc.jvp(concentration, (harmless, allowed), along)[1])


def test_a_number_that_only_one_branch_reads():
    def f(x, used):
        r = 1.0 / x
        s = r * r - r
        return s if used else x

    assert adc.grad(f)(0.0, False) == 1.0
    assert adc.grad(adc.grad(f))(0.0, False) == 0.0


def test_a_factor_that_is_infinite():
    x = np.array([math.nan, 2.0])
    for mode in ("forward", "reverse"):
        np.testing.assert_array_equal(adc.jacobian(lambda x: x * x, mode=mode)(x), [[math.nan, 0.0], [0.0, 4.0]])
    assert adc.jvp(lambda a, b: a * b, (math.inf, 2.0), (1.0, 0.0))[1] == 2.0
