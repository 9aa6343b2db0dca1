"""Arrays that a called function or a method puts into a list of its caller's, compared with Python."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

import adc

X = np.arange(3.0) + 0.1


def put(xs, x):
    xs.append(x)


def put_and_return(xs, x):
    put(xs, x)
    return x


def put_changed(xs, x):
    x += 1.0
    xs.append(x)


class Newest:
    def __init__(self, most):
        self.items = []
        self.most = most

    def add(self, x):
        self.items.append(x)
        if len(self.items) > self.most:
            self.items.pop(0)


class Recorder:
    def __init__(self):
        self.xs = []
        self.times = []

    def __call__(self, t, x):
        self.times.append(t)
        self.xs.append(x)

    def step(self, x):
        new = x * 1.5
        self.xs.append(new)
        return new


def repeated(x, n):
    found = []
    for _ in range(n):
        found.append(x)
    return found


def list_and_item(x, n):
    found = []
    y = x * 2
    for _ in range(n):
        found.append(y)
    return found, y


def by_function(x, n):
    steps = []
    for _ in range(n):
        new = x * 2
        put(steps, new - x)
        x = new
    return sum(steps)


def by_method(x, n):
    kept = Newest(3)
    for _ in range(n):
        new = x * 2
        kept.add(new - x)
        x = new
    return sum(kept.items)


def in_a_deque(x, n):
    kept = deque(maxlen=3)
    for _ in range(n):
        new = x * 2
        kept.append(new - x)
        x = new
    return sum(kept)


def popped_from_a_deque(x, n):
    kept = deque()
    for _ in range(n):
        new = x * 2
        put(kept, new - x)
        if len(kept) > 2:
            kept.popleft()
        x = new
    return sum(kept)


def recorded(x, n):
    record = Recorder()
    for k in range(n):
        record(k * 0.1, x)
        x = x + 1.0
    return np.array(record.xs) + np.sum(record.times)


def recorded_results(x, n):
    record = Recorder()
    for _ in range(n):
        x = record.step(x)
    return np.array(record.xs)


def changed_before(x, n):
    found = []
    for k in range(n):
        put_changed(found, x * k)
    return np.array(found)


def changed_by_the_caller_before(x, n):
    found = []
    for k in range(n):
        y = x * k
        y[0] = 3.0
        put_and_return(found, y)
    return np.array(found)


def list_of_an_argument(x, n):
    return np.array(repeated(x, n)) + x


def list_beside_its_item(x, n):
    found, y = list_and_item(x, n)
    return np.array(found) * y


ALIKE = [
    by_function,
    by_method,
    in_a_deque,
    popped_from_a_deque,
    recorded,
    recorded_results,
    changed_before,
    changed_by_the_caller_before,
    list_of_an_argument,
    list_beside_its_item,
]


@pytest.mark.parametrize("function", ALIKE)
def test_as_in_python(function):
    for n in (1, 4):
        np.testing.assert_array_equal(adc.jit_grad(function)(X, n), function(X, n))

    def total(x, n):
        return np.sum(function(x, n) ** 2)

    h = 1e-6
    expected = [(total(X + h * e, 4) - total(X - h * e, 4)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(adc.grad(total)(X, 4), expected, rtol=1e-6, atol=1e-6)


def changes_its_argument(x, n):
    record = Recorder()
    for k in range(n):
        record(k * 0.1, x)
        x += 1.0
    return np.array(record.xs)


def changes_a_result(x, n):
    record = Recorder()
    for _ in range(n):
        x = record.step(x)
        x[0] = 0.0
    return np.array(record.xs)


def changes_again_in_the_call(x, n):
    found = []
    for _ in range(n):
        put_changed(found, x)
    return np.array(found)


def changes_what_two_calls_returned(x, n):
    found = []
    for k in range(n):
        y = put_and_return(found, x * k)
        y[0] = 3.0
    return np.array(found)


def changes_what_a_closure_put(x, n):
    found = []

    def keep():
        found.append(x)

    for _ in range(n):
        keep()
        x[0] += 1
    return np.array(found)


def changes_what_a_returned_list_has(x, n):
    found = repeated(x, n)
    x[0] = 9.0
    return np.array(found)


def changes_what_was_returned_beside(x, n):
    found, y = list_and_item(x, n)
    y[0] = 4.0
    return np.array(found)


def changes_between(x, n):
    found = []
    y = x.copy()
    put(found, y)
    for k in range(n):
        y[k % 3] += 1.0
        put(found, y)
    return np.array(found)


CHANGING = [
    changes_its_argument,
    changes_a_result,
    changes_again_in_the_call,
    changes_what_two_calls_returned,
    changes_what_a_closure_put,
    changes_what_a_returned_list_has,
    changes_what_was_returned_beside,
    changes_between,
]


@pytest.mark.parametrize("function", CHANGING)
def test_items_that_change_later_are_refused(function):
    with pytest.raises(adc.errors.CompileError, match="may be changed later") as caught:
        adc.jit_grad(function)(X.copy(), 4)
    assert "append a copy" in caught.value.help
    assert any("it is changed here" in str(note.message) for note in caught.value.notes)
