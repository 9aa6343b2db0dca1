"""
Three bodies on one path
========================

Three equal masses can chase each other along a figure of eight (Moore, 1993). The initial
velocities that lead there are found from a guess: after a third of the period, each body must
be where the next one was, with its velocity. The gradient goes through all time steps of a
symplectic integrator.
"""

import numpy as np
from scipy.optimize import minimize

from adc import jit_grad

STEPS, ITERATIONS = 600, 200


def accelerations(q):
    a = np.zeros_like(q)
    for i in range(3):
        for j in range(3):
            if i != j:
                d = q[j] - q[i]
                a[i] += d / (d[0] * d[0] + d[1] * d[1]) ** 1.5
    return a


def flow(q, v, duration, steps, path):
    """Leapfrog steps; the places at all times are written to ``path``."""
    h = duration / steps
    a = accelerations(q)
    for t in range(steps):
        v = v + 0.5 * h * a
        q = q + h * v
        a = accelerations(q)
        v = v + 0.5 * h * a
        path[t] = q
    return q, v


@jit_grad
def mismatch(p, steps):
    """How far each of the three is from the place of the next one. ``p``: period, x and velocities."""
    x, y = p[1], p[2]
    q = np.array([[x, y], [-x, -y], [0.0, 0.0]])
    v = np.array([[p[3], p[4]], [p[3], p[4]], [-2.0 * p[3], -2.0 * p[4]]])
    path = np.zeros((steps, 3, 2))
    q1, v1 = flow(q, v, p[0] / 3.0, steps, path)
    total = 0.0
    for i in range(3):
        k = (i + 2) % 3
        total += np.sum((q1[i] - q[k]) ** 2) + np.sum((v1[i] - v[k]) ** 2)
    return total


# %%
# The guess has two correct digits at best.

guess = np.array([6.2, 1.0, -0.25, 0.45, 0.42])
options = {"maxiter": ITERATIONS, "gtol": 1e-9}
result = minimize(
    lambda p: mismatch.value_and_grad(p, STEPS), guess, jac=True, method="BFGS", options=options
)
print(f"mismatch {mismatch(guess, STEPS):.3f} -> {result.fun:.1e}, {result.nfev} gradients")
print("period, place, velocity:", np.round(result.x, 4))

import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
for axis, p, title in zip(axes, [guess, result.x], ["guess", "found"], strict=True):
    q = np.array([[p[1], p[2]], [-p[1], -p[2]], [0.0, 0.0]])
    v = np.array([[p[3], p[4]], [p[3], p[4]], [-2 * p[3], -2 * p[4]]])
    path = np.zeros((6 * STEPS, 3, 2))
    jit_grad(flow)(q, v, 2 * p[0], 6 * STEPS, path)
    for body in range(3):
        axis.plot(path[:, body, 0], path[:, body, 1], linewidth=0.8)
        axis.plot(*q[body], "o", color=f"C{body}")
    axis.set_title(f"{title}, two periods")
    axis.set_aspect("equal")
