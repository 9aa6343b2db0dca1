"""Networks, losses, mixtures and chains."""

# mypy: ignore-errors
import numpy as np

from tests.programs.numpy.programs import program


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def relu(x):
    return np.maximum(x, 0)


def layers(r, n):
    return (
        r.normal(size=(n, 10)),
        r.normal(size=(10, 16)) / 4,
        r.normal(size=16),
        r.normal(size=(16, 5)) / 4,
        r.normal(size=5),
    )


@program(lambda r, n: (*layers(r, n), r.integers(0, 5, n)), 6, 2000, by=(1, 2, 3, 4), smooth=False)
def classifier_loss(X, W1, b1, W2, b2, labels):
    """Cross entropy of a network with one hidden layer, labels as indices."""
    h = relu(X @ W1 + b1)
    p = softmax(h @ W2 + b2)
    return -np.mean(np.log(p[np.arange(len(labels)), labels]))


@program(lambda r, n: (*layers(r, n), np.eye(5)[r.integers(0, 5, n)]), 6, 2000, by=(1, 2, 3, 4))
def tanh_network_onehot(X, W1, b1, W2, b2, onehot):
    h = np.tanh(X @ W1 + b1[None, :])
    z = h @ W2 + b2
    z -= z.max(axis=1, keepdims=True)
    logp = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return -(onehot * logp).sum() / len(X) + 0.01 * ((W1**2).sum() + (W2**2).sum())


@program(lambda r, n: (r.random((n, n)), r.random((3, 3))), 7, 250, by=(0, 1))
def convolution(image, kernel):
    """A convolution over a window, written as a sum of shifted images."""
    kh, kw = kernel.shape
    H, W = image.shape[0] - kh + 1, image.shape[1] - kw + 1
    out = np.zeros((H, W))
    for i in range(kh):
        for j in range(kw):
            out += kernel[i, j] * image[i : i + H, j : j + W]
    return out


@program(lambda r, n: (r.random((2, n, n, 3)), r.random((3, 3, 3, 4)), r.random(4)), 6, 40, by=(0, 1, 2), smooth=False)
def convolution_layer(x, weights, bias):
    """NHWC: windows times weights, then relu and the maximum of blocks."""
    K = weights.shape[0]
    N, H, W, C = x.shape
    out = np.empty((N, H - K + 1, W - K + 1, weights.shape[3]))
    for i in range(H - K + 1):
        for j in range(W - K + 1):
            out[:, i, j, :] = np.sum(x[:, i : i + K, j : j + K, :, np.newaxis] * weights[np.newaxis], axis=(1, 2, 3))
    out = np.maximum(out + bias, 0)
    h, w = out.shape[1] // 2 * 2, out.shape[2] // 2 * 2
    return out[:, :h, :w].reshape(N, h // 2, 2, w // 2, 2, -1).max(axis=(2, 4))


@program(
    lambda r, n: (r.random((2, n, 8)), r.random((8, 8)), r.random((8, 8)), r.random((8, 8))), 5, 64, by=(0, 1, 2, 3)
)
def attention(x, Wq, Wk, Wv):
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    return softmax(scores) @ v


@program(lambda r, n: (r.random((n, 5)), r.random(5), r.random(5)), 6, 20000, by=(0, 1, 2))
def layer_norm(x, gamma, beta):
    mean = x.mean(-1, keepdims=True)
    var = x.var(-1, keepdims=True)
    return gamma * (x - mean) / np.sqrt(var + 1e-5) + beta


@program(lambda r, n: (r.random((n, 4)), r.random((3, 4)), r.random(3), r.random((3, 4)) + 0.5), 7, 20000, by=(1, 2, 3))
def diagonal_mixture(x, mu, logits, sigma):
    """The log-likelihood of a mixture of Gaussians by broadcasting."""
    log_w = logits - np.log(np.sum(np.exp(logits)))
    z = (x[:, None, :] - mu) / sigma
    log_p = log_w - 0.5 * (z**2).sum(-1) - np.log(sigma).sum(-1) - 2 * np.log(2 * np.pi)
    top = log_p.max(axis=1)
    return np.sum(top + np.log(np.exp(log_p - top[:, None]).sum(axis=1)))


@program(lambda r, n: (r.random((4, 4)), r.random((n, 4)), r.random(4)), 6, 2000, by=(0, 1, 2))
def hidden_markov(transitions, emissions, start):
    """Forward algorithm in logarithms."""
    log_T = np.log(transitions / transitions.sum(axis=1, keepdims=True))
    alpha = np.log(start / start.sum()) + np.log(emissions[0])
    for t in range(1, len(emissions)):
        alpha = np.logaddexp.reduce(alpha[:, None] + log_T, axis=0) + np.log(emissions[t])
    return np.logaddexp.reduce(alpha)


@program(lambda r, n: (r.random((n, 2)), r.random((3, 2)), 3), 12, 20000, by=(0, 1), smooth=False)
def k_means(points, centres, steps):
    for _ in range(steps):
        d = np.linalg.norm(points[:, None] - centres[None], axis=2)
        nearest = np.argmin(d, axis=1)
        for k in range(len(centres)):
            chosen = points[nearest == k]
            if len(chosen) > 0:
                centres[k] = chosen.mean(axis=0)
    return centres, d.min(axis=1).sum()


@program(
    lambda r, n: (r.random((n, 6)), r.random((6, 12)), r.random((3, 12)), r.random(12), r.random((1, 3))),
    5,
    500,
    by=(0, 1, 2, 3),
)
def gated_cell(xs, W, U, b, h):
    """A recurrent layer with gates, split by np.split."""
    c = np.zeros_like(h)
    for x in xs:
        i, f, g, o = np.split(x @ W + h @ U + b, 4, axis=1)
        c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        h = np.tanh(c) / (1 + np.exp(-o))
    return h


@program(lambda r, n: (r.random(n), r.random(n) < 0.5), 9, 100000, smooth=False)
def focal_loss(p, y):
    pt = np.where(y, p, 1 - p)
    pt = np.clip(pt, 1e-6, 1 - 1e-6)
    return np.mean(-((1 - pt) ** 2) * np.log(pt))


@program(lambda r, n: (r.random((n, 3)), r.random((n, 3))), 6, 300, by=(0, 1))
def contrastive_loss(a, b):
    """Cosine similarities of all pairs, those that belong together on the diagonal."""
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    b = b / np.linalg.norm(b, axis=1, keepdims=True)
    s = a @ b.T / 0.1
    log_z = np.log(np.exp(s).sum(axis=1))
    return np.mean(log_z - np.diag(s))


@program(lambda r, n: (r.random((n, n)), r.random((n, n))), 6, 200, by=(0, 1))
def warping_distance(x, y):
    """Dynamic programming: soft time warping of two sequences of vectors."""
    D = np.sum((x[:, np.newaxis] - y[np.newaxis, :]) ** 2, axis=2)
    n, m = D.shape
    R = np.full((n + 1, m + 1), 1e8)
    R[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a = np.array([R[i - 1, j], R[i, j - 1], R[i - 1, j - 1]])
            low = a.min()
            R[i, j] = D[i - 1, j - 1] + low - 0.1 * np.log(np.sum(np.exp(-(a - low) / 0.1)))
    return R[n, m]
