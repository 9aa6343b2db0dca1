"""A custom derivative rule: Lambert's W function, computed by iteration and differentiated by a closed form.

    python examples/rule.py

``w = W(x)`` solves ``w exp(w) = x``. It is computed by a loop of Halley steps until nothing changes. Without a rule,
adc would differentiate these steps, which needs a tape and gives the derivative of the iteration. The rule gives the
exact derivative, W' = W / (x (1 + W)). Forward mode, reverse mode and second derivatives all follow from that line.

The example is a diode in series with a resistor: its current is given by W, and the resistor and the saturation current
are fitted to a measured curve by Newton's method, with gradient and Hessian.

Reference: Corless, Gonnet, Hare, Jeffrey and Knuth, On the Lambert W function, Adv. Comput. Math. 5, 1996; Banwell and
Jayakumar, Exact analytical solution for current flow through diode with series resistance, Electron. Lett. 36, 2000.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import adc
from adc import jit_grad

Array = np.ndarray[Any, Any]
THERMAL = 0.02585  # volts at 300 K


def lambert_w(x: float) -> float:
    """The solution of ``w exp(w) = x`` for x > 0."""
    w = math.log(1.0 + x)
    for _ in range(50):
        e = math.exp(w)
        f = w * e - x
        step = f / (e * (w + 1.0) - (w + 2.0) * f / (2.0 * w + 2.0))
        w -= step
        if abs(step) <= 1e-15 * w:
            break
    return w


adc.scalar_rule(lambert_w, lambda x, result: result / (x * (1.0 + result)))


def current(voltage: float, resistance: float, saturation: float) -> float:
    """The current through a diode and a resistor in series, in amperes (arguments in volts, ohms, amperes)."""
    x = saturation * resistance / THERMAL * math.exp((voltage + saturation * resistance) / THERMAL)
    return THERMAL / resistance * lambert_w(x) - saturation


@jit_grad
def misfit(p, voltages, measured):  # type: ignore[no-untyped-def]
    """``p``: logarithms of resistance and saturation current, so that both stay positive."""
    total = 0.0
    for k in range(voltages.shape[0]):
        total += (1e3 * (current(voltages[k], math.exp(p[0]), math.exp(p[1])) - measured[k])) ** 2
    return total


def fitted(voltages: Array, measured: Array, p: Array) -> Array:
    """Newton's method, damped where a full step would not decrease the misfit."""
    gradient, hessian = adc.grad(misfit), adc.hessian(misfit)
    for _ in range(100):
        g, h = gradient(p, voltages, measured), hessian(p, voltages, measured)
        values, vectors = np.linalg.eigh(h)
        step = -vectors @ ((vectors.T @ g) / np.maximum(np.abs(values), 1e-8))
        length = 1.0
        while misfit(p + length * step, voltages, measured) > misfit(p, voltages, measured) and length > 1e-12:
            length *= 0.5
        p = p + length * step
        if np.max(np.abs(length * step)) < 1e-10:
            break
    return p


def main() -> None:
    w = lambert_w(1.0)
    print(f"W(1) = {w:.15f}; W'(1) by the rule {adc.grad(lambert_w)(1.0):.15f}, by hand {w / (1.0 + w):.15f}")
    print(f"W''(1): {adc.hvp(lambert_w, (1.0,), (1.0,)):.12f}, by hand {-(w**2) * (w + 2.0) / (1.0 + w) ** 3:.12f}")
    voltages = np.linspace(0.3, 0.9, 25)
    measured = np.array([current(v, 12.0, 1e-11) for v in voltages])
    p = fitted(voltages, measured, np.log(np.array([20.0, 5e-11])))
    print(f"resistance {math.exp(p[0]):.6f} ohms (12), saturation current {math.exp(p[1]):.6e} A (1e-11)")


if __name__ == "__main__":
    main()
