"""
Full-waveform inversion
=======================

Sources on one side of a block of ground send waves, receivers on the other side record
them. From the traces the speed of sound is found at each point: some thousand unknowns. The
gradient of one shot is the adjoint of its whole simulation, and ``memory=`` keeps it small.
"""

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.optimize import minimize

import adc
from adc import jit_grad

N, STEPS, SHOTS, ITERATIONS = 60, 190, 6, 25


# %%
# The acoustic wave equation with explicit steps. ``c2`` is the square of the speed, in
# units of grid spacing and time step; a layer at the rim damps what would be reflected.


def traces(c2, damping, column, steps, recorded):
    """Fill ``recorded`` with what the right-hand side hears of a source on the left."""
    old, now, new = np.zeros_like(c2), np.zeros_like(c2), np.zeros_like(c2)
    for t in range(steps):
        new[1:-1, 1:-1] = damping[1:-1, 1:-1] * (
            2.0 * now[1:-1, 1:-1]
            - damping[1:-1, 1:-1] * old[1:-1, 1:-1]
            + c2[1:-1, 1:-1]
            * (
                now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:]
                - 4.0 * now[1:-1, 1:-1]
            )
        )
        s = (t - 20.0) / 7.0
        new[column, 3] += (1.0 - 2.0 * s * s) * np.exp(-s * s)
        recorded[t] = new[3:-3:2, -4]
        old, now, new = now, new, old


@jit_grad(memory="4MB")
def misfit(c2, damping, column, data):
    recorded = np.zeros_like(data)
    traces(c2, damping, column, len(data), recorded)
    return 0.5 * np.sum((recorded - data) ** 2)


# %%
# The ground: a slow body on the left, a fast one on the right.

y, x = np.mgrid[0:N, 0:N] / (N - 1)
background = np.full((N, N), 0.16)
truth = background - 0.05 * np.exp(-(((x - 0.38) / 0.12) ** 2 + ((y - 0.35) / 0.12) ** 2))
truth += 0.06 * np.exp(-(((x - 0.6) / 0.1) ** 2 + ((y - 0.66) / 0.16) ** 2))
edge = np.minimum(np.minimum(x, 1 - x), np.minimum(y, 1 - y)) * (N - 1)
damping = np.exp(-((np.maximum(0.0, 8.0 - edge) / 8.0) ** 2) * 0.06)
columns = np.linspace(4, N - 5, SHOTS).astype(int)
observe = jit_grad(traces)
data = np.zeros((SHOTS, STEPS, len(range(3, N - 3, 2))))
for k in range(SHOTS):
    observe(truth, damping, columns[k], STEPS, data[k])

print(misfit.grad.forecast(background, damping, columns[0], data[0]))

# %%
# All shots at once: ``vmap`` runs them on threads. The gradient is smoothed, and unknowns
# in the damping layer are left alone.

shots = adc.vmap(misfit.value_and_grad, in_axes=(None, None, 0, 0))
inside = edge > 6
history = []


def objective(p):
    c2 = background + 0.05 * gaussian_filter(np.where(inside, p.reshape(N, N), 0.0), 1.5)
    values, gradients = shots(c2, damping, columns, data)
    history.append(values.sum())
    slope = 0.05 * np.where(inside, gaussian_filter(gradients.sum(axis=0), 1.5), 0.0)
    return values.sum(), slope.ravel()


options = {"maxiter": ITERATIONS}
result = minimize(objective, np.zeros(N * N), jac=True, method="L-BFGS-B", options=options)
found = background + 0.05 * gaussian_filter(np.where(inside, result.x.reshape(N, N), 0.0), 1.5)
first, last = np.std(background - truth), np.std(found - truth)
print(f"misfit {history[0]:.1f} -> {result.fun:.3f}, error of c2 {first:.4f} -> {last:.4f}")

import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 3, figsize=(9, 3.1), layout="constrained")
for axis, image, title in zip(
    axes, [truth, background, found], ["truth", "start", "found"], strict=True
):
    shown = axis.imshow(image, cmap="viridis", vmin=0.1, vmax=0.22)
    axis.set_title(title)
    axis.set_xticks([])
    axis.set_yticks([])
axes[0].plot(np.full(SHOTS, 3), columns, "r*")
axes[0].plot(np.full(data.shape[2], N - 4), np.arange(3, N - 3, 2), "w.", markersize=3)
figure.colorbar(shown, ax=axes, label="speed squared", shrink=0.8)
