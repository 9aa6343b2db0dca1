"""
Find what conducts heat
=======================

A cold plate is heated from its rim, and thermometers at some points record the
temperature. From these few curves the conductivity of every point of the plate is found,
with a penalty on differences of neighbours. The arrays are updated in place, and two
buffers are swapped in each step.
"""

import numpy as np
from scipy.optimize import minimize

from adc import jit_grad

N, STEPS, EVERY, ITERATIONS = 30, 500, 20, 60


def heated(k, sensors, steps, every, out):
    """Explicit steps for du/dt = div(k grad u) in a plate whose rim is kept at 1."""
    across = 0.5 * (k[1:, 1:-1] + k[:-1, 1:-1])  # between neighbouring points
    along = 0.5 * (k[1:-1, 1:] + k[1:-1, :-1])
    u, v = np.ones_like(k), np.ones_like(k)
    u[1:-1, 1:-1] = 0.0
    for t in range(steps):
        down = across * (u[1:, 1:-1] - u[:-1, 1:-1])
        right = along * (u[1:-1, 1:] - u[1:-1, :-1])
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + down[1:] - down[:-1] + right[:, 1:] - right[:, :-1]
        u, v = v, u
        if t % every == every - 1:
            for m in range(len(sensors)):
                out[t // every, m] = u[sensors[m, 0], sensors[m, 1]]


@jit_grad
def misfit(logk, sensors, data, steps, every, smooth):
    out = np.zeros_like(data)
    k = np.exp(logk)
    heated(k, sensors, steps, every, out)
    rough = np.sum(np.diff(logk, axis=0) ** 2) + np.sum(np.diff(logk, axis=1) ** 2)
    return 0.5 * np.sum((out - data) ** 2) / 0.002**2 + 0.5 * smooth * rough


# %%
# The truth: a good conductor crosses the plate, and there is a bad one in a corner.

y, x = np.mgrid[0:N, 0:N] / (N - 1)
truth = np.full((N, N), np.log(0.08))
truth += 0.9 * np.exp(-(((y - 0.3 - 0.3 * x) / 0.12) ** 2))
truth -= 1.2 * np.exp(-(((x - 0.7) / 0.15) ** 2 + ((y - 0.2) / 0.13) ** 2))
places = np.linspace(1, N - 2, 7).astype(int)
sensors = np.array([(i, j) for i in places for j in places])
data = np.zeros((STEPS // EVERY, len(sensors)))
jit_grad(heated)(np.exp(truth), sensors, STEPS, EVERY, data)
data += 0.002 * np.random.default_rng(4).standard_normal(data.shape)


def objective(p):
    value, slope = misfit.value_and_grad(p.reshape(N, N), sensors, data, STEPS, EVERY, 3.0)
    return value, slope.ravel()


options = {"maxiter": ITERATIONS}
start = np.full(N * N, np.log(0.08))
result = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
found = result.x.reshape(N, N)
first, last = np.std(start.reshape(N, N) - truth), np.std(found - truth)
print(f"{N * N} unknowns, {result.nfev} gradients")
print(f"misfit {objective(start)[0]:.0f} -> {result.fun:.0f}")
print(f"error of log k {first:.3f} -> {last:.3f}")

import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 3, figsize=(9, 3.0), layout="constrained")
for axis, image, title in zip(axes, [truth, start.reshape(N, N), found], ["truth", "start", "found"]):
    shown = axis.imshow(image, cmap="coolwarm", vmin=-4.0, vmax=-1.4)
    axis.plot(sensors[:, 1], sensors[:, 0], "k.", markersize=2)
    axis.set_title(title)
    axis.set_xticks([])
    axis.set_yticks([])
figure.colorbar(shown, ax=axes, label="log k", shrink=0.8)
