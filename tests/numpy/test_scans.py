"""Running sums, differences, slopes and areas, compared with NumPy."""

from __future__ import annotations

import numpy as np

from tests.numpy.checking import check

RNG = np.random.default_rng(4)
A = RNG.normal(size=(3, 4, 5))
V = A[0, 0]


def test_running_sums_and_products() -> None:
    for call in ("np.cumsum(a, {})", "a.cumprod({})"):
        check(", ".join(call.format(axis) for axis in (0, 1, -1, None)), a=A)
    check("np.cumsum(v), v.cumprod(), np.cumsum(v[::-2]), np.cumsum(v * 2 + 1)", v=V)
    z = np.array([1.5, 0.0, -2.0, 0.0, 3.0])
    check("np.cumprod(z), np.cumprod(np.cumsum(z))", z=z)
    check(
        "np.cumsum(k), np.cumsum(k, 1), k.cumsum(dtype=np.float64), np.cumprod(k > 1, axis=0)",
        k=np.arange(6).reshape(2, 3),
    )
    check("np.cumsum(e), np.cumsum(v, out=r) + r", e=np.zeros(0), v=V, r=np.zeros(5))
    check("np.cumulative_sum(v), np.cumulative_sum(a, axis=1, include_initial=True), np.cumulative_prod(v)", v=V, a=A)


def test_differences() -> None:
    check("np.diff(v), np.diff(v, 2), np.diff(a), np.diff(a, axis=0), np.diff(a, 2, 1), np.diff(v, n=0)", v=V, a=A)
    check(
        "np.diff(v, prepend=0.0), np.diff(v, append=v[:2]), np.diff(a, axis=1, prepend=1.0, append=a[:, "
        ":1])",
        v=V, a=A,
    )
    check("np.diff(k), np.diff(k > 2), np.ediff1d(v), np.ediff1d(v, 9.0, v[:2])", v=V, k=np.array([1, 5, 2, 3]))


def test_slopes() -> None:
    x = np.array([0.0, 1.0, 1.5, 3.0])
    check("np.gradient(a, h, x), np.gradient(a[0], x, edge_order=2)", a=A[0, :3, :4], h=0.3, x=x, exact=False)
    check("np.gradient(v), np.gradient(v, 0.5, edge_order=2), np.gradient(k)", v=V, k=np.array([1, 5, 2]), exact=False)
    check("np.gradient(a, axis=1), np.gradient(a, x, axis=(1,))", a=A, x=x, exact=False, derivatives=False)


def test_areas() -> None:
    x = np.array([0.0, 1.0, 1.5, 3.0, 5.0])
    check(
        "np.trapezoid(v), np.trapezoid(v, x), np.trapezoid(a, dx=h, axis=1), np.trapezoid(a, x=x)",
        v=V, x=x, a=A, h=0.3, exact=False,
    )


def test_mapped() -> None:
    check("np.cumsum(v), np.diff(v), np.gradient(v)", v=V, vmap=True)
