"""Scans, index arrays, tables, softmax and small networks, dynamic programming, sorting."""

from __future__ import annotations

import math

import numpy as np

from adc import prange
from tests.programs.harness import check

rng = np.random.default_rng(23)


def cumulative(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        y[i] = s
    for i in range(1, len(x)):
        y[i] *= y[i - 1]
    return np.sum(y)


def scan_in_place(x):
    shift = 1
    while shift < len(x):
        for i in range(len(x) - 1, shift - 1, -1):
            x[i] += x[i - shift]
        shift *= 2


def cumulative_max(x):
    m, s = x[0], 0.0
    for i in range(len(x)):
        if x[i] > m:
            m = x[i]
        s += m * (i + 1)
    return s


def histogram(x, weights, bins):
    h = np.zeros(bins)
    for i in range(len(x)):
        b = int((x[i] + 2) / 4 * bins)
        b = min(max(b, 0), bins - 1)
        h[b] += weights[i] * x[i]
    return h


def scatter(x, idx, out):
    for i in range(len(idx)):
        out[idx[i]] += math.exp(x[i])
    return np.sum(out * out)


def gather_twice(x, idx, perm):
    y = np.zeros(len(idx))
    for i in prange(len(idx)):
        y[i] = x[idx[perm[i]]] * x[idx[i]]
    return y


def scatter_store(x, idx, out):
    """The last store to an element wins."""
    for i in range(len(idx)):
        out[idx[i]] = x[i] * x[i]
    return out[0] * 2 + out[-1]


def pushing(x, idx):
    for k in range(len(idx)):
        j = idx[k]
        x[j] = x[j] * x[idx[k - 1]] + 0.5 * x[-1]
    return np.sum(x)


def interpolate(table, x0, dx, q):
    s = 0.0
    for i in prange(len(q)):
        t = (q[i] - x0) / dx
        k = min(max(math.floor(t), 0), len(table) - 2)
        w = t - k
        s += (1 - w) * table[k] + w * table[k + 1]
    return s


def binary_search(xs, ys, q):
    out = np.zeros_like(q)
    for i in range(len(q)):
        lo, hi = 0, len(xs) - 1
        while hi - lo > 1:
            mid = (lo + hi) // 2
            if xs[mid] <= q[i]:
                lo = mid
            else:
                hi = mid
        out[i] = ys[lo] + (ys[hi] - ys[lo]) * (q[i] - xs[lo]) / (xs[hi] - xs[lo])
    return out


def logsumexp(x):
    m = np.max(x)
    return m + np.log(np.sum(np.exp(x - m)))


def softmax_rows(A, y):
    loss = 0.0
    for i in prange(A.shape[0]):
        m = A[i, 0]
        for j in range(1, A.shape[1]):
            m = max(m, A[i, j])
        z = 0.0
        for j in range(A.shape[1]):
            z += math.exp(A[i, j] - m)
        loss -= A[i, y[i]] - m - math.log(z)
    return loss / A.shape[0]


def dense(x, W, b, out, active):
    for i in range(W.shape[0]):
        s = b[i]
        for j in range(W.shape[1]):
            s += W[i, j] * x[j]
        out[i] = max(s, 0.01 * s) if active else s


def mlp(x, y, W1, b1, W2, b2):
    hidden, out = np.zeros(len(b1)), np.zeros(len(b2))
    loss = 0.0
    for k in range(x.shape[0]):
        dense(x[k], W1, b1, hidden, True)
        dense(hidden, W2, b2, out, active=False)
        loss += np.sum((out - y[k]) ** 2)
    return loss


def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


def lstm(xs, W, U, b, n):
    h, c = np.zeros(n), np.zeros(n)
    for t in range(xs.shape[0]):
        gates = W @ xs[t] + U @ h + b
        for k in range(n):
            i, f, o, g = (
                sigmoid(gates[k]),
                sigmoid(gates[n + k]),
                sigmoid(gates[2 * n + k]),
                math.tanh(gates[3 * n + k]),
            )
            c[k] = f * c[k] + i * g
            h[k] = o * math.tanh(c[k])
    return np.dot(h, c)


def attention(Q, K, V):
    S = Q @ K.T / math.sqrt(Q.shape[1])
    for i in range(S.shape[0]):
        e = np.exp(S[i] - np.max(S[i]))
        S[i, :] = e / np.sum(e)
    return np.sum(np.tanh(S @ V))


def edit_distance(x, y, gap):
    n, m = len(x), len(y)
    D = np.zeros((n + 1, m + 1))
    for i in range(1, n + 1):
        D[i, 0] = i * gap
    for j in range(1, m + 1):
        D[0, j] = j * gap
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            D[i, j] = min(D[i - 1, j] + gap, D[i, j - 1] + gap, D[i - 1, j - 1] + abs(x[i - 1] - y[j - 1]))
    return D[n, m]


def time_warping(x, y):
    n, m = len(x), len(y)
    previous, current = np.full(m + 1, 1e9), np.full(m + 1, 1e9)
    previous[0] = 0.0
    for i in range(n):
        current[0] = 1e9
        for j in range(m):
            current[j + 1] = (x[i] - y[j]) ** 2 + min(previous[j + 1], min(current[j], previous[j]))
        previous, current = current, previous
    return previous[m]


def viterbi_soft(score, trans):
    T, n = score.shape
    a = score[0].copy()
    for t in range(1, T):
        b = np.zeros(n)
        for j in range(n):
            m = -1e30
            for i in range(n):
                m = max(m, a[i] + trans[i, j])
            z = 0.0
            for i in range(n):
                z += math.exp(a[i] + trans[i, j] - m)
            b[j] = m + math.log(z) + score[t, j]
        a = b
    return logsumexp(a)


def bubble_sort(x, w):
    n = len(x)
    for i in range(n):
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    s = 0.0
    for i in range(n):
        s += w[i] * x[i] ** 2
    return s


def insertion_sort(x):
    for i in range(1, len(x)):
        key, j = x[i], i - 1
        while j >= 0 and x[j] > key:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = key
    return x[len(x) // 2] * x[0]


def first_above(x, level):
    """Leaves a loop early through the condition of a while, and by return."""
    i, s = 0, 0.0
    while i < len(x) and s <= level:
        s += x[i] * x[i]
        i += 1
    if i == len(x):
        return -s
    if i % 2:
        return s * x[i]
    return s / (1 + x[i] ** 2)


def knapsack(values, weights, capacity):
    best = np.zeros(capacity + 1)
    for k in range(len(values)):
        for c in range(capacity, weights[k] - 1, -1):
            best[c] = max(best[c], best[c - weights[k]] + values[k])
    return best[capacity]


def reductions(x):
    lo, hi, p, c = 10.0, -10.0, 1.0, 0
    for i in prange(len(x)):
        lo = min(lo, x[i])
        hi = max(hi, x[i])
        p *= 1.0 + 0.1 * x[i]
        c += 1 if x[i] > 0 else 0
    return lo * hi + p * c


def test_scans():
    check(cumulative, *((rng.normal(size=n), np.zeros(n)) for n in (6, 0, 1, 2)), single=True)
    check(scan_in_place, *((rng.normal(size=n),) for n in (7, 0, 1, 2)))
    check(cumulative_max, (rng.normal(size=7),), (rng.normal(size=1),))


def test_scatter():
    idx = np.array([2, 0, 2, -1, 1])
    check(histogram, (np.array([0.3, -1.2, 1.7, 0.1, -0.4]), rng.normal(size=5), 4), (np.zeros(0), np.zeros(0), 4))
    check(
        scatter,
        (rng.normal(size=5), idx, rng.normal(size=4)),
        (np.zeros(0), idx[:0], np.zeros(0)),
        single=True,
        layouts=True,
    )
    check(gather_twice, (rng.normal(size=4), idx, np.array([4, 2, 0, 0, 1])))
    check(
        scatter_store, (rng.normal(size=5), idx, rng.normal(size=4)), (rng.normal(size=1), idx[1:2], rng.normal(size=1))
    )
    check(pushing, (rng.normal(size=4), idx), (rng.normal(size=1), np.array([0, -1])), (rng.normal(size=3), idx[:0]))
    check(pushing, (rng.normal(size=4), idx.astype(np.int32)))


def test_tables():
    check(
        interpolate,
        (rng.normal(size=5), 0.1, 0.5, rng.uniform(0.2, 1.9, 6)),
        (rng.normal(size=2), 0.0, 1.0, np.zeros(0)),
        step=0.1,
    )
    check(binary_search, (np.linspace(0, 1, 6), rng.normal(size=6), np.array([0.05, 0.93, 0.5])), step=0.1, tol=1e-6)


def test_networks():
    check(logsumexp, (rng.normal(size=6),), (rng.normal(size=1),), single=True)
    check(
        softmax_rows,
        (rng.normal(size=(4, 3)), np.array([0, 2, 1, 1])),
        (rng.normal(size=(1, 1)), np.array([0])),
        layouts=True,
    )
    check(
        mlp,
        (
            rng.normal(size=(3, 2)),
            rng.normal(size=(3, 2)),
            rng.normal(size=(4, 2)),
            rng.normal(size=4),
            rng.normal(size=(2, 4)),
            rng.normal(size=2),
        ),
        step=0.1,
    )
    check(
        lstm,
        (rng.normal(size=(4, 2)), rng.normal(size=(12, 2)), rng.normal(size=(12, 3)), rng.normal(size=12), 3),
        (np.zeros((0, 2)), rng.normal(size=(4, 2)), rng.normal(size=(4, 1)), rng.normal(size=4), 1),
    )
    check(attention, (rng.normal(size=(3, 2)), rng.normal(size=(4, 2)), rng.normal(size=(4, 3))), step=0.1)


def test_dynamic_programming():
    check(
        edit_distance,
        (rng.normal(size=5), rng.normal(size=4), 0.3),
        (rng.normal(size=0), rng.normal(size=1), 0.3),
        step=0.01,
        tol=1e-6,
    )
    check(
        time_warping,
        (rng.normal(size=5), rng.normal(size=4)),
        (rng.normal(size=1), rng.normal(size=2)),
        step=0.01,
        tol=1e-6,
    )
    check(
        viterbi_soft,
        (rng.normal(size=(4, 3)), rng.normal(size=(3, 3))),
        (rng.normal(size=(1, 1)), rng.normal(size=(1, 1))),
    )
    check(knapsack, (rng.uniform(1, 2, 4), np.array([2, 1, 3, 2]), 5), (np.zeros(0), np.zeros(0, int), 0), step=0.1)


def test_sorting():
    check(bubble_sort, *((rng.normal(size=n), rng.normal(size=n)) for n in (6, 0, 1, 2)), step=0.1, single=True)
    check(insertion_sort, *((rng.normal(size=n),) for n in (6, 1, 2)), step=0.1)


def test_early_exit():
    x = np.array([0.7, -0.9, 0.8, 0.5, 0.6])
    check(first_above, *((x, level) for level in (0.8, -1.0, 2.0, 100.0)), (np.zeros(0), 1.0), step=0.1)


def test_reductions():
    check(reductions, (rng.normal(size=9),), (rng.normal(size=1),), (np.zeros(0),), step=0.1)
