"""Python's own functions of arrays, held against Python."""

from __future__ import annotations

import numpy as np

from tests.numpy.checking import check

V = np.random.default_rng(2).normal(size=7)
A = np.random.default_rng(2).normal(size=(3, 4))


def test_extremes_and_truth() -> None:
    check("max(v), min(v * 2), max(k), any(v > 1), all(v < 9), any(k > 9)", v=V, k=np.array([3, 1, 2]))
    n = np.array([np.nan, 1.0, 2.0])
    check("max(n), min(n), max(n[::-1]), min(n[::-1])", n=n, derivatives=False)


def test_sums_of_rows() -> None:
    check("sum(a), sum(a, 1.0), sum(a.T)", a=A)
    check("sum(k), sum(k > 2)", k=np.arange(6).reshape(3, 2))


def test_sorted() -> None:
    check("s = sorted(v)\nreturn s[0] * 2 + s[-1], np.array(sorted(v, reverse=True))", v=V)


def test_sums_of_arrays_that_are_made() -> None:
    check("sum(k * a[i : i + 2] for i, k in enumerate(w))", a=A, w=V[:2])
    check("sum(a[i] * i for i in range(len(a))), sum([a[i] for i in range(n)])", a=A, n=3)
