"""Conditions of loops, sort keys and unpackings that certainly raise where they are reached: the exception is Python's,
and where it is not reached, the value and the derivative are."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from adc import jit_grad


def bad():
    raise ValueError("bad")


def past_the_start(x, k):
    held = [1.0]
    while k > 0 and held[-2] > 0:
        x, k = x * x, k - 1
    return x * k


def past_the_end_of_a_tuple(x, k):
    held = (1.0, 2.0)
    while k > 0 and held[3] > 0:
        k -= 1
    return x * x + k


def of_an_empty_list(x, k):
    held = []
    while k > 0 and held[-1] > 0:
        held.pop()
    return x * x + k


def chained(x, k):
    held = [1.0]
    while 0 < k < held[1]:
        k -= 1
    return x * x + k


def chained_further(x, k):
    held = [1.0]
    while 0 < k < held[1] < held[2]:
        k -= 1
    return x * x + k


def within_a_call(x, k):
    held = [1.0]
    while k > 0 and max(held[1], 2.0) > 0:
        k -= 1
    return x * x + k


def within_a_power(x, k):
    held = [1.0]
    while k > 0 and (held[-1] - held[-2]) ** 2 > 0:
        k -= 1
    return x * x + k


def of_a_comparison(x, k):
    held = [1.0]
    while k > 0 and (held[1] > 0) == False:  # noqa: E712
        k -= 1
    return x * x + k


def called(x, k):
    while k > 0 and bad():
        k -= 1
    return x * x + k


def called_within(x, k):
    while (k > 0 and bad()) and k < 3:
        k -= 1
    return x * x + k


def called_or(x, k):
    while not (k <= 0 or bad()):
        k -= 1
    return x * x + k


def none_yet(x, k):
    best, held = None, [1.0]
    while k > 0 and best - held[0] < 1:
        k -= 1
    return x * x + k


def not_assigned_yet(x, k):
    while k > 0 and later > 0:  # noqa: F821
        k -= 1
    later = x * x
    return later


def one_side(x, k):
    held = [1.0]
    while held[1] > 0 if k > 0 else False:
        k -= 1
    return x * x + k


def side_that_calls(x, k):
    while bad() if k > 0 else False:
        k -= 1
    return x * x + k


def in_a_loop(x, k):
    total, held = 0.0, [x]
    for n in range(k):
        m = n
        while m > 1 and held[m - m + 1] > 0:
            m -= 1
        total += x * x
    return total


def in_a_while(x, k):
    n = 0
    while k > 0:
        while n < k - 1 and bad():
            n += 1
        x, k = x * x, k - 1
    return x


def in_a_function_that_is_called(x, k):
    return called(x * x, k) + x


def with_an_else(x, k):
    while k > 1 and bad():
        k -= 1
    else:
        x = x * x
    return x


def false_anyway(x, k):
    held = np.ones(1)
    while held[k] > 0 and False:
        k -= 1
    return x * x + k


def divided_by_zero(x, k):
    while 10 // (3 - k) and []:
        k -= 1
    return x * x + k


def true_of_another_type(x, k):
    held, found = np.ones(1), 0
    while [held[k]]:
        found = [x * x]
        if k < 2:
            break
    return found[0]


def true_a_few_times(x, k):
    held, n, found = np.ones(1), 0, [np.ones(1)]
    while n < 2 and (held[k] > 0 or True):
        found.append(x * x * np.ones(n + 1))
        n += 1
    return np.sum(found[-1])


def keys_of_texts(x, k):
    held = [x, x]
    return x * x if sorted(["b", "a"], key=lambda one: (held[k], one)[1])[0] == "a" else x


def wrong_number(x, k):
    if k > 1:
        a, _, c = x, x * x
        return a * c
    return x * x


def wrong_number_of_a_star(x, k):
    if k > 1:
        a, *_, c = (x,)
        return a * c
    return x * x


def wrong_number_in_a_loop(x, k):
    total = 0.0
    for n in range(k):
        total += x * x
        if n > 1:
            a, _ = x, x, x
            total += a
    return total


RAISING = [
    past_the_start,
    past_the_end_of_a_tuple,
    of_an_empty_list,
    chained,
    chained_further,
    within_a_call,
    within_a_power,
    of_a_comparison,
    called,
    called_within,
    called_or,
    none_yet,
    not_assigned_yet,
    one_side,
    side_that_calls,
    in_a_loop,
    in_a_while,
    in_a_function_that_is_called,
    with_an_else,
    false_anyway,
    divided_by_zero,
    true_of_another_type,
    true_a_few_times,
    keys_of_texts,
    wrong_number,
    wrong_number_of_a_star,
    wrong_number_in_a_loop,
]


@pytest.mark.parametrize("function", RAISING, ids=lambda f: f.__name__)
def test_is_raised_only_where_python_raises_it(function):
    compiled, x, step = jit_grad(function), 1.25, 1e-6
    raised = 0
    for k in (0, 1, 3, 0):
        try:
            expected = function(x, k)
        except Exception as error:
            raised += 1
            for call in (compiled, compiled.grad, compiled.value_and_grad):
                with pytest.raises(type(error)):
                    call(x, k)
            continue
        assert compiled(x, k) == expected
        slope = (function(x + step, k) - function(x - step, k)) / (2 * step)
        assert compiled.grad(x, k) == pytest.approx(slope, rel=1e-7, abs=1e-8)
        assert compiled.jvp((x, k), (1.0, None))[1] == pytest.approx(slope, rel=1e-7, abs=1e-8)
    assert 0 < raised < 4


def always_bad(x):
    while bad():
        x *= 2
    return x


def always_bad_negated(x):
    while not bad():
        x *= 2
    return x


@pytest.mark.parametrize("function", [always_bad, always_bad_negated])
def test_a_condition_that_always_raises(function):
    for call in (jit_grad(function), jit_grad(function).grad):
        with pytest.raises(ValueError, match="bad"):
            call(1.5)


def handled(x, k):
    try:
        while k > 0 and bad():
            k -= 1
    except ValueError:
        return x * x
    return x


def handled_at_once(x, k):
    try:
        x = x * k
        while bad():
            k -= 1
    except ValueError:
        return x * x
    return x


def handled_of_several(x, k):
    n = 0
    for m in range(k):
        try:
            while m > 0 and bad():
                m -= 1
            x = x * 1.5
        except ValueError:
            n += 1
    return x * x * n


def handled_subscript(x, k):
    held = (1.0, 2.0)
    try:
        while held[k] > 0:
            x, k = x * x, k + 1
    except IndexError:
        return x * k
    return x


def handled_in_two_loops(x, k):
    n = 0
    for _ in range(4):
        try:
            while 6 // (k - 2) != 0 and n < 9:
                x, k, n = x * 1.5, k - 1, n + 1
            else:
                x += 1.0
        except ZeroDivisionError:
            x, k = x * x, k + 1
    return x * n


def handled_around(x, k):
    held = {1: x, 2: x * x}
    try:
        while True:
            while held[k] > 0:
                x, k = x * x, k + 1
    except KeyError:
        return x * k


def handled_after_a_break(x, k):
    held = np.array([1.0, 2.0, 3.0])
    try:
        while held[k] > 0:
            k += 1
            if k == 3:
                break
            x = x * x
    except IndexError:
        x = -x
    return x * k


def unpacked(x, k):
    try:
        a, b, c = x, x * k
    except ValueError:
        return x * x
    return a * b * c


def three(x):
    yield x
    yield x * x
    yield x * x * x


def unpacked_from_a_generator(x, k):
    try:
        a, b = three(x)
    except TypeError:
        return x
    except ValueError:
        return x * x * k
    return a * b


def unpacked_after_the_first(x, k):
    a = 0.0
    try:
        a, (b, c) = x * k, (x, x, x)
    except ValueError:
        return a * a
    return b * c


def unpacked_in_a_loop(x, k):
    total = 0.0
    for _ in range(k):
        try:
            a, b, c = x, x
            total += a * b * c
        except ValueError:
            total += x * x
    return total


HANDLED = [
    handled,
    handled_at_once,
    handled_of_several,
    handled_subscript,
    handled_in_two_loops,
    handled_around,
    handled_after_a_break,
    unpacked,
    unpacked_from_a_generator,
    unpacked_after_the_first,
    unpacked_in_a_loop,
]


@pytest.mark.parametrize("function", HANDLED, ids=lambda f: f.__name__)
def test_is_handled(function):
    compiled, x, step = jit_grad(function), 1.25, 1e-6
    for k in (0, 1, 3, 4):
        assert compiled(x, k) == function(x, k)
        slope = (function(x + step, k) - function(x - step, k)) / (2 * step)
        assert compiled.grad(x, k) == pytest.approx(slope, rel=1e-7, abs=1e-8)
        assert compiled.jvp((x, k), (1.0, None))[1] == pytest.approx(slope, rel=1e-7, abs=1e-8)


def nonempty_until_the_end(a, k):
    total = 0.0
    while [a[k]]:
        total += a[k] * a[k]
        k += 1
        if k == len(a):
            break
    return total


def true_until_the_end(a, k):
    total = 0.0
    while a[k] > 0 or True:
        total += a[k] * a[k]
        k += 1
        if k == len(a):
            break
    return total


@pytest.mark.parametrize("function", [nonempty_until_the_end, true_until_the_end])
def test_a_condition_is_not_evaluated_after_a_break(function):
    compiled, a = jit_grad(function), np.array([1.5, 2.5, 0.5])
    assert compiled(a, 0) == function(a, 0)
    assert compiled.grad(a, 1).tolist() == [0.0, 5.0, 1.0]
    for k in (3, 7):
        with pytest.raises(IndexError):
            compiled(a, k)


def counting_keys(a):
    def key(text):
        a[0] += 1.0
        return text

    return sorted(["b", "c", "a"], key=key)[0] == "a"


def appending_keys(x):
    seen = []
    sorted(["b", "c", "a"], key=lambda text: (seen.append(x), text)[1])
    return x * len(seen)


def test_effects_of_sort_keys():
    a = np.zeros(1)
    b = copy.copy(a)
    assert jit_grad(counting_keys)(a) == counting_keys(b)
    assert a.tolist() == b.tolist() == [3.0]
    assert jit_grad(appending_keys)(1.5) == appending_keys(1.5)
    assert jit_grad(appending_keys).grad(1.5) == 3.0
