"""``index``, ``count``, ``in`` and ``==`` of lists and tuples whose items or length are known only at run time."""

import numpy as np
import pytest

import adc


def grown(x, n):
    xs = []
    for i in range(n):
        xs.append(2.0 * x[i])
    low, zs, ones = xs.index(min(xs)), list(xs), [0.0] * n
    ones[low] = xs[low]
    places = low + 10 * xs.index(max(xs), 1) + 100 * xs.index(4.0, -2, 99) + 1000 * xs.count(4.0)
    return xs[low] * ones[low], places, xs == zs, xs != zs, xs == ones, ones != [6.0, 2.0], xs == (1.0, 2.0), xs == [0]


def first_free(x, workers):
    """A queue: the worker that is free first takes the next task."""
    free = [0.0] * workers
    for t in x:
        k = free.index(min(free))
        free[k] = free[k] + t * t
    return max(free)


def of_known_length(x):
    xs, pair = [x[0], x[1], x[2]], (x[0], None, x[2])
    return xs.index(max(xs)), pair.index(x[2]), xs.index(x[1], -2), pair.index(None), [x[0] > 2.0, 1].index(1)


def of_pairs(x, n):
    pairs = [(i, n - i) for i in range(n)]
    return x[0] * pairs.index((2, n - 2)), pairs.count((1, n - 1)), (2, n - 2) in pairs, (2, n) in pairs


def not_there(x, n):
    return [x[i] for i in range(n)].index(77.5)


def not_in_tuple(x, n):
    return (x[0], x[n]).index(77.5)


def beyond(x, n):
    return [x[i] for i in range(n)].index(x[n - 1], 0, -1)


X = np.array([3.0, 1.0, 2.0, 5.0, 2.0])


@pytest.mark.parametrize(
    ("fn", "rest"), [(grown, (5,)), (first_free, (2,)), (first_free, (3,)), (of_known_length, ()), (of_pairs, (5,))]
)
def test_values(fn, rest):
    found, expected = adc.jit_grad(fn)(X, *rest), fn(X, *rest)
    assert found == expected and repr(found) == repr(expected)


@pytest.mark.parametrize("fn", [not_there, not_in_tuple, beyond])
def test_what_is_not_there(fn):
    with pytest.raises(ValueError) as plain:
        fn(X, 4)
    with pytest.raises(ValueError) as compiled:
        adc.jit_grad(fn)(X, 4)
    assert str(plain.value) == str(compiled.value)


def test_gradients():
    free = adc.grad(first_free)(X, 2)  # the tasks 3, 2, 2 and then 1, 5: the second worker is done last
    assert free.tolist() == [0.0, 2.0, 4.0, 10.0, 0.0]
    assert adc.hvp(first_free, (X, 2), (np.ones(5), None)).tolist() == [0.0, 2.0, 2.0, 2.0, 0.0]


def arrays(x, n):
    rows = [x * i for i in range(n)]
    return rows.count(x)


def test_arrays_are_refused():
    with pytest.raises(adc.errors.CompileError):
        adc.jit_grad(arrays)(X, 3)
