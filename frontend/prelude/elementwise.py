"""Functions of each element, and comparisons of whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import stands_for


@stands_for("numpy.sinc")
def sinc(x: Any) -> Any:
    y = np.pi * x
    return np.where(y == 0.0, 1.0, np.sin(y) / np.where(y == 0.0, 1.0, y))


@stands_for("numpy.fix")
def fix(x: Any, out: Any = None) -> Any:
    return np.trunc(x, out=out)


@stands_for("numpy.isposinf")
def isposinf(x: Any, out: Any = None) -> Any:
    return np.logical_and(np.isinf(x), np.logical_not(np.signbit(x)), out=out)


@stands_for("numpy.isneginf")
def isneginf(x: Any, out: Any = None) -> Any:
    return np.logical_and(np.isinf(x), np.signbit(x), out=out)


@stands_for("numpy.nan_to_num")
def nan_to_num(x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if np.result_type(x).kind != "f":
        return np.positive(x) if copy else x
    largest = np.finfo(np.result_type(x)).max if posinf is None else posinf
    least = np.finfo(np.result_type(x)).min if neginf is None else neginf
    number = np.where(np.isnan(x), nan, np.where(x == np.inf, largest, np.where(x == -np.inf, least, x)))
    number = np.asarray(number, dtype=np.result_type(x))
    if copy:
        return number
    x[...] = number
    return x


@stands_for("numpy.isclose")
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False) -> Any:
    near = (np.less_equal(np.abs(a - b), atol + rtol * np.abs(b)) & np.isfinite(b)) | np.equal(a, b)
    if equal_nan:
        return near | (np.isnan(a) & np.isnan(b))
    return near


@stands_for("numpy.allclose")
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False) -> Any:
    return bool(np.all(np.isclose(a, b, rtol, atol, equal_nan)))


@stands_for("numpy.array_equal")
def array_equal(a1: Any, a2: Any, equal_nan: Any = False) -> Any:
    if np.ndim(a1) != np.ndim(a2):
        return False
    if np.shape(a1) != np.shape(a2):
        return False
    if equal_nan:
        return bool(np.all(np.equal(a1, a2) | (np.isnan(a1) & np.isnan(a2))))
    return bool(np.all(np.equal(a1, a2)))


@stands_for("numpy.array_equiv")
def array_equiv(a1: Any, a2: Any) -> Any:
    short, long = (np.shape(a1), np.shape(a2)) if np.ndim(a1) < np.ndim(a2) else (np.shape(a2), np.shape(a1))
    for m, n in zip(short, long[len(long) - len(short) :], strict=True):
        if m != n and m != 1 and n != 1:
            return False
    return bool(np.all(np.equal(a1, a2)))


_I0_SMALL = (
    *(-4.41534164647933937950e-18, 3.33079451882223809783e-17, -2.43127984654795469359e-16, 1.71539128555513303061e-15),
    *(-1.16853328779934516808e-14, 7.67618549860493561688e-14, -4.85644678311192946090e-13, 2.95505266312963983461e-12),
    *(-1.72682629144155570723e-11, 9.67580903537323691224e-11, -5.18979560163526290666e-10, 2.65982372468238665035e-9),
    *(-1.30002500998624804212e-8, 6.04699502254191894932e-8, -2.67079385394061173391e-7, 1.11738753912010371815e-6),
    *(-4.41673835845875056359e-6, 1.64484480707288970893e-5, -5.75419501008210370398e-5, 1.88502885095841655729e-4),
    *(-5.76375574538582365885e-4, 1.63947561694133579842e-3, -4.32430999505057594430e-3, 1.05464603945949983183e-2),
    *(-2.37374148058994688156e-2, 4.93052842396707084878e-2, -9.49010970480476444210e-2, 1.71620901522208775349e-1),
    *(-3.04682672343198398683e-1, 6.76795274409476084995e-1),
)
_I0_LARGE = (
    *(-7.23318048787475395456e-18, -4.83050448594418207126e-18, 4.46562142029675999901e-17, 3.46122286769746109310e-17),
    *(-2.82762398051658348494e-16, -3.42548561967721913462e-16, 1.77256013305652638360e-15, 3.81168066935262242075e-15),
    *(-9.55484669882830764870e-15, -4.15056934728722208663e-14, 1.54008621752140982691e-14, 3.85277838274214270114e-13),
    *(7.18012445138366623367e-13, -1.79417853150680611778e-12),
    *(-1.32158118404477131188e-11, -3.14991652796324136454e-11),
    *(1.18891471078464383424e-11, 4.94060238822496958910e-10, 3.39623202570838634515e-9, 2.26666899049817806459e-8),
    *(2.04891858946906374183e-7, 2.89137052083475648297e-6, 6.88975834691682398426e-5, 3.36911647825569408990e-3),
    8.04490411014108831608e-1,
)


def _chebyshev(x: Any, coefficients: Any) -> Any:
    b0, b1, b2 = coefficients[0] + 0.0 * x, 0.0 * x, 0.0 * x
    for c in coefficients[1:]:
        b2 = b1
        b1 = b0
        b0 = x * b1 - b2 + c
    return 0.5 * (b0 - b2)


@stands_for("numpy.i0")
def i0(x: Any) -> Any:
    if np.result_type(x).kind != "f":
        return np.i0(np.asarray(x, dtype=np.float64))
    t = np.abs(x)
    small = np.minimum(t, 8.0)
    large = np.maximum(t, 8.0)
    near = np.exp(small) * _chebyshev(small / 2.0 - 2.0, _I0_SMALL)
    far = np.exp(large) * _chebyshev(32.0 / large - 2.0, _I0_LARGE) / np.sqrt(large)
    return np.where(t <= 8.0, near, far)
