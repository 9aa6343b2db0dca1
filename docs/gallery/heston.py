"""
Calibrate the Heston model
==========================

The Heston model of a share price has five parameters: initial and long-term variance, the
speed of mean reversion, the volatility of the variance, and its correlation with the price.
Prices of options are integrals of a characteristic function, which is complex. The
parameters are found from implied prices by least squares; the Jacobian by all five comes
from forward mode, through complex logarithms, roots and exponentials.
"""

import numpy as np
from scipy.optimize import least_squares

import adc

STRIKES, TIMES, NODES = 9, 5, 200
strikes = np.linspace(80.0, 120.0, STRIKES)
times = np.linspace(0.25, 2.0, TIMES)
SPOT, RATE = 100.0, 0.02


def characteristic(w, t, p):
    """E exp(i w log(S_t / F_t)), in the form that has no jumps (Albrecher et al., 2007)."""
    v0, mean, speed, vol, rho = p
    b = speed - rho * vol * 1j * w
    d = np.sqrt(b * b + vol * vol * (w * w + 1j * w))
    g = (b - d) / (b + d)
    e = np.exp(-d * t)
    a = speed * mean / vol**2 * ((b - d) * t - 2.0 * np.log((1.0 - g * e) / (1.0 - g)))
    return np.exp(a + v0 / vol**2 * (b - d) * (1.0 - e) / (1.0 - g * e))


def prices(p):
    """Call prices for all times and strikes, by the formula of Lewis (2000)."""
    out = np.zeros((len(times), len(strikes)))
    u = (np.arange(NODES) + 0.5) * (60.0 / NODES)
    for i in range(len(times)):
        forward = SPOT * np.exp(RATE * times[i])
        phi = characteristic(u - 0.5j, times[i], p) / (u * u + 0.25)
        for j in range(len(strikes)):
            k = np.log(forward / strikes[j])
            integral = np.sum(np.real(np.exp(1j * u * k) * phi)) * (60.0 / NODES)
            share = np.sqrt(forward * strikes[j]) / np.pi * integral
            out[i, j] = np.exp(-RATE * times[i]) * (forward - share)
    return out


# %%
# A market made with known parameters, with errors of two cents.

truth = np.array([0.05, 0.07, 1.8, 0.6, -0.65])
rng = np.random.default_rng(3)
compiled = adc.jit_grad(prices)
market = compiled(truth) + 0.02 * rng.standard_normal((TIMES, STRIKES))


def residuals(p):
    return np.ravel(prices(p) - market) / 0.02


start = np.array([0.1, 0.1, 1.0, 0.4, -0.2])
bounds = [1e-3, 1e-3, 0.1, 0.05, -0.95], [0.5, 0.5, 10.0, 2.0, 0.95]
jacobian = adc.jacobian(residuals)
compiled_residuals = adc.jit_grad(residuals)
found = least_squares(compiled_residuals, start, jac=jacobian, bounds=bounds, x_scale="jac")
sigma = np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))
names = ["initial", "mean", "speed", "vol of vol", "correlation"]
for name, t, x, s in zip(names, truth, found.x, sigma, strict=True):
    print(f"{name:12} true {t:6.3f}   found {x:6.3f} +- {s:.3f}")
error = np.sqrt(2.0 * found.cost / market.size)
print(f"{found.nfev} evaluations, root mean square error {error:.2f} sigma")

import matplotlib.pyplot as plt

fitted = compiled(found.x)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.3), layout="constrained")
for i, t in enumerate(times):
    left.plot(strikes, market[i], "o", markersize=3, color=f"C{i}")
    left.plot(strikes, fitted[i], color=f"C{i}", label=f"{t:.2f} years")
left.set_xlabel("strike")
left.set_ylabel("price of a call")
left.legend(fontsize=7)
image = right.pcolormesh(strikes, times, fitted - market, cmap="RdBu", vmin=-0.06, vmax=0.06)
figure.colorbar(image, ax=right, label="model - market")
right.set_xlabel("strike")
right.set_ylabel("years")
