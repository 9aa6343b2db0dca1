"""SciPy's solvers with adc's derivatives, and arrays that share memory."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import adc
from adc.interop import asarray, least_squares, minimize, root

pytest.importorskip("scipy", reason="SciPy is not installed")


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@pytest.mark.parametrize("method", [None, "L-BFGS-B", "Newton-CG", "trust-ncg", "trust-exact", "SLSQP", "Powell"])
def test_minimize(method: Any) -> None:
    found = minimize(rosenbrock, np.array([[1.2, 1.1], [0.9, 1.0]]).ravel(), method=method)
    assert found.success and np.allclose(found.x, 1.0, atol=2e-3)


def test_minimize_keeps_the_shape_and_differentiates_by_the_first_argument() -> None:
    target = np.array([[1.0, 2.0], [3.0, 4.0]])
    found = minimize(lambda x, t: np.sum((x - t) ** 2), np.zeros((2, 2)), (target,), method="trust-ncg")
    assert found.x.shape == (2, 2) and np.allclose(found.x, target)
    assert abs(minimize(lambda x: (x - 3.0) ** 2, 1.0).x - 3.0) < 1e-6


@pytest.mark.parametrize("sparse", [False, True])
def test_least_squares(sparse: bool) -> None:
    t = np.linspace(0, 1, 20)

    def residuals(p: Any, t: Any, y: Any) -> Any:
        return p[0] * np.exp(-p[1] * t) - y

    found = least_squares(residuals, [1.0, 1.0], (t, 2.0 * np.exp(-3.0 * t)), sparse=sparse)
    assert np.allclose(found.x, [2.0, 3.0]) and found.nfev < 20


@pytest.mark.parametrize("method", ["hybr", "lm", "krylov"])
def test_root(method: str) -> None:
    found = root(lambda u, b: u**3 - b, np.array([[2.0], [2.0]]), (np.array([[1.0], [8.0]]),), method=method)
    assert found.success and np.allclose(found.x, [[1.0], [2.0]], atol=1e-5)
    assert np.isclose(root(lambda x, a: x * x - a, 1.0, (2.0,)).x, 2.0**0.5)


def test_what_adc_provides_cannot_be_given() -> None:
    with pytest.raises(adc.AdcError, match="jac is what adc provides"):
        minimize(rosenbrock, np.ones(2), jac=True)


def test_asarray() -> None:
    class Owner:
        def __init__(self, array: Any) -> None:
            self.array = array
            self.__array_interface__ = array.__array_interface__

    class Lent:
        def __init__(self, array: Any) -> None:
            self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

    x = np.arange(6.0).reshape(2, 3)
    assert asarray(x) is x
    for shared in (asarray(Owner(x)), asarray(Lent(x[:, ::2]))):
        shared[1, 0] += 1.0
    assert x[1, 0] == 5.0
    kept = asarray(Owner(np.arange(1000.0)))
    assert kept.sum() == 499500.0
    with pytest.raises(adc.AdcError, match="neither __dlpack__ nor"):
        asarray("text")


def test_nothing_is_loaded_before_it_is_needed() -> None:
    code = (
        "import sys, adc, adc.interop\n"
        "assert not {'torch', 'jax', 'scipy', 'adc.interop.flat'} & set(sys.modules)\n"
        "sys.modules['torch'] = None\n"
        "try: adc.interop.to_torch(abs)\n"
        "except adc.AdcError as error: print(error.kind, error.help)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "missing-package pip install torch\n"
