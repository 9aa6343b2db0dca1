"""
The likelihood of a Kalman filter
=================================

A vehicle moves along a road; its position is measured once a second. How strong are the
random accelerations, and how large is the error of the instrument? The likelihood of the
measurements comes out of a Kalman filter, and its maximum needs the gradient of the whole
filter. The Hessian at the maximum gives error bars.
"""

import numpy as np
from scipy.optimize import minimize

import adc

SECONDS = 300

# %%
# A simulated drive: the state is position and velocity.

F = np.array([[1.0, 1.0], [0.0, 1.0]])
G = np.array([0.5, 1.0])
true_acceleration, true_error = 0.3, 4.0
rng = np.random.default_rng(5)
state, path = np.array([0.0, 10.0]), np.zeros(SECONDS)
for k in range(SECONDS):
    state = F @ state + G * true_acceleration * rng.standard_normal()
    path[k] = state[0]
data = path + true_error * rng.standard_normal(SECONDS)


# %%
# The filter, in the usual matrix form. Its unknowns are logarithms of two deviations.


def filtered(logs, data, estimates):
    """Minus the log-likelihood; writes the estimated positions to ``estimates``."""
    Q = np.exp(2.0 * logs[0]) * np.outer(G, G)
    R = np.exp(2.0 * logs[1])
    x, P = np.array([0.0, 10.0]), 10.0 * np.eye(2)
    total = 0.0
    for k in range(len(data)):
        x, P = F @ x, F @ P @ F.T + Q
        innovation, S = data[k] - x[0], P[0, 0] + R
        total += 0.5 * (np.log(2.0 * np.pi * S) + innovation**2 / S)
        gain = P[:, 0] / S
        x = x + gain * innovation
        P = P - np.outer(gain, P[0])
        estimates[k] = x[0]
    return total


likelihood = adc.jit_grad(filtered)
start = np.log(np.array([1.0, 1.0]))
room = np.zeros(SECONDS)
found = minimize(
    lambda p: likelihood.value_and_grad(p, data, room), start, jac=True, method="BFGS"
)
sigma = np.sqrt(np.diag(np.linalg.inv(adc.hessian(filtered)(found.x, data, room))))
for name, t, x, s in zip(
    ["acceleration", "error"], [true_acceleration, true_error], found.x, sigma, strict=True
):
    print(f"{name:13} true {t:.2f}   found {np.exp(x):.2f}, within a factor {np.exp(s):.2f}")

# %%
# A plain call has the effects of the function: it fills ``room`` with the estimates.

likelihood(found.x, data, room)
before, after = np.std(data - path), np.std(room - path)
print(f"error of the positions: measured {before:.2f}, filtered {after:.2f}")

import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(7, 3.5), layout="constrained")
axis.plot(data - path, ".", color="0.6", markersize=4, label="measured")
axis.plot(room - path, color="tab:blue", label="filtered")
axis.axhline(0.0, color="black", linewidth=0.8)
axis.set_xlabel("second")
axis.set_ylabel("error of the position (m)")
axis.legend()
