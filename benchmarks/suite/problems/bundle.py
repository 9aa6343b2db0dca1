"""Bundle adjustment as in ADBench, in explicit loops: reprojection and weight errors, with respect to cameras, points
and weights.

A camera is a rotation vector (3), a centre (3), a focal length, a principal point (2) and two radial distortions.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from benchmarks.suite import native, peers
from benchmarks.suite.problem import Args, Cost, Problem, Runner, Work


def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def rotate(r, x):
    """Rodrigues' formula."""
    square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
    if square == 0.0:
        turn = cross(r, x)
        return x[0] + turn[0], x[1] + turn[1], x[2] + turn[2]
    angle = math.sqrt(square)
    c, s = math.cos(angle), math.sin(angle)
    w = (r[0] / angle, r[1] / angle, r[2] / angle)
    turn = cross(w, x)
    along = (w[0] * x[0] + w[1] * x[1] + w[2] * x[2]) * (1.0 - c)
    return tuple(x[k] * c + turn[k] * s + w[k] * along for k in range(3))


def project(camera, point):
    x, y, z = rotate(camera[:3], (point[0] - camera[3], point[1] - camera[4], point[2] - camera[5]))
    u, v = x / z, y / z
    square = u * u + v * v
    shrink = 1.0 + camera[9] * square + camera[10] * square * square
    return u * shrink * camera[6] + camera[7], v * shrink * camera[6] + camera[8]


def error(cameras, points, weights, seen, features):
    """``seen`` (observations, 2): which camera sees which point."""
    total = 0.0
    for i in range(len(weights)):
        u, v = project(cameras[seen[i, 0]], points[seen[i, 1]])
        du, dv = weights[i] * (u - features[i, 0]), weights[i] * (v - features[i, 1])
        lost = 1.0 - weights[i] * weights[i]
        total += 0.5 * (du * du + dv * dv + lost * lost)
    return total


def data(rng: np.random.Generator, cameras: int, points: int, observations: int) -> Args:
    camera = np.column_stack(
        [
            0.3 * rng.standard_normal((cameras, 3)),
            0.1 * rng.standard_normal((cameras, 3)),
            1.0 + 0.1 * rng.random(cameras),
            0.1 * rng.standard_normal((cameras, 2)),
            0.05 * rng.standard_normal((cameras, 2)),
        ]
    )
    camera[0, :3] = 0.0  # a camera without rotation
    point = rng.standard_normal((points, 3))
    point[:, 2] += 8.0  # in front of the cameras
    seen = np.column_stack([rng.integers(0, n, observations) for n in (cameras, points)])
    return camera, point, rng.random(observations), seen, 0.3 * rng.standard_normal((observations, 2))


def by_numpy(args: Args, threads: int) -> Runner:
    cameras, points, weights, seen, features = args
    stacked = in_arrays(np, np.cross)
    return Runner(lambda: stacked(cameras, points, weights, seen, features))


def in_arrays(xp: Any, cross: Any) -> Any:
    def error(cameras, points, weights, seen, features):
        c = cameras[seen[:, 0]]
        r, x = c[:, :3], points[seen[:, 1]] - c[:, 3:6]
        square = (r * r).sum(1)
        zero = square == 0.0
        angle = xp.sqrt(xp.where(zero, 1.0, square))
        w = r / angle[:, None]
        cosine, sine = xp.where(zero, 1.0, xp.cos(angle)), xp.where(zero, 1.0, xp.sin(angle))
        along = (w * x).sum(1) * (1.0 - cosine)
        x = x * cosine[:, None] + cross(w, x) * sine[:, None] + w * along[:, None]
        p = x[:, :2] / x[:, 2:]
        radius = (p * p).sum(1)
        shrink = 1.0 + c[:, 9] * radius + c[:, 10] * radius * radius
        p = p * (shrink * c[:, 6])[:, None] + c[:, 7:9]
        return 0.5 * xp.sum((weights[:, None] * (p - features)) ** 2) + 0.5 * xp.sum((1.0 - weights**2) ** 2)

    return error


def by_numba(args: Args, threads: int) -> Runner:
    from numba import njit, prange

    @njit(parallel=True, fastmath=True)
    def primal(cameras, points, weights, seen, features):
        total = 0.0
        for i in prange(len(weights)):
            c, p, w = cameras[seen[i, 0]], points[seen[i, 1]], weights[i]
            x, y, z = p[0] - c[3], p[1] - c[4], p[2] - c[5]
            square = c[0] * c[0] + c[1] * c[1] + c[2] * c[2]
            angle = math.sqrt(square) if square != 0.0 else 1.0
            cosine, sine = (math.cos(angle), math.sin(angle)) if square != 0.0 else (1.0, 1.0)
            a, b, d = c[0] / angle, c[1] / angle, c[2] / angle
            along = (a * x + b * y + d * z) * (1.0 - cosine)
            tx = x * cosine + (b * z - d * y) * sine + a * along
            ty = y * cosine + (d * x - a * z) * sine + b * along
            tz = z * cosine + (a * y - b * x) * sine + d * along
            u, v = tx / tz, ty / tz
            radius = u * u + v * v
            shrink = (1.0 + c[9] * radius + c[10] * radius * radius) * c[6]
            du, dv = w * (u * shrink + c[7] - features[i, 0]), w * (v * shrink + c[8] - features[i, 1])
            total += 0.5 * (du * du + dv * dv + (1.0 - w * w) ** 2)
        return total

    return peers.numba_runner(primal, None, args, threads)


def by_c(args: Args, threads: int) -> Runner:
    bars = tuple(np.empty_like(a) for a in args[:3])
    sizes = (len(args[2]), len(args[0]), len(args[1]))
    primal = native.bound("bundle", "primal", threads, *args, *sizes)
    gradient = native.bound("bundle", "gradient", threads, *args, *bars, *sizes)
    return Runner(primal, lambda: (gradient(), bars))


def in_jax(jax):
    return in_arrays(jax.numpy, jax.numpy.cross)


def in_torch(torch):
    # For a camera without rotation PyTorch has the same gradient: the branch that `where` discards has a finite one.
    return in_arrays(torch, torch.linalg.cross)


def work(args: Args) -> Work:
    n = len(args[2])
    primal = Cost(8 * 19 * n, 70 * n, 2 * n)
    return Work(primal, Cost(8 * 48 * n, 210 * n, 2 * n), args[0].nbytes + args[1].nbytes + 8 * 6 * n)


PROBLEMS = (
    Problem(
        "bundle",
        "bundle adjustment, 50 cameras, 5,000 points, 40,000 observations",
        error,
        (0, 1, 2),
        data,
        {"cameras": 50, "points": 5_000, "observations": 40_000},
        {"cameras": 4, "points": 15, "observations": 80},
        work,
        {
            "NumPy": by_numpy,
            "Numba": by_numba,
            "C": by_c,
            "JAX": partial(peers.by_jax, in_jax, (0, 1, 2)),
            "PyTorch": partial(peers.by_torch, in_torch, (0, 1, 2)),
        },
    ),
)
