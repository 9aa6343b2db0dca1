"""The LSTM of ADBench, in explicit loops: the loss of predicting a sequence, with respect to weights and extras."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from benchmarks.suite import native, peers
from benchmarks.suite.problem import Args, Cost, Problem, Runner, Work


def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


def loss(weights, extra, state, sequence):
    """``weights`` (2 layers, 4 d): weights and biases of each layer; ``extra`` (3, d); ``state`` (2 layers, d)."""
    layers = weights.shape[0] // 2
    length, d = sequence.shape
    state = state.copy()
    x = np.empty(d)
    total = 0.0
    for t in range(length - 1):
        for i in range(d):
            x[i] = sequence[t, i] * extra[0, i]
        for l in range(layers):
            for i in range(d):
                w, b = weights[2 * l], weights[2 * l + 1]
                hidden, cell = state[2 * l, i], state[2 * l + 1, i]
                forget = sigmoid(x[i] * w[i] + b[i])
                ingate = sigmoid(hidden * w[d + i] + b[d + i])
                outgate = sigmoid(x[i] * w[2 * d + i] + b[2 * d + i])
                change = math.tanh(hidden * w[3 * d + i] + b[3 * d + i])
                cell = cell * forget + ingate * change
                hidden = outgate * math.tanh(cell)
                state[2 * l, i] = hidden
                state[2 * l + 1, i] = cell
                x[i] = hidden
        exponentials = 2.0
        for i in range(d):
            x[i] = x[i] * extra[1, i] + extra[2, i]
            exponentials += math.exp(x[i])
        normal = math.log(exponentials)
        for i in range(d):
            total += sequence[t + 1, i] * (x[i] - normal)
    return -total / ((length - 1) * d)


def data(rng: np.random.Generator, layers: int, d: int, length: int) -> Args:
    weights, extra, state = (rng.standard_normal(s) for s in ((2 * layers, 4 * d), (3, d), (2 * layers, d)))
    return weights, extra, state, rng.random((length, d))


def gates(xp: Any, sigmoid: Any, d: int, w: Any, b: Any, x: Any, hidden: Any, cell: Any) -> tuple[Any, Any]:
    """A layer, on whole arrays: hidden and cell values after it."""
    forget, ingate = sigmoid(x * w[:d] + b[:d]), sigmoid(hidden * w[d : 2 * d] + b[d : 2 * d])
    outgate = sigmoid(x * w[2 * d : 3 * d] + b[2 * d : 3 * d])
    change = xp.tanh(hidden * w[3 * d :] + b[3 * d :])
    cell = cell * forget + ingate * change
    return outgate * xp.tanh(cell), cell


def by_numpy(args: Args, threads: int) -> Runner:
    """The primal alone."""
    weights, extra, state, sequence = args
    layers, (length, d) = len(weights) // 2, sequence.shape

    def primal() -> Any:
        hidden, cell = [state[2 * l] for l in range(layers)], [state[2 * l + 1] for l in range(layers)]
        total = 0.0
        for t in range(length - 1):
            x = sequence[t] * extra[0]
            for l in range(layers):
                w, b = weights[2 * l], weights[2 * l + 1]
                x, cell[l] = gates(np, lambda v: 1.0 / (1.0 + np.exp(-v)), d, w, b, x, hidden[l], cell[l])
                hidden[l] = x
            x = x * extra[1] + extra[2]
            total += np.sum(sequence[t + 1] * (x - np.log(2.0 + np.sum(np.exp(x)))))
        return -total / ((length - 1) * d)

    return Runner(primal)


def by_numba(args: Args, threads: int) -> Runner:
    from numba import njit

    inner: Any = njit(fastmath=True)(sigmoid)

    @njit(fastmath=True)
    def primal(weights, extra, state, sequence):
        layers = weights.shape[0] // 2
        length, d = sequence.shape
        state, x, total = state.copy(), np.empty(d), 0.0
        for t in range(length - 1):
            for i in range(d):
                x[i] = sequence[t, i] * extra[0, i]
            for l in range(layers):
                w, b = weights[2 * l], weights[2 * l + 1]
                for i in range(d):
                    hidden, cell = state[2 * l, i], state[2 * l + 1, i]
                    forget = inner(x[i] * w[i] + b[i])
                    ingate = inner(hidden * w[d + i] + b[d + i])
                    outgate = inner(x[i] * w[2 * d + i] + b[2 * d + i])
                    cell = cell * forget + ingate * math.tanh(hidden * w[3 * d + i] + b[3 * d + i])
                    state[2 * l, i] = outgate * math.tanh(cell)
                    state[2 * l + 1, i] = cell
                    x[i] = state[2 * l, i]
            exponentials = 2.0
            for i in range(d):
                x[i] = x[i] * extra[1, i] + extra[2, i]
                exponentials += math.exp(x[i])
            normal = math.log(exponentials)
            for i in range(d):
                total += sequence[t + 1, i] * (x[i] - normal)
        return -total / ((length - 1) * d)

    return peers.numba_runner(primal, None, args, threads)


def by_c(args: Args, threads: int) -> Runner:
    bars = (np.empty_like(args[0]), np.empty_like(args[1]))
    sizes = (len(args[0]) // 2, args[1].shape[1], len(args[3]))
    primal = native.bound("lstm", "primal", threads, *args, *sizes)
    gradient = native.bound("lstm", "gradient", threads, *args, *bars, *sizes)
    return Runner(primal, lambda: (gradient(), bars))


def in_jax(jax):
    jnp = jax.numpy

    def loss(weights, extra, state, sequence):
        layers, (length, d) = weights.shape[0] // 2, sequence.shape

        def step(state, given):
            now, later = given
            x, rows = now * extra[0], []
            for l in range(layers):
                w, b = weights[2 * l], weights[2 * l + 1]
                x, cell = gates(jnp, jax.nn.sigmoid, d, w, b, x, state[2 * l], state[2 * l + 1])
                rows += [x, cell]
            x = x * extra[1] + extra[2]
            return jnp.stack(rows), jnp.sum(later * (x - jnp.log(2.0 + jnp.sum(jnp.exp(x)))))

        _, terms = jax.lax.scan(step, state, (sequence[:-1], sequence[1:]))
        return -jnp.sum(terms) / ((length - 1) * d)

    return loss


def in_torch(torch):
    def loss(weights, extra, state, sequence):
        layers, (length, d) = weights.shape[0] // 2, sequence.shape
        hidden, cell = [state[2 * l] for l in range(layers)], [state[2 * l + 1] for l in range(layers)]
        total = 0.0
        for t in range(length - 1):
            x = sequence[t] * extra[0]
            for l in range(layers):
                w, b = weights[2 * l], weights[2 * l + 1]
                x, cell[l] = gates(torch, torch.sigmoid, d, w, b, x, hidden[l], cell[l])
                hidden[l] = x
            x = x * extra[1] + extra[2]
            total = total + torch.sum(sequence[t + 1] * (x - torch.log(2.0 + torch.sum(torch.exp(x)))))
        return -total / ((length - 1) * d)

    return loss


def work(args: Args) -> Work:
    layers, (length, d) = len(args[0]) // 2, args[3].shape
    cells, outputs = layers * d * (length - 1), d * (length - 1)
    # A hyperbolic tangent costs about two sines. Eight numbers of each cell are stored and read again.
    primal = Cost(8 * 11 * cells, 20 * cells, 7 * cells + outputs)
    gradient = Cost(8 * 35 * cells, 70 * cells, 7 * cells + 2 * outputs)
    return Work(primal, gradient, 8 * 8 * cells)


PROBLEMS = (
    Problem(
        "lstm",
        "LSTM, 2 layers of 256, 200 steps",
        loss,
        (0, 1),
        data,
        {"layers": 2, "d": 256, "length": 200},
        {"layers": 2, "d": 9, "length": 7},
        work,
        {
            "NumPy": by_numpy,
            "Numba": by_numba,
            "C": by_c,
            "JAX": partial(peers.by_jax, in_jax, (0, 1)),
            "PyTorch": partial(peers.by_torch, in_torch, (0, 1)),
        },
        scales=False,  # a step is too short for several threads
    ),
)
