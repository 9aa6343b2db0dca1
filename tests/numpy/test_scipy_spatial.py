"""Distances between the rows of matrices, compared with SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc.errors import AdcError
from tests.numpy.checking import check
from tests.numpy.functions import function_of

distance = pytest.importorskip("scipy.spatial.distance")
HEAD = "from scipy.spatial.distance import cdist, pdist, squareform"
RNG = np.random.default_rng(5)
A, B = RNG.normal(size=(5, 3)), RNG.normal(size=(4, 3))
METRICS = [
    "'euclidean'", "'sqeuclidean'", "'cityblock'", "'Chebyshev'", "'minkowski', p=3.0", "'minkowski', p=1",
    "'minkowski', p=np.inf", "'cosine'", "'correlation'", "'canberra'", "'braycurtis'", "'hamming'", "'seuclidean'",
    "'seuclidean', V=b[0] ** 2", "'mahalanobis'", "'mahalanobis', VI=np.diag(b[1] ** 2)",
]  # fmt: skip


@pytest.mark.parametrize("metric", METRICS)
def test_metrics(metric: str) -> None:
    check(f"cdist(a, b, {metric}), pdist(a, {metric})", a=A, b=B, head=HEAD, exact=False, rtol=1e-13)


def test_own_metric_and_shapes() -> None:
    check(
        "cdist(a, b, lambda u, v: np.sum((u - v) ** 4)), pdist(a, lambda u, v: u @ v), cdist(a[:0], b), pdist(a[:1])",
        a=A, b=B, head=HEAD, exact=False, rtol=1e-13,
    )  # fmt: skip
    check("cdist(a[::-1, ::2], b.T[::2].T), pdist(i), cdist(f, f[1:])", a=A, b=B, i=(A * 9).astype(int),
          f=A.astype(np.float32), head=HEAD, derivatives=False)  # fmt: skip


def test_square_form() -> None:
    check("s = squareform(pdist(a))\nreturn s, squareform(s), squareform(s * 2, checks=False)", a=A, head=HEAD)
    check("squareform(v[:0]), squareform(v), squareform(m[:1, :1] * 0)", v=A[0], m=A, head=HEAD)


@pytest.mark.parametrize("body", [
    "squareform(a[:4, 0])", "squareform(a)", "squareform(a[:3])", "squareform(a[:3, :3] * 0 + 1)",
    "squareform(a, 'tomatrix')", "squareform(a[0], 'tovector')", "cdist(a, a[:, 1:])", "cdist(a, a[0])", "pdist(a[0])",
])  # fmt: skip
def test_errors(body: str) -> None:
    program = function_of(body, "a", head=HEAD)
    with pytest.raises(ValueError) as wanted:
        program(A)
    with pytest.raises((ValueError, AdcError)) as found:
        adc.jit_grad(program)(A)
    assert str(wanted.value) in str(found.value)


def test_rows_at_one_place() -> None:
    """There the derivative of a distance is 0."""

    def spread(a: Any) -> Any:
        return np.sum(distance.pdist(a)) + np.sum(distance.cdist(a, a, "minkowski", p=3))

    same = np.concatenate((A[:2], A[:1]))
    apart = adc.grad(spread)(same + 1e-9 * np.arange(3)[:, None])
    found = adc.grad(spread)(same)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[1], apart[1], rtol=1e-6)
