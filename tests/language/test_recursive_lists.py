"""Recursive functions that give back a list of their caller's in one case, and new ones in others."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from adc import jit_grad
from tests.language.as_in_python import NUMBERS, check


def quicksort(a):
    if len(a) <= 1:
        return a
    pivot = a[0]
    above = quicksort([v for v in a[1:] if v >= pivot])
    return quicksort([v for v in a[1:] if v < pivot]) + [pivot] + above  # noqa: RUF005


def in_three(a):
    if len(a) > 1:
        pivot = a[len(a) // 2]
        low, high = [v for v in a if v < pivot], [v for v in a if v > pivot]
        return in_three(low) + [v for v in a if v == pivot] + in_three(high)
    return a


def merge_sort(a):
    if len(a) < 2:
        return a
    left, right = merge_sort(a[: len(a) // 2]), merge_sort(a[len(a) // 2 :])
    merged, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    return merged + left[i:] + right[j:]


def merged(a, b):
    if not a:
        return b
    if not b:
        return a
    return [a[0], *merged(a[1:], b)] if a[0] < b[0] else [b[0], *merged(a, b[1:])]


def sums(a):
    if not a:
        return [0.0]
    found = sums(a[1:])
    return found + [a[0] + s for s in found]


@pytest.mark.parametrize("sort", [quicksort, in_three, merge_sort])
def test_sorts(sort):
    def weighted(x):
        return sum(k * v * v for k, v in enumerate(sort(list(x))))

    check(weighted)
    compiled = jit_grad(lambda x: sort([v for v in x]))
    for n in range(7):
        assert compiled(NUMBERS[:n]) == sorted(NUMBERS[:n])


def test_merging():
    check(lambda x: sum(k * v for k, v in enumerate(merged(sorted(x[:4]), sorted(x[4:])))))


def test_subsets():
    def spread(x):
        found = sums([v for v in x if v > 0.3])
        return sum(k * v for k, v in enumerate(found)) / len(found)

    check(spread)


def test_the_list_that_was_given():
    """What comes back may be the list that was passed; a change of one is then seen in the other."""

    def both(x, limit):
        given = [v for v in x if v > limit]
        found = quicksort(given)
        given[0] = 100.0
        before = found[0] + given[0]
        found[0] = 1000.0
        return before + 3.0 * found[0] + 5.0 * given[0]

    compiled, x = jit_grad(both), np.sort(NUMBERS)
    for limit in (x[-2], x[-3], 0.0):
        assert compiled(x, limit) == both(x, limit)
        assert np.array_equal(compiled.grad(x, limit), jit_grad(both).pullback(x, limit)[1](1.0)[0])


def test_texts_as_keys():
    """Functions that are told the numbers that their callers know are not told the lengths of lists that grow."""

    def spread(x):
        groups = defaultdict(list)
        for name, v in zip(["a", "b", "a", "c", "b", "a"], x):
            groups[name].append(v)
        return sum(k * np.var(v) for k, (_, v) in enumerate(sorted(groups.items()), 1))

    compiled, x = jit_grad(spread), NUMBERS
    assert compiled(x) == pytest.approx(spread(x), rel=1e-14)
    steps = [(spread(x + 1e-6 * e) - spread(x - 1e-6 * e)) / 2e-6 for e in np.eye(6)]
    assert compiled.grad(x) == pytest.approx(np.array(steps), rel=1e-6, abs=1e-8)
