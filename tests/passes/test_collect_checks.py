"""Loops with collected checks compute and raise the same as before, and do not change the callers' arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc.errors import AdcError
from tests.numpy.checking import check, function_of

RNG = np.random.default_rng(2)
X = RNG.normal(size=300) * 100


def looped(function: Any) -> str:
    return str(adc.jit_grad(function).dump_ir("lowered", "f64[::1]"))


def test_conversions() -> None:
    for kind in ("int64", "int32", "int8", "uint8"):
        check(f"(x * 0.5).astype(np.{kind}), np.floor(x).astype(np.{kind}) + 1", x=np.abs(X[:60]) % 120)
    check("k = x.astype(int)\nreturn np.sum(k), x[k % 7] * 2.0, np.bincount(np.abs(k))", x=X)
    check("(x * 2).astype(np.int64)", x=np.array([2.0**62 - 512, -(2.0**62), -0.5, 0.0]), derivatives=False)
    check("x.astype(int)", x=np.zeros(0), derivatives=False)
    check("x.astype(np.int32)", x=np.array([-2147483648.9, 2147483647.9]), derivatives=False)
    check("s.astype(np.int32)", s=X.astype(np.float32), derivatives=False)


@pytest.mark.parametrize("at", [0, 5, 255, 299])
@pytest.mark.parametrize(("wrong", "kind"), [(np.nan, ValueError), (1e30, OverflowError), (-np.inf, OverflowError)])
def test_what_does_not_fit_is_refused(at: int, wrong: float, kind: type[Exception]) -> None:
    f = adc.jit_grad(function_of("out[...] = x.astype(np.int64) * 2\nreturn out[0]", "x", "out"))
    x, out = X.copy(), np.zeros(300, np.int64)
    x[at] = wrong
    with pytest.raises(kind, match="NaN" if wrong != wrong else "too large"):
        f(x, out)
    assert not out.any()
    x[at] = 1.0
    f(x, out)
    np.testing.assert_array_equal(out, x.astype(np.int64) * 2)


def test_the_first_failure_is_reported() -> None:
    f = adc.jit_grad(function_of("np.sum(x.astype(np.int64))", "x"))
    x = X.copy()
    x[[40, 200, 250]] = 1e25, np.nan, 3e25
    with pytest.raises(OverflowError, match=r"1e\+25"):
        f(x)


def test_gradients_through_conversions() -> None:
    check("w[np.abs(x).astype(int)] * x", x=X[:50], w=RNG.normal(size=400))


def test_loops_go_on_where_nobody_sees_it() -> None:
    own = looped(function_of("k = x.astype(np.int64)\nreturn k[0] * 1.0", "x"))
    assert "adc.cold" in own and "adc.assert" not in own.split("adc.cold")[0].split("scf.parallel")[1]
    stored = function_of("for i in range(len(x)):\n    x[i] = int(x[i])\nreturn x[0]", "x")
    x = np.array([1.5, np.nan, 2.5])
    with pytest.raises((ValueError, AdcError)):
        adc.jit_grad(stored)(x)
    assert x[0] == 1.0 and x[2] == 2.5
