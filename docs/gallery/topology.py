"""
Where to put the metal
======================

A square produces heat everywhere and is cooled at one short piece of its rim. Thirty
percent of it may be filled with a good conductor. Which thirty percent? Topology
optimisation gives each cell a density, solves the equation of heat conduction, and follows
the gradient of the mean temperature by all densities. The gradient goes through
``np.linalg.solve``; nothing of the elimination is stored.
"""

import numpy as np

from adc import jit_grad

N, ROUNDS, SHARE = 24, 60, 0.3


@jit_grad
def mean_temperature(density, penalty):
    """Finite volumes; a conductivity of 1 where the density is 1, and 0.01 where it is 0."""
    n = len(density)
    k = 0.01 + 0.99 * density**penalty
    A = np.zeros((n * n, n * n))
    for i in range(n):
        for j in range(n):
            me = n * i + j
            for di, dj in ((0, 1), (1, 0)):
                if i + di < n and j + dj < n:
                    other = n * (i + di) + j + dj
                    a, b = k[i, j], k[i + di, j + dj]
                    flow = 2.0 * a * b / (a + b)
                    A[me, me] += flow
                    A[other, other] += flow
                    A[me, other] -= flow
                    A[other, me] -= flow
            if j == 0 and abs(2 * i + 1 - n) < n // 6:
                A[me, me] += 2.0 * k[i, j]  # the sink
    return np.mean(np.linalg.solve(A, np.full(n * n, 1.0 / (n * n))))


def smooth(d, radius=1.3):
    """Sensitivities are averaged over neighbours, which avoids chequerboards."""
    n, around = len(d), np.pad(d, 1, mode="edge")
    out, weight = np.zeros_like(d), 0.0
    for di in (0, 1, 2):
        for dj in (0, 1, 2):
            w = max(0.0, radius - np.hypot(di - 1, dj - 1))
            out += w * around[di : di + n, dj : dj + n]
            weight += w
    return out / weight


def updated(density, slope, share):
    """The optimality criterion: a fixed total, steps of at most 0.2 (Bendsoe and Sigmund)."""
    low, high = 0.0, 1e9
    while high - low > 1e-9 * (low + high):
        level = 0.5 * (low + high)
        new = density * np.sqrt(np.maximum(-slope, 0.0) / level)
        new = np.clip(new, np.maximum(0.01, density - 0.2), np.minimum(1.0, density + 0.2))
        low, high = (level, high) if new.mean() > share else (low, level)
    return new


# %%
# The penalty grows slowly, so that densities between 0 and 1 become uneconomical.

density = np.full((N, N), SHARE)
first = mean_temperature(density, 3.0)
shown = []
for k in range(ROUNDS):
    slope = mean_temperature.grad(density, 1.0 + 2.0 * min(1.0, k / (0.6 * ROUNDS)))
    density = updated(density, smooth(slope * density) / density, SHARE)
    if k in (ROUNDS // 6, ROUNDS // 2, ROUNDS - 1):
        shown.append((k + 1, density))
print(f"{N * N} unknowns; mean temperature {first:.3f} -> {mean_temperature(density, 3.0):.3f}")

import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 3, figsize=(9, 3.1), layout="constrained")
for axis, (k, image) in zip(axes, shown, strict=True):
    axis.imshow(image, cmap="gray_r", vmin=0.0, vmax=1.0)
    axis.set_title(f"after {k} rounds")
    axis.set_xticks([])
    axis.set_yticks([])
