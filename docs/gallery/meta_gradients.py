"""
Learn how to learn
==================

Which step sizes make gradient descent fast? Differentiate through it. The function below
runs 12 steps of descent with momentum on a batch of fits, and returns the loss at the end. Its
gradient by the step sizes and the momentum is a gradient through gradients; a few
hundred meta-steps make the same 12 steps several times as effective.
"""

import numpy as np

import adc

STEPS, TASKS, ROUNDS = 12, 16, 150


def loss(w, X, y):
    """A ridge regression with a robust misfit."""
    r = X @ w - y
    return np.mean(np.sqrt(1.0 + r * r) - 1.0) + 1e-3 * np.sum(w * w)


slope = adc.grad(loss)


def trained(logs, X, y, history):
    """The loss after ``STEPS`` steps from zero; ``logs``: step sizes, and one for momentum."""
    w, v = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for k in range(STEPS):
        history[k] = loss(w, X, y)
        v = v / (1.0 + np.exp(-logs[STEPS])) - np.exp(logs[k]) * slope(w, X, y)
        w = w + v
    return loss(w, X, y)


def average(logs, Xs, ys):
    total = 0.0
    for k in range(len(Xs)):
        total += trained(logs, Xs[k], ys[k], np.zeros(STEPS))
    return total / len(Xs)


# %%
# Tasks: random regressions with features of very different scales.


def tasks(rng, count):
    Xs = rng.standard_normal((count, 40, 6)) * np.array([1.0, 0.8, 0.6, 0.4, 0.3, 0.2])
    ws = 2.0 * rng.standard_normal((count, 6))
    ys = np.einsum("kij,kj->ki", Xs, ws) + 0.1 * rng.standard_normal((count, 40))
    return Xs, ys


rng = np.random.default_rng(9)
Xs, ys = tasks(rng, TASKS)
logs = np.append(np.full(STEPS, np.log(0.5)), 0.0)
first_logs = logs.copy()
meta = adc.value_and_grad(average)
m, s = np.zeros_like(logs), np.zeros_like(logs)
for k in range(ROUNDS):  # Adam
    value, g = meta(logs, Xs, ys)
    m, s = 0.9 * m + 0.1 * g, 0.99 * s + 0.01 * g * g
    logs = logs - 0.05 * m / (1 - 0.9 ** (k + 1)) / (np.sqrt(s / (1 - 0.99 ** (k + 1))) + 1e-9)

# %%
# New tasks, which the meta-training has not seen.

test_X, test_y = tasks(np.random.default_rng(10), TASKS)
compiled = adc.jit_grad(average)
before, after = compiled(first_logs, test_X, test_y), compiled(logs, test_X, test_y)
print(f"loss after {STEPS} steps: {before:.4f} with equal steps, {after:.4f} with learnt ones")
print("step sizes:", np.round(np.exp(logs[:-1]), 2))
print(f"momentum: {1 / (1 + np.exp(-logs[-1])):.2f}")

import matplotlib.pyplot as plt

run = adc.jit_grad(trained)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
for p, label in [(first_logs, "equal steps"), (logs, "learnt steps")]:
    curves = np.zeros((TASKS, STEPS + 1))
    for k in range(TASKS):
        curves[k, -1] = run(p, test_X[k], test_y[k], curves[k, :-1])
    left.semilogy(curves.mean(axis=0), label=label)
    right.plot(np.exp(p[:-1]), "o-", label=label)
left.set_xlabel("step")
left.set_ylabel("loss of new tasks")
left.legend()
right.set_xlabel("step")
right.set_ylabel("step size")
