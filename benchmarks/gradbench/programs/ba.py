"""Bundle adjustment: the sparse Jacobian of reprojection errors and of weights' errors.

A camera is a rotation vector (3), a centre (3), a focal length, a principal point (2) and two radial distortions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import adc
from benchmarks.gradbench import native
from benchmarks.gradbench.program import Array, Call, Input, Program

CAMERA = 11
ACTIVE = (0, 1, 2)  # cameras, points, weights


def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def rotate(r, x):
    square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
    if square == 0.0:
        turn = cross(r, x)
        return x[0] + turn[0], x[1] + turn[1], x[2] + turn[2]
    angle = math.sqrt(square)
    cosine, sine = math.cos(angle), math.sin(angle)
    inverse = 1.0 / angle
    w = r[0] * inverse, r[1] * inverse, r[2] * inverse
    turn = cross(w, x)
    along = (w[0] * x[0] + w[1] * x[1] + w[2] * x[2]) * (1.0 - cosine)
    return tuple(x[k] * cosine + turn[k] * sine + w[k] * along for k in range(3))


def project(camera, point):
    x = rotate(camera[:3], (point[0] - camera[3], point[1] - camera[4], point[2] - camera[5]))
    u, v = x[0] / x[2], x[1] / x[2]
    square = u * u + v * v
    stretch = 1.0 + camera[9] * square + camera[10] * square * square
    return u * stretch * camera[6] + camera[7], v * stretch * camera[6] + camera[8]


def objective(cameras, points, weights, seen, features):
    p = len(weights)
    errors, lost = np.empty((p, 2)), np.empty(p)
    for i in range(p):
        u, v = project(cameras[seen[i, 0]], points[seen[i, 1]])
        errors[i, 0] = weights[i] * (u - features[i, 0])
        errors[i, 1] = weights[i] * (v - features[i, 1])
    for i in range(p):
        lost[i] = 1.0 - weights[i] * weights[i]
    return errors, lost


def pattern(n: int, m: int, seen: Array) -> tuple[Array, Array]:
    """Row and column numbers of the entries that may differ from zero, row by row."""
    p = len(seen)
    camera = CAMERA * seen[:, :1] + np.arange(CAMERA)
    point = CAMERA * n + 3 * seen[:, 1:] + np.arange(3)
    weight = CAMERA * n + 3 * m + np.arange(p)[:, None]
    columns = np.repeat(np.concatenate([camera, point, weight], axis=1), 2, axis=0)
    rows = np.repeat(np.arange(2 * p), columns.shape[1])
    return np.concatenate([rows, 2 * p + np.arange(p)]), np.concatenate([columns.ravel(), weight.ravel()])


compiled = adc.jit_grad(argnums=ACTIVE, threads=1)(objective)


def given(rng: np.random.Generator, n: int, m: int, p: int) -> Input:
    """The input as the evaluation sends it: all cameras are the same camera, all points the same point."""
    camera = np.concatenate([
        0.3 * rng.standard_normal(3), 0.1 * rng.standard_normal(3), [1.1], 0.1 * rng.standard_normal(2), [0.05, -0.02]
    ])  # fmt: skip
    x = rng.standard_normal(3) + np.array([0.0, 0.0, 8.0])
    return {"n": n, "m": m, "p": p, "cam": camera, "x": x, "w": 0.7, "feat": 0.3 * rng.standard_normal(2)}


def arguments(given: Input) -> tuple[Array, ...]:
    n, m, p = given["n"], given["m"], given["p"]
    seen = np.column_stack([np.arange(p) % n, np.arange(p) % m])
    cameras, points, features = (
        np.tile(np.asarray(given[name], float), (count, 1)) for name, count in (("cam", n), ("x", m), ("feat", p))
    )
    return cameras, points, np.full(p, float(given["w"])), seen, features


def by_adc(given: Input) -> dict[str, Call]:
    args = arguments(given)
    jacobian = adc.sparse_jacobian(compiled, argnums=ACTIVE, pattern=pattern(len(args[0]), len(args[1]), args[3]))
    return {"objective": lambda: compiled(*args), "jacobian": lambda: jacobian(*args)}


def by_c(given: Input) -> dict[str, Call]:
    from scipy.sparse import csr_array

    cameras, points, weights, seen, features = arguments(given)
    n, m, p = len(cameras), len(points), len(weights)
    errors, lost, values = np.empty((p, 2)), np.empty(p), np.empty((2 * CAMERA + 8) * p + p)
    rows, columns = np.empty(3 * p + 1, np.int64), np.empty((2 * CAMERA + 8) * p + p, np.int64)
    value = native.bound("ba", "value", cameras, points, weights, seen, features, errors, lost, p)
    jacobian = native.bound(
        "ba", "jacobian", cameras, points, weights, seen, features, errors, lost, values, rows, columns, n, m, p
    )
    jacobian()
    sparse = csr_array((values, columns, rows), shape=(3 * p, CAMERA * n + 3 * m + p))  # shares the memory
    return {"objective": lambda: (value(), (errors, lost))[1], "jacobian": lambda: (jacobian(), sparse)[1]}


def answer(given: Input, function: str, result: Any) -> Any:
    """All blocks are equal: the evaluation expects one block and its multiplicity."""
    if function == "objective":
        errors, lost = result
        return {
            "reproj_error": {"elements": errors[0], "repeated": len(errors)},
            "w_err": {"element": lost[0], "repeated": len(lost)},
        }
    block = 2 * (CAMERA + 4)
    return {
        "rows": [*result.indptr[:block], result.indptr[-1]],
        "cols": [*result.indices[:block], result.indices[-1]],
        "vals": [*result.data[:block], result.data[-1]],
    }


PROGRAM = Program(
    "ba", "jacobian", "objective", given, {"n": 49, "m": 7776, "p": 31843}, {"n": 2, "m": 3, "p": 12}, by_adc, by_c,
    None, "C: the derivatives of each projection in closed form", answer,
)  # fmt: skip
