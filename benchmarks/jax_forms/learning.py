"""Networks, mixtures and chains."""

# mypy: ignore-errors
import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import logsumexp


def convolution_layer(x, weights, bias):
    out = lax.conv_general_dilated(x, weights, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    out = jnp.maximum(out + bias, 0)
    h, w = out.shape[1] // 2 * 2, out.shape[2] // 2 * 2
    return out[:, :h, :w].reshape(x.shape[0], h // 2, 2, w // 2, 2, -1).max(axis=(2, 4))


def hidden_markov(transitions, emissions, start):
    log_T = jnp.log(transitions / transitions.sum(axis=1, keepdims=True))

    def step(alpha, row):
        return logsumexp(alpha[:, None] + log_T, axis=0) + jnp.log(row), None

    alpha = jnp.log(start / start.sum()) + jnp.log(emissions[0])
    alpha, _ = lax.scan(step, alpha, emissions[1:])
    return logsumexp(alpha)


def k_means(points, centres, steps):
    def step(_, state):
        centres, _ = state
        d2 = jnp.sum((points[:, None] - centres[None]) ** 2, axis=2)
        d = jnp.where(d2 > 0, jnp.sqrt(jnp.where(d2 > 0, d2, 1.0)), 0.0)  # the norm's derivative is NaN at zero
        nearest = jnp.argmin(d, axis=1)
        chosen = jax.nn.one_hot(nearest, len(centres), dtype=points.dtype)
        count = chosen.sum(axis=0)[:, None]
        means = chosen.T @ points / jnp.maximum(count, 1)
        return jnp.where(count > 0, means, centres), d.min(axis=1).sum()

    return lax.fori_loop(0, steps, step, (centres, jnp.asarray(0.0)))


def gated_cell(xs, W, U, b, h):
    def step(state, x):
        c, h = state
        i, f, g, o = jnp.split(x @ W + h @ U + b, 4, axis=1)
        c = c * jax.nn.sigmoid(f) + jnp.tanh(g) * jax.nn.sigmoid(i)
        return (c, jnp.tanh(c) * jax.nn.sigmoid(o)), None

    return lax.scan(step, (jnp.zeros_like(h), h), xs)[0][1]


def warping_distance(x, y):
    D = jnp.sum((x[:, None] - y[None, :]) ** 2, axis=2)
    m = D.shape[1]

    def row(above, costs):
        def cell(left, given):
            up, diagonal, cost = given
            a = jnp.array([up, left, diagonal])
            low = a.min()
            here = cost + low - 0.1 * jnp.log(jnp.sum(jnp.exp(-(a - low) / 0.1)))
            return here, here

        _, cells = lax.scan(cell, jnp.asarray(1e8), (above[1:], above[:-1], costs))
        return jnp.append(1e8, cells), None

    first = jnp.full(m + 1, 1e8).at[0].set(0.0)
    return lax.scan(row, first, D)[0][m]
