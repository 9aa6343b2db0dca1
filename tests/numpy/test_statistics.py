"""Statistics of arrays, held against NumPy."""

from __future__ import annotations

import numpy as np

from tests.numpy.checking import check

A = np.random.default_rng(1).normal(size=(3, 4))


def test_ptp() -> None:
    check("np.ptp(a)", a=A[0])
    check("np.ptp(a, axis=1)", a=A[:, ::-2], vmap=False)
