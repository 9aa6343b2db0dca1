"""Sorting, searching and sets, compared with NumPy; derivatives follow the permutation."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from tests.numpy.checking import check, function_of

RNG = np.random.default_rng(5)
V = RNG.normal(size=70)
A = RNG.normal(size=(3, 4, 5))
K = RNG.integers(0, 5, size=40)
N = np.array([2.0, np.nan, -np.inf, 1.0, np.nan, np.inf, 0.0, -0.0])


def test_sorting_vectors() -> None:
    check("np.sort(v[::-2]), np.argsort(v)", v=V)
    check(
        "np.sort(k), np.argsort(k, kind='stable'), k.argsort(stable=True), np.sort(k > 2), "
        "np.argsort(k > 2, stable=True)",
        k=K,
    )
    check("np.sort(n), np.argsort(n, kind='stable'), np.sort(e), np.argsort(e)", n=N, e=np.zeros(0), derivatives=False)
    check("np.sort(s), np.argsort(-s)", s=V.astype(np.float32), derivatives=False)


def test_sorting_of_integers() -> None:
    """Of each size, signed and not: beside their least and greatest."""
    for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
        limits = np.iinfo(kind)
        k = np.concatenate([K.astype(kind), np.array([limits.max, limits.min, limits.max], kind)])
        check("np.sort(k), np.argsort(k, kind='stable')", k=k)


def test_values_of_gradients_have_the_same_bits() -> None:
    """Those of zeros and NaN that a gradient computes go through the permutation."""
    v = np.array([0.0, -0.0, 1.0, np.nan, -np.nan, -0.0, 0.0, -1.0] * 9)
    sort = adc.jit_grad(lambda v: np.sort(v))
    value, _ = adc.pullback(sort, v)
    assert sort(v).tobytes() == value.tobytes() == v[np.argsort(v, stable=True)].tobytes()


def test_sorting_along_axes() -> None:
    check("np.sort(a, axis=0), np.sort(a, 1)", a=A)
    check("np.sort(a), np.sort(a, None)", a=A, derivatives=False)
    check("np.argsort(a), np.argsort(a, axis=0), np.argsort(a, 1), np.argsort(a, None), a.argsort()", a=A)


def test_sorting_in_place() -> None:
    check("b = a * 1.0\nb.sort()\na.sort(axis=0)\nreturn a * b, b", a=A[0])


def test_searching_for_many() -> None:
    """More than a block of them, in vectors of each length."""
    x = RNG.normal(size=1100)
    x[::50], x[1::70] = np.nan, np.inf
    for n in (0, 1, 2, 3, 7, 64, 100):
        a = np.sort(np.concatenate([np.round(RNG.normal(size=n), 1), [np.nan] * (n // 10)]))
        x[5::9] = a[0] if n else 0.0
        check("np.searchsorted(a, x), np.searchsorted(a, x, 'right'), np.isin(x, a)", a=a, x=x, by=())
    k = RNG.integers(-5, 5, 600)
    check("np.searchsorted(a, k), np.searchsorted(a, k.reshape(2, -1), 'right')", a=np.arange(-3, 4), k=k)
    e = np.linspace(-2, 2, 9)
    check("np.digitize(x, e), np.histogram(k, bins=e), np.interp(x, e, e * e)", x=x, k=k, e=e, by=())


def test_partitions() -> None:
    check("np.partition(v, 5)[5], np.argpartition(v, 5)[5], np.partition(v, -1)[-1]", v=V)


def test_order_by_several_keys() -> None:
    check("np.lexsort((v, k)), np.lexsort([k, k[::-1]])", v=V[:40], k=K)


def test_searching() -> None:
    s = np.sort(V)
    check("np.searchsorted(s, v), np.searchsorted(s, v[:4], side='right'), np.searchsorted(s, 0.5)", s=s, v=V)
    check(
        "np.searchsorted(k, [1, 3], 'right'), np.searchsorted(k, 2), k.searchsorted(m)",
        k=np.sort(K), m=K.reshape(8, 5),
    )
    check(
        "np.searchsorted(v, 0.1, sorter=np.argsort(v)), np.searchsorted(n, n), np.searchsorted(n, n, "
        "'right')",
        v=V, n=np.sort(N),
    )
    check(
        "np.digitize(v, b), np.digitize(v, b[::-1], right=True), np.digitize(b, b), np.digitize(b, b, "
        "True)",
        v=V, b=np.linspace(-1, 1, 5),
    )


def test_distinct_elements() -> None:
    check("np.unique(k), np.unique(k, return_counts=True), np.unique(k, True, True, True)", k=K)
    check("np.unique(v.round(1)), np.unique(n), np.unique(n, equal_nan=False)", v=V, n=N, derivatives=False)
    check("np.sum(np.unique(v) ** 2), np.unique(m), np.unique(m, return_inverse=True)", v=V[:9], m=K.reshape(8, 5))


def test_sets() -> None:
    check(
        "np.isin(k, m), np.isin(k, m, invert=True), np.isin(r, [1, 3]), np.isin(k, e)",
        k=K, m=K[:3] + 1, r=K.reshape(8, 5), e=K[:0],
    )
    check("np.union1d(k, m), np.intersect1d(k, m), np.setdiff1d(k, m), np.setxor1d(k, m)", k=K, m=np.arange(3, 9))


def test_mapped() -> None:
    check("np.sort(v), np.argsort(v), np.searchsorted(np.sort(v), v)", v=V[:9], vmap=True)


def test_what_cannot_be_sorted() -> None:
    for call in ("np.sort(z)", "np.median(z)", "np.unique(z)"):
        with pytest.raises(adc.errors.CompileTypeError, match="complex numbers have no order here"):
            adc.jit_grad(function_of(call, "z"))(V[:4] + 1j)
    with pytest.raises(np.exceptions.AxisError):
        adc.jit_grad(function_of("np.argsort(v, axis=1)", "v"))(V)
