"""LSTM with diagonal weights: the mean negative log-likelihood of a sequence.

``main``: for each layer a row of weights and a row of biases, each for the four gates in order; ``extra``: input
weights, output weights and biases; ``state``: for each layer a row of hidden values and a row of cells.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import adc
from benchmarks.gradbench import native
from benchmarks.gradbench.program import Array, Call, Input, Program


def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


def log_sum_exp(x):
    total = 0.0
    for i in range(len(x)):
        total += math.exp(x[i])
    return math.log(total + 2.0)


def layer(weight, bias, hidden, cell, inputs):
    b = len(hidden)
    for i in range(b):
        forget = sigmoid(inputs[i] * weight[i] + bias[i])
        ingate = sigmoid(hidden[i] * weight[b + i] + bias[b + i])
        outgate = sigmoid(inputs[i] * weight[2 * b + i] + bias[2 * b + i])
        change = math.tanh(hidden[i] * weight[3 * b + i] + bias[3 * b + i])
        cell[i] = cell[i] * forget + ingate * change
        hidden[i] = outgate * math.tanh(cell[i])


def predict(main, extra, state, inputs, output):
    layers, b = len(main) // 2, len(inputs)
    for i in range(b):
        output[i] = inputs[i] * extra[0, i]
    layer(main[0], main[1], state[0], state[1], output)
    for k in range(1, layers):
        layer(main[2 * k], main[2 * k + 1], state[2 * k], state[2 * k + 1], state[2 * k - 2])
    for i in range(b):
        output[i] = state[2 * layers - 2, i] * extra[1, i] + extra[2, i]


def objective(main, extra, start, sequence):
    c, b = sequence.shape
    state = start.copy()
    output = np.empty(b)
    total = 0.0
    for t in range(c - 1):
        predict(main, extra, state, sequence[t], output)
        norm = log_sum_exp(output)
        for i in range(b):
            total += sequence[t + 1, i] * (output[i] - norm)
    return -total / ((c - 1) * b)


compiled = adc.jit_grad(argnums=(0, 1), threads=1)(objective)


def given(rng: np.random.Generator, layers: int, c: int, b: int) -> Input:
    return {
        "main_params": rng.standard_normal((2 * layers, 4 * b)), "extra_params": rng.standard_normal((3, b)),
        "state": rng.standard_normal((2 * layers, b)), "sequence": rng.integers(0, 2, (c, b)).astype(float),
    }  # fmt: skip


def arguments(given: Input) -> list[Array]:
    return [np.asarray(given[name], float) for name in ("main_params", "extra_params", "state", "sequence")]


def by_adc(given: Input) -> dict[str, Call]:
    args = arguments(given)
    return {"objective": lambda: compiled(*args), "jacobian": lambda: compiled.grad(*args)}


def by_c(given: Input) -> dict[str, Call]:
    args = arguments(given)
    (c, b), layers = args[3].shape, len(args[0]) // 2
    bars = tuple(np.empty_like(a) for a in args[:2])
    tape = np.empty(c * b * (8 * layers + 1))
    value = native.bound("lstm", "value", *args, tape, layers, c, b)
    gradient = native.bound("lstm", "gradient", *args, *bars, tape, layers, c, b)
    return {"objective": value, "jacobian": lambda: (gradient(), bars)[1]}


def by_jax(jax: Any, given: Input) -> dict[str, Call]:
    jnp = jax.numpy
    main, extra, state, sequence = (jnp.asarray(a) for a in arguments(given))
    layers, (c, b) = len(main) // 2, sequence.shape

    def objective(main, extra):
        weights = main.reshape(layers, 2, 4, b)

        def step(state, given):
            x, wanted = given
            carried = []
            x = x * extra[0]
            for k in range(layers):
                (w, bias), (hidden, cell) = weights[k], state[k]
                forget, outgate = (jax.nn.sigmoid(x * w[g] + bias[g]) for g in (0, 2))
                ingate, change = jax.nn.sigmoid(hidden * w[1] + bias[1]), jnp.tanh(hidden * w[3] + bias[3])
                cell = cell * forget + ingate * change
                x = outgate * jnp.tanh(cell)
                carried.append(jnp.stack([x, cell]))
            y = x * extra[1] + extra[2]
            return jnp.stack(carried), jnp.sum(wanted * (y - jnp.log(jnp.sum(jnp.exp(y)) + 2.0)))

        return -jax.lax.scan(step, state.reshape(layers, 2, b), (sequence[:-1], sequence[1:]))[1].sum() / ((c - 1) * b)

    gradient = jax.jit(jax.grad(objective, (0, 1)))
    return {"jacobian": lambda: jax.block_until_ready(gradient(main, extra))}


def answer(given: Input, function: str, result: Any) -> Any:
    return result if function == "objective" else np.concatenate([part.ravel() for part in result])


PROGRAM = Program(
    "lstm", "jacobian", "objective", given, {"layers": 2, "c": 1024, "b": 14}, {"layers": 2, "c": 5, "b": 3}, by_adc,
    by_c, by_jax, answer=answer,
)  # fmt: skip
