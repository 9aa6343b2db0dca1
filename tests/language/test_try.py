"""``try``: values and effects as in Python; derivatives against differences, in both modes."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import CompileError


class Bad(Exception):
    pass


def inner(x, n):
    if n > 3:
        raise Bad("too large")
    if n < 0:
        raise ValueError(f"negative {n}")
    return x / (n + 1)


def called(x, n):
    try:
        r = inner(x, n)
    except Bad:
        r = 3 * x
    return r * r


def all_parts(x, n):
    s = 0.0
    for k in range(n):
        try:
            s += inner(x, k) * x
        except (Bad, KeyError):
            break
        else:
            s += 1
        finally:
            s += x
    return s


def nested(x, n):
    try:
        try:
            return inner(x, n)
        except Bad:
            raise ValueError("deeper") from None
    except ValueError:
        return x**3


def of_floats(x, n):
    try:
        return (x / n if n > 1 else x // (n - 1)) + x % n
    except ZeroDivisionError:
        return 5 * x


def functions_of_math(x, n):
    try:
        return math.log(x - n) + math.exp(1000 * x if n == 0 else x)
    except ValueError:
        return -x
    except OverflowError:
        return x * x


def powers(x, n):
    try:
        return (x - 2.0) ** -n + x**n
    except ZeroDivisionError:
        return 7 * x


def past_the_end(x, n):
    v = np.arange(4.0)
    c = []
    try:
        for k in range(n):
            c.append(v[k] * x)
    except IndexError:
        pass
    return sum(c)


def until_it_works(x, n):
    tries = 0
    while True:
        try:
            y = inner(x, n)
            break
        except Bad:
            n -= 1
            tries += 1
    return y + tries


def what_was_done_before(x, n):
    try:
        y = x + 1
        z = y // 1 + 10 % n
        y = y * 100
    except ZeroDivisionError:
        return y
    return y + z


class Walk:
    def __init__(self):
        self.v, self.n = 1.0, 0

    def step(self, x, n):
        self.v = self.v * x
        self.n += 1
        if n == self.n:
            raise RuntimeError("stop")
        self.v += 1


def objects(x, n):
    w = Walk()
    try:
        for _ in range(5):
            w.step(x, n)
    except RuntimeError:
        w.v *= 10
    return w.v + w.n


def under_conditions(x, n):
    try:
        y = x * 2 if n == 0 else x * (7 // (n - 2))
    except ZeroDivisionError:
        y = -x
    return y


def recursive(x, n):
    def down(k):
        if k == 0:
            raise Bad("end")
        return x * down(k - 1) + 1.0 if k > 2 else x * k

    try:
        return down(n)
    except Bad:
        return 0.5 * x


def asserted(x, n):
    try:
        assert n > 2, "small"
        return x * n
    except AssertionError:
        return x


def early(x, n):
    for k in range(5):
        try:
            if k == n:
                return x * k
            if k == 3:
                raise Bad("third")
        except Bad:
            continue
        finally:
            x = x + 1.0
    return x


def singular(x, n):
    total = 0.0
    for k in range(3):
        try:
            low = np.linalg.cholesky(np.array([[x, 0.2], [0.2, 1.7]]) - n * k * np.eye(2))
            total += np.log(np.diag(low)).sum()
            total += np.linalg.solve(np.full((2, 2), x) + (k - 1) * n * np.eye(2), np.ones(2))[0]
        except np.linalg.LinAlgError:
            total += 10.0 * x
            continue
        total += x
    return total


def handling_itself(x, n):
    if n > 4:
        raise ValueError("too deep")
    try:
        if n == 2:
            return x * x
        return 2 * handling_itself(x + 1, n + 1)
    except ValueError:
        return 3 * x


class Account:
    def __init__(self):
        self.total = 0.0

    def close(self):
        self.total += 10.0


def finally_that_calls(x, n):
    """Of what the inner ``try`` may raise, the outer one handles a part."""
    account = Account()
    try:
        account.total = 1.0
        try:
            account.total += inner(x, n)
            if n > 0:
                raise ValueError("no")
            account.total *= 3
        finally:
            account.close()
    except ValueError:
        account.total += 7 * x
    return account.total


CASES = [
    (finally_that_calls, (0, 1, -1)),
    (called, (0, 3, 4)),
    (all_parts, (0, 2, 6)),
    (nested, (-1, 2, 6)),
    (of_floats, (0, 1, 3)),
    (functions_of_math, (-1, 0, 4)),
    (powers, (1, 3)),
    (past_the_end, (3, 9)),
    (until_it_works, (1, 7)),
    (what_was_done_before, (0, 4)),
    (objects, (2, 8)),
    (under_conditions, (0, 2, 4)),
    (recursive, (0, 1, 4)),
    (handling_itself, (0, 2, 3)),
    (asserted, (0, 4)),
    (early, (1, 9)),
    (singular, (1, 0)),
]


@pytest.mark.parametrize("function, numbers", CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_as_in_python(function, numbers):
    compiled = jit_grad(function)
    for n in numbers:
        for x in (2.0, 1.5):
            assert compiled(x, n) == pytest.approx(function(x, n), rel=1e-12)
        h = 1e-5
        slope = (function(1.5 + h, n) - function(1.5 - h, n)) / (2 * h)
        assert compiled.grad(1.5, n) == pytest.approx(slope, rel=1e-6, abs=1e-7)
        assert compiled.jvp((1.5, n), (1.0, None))[1] == pytest.approx(slope, rel=1e-6, abs=1e-7)


def stored(x, k):
    try:
        x[0] = 5.0
        x[k] = 7.0
        x[1] = 9.0
    except IndexError:
        x[2] += 1.0
    finally:
        x[3] *= 2.0
    return x.sum()


def test_effects_up_to_the_exception():
    for k in (1, 3, 4, -4, -5):
        one = np.arange(4.0)
        other = one.copy()
        assert jit_grad(stored)(one, k) == stored(other, k)
        np.testing.assert_array_equal(one, other)
        y, back = adc.pullback(jit_grad(stored), np.arange(4.0), k)
        numbers = [(stored(np.arange(4.0) + h * np.eye(4)[i], k)) for i in range(4) for h in (1.0, -1.0)]
        slopes = [(numbers[2 * i] - numbers[2 * i + 1]) / 2 for i in range(4)]
        np.testing.assert_allclose(back(1.0)[0], slopes)


def missing(table, x):
    y = table["a"] * x
    try:
        y = table["b"] * x
    except KeyError:
        y = y * 3
    return y


def test_keys_that_are_known_to_be_missing():
    f = jit_grad(argnums=1)(missing)
    for table in ({"a": 2.0}, {"a": 2.0, "b": 5.0}):
        assert f(table, 1.5) == missing(copy.deepcopy(table), 1.5)
        assert f.grad(table, 1.5) == (5.0 if "b" in table else 6.0)


def passed_on(x, n):
    try:
        return inner(x, n)
    except KeyError:
        return 0.0


def again(x, n):
    try:
        return inner(x, n)
    except Bad:
        raise


def another(x, n):
    try:
        return inner(x, n)
    except (Bad, ValueError) as problem:
        raise RuntimeError("wrapped") from problem


def at_last(x, n):
    y = np.zeros(1)
    try:
        y[0] = inner(x, n)
    finally:
        y[0] += 1.0
    return y[0]


@pytest.mark.parametrize("function", [passed_on, again, another, finally_that_calls])
def test_what_is_not_handled_is_raised(function):
    compiled = jit_grad(function)
    for n in (1, 4, -1):
        try:
            wanted = function(2.0, n)
        except Exception as error:
            with pytest.raises(type(error)) as found:
                compiled(2.0, n)
            assert str(found.value) == str(error)
        else:
            assert compiled(2.0, n) == wanted


def test_finally_of_a_message_that_is_not_kept():
    with pytest.raises(CompileError, match="whose message shows numbers of the run"):
        jit_grad(at_last)(2.0, 1)


def quiet(x, n):
    s = 0.0
    for k in range(n):
        try:
            s += x * k
        except (ValueError, ZeroDivisionError):
            s = -1.0
    return s


def plain(x, n):
    s = 0.0
    for k in range(n):
        s += x * k
    return s


def test_costs_nothing_around_what_cannot_raise():
    def operations(f):
        compiled = jit_grad(f)
        compiled(2.0, 3)
        return [line.split("=")[-1].split()[0] for line in compiled.dump_ir("simplified").splitlines() if "=" in line]

    assert operations(quiet) == operations(plain)


def number_or_vector(x, w):
    try:
        return float(w) * x
    except TypeError:
        return np.sum(w * x * x)


def test_arrays_that_are_no_numbers():
    made = adc.jit_grad(number_or_vector)
    for w in (3, 2.5, np.array([1.0, 2.0]), np.ones((2, 2)), np.zeros(0)):
        assert made(1.5, w) == number_or_vector(1.5, w)
    assert made.grad(1.5, 3) == 3.0
    assert made.grad(1.5, np.array([1.0, 2.0])) == 9.0
