"""Reductions: sums, products, extremes, means, variances and similar, over any axes, compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from tests.numpy.checking import check, function_of

RNG = np.random.default_rng(3)
A = RNG.normal(size=(3, 4, 5))
W = RNG.normal(size=(3, 4, 5)) > -0.8
M = RNG.normal(size=(4, 5)) > 0
ALL_AXES = ("None", "0", "-1", "(0, 2)", "(-2, 1)", "(0, 1, 2)")


def over(*calls: str) -> str:
    """A tuple of all of them."""
    return "(" + ", ".join(calls) + ",)"


def test_sums_over_axes_keepdims() -> None:
    calls = [f"np.sum(a, {axis}, keepdims={keep})" for axis in ALL_AXES[:4] for keep in (True, False)]
    check(over(*calls), a=A, exact=False, rtol=1e-13)
    check(
        "np.sum(a, axis=()), np.sum(a[:, ::-2], 1), a.sum(), a.sum(-1), a.sum(axis=0, "
        "keepdims=True)",
        a=A, exact=False,
    )


def test_products_and_extremes() -> None:
    check("np.prod(a, 1), a.prod(axis=(0, 2)), np.prod(a), np.prod(a, -1, None, None, True)", a=A, exact=False)
    check("np.max(a, 1), a.min(axis=(0, 2)), np.amax(a), np.amin(a, -1, None, True), a.max(0), a.min()", a=A)


def test_where_and_initial() -> None:
    check(
        "np.sum(a, where=m), np.sum(a, 0, where=m, initial=2.0), np.prod(a, axis=1, where=m, keepdims=True), "
        "np.mean(a, axis=1, where=w), np.var(a, axis=(0, 1), where=m[:, :1], ddof=1), np.std(a, where=a > 0)",
        a=A,
        m=M,
        w=W,
        exact=False,
    )
    check("np.max(a, where=m, initial=-9.0), np.min(a, axis=1, initial=0.0), a.max(2, initial=0.5)", a=A, m=M)
    check("np.any(m, 0, where=n), np.all(m, where=n, axis=1), np.any(m, where=False), np.all(m, where=n)", m=M, n=~M)
    # What is left out has no value that counts, nor a derivative.
    check("np.sum(np.log(a), axis=0, where=a > 0), np.mean(a / a, where=a != 0)", a=A.round(1), exact=False, by=())


def test_means_and_variances() -> None:
    calls = [f"np.{f}(a, axis={axis})" for f in ("mean", "var", "std") for axis in ("None", "1", "(0, 2)")]
    check(over(*calls), a=A, exact=False)
    check(
        "a.mean(1, keepdims=True), a.var(ddof=1), a.std(0, ddof=1, keepdims=True), np.var(a, correction=1), "
        "np.std(a, axis=1, mean=np.mean(a, axis=1, keepdims=True)), a.mean(), a.var((0, 1))",
        a=A,
        exact=False,
    )
    check("np.mean(k, 1), k.var(), k.std(axis=0), np.mean(k > 2)", k=np.arange(12).reshape(3, 4), exact=False)
    check(
        "np.mean(a, axis=0), np.var(a, 1), a.std(), "
        "a.mean(dtype=np.float64)",
        a=A.astype(np.float32), rtol=1e-6, exact=False,
    )


def test_deviation_of_equal_numbers_has_no_slope() -> None:
    gradient = adc.grad(function_of("np.sum(np.std(a, axis=0))", "a"))(np.ones((3, 2)))
    np.testing.assert_array_equal(gradient, np.zeros((3, 2)))


def test_dtypes_of_results() -> None:
    k, b = np.arange(-5, 7).reshape(3, 4), M
    check("np.sum(k, 0), k.prod(1), k.sum(axis=1, dtype=np.float64), np.sum(k, dtype=np.int32), k.max(0)", k=k)
    check("np.sum(b, 0), b.sum(), np.prod(b, 1), b.max(1), np.min(b), b.mean(0), np.sum(b, 0, dtype=np.int32)", b=b)
    check(
        "np.sum(a, 1, np.float32), a.sum(dtype=np.float32, axis=0), np.prod(a, "
        "dtype=np.float32)",
        a=A, exact=False, rtol=1e-5, by=(),
    )


def test_numbers_and_nests() -> None:
    check(
        "np.sum(x), np.max([x, y]), np.min((y, x)), np.mean([x, y, 3.0]), np.any([x, 0]), np.argmax([x, "
        "y])",
        x=1.5, y=2.5,
    )
    check(
        "np.sum([[x, y], [y, 1]], axis=0), np.prod(a.shape), np.prod((2, 3)), np.sum([True, "
        "False])",
        x=1.5, y=2.5, a=A,
    )


def test_where_the_extremes_are() -> None:
    calls = [f"np.{f}(a, axis={axis})" for f in ("argmax", "argmin") for axis in ("None", "0", "1", "-1")]
    check(over(*calls), a=A)
    check("np.argmax(a, 1, keepdims=True), a.argmin(keepdims=True), np.argmax(a > 0, axis=0)", a=A.round())
    check("a.argmax(0), a.argmin(), np.argmin(a * a, axis=1)", a=np.array([[0, 3, 3], [2, 3, -1]]))
    b = np.array([[1.0, np.nan, 3.0], [np.inf, -np.inf, np.inf], [-0.0, 0.0, -0.0], [np.nan, np.nan, 1.0]])
    check("np.argmax(b, 1), np.argmin(b, 1), np.argmax(b), np.argmin(b, 0)", b=b, derivatives=False)
    check("a[np.argmax(a * a)] * 2.0", a=A[0, 0])


def test_nans_spread() -> None:
    b = np.array([[1.0, np.nan, 3.0], [np.inf, -np.inf, np.inf], [1.0, 0.0, 2.0]])
    check(
        "np.max(b, 1), np.min(b, 0), b.max(), np.any(b, 1), np.all(b, 0), np.sum(b, 1), "
        "np.mean(b)",
        b=b, derivatives=False,
    )


def test_truth_over_axes() -> None:
    check("np.any(m, 0), m.all(-1), np.any(m), np.all(m, axis=(0, 1), keepdims=True), m.any(1, keepdims=True)", m=M)
    check(
        "np.count_nonzero(m, 0), np.count_nonzero(a, axis=(0, 1)), np.count_nonzero(m, "
        "keepdims=True)",
        m=M, a=A.round(),
    )
    check(
        "np.any(e), np.all(e), np.any(e, 0), np.all(e, 0), np.sum(e, 0), np.prod(e), "
        "np.count_nonzero(e)",
        e=np.zeros((0, 2)),
    )


def test_results_in_arrays() -> None:
    body = """
    np.sum(a, axis=0, out=r)
    np.max(a, 1, out=s)
    np.mean(a, axis=0, out=t)
    t += np.var(a, 0, out=np.zeros_like(t))
    return np.sum(r * t) + np.sum(s)
    """
    check(body, a=A[0], r=np.zeros(5), s=np.zeros(4), t=np.zeros(5), exact=False, by=("a",))


def test_softmax_and_normalisation() -> None:
    body = """
    e = np.exp(a - a.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    z = (a - a.mean(0, keepdims=True)) / (a.std(0, keepdims=True) + 1e-3)
    return p, z
    """
    check(body, a=A, exact=False, rtol=1e-11)


def test_empty_arrays() -> None:
    e = np.zeros((0, 3))
    for call in ("np.max(e)", "e.min(0)", "np.argmax(e)", "e.argmin(axis=0)"):
        f = function_of(call, "e")
        with pytest.raises(ValueError) as theirs:
            f(e)
        with pytest.raises(ValueError) as ours:
            adc.jit_grad(f)(e)
        assert str(theirs.value).split(" which")[0] in str(ours.value)
    check("np.max(e, 1), np.max(e, 0, initial=1.0), np.mean(e, 0), e.sum(), e.argmax(1)", e=e, by=())


def test_mapped() -> None:
    check(
        "np.mean(a, 0), np.max(a), np.argmin(a, axis=1), np.sum(a, 1, keepdims=True), "
        "np.any(a > 1)",
        a=A[0], exact=False, vmap=True,
    )


def test_leading_axes_are_added_in_numpys_order() -> None:
    calls = ("np.sum(a, 0)", "a.sum((1, 0))", "np.sum(a, 1)", "np.sum(a, (0, 1), keepdims=True)", "a.mean(axis=0)")
    check(over(*calls), a=RNG.normal(size=(37, 5, 3)))
    check("np.sum(m, 0), np.any(m, 0), np.all(m, (0, 1)), m.sum(1, dtype=np.int32)", m=RNG.normal(size=(9, 2, 3)) > 0)


def test_places_in_long_vectors() -> None:
    """By extremes of blocks: the first of equal ones, in any block, and what is not a number."""
    v = np.round(RNG.normal(size=5000), 1)
    for at, value in (0, 1.0), (4999, 9.0), (2047, 9.0), (2048, -9.0), (3000, np.nan), (1000, np.nan):
        v[at] = value
        check("np.argmax(v), np.argmin(v), v.argmax(), np.argmax(np.abs(v)), np.nanargmax(v)", v=v, by=())
    check("np.argmax(a), np.argmin(a), np.argmin(a[:, ::2])", a=v[:4800].reshape(60, 80), by=())
    check("np.argmax(s), np.argmin(s)", s=np.linspace(3, -3, 3000, dtype=np.float32) ** 2, by=())
