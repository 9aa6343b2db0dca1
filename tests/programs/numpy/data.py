"""Statistics, signals, images and sparse data."""

# mypy: ignore-errors
import numpy as np

from tests.programs.numpy.programs import program


@program(
    lambda r, n: (r.random(n), r.integers(0, n, 4 * n), np.arange(0, 4 * n + 1, 4), r.random(4 * n)),
    6,
    20000,
    by=(0, 3),
)
def sparse_product(x, columns, rows, values):
    y = np.empty(len(rows) - 1)
    for i in range(len(rows) - 1):
        cols = columns[rows[i] : rows[i + 1]]
        vals = values[rows[i] : rows[i + 1]]
        y[i] = vals @ x[cols]
    return y


@program(lambda r, n: (r.random(n) * 4, r.random(n)), 20, 200000, by=(1,))
def weighted_histogram(x, weights):
    """Profile of a quantity in bins: means of what falls into each."""
    bins = np.linspace(0, 4, 9)
    counts, _ = np.histogram(x, bins=bins)
    sums, _ = np.histogram(x, bins=bins, weights=weights)
    return sums / np.maximum(counts, 1)


@program(lambda r, n: (r.random(n), 0.3), 12, 100000, by=(0,))
def robust_scale(x, quantile):
    """Median, spread about it, and what is left without the tails."""
    med = np.median(x)
    mad = np.median(np.abs(x - med))
    low, high = np.quantile(x, [quantile / 2, 1 - quantile / 2])
    kept = x[(x >= low) & (x <= high)]
    return med, mad, kept.mean(), np.percentile(x, 90)


@program(lambda r, n: (r.random(n).cumsum(), 4), 15, 50000, by=(0,))
def moving_averages(prices, window):
    """Averages by cumulative sums, returns, drawdown and volatility."""
    c = np.cumsum(np.insert(prices, 0, 0.0))
    average = (c[window:] - c[:-window]) / window
    returns = np.diff(np.log(prices))
    top = np.maximum.accumulate(prices)
    return average, returns.std(ddof=1) * np.sqrt(252), np.max((top - prices) / top)


@program(lambda r, n: (r.random((n, n)), 1.5), 9, 200, by=(0, 1))
def gaussian_blur(image, sigma):
    """Separable: rows, then columns, borders repeated."""
    x = np.arange(-3, 4)
    kernel = np.exp(-0.5 * (x / sigma) ** 2)
    kernel /= kernel.sum()
    padded = np.pad(image, 3, mode="edge")
    rows = sum(k * padded[:, i : i + image.shape[1]] for i, k in enumerate(kernel))
    return sum(k * rows[i : i + image.shape[0], :] for i, k in enumerate(kernel))


@program(lambda r, n: (r.random((n, n)), r.random((n, n)), np.full((3, 3), 1 / 9), 3), 8, 150, by=(0, 1))
def deblurring(image, blurred, kernel, steps):
    """Gradient steps on a misfit with total variation, written out."""
    x = image.copy()
    for _ in range(steps):
        p = np.pad(x, 1)
        b = np.zeros_like(x)
        for i in range(3):
            for j in range(3):
                b += kernel[i, j] * p[i : i + x.shape[0], j : j + x.shape[1]]
        tv = np.sqrt(np.diff(x, axis=0, prepend=0) ** 2 + np.diff(x, axis=1, prepend=0) ** 2 + 1e-3)
        x = np.clip(x - 0.2 * (b - blurred) - 0.01 * tv, 0, 1)
    return x


@program(lambda r, n: (r.random(n), np.array([0.2, 0.5, 0.3]), 0.4), 15, 20000, by=(0, 1, 2))
def filters(signal, taps, leak):
    """A convolution, then a recursive filter, then the energy of frames."""
    y = np.convolve(signal, taps, mode="same")
    z = np.zeros_like(y)
    state = 0.0
    for k in range(y.size):
        state = leak * state + (1 - leak) * y[k]
        z[k] = state
    frames = z[: z.size // 5 * 5].reshape(-1, 5)
    return np.log(np.mean(frames**2, axis=1) + 1e-6)


@program(lambda r, n: (r.random(n), np.linspace(0, 1, 6), r.random(6)), 9, 50000, by=(1, 2), smooth=False)
def interpolated_table(x, knots, values):
    """A table read by interpolation, and by searching."""
    k = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
    t = (x - knots[k]) / (knots[k + 1] - knots[k])
    return np.interp(x, knots, values), values[k] * (1 - t) + values[k + 1] * t


@program(lambda r, n: (r.random(n), r.integers(0, 5, n)), 12, 100000)
def group_means(x, group):
    count = np.bincount(group, minlength=5)
    total = np.bincount(group, weights=x, minlength=5)
    mean = total / np.maximum(count, 1)
    return mean, np.sqrt(np.bincount(group, weights=(x - mean[group]) ** 2, minlength=5) + 1e-6)


@program(lambda r, n: (r.random(n), r.random(n)), 11, 50000)
def rank_loss(scores, relevance):
    """Discounted gain of a ranking by scores, over the best there is."""
    order = np.argsort(-relevance)
    discount = 1 / np.log2(np.arange(2, len(scores) + 2))
    top = np.sort(scores)[::-1]
    return np.sum(scores[order] * discount) / np.sum(top * discount)


@program(lambda r, n: (r.random((n, 5)), r.random(n) < 0.7), 9, 50000)
def masked_statistics(X, valid):
    """Rows that count, standardised; missing values filled with means."""
    V = X[valid]
    mean = V.mean(axis=0)
    Z = (X - mean) / V.std(axis=0)
    Z[~valid] = 0.0
    return Z, np.where(valid[:, None], X, mean)


@program(
    lambda r, n: (r.random((n, n)), np.array([1.0, 0.05, -0.02, 0.98]), np.array([0.317, 0.413])),
    8,
    150,
    by=(0, 1, 2),
    smooth=False,
)
def image_warp(image, matrix, shift):
    """An affine warp by bilinear interpolation with index arrays, and its misfit."""
    n, m = image.shape
    i, j = np.indices(image.shape)
    x = matrix[0] * i + matrix[1] * j + shift[0]
    y = matrix[2] * i + matrix[3] * j + shift[1]
    x0 = np.clip(np.floor(x).astype(int), 0, n - 2)
    y0 = np.clip(np.floor(y).astype(int), 0, m - 2)
    a, b = x - x0, y - y0
    warped = (
        image[x0, y0] * (1 - a) * (1 - b)
        + image[x0 + 1, y0] * a * (1 - b)
        + image[x0, y0 + 1] * (1 - a) * b
        + image[x0 + 1, y0 + 1] * a * b
    )
    return np.mean((warped - image) ** 2)


@program(lambda r, n: (r.random((n, 2)), r.random(2)), 7, 20000)
def polynomial_surface(points, at):
    x, y = points.T
    A = np.stack([np.ones_like(x), x, y, x * y, x**2, y**2], axis=1)
    z = np.sin(x) + y
    coefficients = np.linalg.lstsq(A, z, rcond=None)[0]
    return coefficients @ np.array([1.0, at[0], at[1], at[0] * at[1], at[0] ** 2, at[1] ** 2])


@program(lambda r, n: (r.normal(size=(n, 4)), 0.5), 6, 20000, by=(0, 1))
def angles_between(v, weight):
    """Norms, cosines and Gram matrices of neighbours by einsum."""
    w = np.roll(v, -1, axis=0)
    dots = np.einsum("ij,ij->i", v, w)
    cos = dots / (np.linalg.norm(v, axis=1) * np.linalg.norm(w, axis=1))
    gram = np.einsum("ki,kj->ij", v, w)
    return np.arccos(np.clip(cos * weight, -1, 1)), np.trace(gram), np.tensordot(gram, gram, axes=2)


@program(lambda r, n: (r.random(n),), 9, 100000)
def spline_energy(y):
    """Second derivatives of a natural spline from its tridiagonal system."""
    n = len(y)
    d = 6 * (y[2:] - 2 * y[1:-1] + y[:-2])
    c = np.zeros(n - 2)
    c[0] = 0.25
    d[0] /= 4
    for k in range(1, n - 2):
        m = 4 - c[k - 1]
        c[k] = 1 / m
        d[k] = (d[k] - d[k - 1]) / m
    for k in range(n - 4, -1, -1):
        d[k] -= c[k] * d[k + 1]
    M = np.concatenate(([0.0], d, [0.0]))
    return M, np.trapezoid(M**2)
