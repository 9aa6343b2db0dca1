"""Physics programs for one process, each in two or more spellings: with loops, with slices, with ``np.roll``.
``tests.ranks.table`` runs them on several ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


def heat2_loops(u0: Any, r: Any, data: Any, steps: Any) -> Any:
    n, m = u0.shape
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = u[i, j] + r * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
        u, v = v, u
    return 0.5 * np.sum((u - data) ** 2)


def heat2_slices(u0: Any, r: Any, data: Any, steps: Any) -> Any:
    u = u0.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] += r * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1])
    return 0.5 * np.sum((u - data) ** 2)


def heat2_wraps(u0: Any, r: Any, data: Any, steps: Any) -> Any:
    """Periodic along both axes."""
    n, m = u0.shape
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(n):
            for j in range(m):
                near = u[(i - 1) % n, j] + u[(i + 1) % n, j] + u[i, (j - 1) % m] + u[i, (j + 1) % m]
                v[i, j] = u[i, j] + r * (near - 4.0 * u[i, j])
        u, v = v, u
    return 0.5 * np.sum((u - data) ** 2)


def heat2_roll(u0: Any, r: Any, data: Any, steps: Any) -> Any:
    u = u0.copy()
    for _ in range(steps):
        near = np.roll(u, 1, axis=0) + np.roll(u, -1, axis=0) + np.roll(u, 1, axis=1) + np.roll(u, -1, axis=1)
        u = u + r * (near - 4.0 * u)
    return 0.5 * np.sum((u - data) ** 2)


def heat2_pad(u0: Any, r: Any, data: Any, steps: Any) -> Any:
    """No flow through the borders."""
    u = u0.copy()
    for _ in range(steps):
        p = np.pad(u, 1, mode="edge")
        u = u + r * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4.0 * u)
    return 0.5 * np.sum((u - data) ** 2)


def heat3_loops(u0: Any, r: Any, steps: Any) -> Any:
    n, m, k = u0.shape
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                for l in range(1, k - 1):
                    near = u[i - 1, j, l] + u[i + 1, j, l] + u[i, j - 1, l] + u[i, j + 1, l]
                    v[i, j, l] = u[i, j, l] + r * (near + u[i, j, l - 1] + u[i, j, l + 1] - 6.0 * u[i, j, l])
        u, v = v, u
    return np.sum(u**2)


def heat3_slices(u0: Any, r: Any, steps: Any) -> Any:
    u = u0.copy()
    for _ in range(steps):
        c = u[1:-1, 1:-1, 1:-1]
        near = u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1]
        u[1:-1, 1:-1, 1:-1] = c + r * (near + u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:] - 6.0 * c)
    return np.sum(u**2)


def heat3_roll(u0: Any, r: Any, steps: Any) -> Any:
    u = u0.copy()
    for _ in range(steps):
        near = -6.0 * u
        for axis in (0, 1, 2):
            near = near + np.roll(u, 1, axis=axis) + np.roll(u, -1, axis=axis)
        u = u + r * near
    return np.sum(u**2)


def wave_loops(c: Any, u0: Any, source: Any, steps: Any) -> Any:
    """Absorbing borders; a source and a receiver."""
    n, m = c.shape
    u, w, v = u0.copy(), u0.copy(), u0.copy()
    seen = 0.0
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                near = w[i + 1, j] + w[i - 1, j] + w[i, j + 1] + w[i, j - 1] - 4.0 * w[i, j]
                v[i, j] = 2.0 * w[i, j] - u[i, j] + c[i, j] ** 2 * near
        for j in range(m):
            v[0, j] = w[1, j] + 0.3 * (v[1, j] - w[0, j])
            v[n - 1, j] = w[n - 2, j] + 0.3 * (v[n - 2, j] - w[n - 1, j])
        for i in range(n):
            v[i, 0] = w[i, 1] + 0.3 * (v[i, 1] - w[i, 0])
            v[i, m - 1] = w[i, m - 2] + 0.3 * (v[i, m - 2] - w[i, m - 1])
        v[n // 2, m // 2] += source[t]
        seen += v[2, 3] ** 2
        u, w, v = w, v, u
    return seen + 0.5 * np.sum(w * w)


def wave_slices(c: Any, u0: Any, source: Any, steps: Any) -> Any:
    n, m = c.shape
    u, w = u0.copy(), u0.copy()
    seen = np.zeros(steps)
    for t in range(steps):
        v = 2.0 * w - u
        near = w[2:, 1:-1] + w[:-2, 1:-1] + w[1:-1, 2:] + w[1:-1, :-2] - 4.0 * w[1:-1, 1:-1]
        v[1:-1, 1:-1] += c[1:-1, 1:-1] ** 2 * near
        v[0, :] = w[1, :] + 0.3 * (v[1, :] - w[0, :])
        v[-1, :] = w[-2, :] + 0.3 * (v[-2, :] - w[-1, :])
        v[:, 0] = w[:, 1] + 0.3 * (v[:, 1] - w[:, 0])
        v[:, -1] = w[:, -2] + 0.3 * (v[:, -2] - w[:, -1])
        v[n // 2, m // 2] += source[t]
        seen[t] = v[2, 3]
        u, w = w, v
    return np.sum(seen**2) + 0.5 * np.sum(w * w)


def wave_sponge(c: Any, u0: Any, source: Any, steps: Any) -> Any:
    """A layer that absorbs, of weights that the function makes."""
    n, m = c.shape
    x, y = np.arange(n), np.arange(m)
    damp = np.ones((n, m))
    damp *= np.exp(-0.1 * np.maximum(0.0, 3.0 - np.minimum(x, n - 1 - x)) ** 2)[:, None]
    damp *= np.exp(-0.1 * np.maximum(0.0, 3.0 - np.minimum(y, m - 1 - y)) ** 2)[None, :]
    u, w = u0.copy(), u0.copy()
    seen = 0.0
    for t in range(steps):
        lap = np.zeros((n, m))
        lap[1:-1, 1:-1] = w[2:, 1:-1] + w[:-2, 1:-1] + w[1:-1, 2:] + w[1:-1, :-2] - 4.0 * w[1:-1, 1:-1]
        v = damp * (2.0 * w - damp * u + c**2 * lap)
        v[n // 2, m // 2] += source[t]
        seen += v[2, 3] ** 2
        u, w = w, v
    return seen


def shallow_loops(h0: Any, b: Any, steps: Any) -> Any:
    """Velocities between the points of the grid."""
    n, m = h0.shape
    h, u, v = h0.copy(), np.zeros((n + 1, m)), np.zeros((n, m + 1))
    for _ in range(steps):
        for i in range(1, n):
            for j in range(m):
                u[i, j] -= 0.1 * (h[i, j] + b[i, j] - h[i - 1, j] - b[i - 1, j])
        for i in range(n):
            for j in range(1, m):
                v[i, j] -= 0.1 * (h[i, j] + b[i, j] - h[i, j - 1] - b[i, j - 1])
        for i in range(n):
            for j in range(m):
                h[i, j] -= 0.1 * h[i, j] * (u[i + 1, j] - u[i, j] + v[i, j + 1] - v[i, j])
    return np.sum(h**2)


def shallow_slices(h0: Any, b: Any, steps: Any) -> Any:
    n, m = h0.shape
    h, u, v = h0.copy(), np.zeros((n + 1, m)), np.zeros((n, m + 1))
    for _ in range(steps):
        u[1:-1, :] -= 0.1 * (h[1:, :] + b[1:, :] - h[:-1, :] - b[:-1, :])
        v[:, 1:-1] -= 0.1 * (h[:, 1:] + b[:, 1:] - h[:, :-1] - b[:, :-1])
        h -= 0.1 * h * (u[1:, :] - u[:-1, :] + v[:, 1:] - v[:, :-1])
    return np.sum(h**2)


def shallow_roll(h0: Any, b: Any, steps: Any) -> Any:
    h, u, v = h0.copy(), np.zeros_like(h0), np.zeros_like(h0)
    for _ in range(steps):
        level = h + b
        u -= 0.1 * (level - np.roll(level, 1, axis=0))
        v -= 0.1 * (level - np.roll(level, 1, axis=1))
        h -= 0.1 * h * (np.roll(u, -1, axis=0) - u + np.roll(v, -1, axis=1) - v)
    return np.sum(h**2)


def burgers_loops(u0: Any, v0: Any, nu: Any, steps: Any) -> Any:
    n, m = u0.shape
    u, v = u0.copy(), v0.copy()
    for _ in range(steps):
        p, q = u.copy(), v.copy()
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                lap = u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4.0 * u[i, j]
                p[i, j] = u[i, j] - 0.1 * (u[i, j] * (u[i, j] - u[i - 1, j]) + v[i, j] * (u[i, j] - u[i, j - 1]))
                p[i, j] += nu * lap
                lap = v[i + 1, j] + v[i - 1, j] + v[i, j + 1] + v[i, j - 1] - 4.0 * v[i, j]
                q[i, j] = v[i, j] - 0.1 * (u[i, j] * (v[i, j] - v[i - 1, j]) + v[i, j] * (v[i, j] - v[i, j - 1]))
                q[i, j] += nu * lap
        u, v = p, q
    return np.sum(u**2) + np.sum(v**2)


def _laplace(u: Any) -> Any:
    return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]


def burgers_slices(u0: Any, v0: Any, nu: Any, steps: Any) -> Any:
    u, v = u0.copy(), v0.copy()
    for _ in range(steps):
        uc, vc = u[1:-1, 1:-1].copy(), v[1:-1, 1:-1].copy()
        du = uc * (uc - u[:-2, 1:-1]) + vc * (uc - u[1:-1, :-2])
        dv = uc * (vc - v[:-2, 1:-1]) + vc * (vc - v[1:-1, :-2])
        p = uc - 0.1 * du + nu * _laplace(u)
        q = vc - 0.1 * dv + nu * _laplace(v)
        u[1:-1, 1:-1] = p
        v[1:-1, 1:-1] = q
    return np.sum(u**2) + np.sum(v**2)


def burgers_upwind(u0: Any, v0: Any, nu: Any, steps: Any) -> Any:
    """Differences on the side that the flow comes from, periodic."""
    u, v = u0.copy() - 0.5, v0.copy()
    for _ in range(steps):
        back, ahead = u - np.roll(u, 1, axis=0), np.roll(u, -1, axis=0) - u
        u = u - 0.1 * np.where(u > 0.0, u * back, u * ahead) + nu * (ahead - back)
        v = v - 0.1 * u * (v - np.roll(v, 1, axis=1))
    return np.sum(u**2) + np.sum(v**2)


def gray_scott_loops(u0: Any, v0: Any, feed: Any, steps: Any) -> Any:
    n, m = u0.shape
    u, v = u0.copy(), v0.copy()
    p, q = np.zeros_like(u0), np.zeros_like(u0)
    for _ in range(steps):
        for i in range(n):
            for j in range(m):
                up, down, left, right = (i - 1) % n, (i + 1) % n, (j - 1) % m, (j + 1) % m
                react = u[i, j] * v[i, j] ** 2
                lu = u[up, j] + u[down, j] + u[i, left] + u[i, right] - 4.0 * u[i, j]
                lv = v[up, j] + v[down, j] + v[i, left] + v[i, right] - 4.0 * v[i, j]
                p[i, j] = u[i, j] + 0.16 * lu - react + feed * (1.0 - u[i, j])
                q[i, j] = v[i, j] + 0.08 * lv + react - (feed + 0.06) * v[i, j]
        u, p = p, u
        v, q = q, v
    return np.sum(u * v)


def _around(u: Any) -> Any:
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4.0 * u


def gray_scott_roll(u0: Any, v0: Any, feed: Any, steps: Any) -> Any:
    u, v = u0.copy(), v0.copy()
    for _ in range(steps):
        react = u * v**2
        u, v = u + 0.16 * _around(u) - react + feed * (1.0 - u), v + 0.08 * _around(v) + react - (feed + 0.06) * v
    return np.sum(u * v)


def gray_scott_wrap(u0: Any, v0: Any, feed: Any, steps: Any) -> Any:
    """Nine points, so corners count; np.pad."""
    u, v = u0.copy(), v0.copy()
    for _ in range(steps):
        p, q = np.pad(u, 1, mode="wrap"), np.pad(v, 1, mode="wrap")
        near = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
        far = p[:-2, :-2] + p[2:, 2:] + p[:-2, 2:] + p[2:, :-2]
        lv = q[:-2, 1:-1] + q[2:, 1:-1] + q[1:-1, :-2] + q[1:-1, 2:] - 4.0 * v
        react = u * v**2
        u, v = u + 0.1 * (near + 0.25 * far - 5.0 * u) - react + feed * (1.0 - u), v + 0.08 * lv + react - feed * v
    return np.sum(u * v)


def gray_scott_slices(u0: Any, v0: Any, feed: Any, steps: Any) -> Any:
    """A frame around the grid, filled from the other end."""
    n, m = u0.shape
    u, v = np.zeros((n + 2, m + 2)), np.zeros((n + 2, m + 2))
    u[1:-1, 1:-1] = u0
    v[1:-1, 1:-1] = v0
    for _ in range(steps):
        for x in (u, v):
            x[0, :] = x[-2, :]
            x[-1, :] = x[1, :]
            x[:, 0] = x[:, -2]
            x[:, -1] = x[:, 1]
        uc, vc = u[1:-1, 1:-1], v[1:-1, 1:-1]
        react = uc * vc**2
        du = 0.16 * _laplace(u) - react + feed * (1.0 - uc)
        dv = 0.08 * _laplace(v) + react - (feed + 0.06) * vc
        u[1:-1, 1:-1] += du
        v[1:-1, 1:-1] += dv
    return np.sum(u * v)


def vcycle_loops(u0: Any, f: Any, cycles: Any) -> Any:
    """Two grids in one dimension, Jacobi steps on both."""
    n = len(u0)
    half = (n + 1) // 2
    u = u0.copy()
    for _ in range(cycles):
        w, r = u.copy(), np.zeros(n)
        for i in range(1, n - 1):
            w[i] = u[i] + 0.3 * (u[i - 1] + u[i + 1] - 2.0 * u[i] + f[i])
        for i in range(1, n - 1):
            r[i] = f[i] + w[i - 1] - 2.0 * w[i] + w[i + 1]
        coarse, e, g = np.zeros(half), np.zeros(half), np.zeros(half)
        for i in range(1, half - 1):
            coarse[i] = r[2 * i - 1] + 2.0 * r[2 * i] + r[2 * i + 1]
        for _s in range(2):
            for i in range(1, half - 1):
                g[i] = e[i] + 0.3 * (e[i - 1] + e[i + 1] - 2.0 * e[i] + coarse[i])
            e, g = g, e
        for i in range(half):
            w[2 * i] += e[i]
        for i in range(half - 1):
            w[2 * i + 1] += 0.5 * (e[i] + e[i + 1])
        u = w
    return np.sum(u**2)


def vcycle_slices(u0: Any, f: Any, cycles: Any) -> Any:
    n = len(u0)
    u = u0.copy()
    for _ in range(cycles):
        u[1:-1] += 0.3 * (u[:-2] + u[2:] - 2.0 * u[1:-1] + f[1:-1])
        r = f[1:-1] + u[:-2] - 2.0 * u[1:-1] + u[2:]
        coarse = np.zeros((n + 1) // 2)
        coarse[1:-1] = r[:-2:2] + 2.0 * r[1:-1:2] + r[2::2]
        e = np.zeros_like(coarse)
        for _s in range(2):
            e[1:-1] += 0.3 * (e[:-2] + e[2:] - 2.0 * e[1:-1] + coarse[1:-1])
        u[::2] += e
        u[1::2] += 0.5 * (e[:-1] + e[1:])
    return np.sum(u**2)


@dataclass(frozen=True)
class Program:
    """``args``: makes arguments of an extent; ``wrt``: the numbers of those that gradients are of."""

    f: Callable[..., Any]
    shape: tuple[int, ...]
    wrt: tuple[int, ...]
    args: Callable[..., tuple[Any, ...]]

    def given(self) -> tuple[Any, ...]:
        rng = np.random.default_rng(len(self.f.__name__))
        return self.args(lambda: 0.5 + rng.random(self.shape))


STEPS = 4


def programs() -> Iterator[Program]:
    two, three, line = (13, 11), (9, 7, 8), (33,)
    for f in (heat2_loops, heat2_slices, heat2_wraps, heat2_roll, heat2_pad):
        yield Program(f, two, (0, 1, 2), lambda x: (x(), 0.1, x(), STEPS))
    for f in (heat3_loops, heat3_slices, heat3_roll):
        yield Program(f, three, (0, 1), lambda x: (x(), 0.1, STEPS))
    for f in (wave_loops, wave_slices, wave_sponge):
        yield Program(f, two, (0, 1, 2), lambda x: (0.4 * x(), x(), np.arange(1.0, 1.0 + STEPS), STEPS))
    for f in (shallow_loops, shallow_slices, shallow_roll):
        yield Program(f, two, (0, 1), lambda x: (x(), 0.1 * x(), STEPS))
    for f in (burgers_loops, burgers_slices, burgers_upwind):
        yield Program(f, two, (0, 1, 2), lambda x: (x(), x(), 0.05, STEPS))
    for f in (gray_scott_loops, gray_scott_roll, gray_scott_wrap, gray_scott_slices):
        yield Program(f, two, (0, 1, 2), lambda x: (x(), x(), 0.04, STEPS))
    for f in (vcycle_loops, vcycle_slices):
        yield Program(f, line, (0, 1), lambda x: (x(), x(), STEPS))
