"""Hand tracking: the Jacobian of the distances of points from a skinned hand model, with respect to the pose and, if
each point may lie anywhere on its triangle, to the two coordinates there. The coordinates of a point affect only its
own distances, so two columns hold all these derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

import adc
from benchmarks.gradbench import native
from benchmarks.gradbench.program import Array, Call, Input, Program


def angle_axis_rotation(v):
    angle = np.sqrt(np.sum(v * v))
    if angle < 0.0001:
        return np.eye(3)
    x, y, z = v[0] / angle, v[1] / angle, v[2] / angle
    s, c = np.sin(angle), np.cos(angle)
    return np.array([
        [x * x + (1.0 - x * x) * c, x * y * (1.0 - c) - z * s, x * z * (1.0 - c) + y * s],
        [x * y * (1.0 - c) + z * s, y * y + (1.0 - y * y) * c, y * z * (1.0 - c) - x * s],
        [x * z * (1.0 - c) - y * s, z * y * (1.0 - c) + x * s, z * z + (1.0 - z * z) * c],
    ])  # fmt: skip


def euler_rotation(xzy):
    cx, cz, cy = np.cos(xzy)
    sx, sz, sy = np.sin(xzy)
    about_x = np.array([[1.0, 0.0, 0.0], [0.0, cx, -sx], [0.0, sx, cx]])
    about_y = np.array([[cy, 0.0, sy], [0.0, 1.0, 0.0], [-sy, 0.0, cy]])
    about_z = np.array([[cz, -sz, 0.0], [sz, cz, 0.0], [0.0, 0.0, 1.0]])
    return about_z @ about_y @ about_x


def pose_of(theta, bones):
    """Rows: rotation, scale, translation, then three angles for each bone."""
    pose = np.zeros((bones + 3, 3))
    pose[0] = theta[0:3]
    pose[1] = 1.0
    pose[2] = theta[3:6]
    at, row = 6, 5
    for _ in range(5):
        for joint in range(2, 5):
            pose[row, 0] = theta[at]
            at += 1
            if joint == 2:
                pose[row, 1] = theta[at]
                at += 1
            row += 1
        row += 1
    return pose


def skinned(pose, parents, relatives, inverses, base, weights, mirrored):
    bones, vertices = len(parents), len(base)
    absolutes = np.empty((bones, 4, 4))
    for b in range(bones):
        turn = np.eye(4)
        turn[:3, :3] = euler_rotation(pose[b + 3])
        posed = relatives[b] @ turn
        if parents[b] == -1:
            absolutes[b] = posed
        else:
            absolutes[b] = absolutes[parents[b]] @ posed
    positions = np.zeros((vertices, 3))
    for b in range(bones):
        transform = absolutes[b] @ inverses[b]
        moved = base @ transform.T
        for v in range(vertices):
            for i in range(3):
                positions[v, i] += moved[v, i] * weights[v, b]
    if mirrored:
        positions[:, 0] = -positions[:, 0]
    rotation = angle_axis_rotation(pose[0]) * pose[1]
    return positions @ rotation.T + pose[2]


def objective(theta, shift, us, parents, relatives, inverses, base, weights, mirrored, corners, points):
    """``corners`` (points, 3): the triangle of each, or one vertex if there are no coordinates."""
    positions = skinned(pose_of(theta, len(parents)), parents, relatives, inverses, base, weights, mirrored)
    errors = np.empty((len(points), 3))
    for i in range(len(points)):
        for j in range(3):
            if len(us) == 0:
                errors[i, j] = points[i, j] - positions[corners[i, 0], j]
            else:
                u, v = us[i, 0] + shift[0], us[i, 1] + shift[1]
                errors[i, j] = points[i, j] - (
                    u * positions[corners[i, 0], j]
                    + v * positions[corners[i, 1], j]
                    + (1.0 - u - v) * positions[corners[i, 2], j]
                )
    return errors


compiled = adc.jit_grad(threads=1)(objective)
by_pose = adc.jacobian(compiled, argnums=0)
by_both = adc.jacobian(compiled, argnums=(1, 0))


def given(rng: np.random.Generator, bones: int, vertices: int, points: int) -> Input:
    def placed() -> Array:
        q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
        return np.block([[q, rng.standard_normal((3, 1))], [np.zeros((1, 3)), np.ones((1, 1))]])

    corners = [sorted(rng.choice(vertices, 3, replace=False).tolist()) for _ in range(2 * vertices)]
    weights = rng.random((vertices, bones)) * (rng.random((vertices, bones)) < 0.2)
    model = {
        "bone_count": bones, "bone_names": [f"bone{i}" for i in range(bones)],
        "parents": [-1] + [max(0, b - 1 if b % 4 else 0) for b in range(1, bones)],
        "base_relatives": [placed() for _ in range(bones)],
        "inverse_base_absolutes": [placed() for _ in range(bones)],
        "base_positions": np.column_stack([rng.standard_normal((vertices, 3)), np.ones(vertices)]),
        "weights": weights, "triangles": corners, "is_mirrored": False,
    }  # fmt: skip
    data = {
        "model": model, "correspondences": rng.integers(0, len(corners), points),
        "points": rng.standard_normal((points, 3)),
    }  # fmt: skip
    return {"theta": 0.3 * rng.standard_normal(26), "data": data, "us": rng.random((points, 2)) / 2.0}


def arguments(given: Input) -> tuple[Any, ...]:
    data, model = given["data"], given["data"]["model"]
    us = np.asarray(given["us"], float).reshape(-1, 2)
    found = np.asarray(data["correspondences"], np.int64)
    corners = np.asarray(model["triangles"], np.int64)[found] if len(us) else np.column_stack([found] * 3)
    names = "base_relatives", "inverse_base_absolutes", "base_positions", "weights"
    arrays = (np.asarray(model[name], float) for name in names)
    return (
        np.asarray(given["theta"], float), np.zeros(2), us, np.asarray(model["parents"], np.int64), *arrays,
        bool(model["is_mirrored"]), np.ascontiguousarray(corners), np.asarray(data["points"], float),
    )  # fmt: skip


def by_adc(given: Input) -> dict[str, Call]:
    args = arguments(given)
    jacobian = by_both if len(args[2]) else by_pose
    return {"objective": lambda: compiled(*args), "jacobian": lambda: jacobian(*args)}


def by_c(given: Input) -> dict[str, Call]:
    theta, _, us, parents, relatives, inverses, base, weights, mirrored, corners, points = arguments(given)
    bones, vertices, count = len(parents), len(base), len(points)
    errors, by_us, by_theta = np.empty((count, 3)), np.empty((count, 3, 2)), np.empty((count, 3, 26))
    work = np.empty(27 * (bones * 16 * 2 + vertices * 3))
    args = theta, us, parents, relatives, inverses, base, weights, int(mirrored), corners, points
    sizes = bones, vertices, count, int(len(us) > 0)
    value = native.bound("ht", "value", *args, work, errors, *sizes)
    jacobian = native.bound("ht", "jacobian", *args, work, errors, by_us, by_theta, *sizes)
    found = (by_us, by_theta) if len(us) else by_theta
    return {"objective": lambda: (value(), errors)[1], "jacobian": lambda: (jacobian(), found)[1]}


def answer(given: Input, function: str, result: Any) -> Any:
    if function == "objective":
        return result.ravel()
    columns = [part.reshape(-1, part.shape[-1]) for part in (result if isinstance(result, tuple) else (result,))]
    return np.concatenate(columns, axis=1)


PROGRAM = Program(
    "ht", "jacobian", "objective", given, {"bones": 22, "vertices": 544, "points": 1000},
    {"bones": 22, "vertices": 6, "points": 4}, by_adc, by_c, None, "C: tangents by hand, all directions at once",
    answer,
)  # fmt: skip
