"""
Swing up a pendulum
===================

A motor too weak to lift a pendulum can still swing it up. The torque at each of 120 times
is found so that the pendulum stands at the end, with as little effort as possible. The
gradient by all torques is one reverse sweep through the simulation.
"""

import numpy as np
from scipy.optimize import minimize

from adc import jit_grad

TIMES, FINE, H, LIMIT = 120, 5, 0.01, 3.0


def simulate(torques, path):
    """Angle and speed; angle 0 hangs down. Each torque holds for ``FINE`` short steps."""
    angle, speed = 0.0, 0.0
    for k in range(len(torques)):
        for _ in range(FINE):
            speed += H * (LIMIT * np.tanh(torques[k]) - 9.81 * np.sin(angle) - 0.1 * speed)
            angle += H * speed
        path[k, 0], path[k, 1] = angle, speed
    return angle, speed


@jit_grad
def cost(torques, effort):
    path = np.zeros((len(torques), 2))
    angle, speed = simulate(torques, path)
    upright = (1.0 + np.cos(angle)) ** 2 + np.sin(angle) ** 2 + 0.1 * speed**2
    return upright + effort * np.mean(np.tanh(torques) ** 2)


# %%
# The effort counts little at first, and more when the pendulum has learnt to stand.

torques = 0.1 * np.sin(np.linspace(0.0, 20.0, TIMES))
evaluations = 0
for effort in (0.0, 0.01, 0.05):
    result = minimize(
        lambda p: cost.value_and_grad(p, effort), torques, jac=True, method="L-BFGS-B",
        options={"maxiter": 400},
    )
    torques, evaluations = result.x, evaluations + result.nfev
path = np.zeros((TIMES, 2))
angle, speed = jit_grad(simulate)(torques, path)
print(f"{TIMES} torques, {evaluations} gradients")
print(f"at the end: {np.degrees(angle) % 360:.2f} degrees, {speed:.4f} per second")

import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", width_ratios=[2, 1])
time = np.arange(1, TIMES + 1) * FINE * H
left.plot(time, np.degrees(path[:, 0]), label="angle (degrees)")
left.axhline(180, color="0.7", linewidth=0.8)
left.axhline(-180, color="0.7", linewidth=0.8)
left.set_xlabel("second")
left.set_ylabel("degrees")
torque = left.twinx()
torque.step(time, LIMIT * np.tanh(torques), color="tab:red", alpha=0.7, where="pre")
torque.set_ylabel("torque", color="tab:red")
for k in range(0, TIMES, 3):
    shade = 0.9 - 0.9 * k / TIMES
    right.plot([0, np.sin(path[k, 0])], [0, -np.cos(path[k, 0])], color=str(shade), linewidth=1)
right.set_aspect("equal")
right.set_xticks([])
right.set_yticks([])
