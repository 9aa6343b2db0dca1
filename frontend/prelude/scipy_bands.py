"""SciPy's systems of equations with few diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels.bands import band_solved, band_turned, positive_band_solved
from adc.frontend.prelude import constant, stands_for
from adc.frontend.prelude.matrices import both_floats, column


@stands_for("scipy.linalg.solve_banded")
def solve_banded(
    l_and_u: Any, ab: Any, b: Any, overwrite_ab: Any = False, overwrite_b: Any = False, check_finite: Any = True
) -> Any:
    below, above = l_and_u
    x, y = both_floats(ab, b)
    _check(x, y)
    if below + above + 1 != x.shape[0]:
        raise ValueError(
            "invalid values for the number of lower and upper diagonals: "
            f"l+u+1 ({below + above + 1}) does not equal ab.shape[0] ({x.shape[0]})"
        )
    if y.ndim == 1:
        return _solved(below, above, x, column(y))[:, 0]
    return _solved(below, above, x, y)


def _solved(below: Any, above: Any, x: Any, y: Any) -> Any:
    found, singular = band_solved(below, above, x, y)
    if singular:
        raise np.linalg.LinAlgError("singular matrix")
    return found


@stands_for("scipy.linalg.solveh_banded")
def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: Any = False,
    overwrite_b: Any = False,
    lower: Any = False,
    check_finite: Any = True,
) -> Any:
    x, y = both_floats(ab, b)
    _check(x, y)
    if not constant(lower):
        x = band_turned(0, x.shape[0] - 1, x)
    if y.ndim == 1:
        return _positive_solved(x, column(y))[:, 0]
    return _positive_solved(x, y)


def _positive_solved(x: Any, y: Any) -> Any:
    found, failed = positive_band_solved(x, y)
    if failed >= 0:
        raise np.linalg.LinAlgError(f"{failed + 1}th leading minor not positive definite")
    return found


def _check(x: Any, y: Any) -> None:
    if x.shape[-1] != y.shape[0]:
        raise ValueError("shapes of ab and b are not compatible.")
