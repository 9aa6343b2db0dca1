"""Gradient descent as in GradBench's particle and saddle: the step is halved after each failure, and doubled after ten
successes in a row."""

from __future__ import annotations

import numpy as np


def length(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * x[i]
    return np.sqrt(total)


def argmin(f, gradient, start):
    x = start.copy()
    value, slope = f(x), gradient(x)
    eta, good = 1e-5, 0
    while length(slope) > 1e-5:
        if good == 10:
            eta *= 2.0
            good = 0
        else:
            new = x - eta * slope
            if length(new - x) <= 1e-5:
                break
            found = f(new)
            if found < value:
                x, value, slope = new, found, gradient(new)
                good += 1
            else:
                eta /= 2.0
                good = 0
    return x


def forward(f):
    """The gradient of f in forward mode, one direction at a time."""
    import adc

    def gradient(x):
        out = np.empty(len(x))
        for i in range(len(x)):
            along = np.zeros(len(x))
            along[i] = 1.0
            out[i] = adc.jvp(f, (x,), (along,))[1]
        return out

    return gradient
