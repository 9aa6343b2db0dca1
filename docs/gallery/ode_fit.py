"""
Fit an ODE by least squares
===========================

Hares and lynxes: the Lotka-Volterra equations have four rates and two initial values. All
six are found from noisy counts with a Gauss-Newton method. The Jacobian of the residuals
comes from forward mode.
"""

import numpy as np
from scipy.optimize import least_squares

import adc

YEARS, EVERY, H = 20, 50, 0.02


def rate(hares, lynxes, p):
    return p[0] * hares - p[1] * hares * lynxes, p[3] * hares * lynxes - p[2] * lynxes


def counts(p):
    """Both populations once a year, by the midpoint rule."""
    out = np.zeros((YEARS, 2))
    x, y = p[4], p[5]
    for k in range(YEARS):
        for _ in range(EVERY):
            dx, dy = rate(x, y, p)
            dx, dy = rate(x + 0.5 * H * dx, y + 0.5 * H * dy, p)
            x, y = x + H * dx, y + H * dy
        out[k, 0], out[k, 1] = x, y
    return out


# %%
# The measurements have an error of five percent.

truth = np.array([0.55, 0.028, 0.84, 0.026, 30.0, 4.0])
rng = np.random.default_rng(1)
data = adc.jit_grad(counts)(truth) * (1.0 + 0.05 * rng.standard_normal((YEARS, 2)))


def residuals(p):
    return np.ravel((counts(p) - data) / data)


# %%
# There are 40 residuals and 6 unknowns, so forward mode takes 6 runs. ``least_squares``
# needs nothing but the two functions.

start = np.array([0.5, 0.025, 0.8, 0.025, 27.0, 5.0])
jacobian = adc.jacobian(residuals)
found = least_squares(adc.jit_grad(residuals), start, jac=jacobian, x_scale=start)
sigma = np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac))) * 0.05
names = ["birth", "hunt", "death", "feed", "hares", "lynxes"]
for name, t, x, s in zip(names, truth, found.x, sigma, strict=True):
    print(f"{name:7} true {t:7.3f}   found {x:7.3f} +- {s:.3f}")

# %%
# The pictures: counts and fitted populations.

import matplotlib.pyplot as plt

fitted = adc.jit_grad(counts)(found.x)
years = np.arange(1, YEARS + 1)
figure, axis = plt.subplots(figsize=(7, 3.5), layout="constrained")
for column, (name, colour) in enumerate([("hares", "tab:olive"), ("lynxes", "tab:brown")]):
    axis.plot(years, data[:, column], "o", color=colour)
    axis.plot(years, fitted[:, column], color=colour, label=name)
axis.set_xlabel("year")
axis.set_ylabel("thousands")
axis.legend()
