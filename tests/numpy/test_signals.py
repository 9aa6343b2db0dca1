"""Convolutions, interpolation, histograms and polynomials, compared with NumPy."""

from __future__ import annotations

import numpy as np

from tests.numpy.checking import check

RNG = np.random.default_rng(6)
V = RNG.normal(size=12)
W = RNG.normal(size=3)
X = RNG.normal(size=40)
K = RNG.integers(0, 6, size=20)


def test_convolutions() -> None:
    check("np.convolve(v, w), np.correlate(w, v, 'full')", v=V, w=W, exact=False)
    for mode in ("full", "same", "valid"):
        calls = [f"np.{f}({pair}, '{mode}')" for f in ("convolve", "correlate") for pair in ("v, w", "w, v", "v, u")]
        check(", ".join(calls), v=V, w=W, u=V[:4], exact=False, derivatives=False)
    check("np.convolve(k, [1, 2, 1]), np.convolve(v, v), np.correlate(k, k)", k=K, v=V, exact=False, derivatives=False)
    check("np.convolve(s, s[:1], mode='same')", s=V.astype(np.float32), exact=False, rtol=1e-6, derivatives=False)


def test_interpolation() -> None:
    p = np.array([-1.0, -0.2, 0.3, 1.4])
    check("np.interp(x, p, f), np.interp(0.1, p, f), np.interp(t, p, f)", x=X[:9], p=p, f=V[:4], t=0.4)
    check(
        "np.interp(x.reshape(8, 5), p, f, left=0.0, right=9), np.interp(p, p, f), np.interp([0.0, n], p, f)",
        x=X, p=p, f=V[:4], n=np.nan, derivatives=False,
    )
    check("np.interp(x, a, f, period=2.5)", x=X[:9], a=p[[2, 0, 3, 1]], f=V[:4])
    check(
        "np.interp(x, p, f)",
        x=np.array([0.5, np.inf, 1.0]), p=np.array([0.0, 1.0]), f=np.array([np.inf, np.inf]), by=(),
    )


def test_phases() -> None:
    check("np.unwrap(x * 4.0), np.unwrap(m, axis=0), np.unwrap(x * 9, period=3.0)", x=X, m=(X * 6).reshape(8, 5))


def test_counts() -> None:
    check("np.bincount(k), np.bincount(k, minlength=9), np.bincount(k, w)", k=K, w=X[:20])
    check(
        "np.histogram(x), np.histogram(x, 7, (-1, 1.5)), np.histogram(x, b), np.histogram(x, [0, 1, 2])",
        x=X, b=np.linspace(-2, 2, 9), by=(),
    )
    check(
        "np.histogram(x, 5, weights=w), np.histogram(x, b, weights=w, density=True)",
        x=X, w=V[K].repeat(2), b=np.linspace(-2, 2, 9), exact=False, by=("w",),
    )
    check(
        "np.histogram(k, 4), np.histogram(x, 6, density=True), np.histogram(c), "
        "np.histogram_bin_edges(x, 3)",
        k=K, x=X, c=np.ones(3), by=(),
    )
    check("np.histogram2d(x, y, 4), np.histogram2d(x, y, [3, 5], [[-1, 1], [-2, 2]])", x=X, y=X[::-1] * X, by=())
    check(
        "np.histogram2d(x, y, (b, b), weights=w, density=True)[0]",
        x=X, y=X[::-1], w=X * X, b=np.linspace(-2, 2, 5), by=("w",), exact=False,
    )


def test_polynomials() -> None:
    check("np.polyval(p, x), np.polyval(p, 0.7), np.polyval([1, 2], x)", p=V[:4], x=X[:6])
    check("np.polyder(p), np.polyint(p), np.polyder(p, 2), np.polyint(p, 2, [1.0, 2.0])", p=V[:4])
    check(
        "np.polyadd(p, q), np.polysub(q, p), np.polymul(p, q), np.polyder(k), np.polyint(k)",
        p=V[:4], q=W[:2], k=K[:4], exact=False,
    )
    check("np.polyfit(x, y, 2), np.polyfit(x, y, 1, w=y * y)", x=V, y=X[:12], exact=False, rtol=1e-9)
