"""Implicit differentiation of a steady state: which heating gives the desired temperatures?

    python examples/steady.py [--points N]

A rod with ends at zero is heated along its length, and loses heat by radiation, which is nonlinear:

    u'' - c u^4 + q = 0.

Its steady state is the fixed point of a sweep over the points (nonlinear Gauss-Seidel, in place). ``adc.fixed_point``
computes it and is differentiated by the implicit function theorem: the adjoint is a fixed point as well, and none of
the thousands of sweeps is stored. SciPy's L-BFGS-B finds the heating q for the desired temperatures.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy.optimize import minimize

import adc
from adc import jit_grad

Array = np.ndarray[Any, Any]
RADIATION = 2.0


def sweep(u, q):  # type: ignore[no-untyped-def]
    """Update each point in turn from its neighbours, with one Newton step for the radiation."""
    n = u.shape[0]
    h = 1.0 / (n + 1)
    v = u.copy()
    for i in range(n):
        left = v[i - 1] if i > 0 else 0.0
        right = v[i + 1] if i < n - 1 else 0.0
        loss = RADIATION * v[i] ** 3
        v[i] -= (2.0 * v[i] - left - right + h * h * (loss * v[i] - q[i])) / (2.0 + 4.0 * h * h * loss)
    return v


@jit_grad
def steady(q):  # type: ignore[no-untyped-def]
    return adc.fixed_point(sweep, np.zeros_like(q), q)


@jit_grad
def misfit(q, wanted):  # type: ignore[no-untyped-def]
    """The distance of the steady state from the desired one, with a small penalty for rough heating."""
    difference = adc.fixed_point(sweep, np.zeros_like(q), q) - wanted
    return np.sum(difference * difference) + 1e-9 * np.sum((q[1:] - q[:-1]) ** 2)


def recovered(wanted: Array) -> Array:
    """The heating for which the rod has the desired temperatures."""

    def objective(q: Array) -> tuple[float, Array]:
        value, gradient = adc.value_and_grad(misfit)(q, wanted)
        return float(value), gradient

    options = {"maxiter": 1000, "maxfun": 2000, "ftol": 0.0, "gtol": 1e-9}
    found = minimize(objective, np.ones_like(wanted), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--points", type=int, default=20, metavar="N", help="of the rod (20)")
    options = parser.parse_args()
    x = np.linspace(0.0, 1.0, options.points + 2)[1:-1]
    heating = 20.0 + 10.0 * np.sin(3.0 * np.pi * x)
    wanted = steady(heating)
    q = recovered(wanted)

    direction, h = np.cos(5.0 * x), 1e-4
    gradient = misfit.grad(np.ones_like(x), wanted)
    difference = (misfit(1.0 + h * direction, wanted) - misfit(1.0 - h * direction, wanted)) / (2.0 * h)
    print(f"derivative along a direction: {gradient @ direction:.8f}, by differences {difference:.8f}")
    print(f"temperatures: up to {np.max(wanted):.4f}; missed by {np.max(np.abs(steady(q) - wanted)):.1e}")
    print(f"heating: up to {np.max(heating):.2f}; missed by {np.max(np.abs(q - heating)):.2f}")


if __name__ == "__main__":
    main()
