"""Statistics, signals, images and sparse data."""

# mypy: ignore-errors
import jax
import jax.numpy as jnp
from jax import lax


def sparse_product(x, columns, rows, values):
    n = len(rows) - 1
    row_of = jnp.repeat(jnp.arange(n), jnp.diff(rows), total_repeat_length=len(values))
    return jax.ops.segment_sum(values * x[columns], row_of, num_segments=n, indices_are_sorted=True)


def weighted_histogram(x, weights):
    bins = jnp.linspace(0, 4, 9)
    counts, _ = jnp.histogram(x, bins=bins)
    sums, _ = jnp.histogram(x, bins=bins, weights=weights)
    return sums / jnp.maximum(counts, 1)


def robust_scale(x, quantile):
    med = jnp.median(x)
    mad = jnp.median(jnp.abs(x - med))
    low, high = jnp.quantile(x, jnp.array([quantile / 2, 1 - quantile / 2]))
    kept = (x >= low) & (x <= high)
    return med, mad, jnp.mean(x, where=kept), jnp.percentile(x, 90)


def moving_averages(prices, window):
    c = jnp.cumsum(jnp.insert(prices, 0, 0.0))
    average = (c[window:] - c[:-window]) / window
    returns = jnp.diff(jnp.log(prices))
    top = lax.cummax(prices)
    return average, returns.std(ddof=1) * jnp.sqrt(252), jnp.max((top - prices) / top)


def deblurring(image, blurred, kernel, steps):
    def step(_, x):
        p = jnp.pad(x, 1)
        b = sum(
            kernel[i, j] * p[i : i + x.shape[0], j : j + x.shape[1]] for i in range(3) for j in range(3)
        )
        tv = jnp.sqrt(jnp.diff(x, axis=0, prepend=0) ** 2 + jnp.diff(x, axis=1, prepend=0) ** 2 + 1e-3)
        return jnp.clip(x - 0.2 * (b - blurred) - 0.01 * tv, 0, 1)

    return lax.fori_loop(0, steps, step, image)


def filters(signal, taps, leak):
    y = jnp.convolve(signal, taps, mode="same")

    def step(state, now):
        state = leak * state + (1 - leak) * now
        return state, state

    _, z = lax.scan(step, 0.0, y)
    frames = z[: z.size // 5 * 5].reshape(-1, 5)
    return jnp.log(jnp.mean(frames**2, axis=1) + 1e-6)


def group_means(x, group):
    count = jnp.bincount(group, length=5)
    total = jnp.bincount(group, weights=x, length=5)
    mean = total / jnp.maximum(count, 1)
    return mean, jnp.sqrt(jnp.bincount(group, weights=(x - mean[group]) ** 2, length=5) + 1e-6)


def masked_statistics(X, valid):
    """The number of valid rows is not known: they stay in place, and the others are zero (so that their squares, which
    the objective sums, are zero, too)."""
    counts = valid[:, None]
    mean = jnp.mean(X, axis=0, where=counts)
    deviation = jnp.std(X, axis=0, where=counts)
    Z = jnp.where(counts, (X - mean) / deviation, 0.0)
    return Z, jnp.where(counts, X, mean)


def spline_energy(y):
    d = 6 * (y[2:] - 2 * y[1:-1] + y[:-2])

    def forward(state, now):
        c, before = state
        m = 4 - c
        state = 1 / m, (now - before) / m
        return state, state

    start = jnp.asarray(0.25), d[0] / 4
    _, (c, e) = lax.scan(forward, start, d[1:])
    c, e = jnp.append(start[0], c), jnp.append(start[1], e)

    def backward(after, given):
        c, now = given
        now = now - c * after
        return now, now

    _, rest = lax.scan(backward, e[-1], (c[:-1], e[:-1]), reverse=True)
    M = jnp.concatenate([jnp.zeros(1), rest, e[-1:], jnp.zeros(1)])
    return M, jnp.trapezoid(M**2)
