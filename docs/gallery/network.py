"""
A network and hand-written SGD
==============================

Two interleaved spirals, a network with two hidden layers, and stochastic gradient descent
with momentum. The parameters are a tuple of arrays, and so is their gradient. The whole
training, gradients included, is one compiled function.
"""

import numpy as np

import adc
from adc import jit_grad

POINTS, WIDTH, EPOCHS, BATCH = 300, 24, 400, 30


def scores(net, x):
    w1, b1, w2, b2, w3 = net
    h = np.tanh(x @ w1 + b1)
    h = np.tanh(h @ w2 + b2)
    return h @ w3


def loss(net, x, y):
    """Logistic loss, for labels of 1 and -1."""
    return np.mean(np.logaddexp(0.0, -y * scores(net, x)))


@jit_grad
def train(net, speed, x, y, order, batch, rate, losses):
    """Train ``net`` in place; ``speed`` is the momentum, ``order`` the points of each epoch."""
    for epoch in range(len(order)):
        for first in range(0, len(x), batch):
            chosen = order[epoch, first : first + batch]
            value, slope = adc.value_and_grad(loss)(net, x[chosen], y[chosen])
            losses[epoch] += value * batch / len(x)
            for w, v, g in zip(net, speed, slope):
                v *= 0.9
                v -= rate * g
                w += v


# %%
# The spirals.

rng = np.random.default_rng(8)
turn = np.sqrt(rng.random(POINTS)) * 3.0 * np.pi
y = np.where(np.arange(POINTS) % 2 == 0, 1.0, -1.0)
x = (y * turn * np.array([np.cos(turn), np.sin(turn)]) / 10.0).T
x += 0.02 * rng.standard_normal((POINTS, 2))

net = (
    2.0 * rng.standard_normal((2, WIDTH)),
    rng.standard_normal(WIDTH),
    rng.standard_normal((WIDTH, WIDTH)) / np.sqrt(WIDTH),
    np.zeros(WIDTH),
    rng.standard_normal(WIDTH) / np.sqrt(WIDTH),
)
speed = tuple(np.zeros_like(w) for w in net)
order = np.array([rng.permutation(POINTS) for _ in range(EPOCHS)])
losses = np.zeros(EPOCHS)
train(net, speed, x, y, order, BATCH, 0.05, losses)
right = np.mean(np.sign(jit_grad(scores)(net, x)) == y)
print(f"loss {losses[0]:.3f} -> {losses[-1]:.4f}, {right:.1%} of the points are classified")

import matplotlib.pyplot as plt

grid = np.linspace(-1.1, 1.1, 120)
X, Y = np.meshgrid(grid, grid)
image = jit_grad(scores)(net, np.column_stack([X.ravel(), Y.ravel()])).reshape(X.shape)
figure, (left, middle) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
left.contourf(X, Y, np.clip(image, -6, 6), 20, cmap="coolwarm", alpha=0.7)
left.scatter(x[:, 0], x[:, 1], c=y, cmap="coolwarm", s=9, edgecolors="k", linewidths=0.3)
left.set_aspect("equal")
middle.semilogy(losses)
middle.set_xlabel("epoch")
middle.set_ylabel("loss")
