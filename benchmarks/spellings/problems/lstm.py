"""A long short-term memory over a sequence."""

from __future__ import annotations

import math

import numpy as np

ACTIVE = 0, 1, 2


def arguments():
    rng = np.random.default_rng(7)
    h, steps = 24, 40
    return (
        0.3 * rng.standard_normal((4 * h, h)), 0.3 * rng.standard_normal((4 * h, h)),
        0.1 * rng.standard_normal(4 * h), rng.standard_normal((steps, h)),
    )


def loops(w, r, b, inputs):
    steps, n = inputs.shape
    h = np.zeros(n)
    c = np.zeros(n)
    z = np.zeros(4 * n)
    for t in range(steps):
        for i in range(4 * n):
            s = b[i]
            for j in range(n):
                s += w[i, j] * inputs[t, j] + r[i, j] * h[j]
            z[i] = s
        for i in range(n):
            forget = 1.0 / (1.0 + math.exp(-z[i]))
            take = 1.0 / (1.0 + math.exp(-z[n + i]))
            show = 1.0 / (1.0 + math.exp(-z[2 * n + i]))
            c[i] = forget * c[i] + take * math.tanh(z[3 * n + i])
            h[i] = show * math.tanh(c[i])
    return np.sum(h * h)


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def products(w, r, b, inputs):
    n = inputs.shape[1]
    h, c = np.zeros(n), np.zeros(n)
    for x in inputs:
        z = w @ x + r @ h + b
        c = sigmoid(z[:n]) * c + sigmoid(z[n : 2 * n]) * np.tanh(z[3 * n :])
        h = sigmoid(z[2 * n : 3 * n]) * np.tanh(c)
    return np.sum(h**2)


def split(w, r, b, inputs):
    h = np.zeros(inputs.shape[1])
    c = np.zeros(inputs.shape[1])
    for t in range(len(inputs)):
        forget, take, show, new = np.split(w @ inputs[t] + r @ h + b, 4)
        c = sigmoid(forget) * c + sigmoid(take) * np.tanh(new)
        h = sigmoid(show) * np.tanh(c)
    return np.dot(h, h)


def inputs_first(w, r, b, inputs):
    n = inputs.shape[1]
    given = inputs @ w.T + b
    h, c = np.zeros(n), np.zeros(n)
    for t in range(len(inputs)):
        z = (given[t] + r @ h).reshape(4, n)
        gates = 1.0 / (1.0 + np.exp(-z[:3]))
        c = gates[0] * c + gates[1] * np.tanh(z[3])
        h = gates[2] * np.tanh(c)
    return np.sum(h * h)


def cell(w, r, b, x, h, c):
    n = len(h)
    z = np.dot(w, x) + np.dot(r, h) + b
    c = sigmoid(z[0:n]) * c + sigmoid(z[n : 2 * n]) * np.tanh(z[3 * n : 4 * n])
    return sigmoid(z[2 * n : 3 * n]) * np.tanh(c), c


def functions(w, r, b, inputs):
    h, c = np.zeros(inputs.shape[1]), np.zeros(inputs.shape[1])
    for t in range(inputs.shape[0]):
        h, c = cell(w, r, b, inputs[t], h, c)
    return np.sum(h * h)


def in_place(w, r, b, inputs):
    n = inputs.shape[1]
    h, c, z = np.zeros(n), np.zeros(n), np.zeros(4 * n)
    for t in range(len(inputs)):
        z[:] = b
        z += w.dot(inputs[t])
        z += r.dot(h)
        for i in range(n):
            c[i] *= 1.0 / (1.0 + math.exp(-z[i]))
            c[i] += math.tanh(z[3 * n + i]) / (1.0 + math.exp(-z[n + i]))
            h[i] = math.tanh(c[i]) / (1.0 + math.exp(-z[2 * n + i]))
    return np.sum(h * h)


SPELLINGS = loops, products, split, inputs_first, functions, in_place
