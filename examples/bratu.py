"""A nonlinear steady state by Newton's method, with a sparse Jacobian: Bratu's problem.

    python examples/bratu.py [--size N] [--strength L]

Find the temperature u of a square plate whose sides are kept at zero. It is heated by a reaction that is faster where
it is hotter:

    Laplace(u) + L exp(u) = 0.

There is a solution for L up to 6.808; starting from zero, Newton's method finds the cooler one. Each step solves a
linear system with the Jacobian of the residual, which has five entries per row. So five sweeps of forward mode compute
it, for any number of points.

References: Bratu, Sur les équations intégrales non linéaires, Bull. Soc. Math. France 42, 1914; Glowinski, Keller and
Reinhart, Continuation-conjugate gradient methods for the least squares solution of nonlinear boundary value problems,
SIAM J. Sci. Stat. Comput. 6, 1985, for the greatest L.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import spsolve

import adc
from adc import jit_grad

Array = np.ndarray[Any, Any]


@jit_grad
def residual(u, strength):  # type: ignore[no-untyped-def]
    """The equation at each inner point of the square, times the squared grid spacing. ``u`` is zero outside."""
    n = len(u)
    h = 1.0 / (n + 1)
    r = h * h * strength * np.exp(u) - 4.0 * u
    for i in range(n):
        for j in range(n):
            if i > 0:
                r[i, j] += u[i - 1, j]
            if i < n - 1:
                r[i, j] += u[i + 1, j]
            if j > 0:
                r[i, j] += u[i, j - 1]
            if j < n - 1:
                r[i, j] += u[i, j + 1]
    return r


JACOBIAN = adc.sparse_jacobian(residual)


def newton(u: Array, strength: float, report: Callable[[int, float, float], None], steps: int = 20) -> Array:
    """The steady state near ``u``. ``report`` is called for each step, with its number, the residual before it, and its
    length."""
    for step in range(1, steps + 1):
        r = residual(u, strength)
        change = spsolve(JACOBIAN(u, strength).tocsc(), -r.ravel()).reshape(u.shape)
        u = u + change
        length = float(np.max(np.abs(change)))
        report(step, float(np.max(np.abs(r))), length)
        if length < 1e-8:  # the length of the next step would be about the square
            return u
    raise ArithmeticError(f"no steady state in {steps} steps: is the reaction too strong?")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", type=int, default=100, metavar="N", help="points inside, each way (100)")
    parser.add_argument("--strength", type=float, default=6.0, metavar="L", help="of the reaction, up to 6.808 (6)")
    options = parser.parse_args()
    u = np.zeros((options.size, options.size))

    begin = time.perf_counter()
    print("Jacobian:", JACOBIAN.colouring(u, options.strength))
    JACOBIAN(u, options.strength)
    compiled = time.perf_counter()
    JACOBIAN(u, options.strength)
    print(f"the first took {compiled - begin:.2f} s, one more {(time.perf_counter() - compiled) * 1e3:.1f} ms\n")
    print("step   residual     change   change / (change before)²")
    before = float("nan")

    def report(step: int, size: float, change: float) -> None:
        nonlocal before
        print(f"{step:4d}   {size:8.1e}   {change:8.1e}   {change / before**2:8.2f}")
        before = change

    u = newton(u, options.strength, report)
    print(f"\nhottest: {np.max(u):.6f}")


if __name__ == "__main__":
    main()
