"""
Less drag in a lattice-Boltzmann flow
=====================================

A body of given area stands in a channel. Which shape has the least drag? Its outline is a
series of cosines; a solid node takes momentum out of the flow, and the sum of that is the
drag. The gradient is the adjoint of the whole flow, of which ``memory=`` keeps snapshots
instead of all steps.
"""

import numpy as np
from scipy.optimize import minimize

from adc import jit_grad

NX, NY, STEPS, ITERATIONS = 72, 36, 300, 15
RADIUS = 6.0
CX = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
CY = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
WEIGHT = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)


def outline(shape, theta):
    """The logarithm of the radius, up to a constant."""
    total = np.zeros_like(theta)
    for k in range(len(shape)):
        total += shape[k] * np.cos((k + 1) * theta)
    return total


def body(shape, nx, ny):
    """How solid each node is. The area is that of a circle, whatever the shape."""
    around = np.linspace(0.0, 2.0 * np.pi, 64)[:-1]
    scale = RADIUS / np.sqrt(np.mean(np.exp(2.0 * outline(shape, around))))
    x = np.arange(nx)[:, None] - 0.4 * nx
    y = np.arange(ny)[None, :] - 0.5 * (ny - 1)
    edge = scale * np.exp(outline(shape, np.arctan2(y, x))) - np.sqrt(x * x + y * y)
    return 1.0 / (1.0 + np.exp(-2.0 * edge))


@jit_grad(memory="30MB")
def drag(shape, speed, steps, omega, cx, cy, weight, flow):
    """Drag after some steps of D2Q9; ``flow`` gets the velocity. The sides are periodic."""
    nx, ny = flow.shape[1:]
    solid = body(shape, nx, ny)
    f, g = np.zeros((9, nx, ny)), np.zeros((9, nx, ny))
    for k in range(9):
        eu = 3.0 * cx[k] * speed
        f[k] = weight[k] * (1.0 + eu + 0.5 * eu * eu - 1.5 * speed * speed)
    force = 0.0
    for t in range(steps):
        force = 0.0
        for i in range(nx):
            for j in range(ny):
                rho, mx, my = 0.0, 0.0, 0.0
                for k in range(9):
                    rho += f[k, i, j]
                    mx += cx[k] * f[k, i, j]
                    my += cy[k] * f[k, i, j]
                free = 1.0 - solid[i, j]
                force += solid[i, j] * mx
                ux, uy = free * mx / rho, free * my / rho
                if i == 0:
                    rho, ux, uy = 1.0, speed, 0.0
                flow[0, i, j], flow[1, i, j] = ux, uy
                square = 1.5 * (ux * ux + uy * uy)
                for k in range(9):
                    eu = 3.0 * (cx[k] * ux + cy[k] * uy)
                    rest = weight[k] * rho * (1.0 + eu + 0.5 * eu * eu - square)
                    to_i, to_j = (i + cx[k]) % nx, (j + cy[k]) % ny
                    g[k, to_i, to_j] = f[k, i, j] + omega * (rest - f[k, i, j])
        f, g = g, f
    return force


# %%
# The start is a circle.

flow = np.zeros((2, NX, NY))
arguments = 0.06, STEPS, 1.5, CX, CY, WEIGHT, flow
start = np.zeros(6)
result = minimize(
    lambda p: drag.value_and_grad(p, *arguments),
    start, jac=True, method="L-BFGS-B",
    bounds=[(-0.4, 0.4)] * 6, options={"maxiter": ITERATIONS},
)
print(f"{result.nfev} gradients; drag {drag(start, *arguments):.4f} -> {result.fun:.4f}")
print("shape:", np.round(result.x, 3))

import matplotlib.pyplot as plt

figure, axes = plt.subplots(2, 1, figsize=(6, 5.6), layout="constrained")
for axis, shape in zip(axes, [start, result.x], strict=True):
    value = drag(shape, *arguments)
    axis.imshow(np.hypot(*flow).T, cmap="viridis", vmin=0.0, vmax=0.1)
    axis.contourf(jit_grad(body)(shape, NX, NY).T, [0.5, 1.0], colors="black")
    axis.set_title(f"drag {value:.4f}")
    axis.set_xticks([])
    axis.set_yticks([])
