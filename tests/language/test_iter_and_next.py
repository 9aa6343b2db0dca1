"""``iter`` and ``next`` of containers, objects that are gone through, and methods of numbers."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from adc.errors import AdcError
from tests.programs.harness import check

X = np.array([0.9, 0.4, -0.3, 1.7, 0.8])


class Halves:
    def __init__(self, values):
        self.values = values

    def __iter__(self):
        for v in self.values:
            yield 0.5 * v


class Countdown:
    def __init__(self, left):
        self.left = left

    def __next__(self):
        if self.left == 0:
            raise StopIteration
        self.left -= 1
        return self.left


def one_after_another(x):
    rest = iter([x[0], x[1] ** 2, x[2], x[3]])
    first = next(rest)
    second = next(rest) * first
    return second * sum(v * v for v in rest) + next(rest, 3.0)


def of_arrays_and_dicts(x):
    rest = iter(x)
    total = next(rest)
    for v in rest:
        total = total * v + 1.0
    sizes = {"b": x[1], "a": x[0]}
    rows = iter(x.reshape(5, 1) * x)
    return total * sizes[next(iter(sizes))] + next(iter(sizes.values())) + next(rows) @ next(rows)


def unpacked(x):
    o = Halves(x[:3])
    return sum([*o, *(2.0, x[4])]) + max(o) * sum(v * v for v in o) + len([v for v in o if v > 0])


def own_next(x):
    c, total = Countdown(3), 0.0
    for k in (1, 2):
        total += k * x[next(c)]
    return total + next(c, -1) + next(c, -1)


def empty(x):
    rest = iter(x[:2])
    return next(rest) + next(rest) + next(rest)


def exhausted(x):
    items = list(x[:2])
    through, asked, again = iter(items), iter(items), iter(items)
    total = sum(v for v in items)
    for v in through:
        total *= v
    total += next(asked) + next(asked) + next(asked, 0.5)
    again = iter(again)
    total += next(again)
    items.append(x[3])
    return total + next(through, -1.0) + 2 * next(asked, -1.0) + next(again) * next(again)


def exhausted_at_run_time(x):
    items = []
    for v in x:
        if v > 0:
            items.append(v)
    through = iter(items)
    total = 0.0
    for v in through:
        total += v * v
    items.append(9.0)
    return total + next(through, -1.0)


@pytest.mark.parametrize(
    "function", [one_after_another, of_arrays_and_dicts, unpacked, own_next, exhausted, exhausted_at_run_time]
)
def test_as_in_python(function):
    check(function, (X,))


def test_no_more_items():
    with pytest.raises(StopIteration):
        adc.jit_grad(empty)(X)


def test_is_its_own_iterator():
    def f(x):
        it = iter(x)
        return it is iter(it), it is iter(x)

    assert adc.jit_grad(f)(X) == (True, False)


def test_a_dict_that_changes_its_size():
    def f(x):
        d = {"a": x[0], "b": x[1]}
        it = iter(d)
        first = next(it)
        d["c"] = x[2]
        return d[first] + d[next(it)]

    with pytest.raises(RuntimeError, match="dictionary changed size during iteration"):
        adc.jit_grad(f)(X)


def returned(x):
    return {"rest": iter(x), "first": x[0]}


def zipped(x):
    it = iter(x)
    return sum(a * b for a, b in zip(it, it, strict=True))


def of_a_number(x):
    return next(iter(3)) + x[0]


@pytest.mark.parametrize(
    "function, message, help",
    [
        (returned, "cannot return an iterator", r"list\(it\)"),
        (zipped, r"zip\(\) cannot go through an iterator", r"list\(it\)"),
        (of_a_number, r"iter\(\) cannot go through int", ""),
    ],
)
def test_refused_in_the_words_of_the_program(function, message, help):
    with pytest.raises(AdcError, match=f"(?s){message}.*{help}"):
        adc.jit_grad(function)(X)


def test_next_of_a_generator_is_refused():
    def squares(n):
        for k in range(n):
            yield k * k

    def f(x):
        g = squares(3)
        return next(g) + x

    with pytest.raises(AdcError, match=r"what squares\(\) gives cannot be kept"):
        adc.jit_grad(f)(1.0)


def test_methods_of_numbers():
    def f(x, n):
        return x.is_integer(), (2 * x).is_integer(), n.bit_length(), (-n).bit_length(), n.bit_count()

    for x, n in ((2.5, 37), (1.0, 0), (np.inf, 1), (np.float64(3.0), 255), (float("nan"), 256)):
        assert adc.jit_grad(f)(x, n) == f(x, n)


def test_in_a_range():
    def f(n, k):
        return n in range(k), n in range(1, 10, 3), n in range(9, k, -2), n not in range(-k, k)

    compiled = adc.jit_grad(f)
    for n in (-4, 0, 3, 4, 7, 9, 3.0, 3.5, np.int8(7), True):
        for k in (-3, 4):
            assert compiled(n, k) == f(n, k)


def test_in_a_range_without_a_step():
    with pytest.raises(ValueError, match="must not be zero"):
        adc.jit_grad(lambda n, k: n in range(0, 5, k))(1, 0)


@pytest.mark.parametrize("digits", [-22, -2, -1, 0, 1, 2, 5, 15, 22])
def test_round_as_python_does(digits):
    f = adc.jit_grad(lambda x: round(x, digits))
    r = np.random.default_rng(0)
    values = [0.0, -0.0, 0.5, 1.5, -2.5, 2.675, 1.005, 0.285, 1e22, 1e300, np.inf, 5e-324, 4503599627370495.5, 2.0**53]
    values += [*r.normal(0.0, 10.0 ** r.integers(-8, 18, 300)), *(r.integers(-(10**6), 10**6, 300) + 0.5) / 1e3]
    values += [*r.integers(-(10**6), 10**6, 300) / 8.0, *r.integers(-(10**6), 10**6, 300) * 5.0]
    for x in map(float, values):
        found, wanted = f(x), round(x, digits)
        assert found == wanted and str(found) == str(wanted), x
    assert f.grad(1.2345) == 0.0


def test_round_to_too_many_digits():
    with pytest.raises(AdcError, match=r"round\(\) to 23 digits"):
        adc.jit_grad(lambda x: round(x, 23))(1.0)
