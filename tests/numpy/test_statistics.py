"""Statistics of arrays, compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from tests.numpy.checking import check, function_of

RNG = np.random.default_rng(1)
A = RNG.normal(size=(3, 4))
B = RNG.normal(size=(2, 4, 5))
V = RNG.normal(size=9)
K = RNG.integers(0, 9, size=(3, 4))
N = np.array([[1.0, np.nan, 3.0, 0.5], [np.nan, 2.0, -1.0, 4.0], [0.0, 7.0, np.nan, np.nan]])


def test_several_axes() -> None:
    check("np.median(b, axis=(0, 2)), np.quantile(b, 0.3, (2, 0), keepdims=True)", b=B)
    check("np.quantile(b, [0.2, 0.6], (0, 1)), np.median(b, (1, -1), keepdims=True)", b=B, derivatives=False)


def test_ptp() -> None:
    check("np.ptp(a)", a=A[0])
    check("np.ptp(a, axis=1), np.ptp(a, 0, keepdims=True)", a=A[:, ::-2], vmap=False)


def test_medians() -> None:
    check("np.median(v), np.median(a, axis=0), np.median(a, 1, keepdims=True)", v=V, a=A)
    check(
        "np.median(b, axis=1), np.median(k), np.median(k, 0), np.median(a, (0, 1)), np.median(e)",
        a=A, b=B, k=K, e=V[:0], derivatives=False,
    )
    check(
        "np.median(n), np.median(n, 0), np.nanmedian(n, 0), np.nanmedian(n), np.nanmedian(n * np.nan)",
        n=N, derivatives=False,
    )
    check("np.median(s, 1)", s=A.astype(np.float32), derivatives=False)


def test_two_in_the_middle_whose_sum_leaves_their_dtype() -> None:
    check(
        "np.median(k), np.nanmedian(b, 0), np.median(u), np.median(h)",
        k=np.array([[100, 120]], np.int8), b=np.array([[True], [True]]), u=np.array([2**64 - 1, 5], np.uint64),
        h=np.array([60000, 60000], np.float16), derivatives=False,
    )


METHODS = (
    *("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen"),
    *("weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest"),
)


def test_quantiles() -> None:
    check("np.quantile(v, q), np.percentile(a, 30, axis=0), np.percentile(v, [10.0, 50.0, 90.0])", v=V, a=A, q=0.3)
    check(
        "np.quantile(b, [0.1, 0.7], axis=1), np.quantile(a, 0.9, 1, keepdims=True), np.quantile(k, 0.4)",
        a=A, b=B, k=K, derivatives=False,
    )
    check(
        "np.nanquantile(n, 0.3, axis=1), np.nanpercentile(n, [20, 60]), np.quantile(n, 0.5, 1)",
        n=N, derivatives=False,
    )


@pytest.mark.parametrize("method", METHODS)
def test_ways_to_take_quantiles(method: str) -> None:
    calls = f"np.quantile(v, q, method='{method}'), np.quantile(v, 0.0, method='{method}')"
    check(calls, v=V[:8], q=np.linspace(0, 1, 17), derivatives=False)


def test_quantiles_in_single_precision_fall_on_elements() -> None:
    check(
        "np.quantile(v, 0.8, method='averaged_inverted_cdf'), np.nanquantile(w, 0.4, method='midpoint')",
        v=np.arange(10, dtype=np.float32), w=np.arange(16, dtype=np.float32), derivatives=False,
    )


def test_quantiles_that_there_are_not() -> None:
    for call, part in (("np.quantile(v, 1.5)", "Quantiles must be in"), ("np.percentile(v, -1)", "Percentiles")):
        with pytest.raises(ValueError, match=part):
            adc.jit_grad(function_of(call, "v"))(V)


@pytest.mark.parametrize("body", ["np.percentile(v, 50)", "np.quantile(v, [0.1, 0.5])", "np.percentile(a, 9, axis=1)"])
def test_quantiles_of_nothing(body: str) -> None:
    empty = {"v": V[:0], "a": A[:, :0]}
    for program in (function_of(body, "v, a"), adc.jit_grad(function_of(body, "v, a"))):
        with pytest.raises(IndexError, match="index -1 is out of bounds for axis 0 with size 0"):
            program(**empty)
    body = "np.nanpercentile(v, 50), np.nanquantile(a, 0.5, axis=1), np.percentile(a, 9, axis=0)"
    check(body, derivatives=False, **empty)


def test_weighted_means() -> None:
    check(
        "np.average(a), np.average(a, 0, w[:, :4]), np.average(a, axis=1, weights=w[0])",
        a=A, w=RNG.uniform(size=(3, 4)), exact=False,
    )
    check("np.average(v, weights=v * v, returned=True), np.average(a, axis=0, returned=True)", v=V, a=A, exact=False)


def test_covariances() -> None:
    check("np.cov(a), np.corrcoef(a)", a=A, exact=False, rtol=1e-11)
    check(
        "np.cov(a, rowvar=False, ddof=0), np.cov(v), np.cov(v, v * v, bias=True), np.corrcoef(v, v * v)",
        a=A, v=V, exact=False, derivatives=False,
    )


def test_what_is_not_a_number_is_left_out() -> None:
    for axis in ("None", "0"):
        names = ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmin", "nanmax")
        calls = [f"np.{f}(n, axis={axis})" for f in names]
        check(", ".join(calls), n=N, exact=False, derivatives=False)
    check("np.nanargmin(n, 1), np.nanargmax(n), np.nancumsum(n, 0), np.nancumprod(n)", n=N, derivatives=False)
    check(
        "np.nanmean(n[:2] * a[:2]), np.nanmax(a[:2] + n[:2], axis=0), np.nanvar(a[:2] * n[:2], ddof=1)",
        a=A, n=N, exact=False, by=("a",),
    )
    check("np.nanmax(m, 1), np.nanmean(m, 0), np.nansum(k), np.nanmin(k, 0)", m=N * np.nan, k=K, derivatives=False)
