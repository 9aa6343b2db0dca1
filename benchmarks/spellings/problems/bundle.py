"""Reprojection errors of bundle adjustment: points rotated by a Rodrigues vector, moved, distorted."""

from __future__ import annotations

import math

import numpy as np

from adc import prange

ACTIVE = 0, 1


def arguments():
    rng = np.random.default_rng(8)
    cameras = np.hstack([0.3 * rng.standard_normal((20, 3)), rng.standard_normal((20, 3)), 0.01 * rng.random((20, 2))])
    cameras[:, 5] += 8.0
    n = 3000
    seen = np.stack([rng.integers(0, 20, n), rng.integers(0, 500, n)], axis=1)
    return cameras, rng.standard_normal((500, 3)), seen, rng.standard_normal((n, 2))


def turned(r0, r1, r2, x, y, z):
    square = r0 * r0 + r1 * r1 + r2 * r2
    if square == 0.0:
        return x + r1 * z - r2 * y, y + r2 * x - r0 * z, z + r0 * y - r1 * x
    angle = math.sqrt(square)
    c, s = math.cos(angle), math.sin(angle)
    a, b, d = r0 / angle, r1 / angle, r2 / angle
    along = (a * x + b * y + d * z) * (1.0 - c)
    return (
        x * c + (b * z - d * y) * s + a * along,
        y * c + (d * x - a * z) * s + b * along,
        z * c + (a * y - b * x) * s + d * along,
    )


def loops(cameras, points, seen, found):
    total = 0.0
    for k in prange(seen.shape[0]):
        i, j = seen[k, 0], seen[k, 1]
        x, y, z = turned(cameras[i, 0], cameras[i, 1], cameras[i, 2], points[j, 0], points[j, 1], points[j, 2])
        x += cameras[i, 3]
        y += cameras[i, 4]
        z += cameras[i, 5]
        u, v = x / z, y / z
        square = u * u + v * v
        bend = 1.0 + square * (cameras[i, 6] + cameras[i, 7] * square)
        total += (u * bend - found[k, 0]) ** 2 + (v * bend - found[k, 1]) ** 2
    return total


def in_order(cameras, points, seen, found):
    total = 0.0
    for k in range(len(seen)):
        camera, point = cameras[seen[k, 0]], points[seen[k, 1]]
        x, y, z = turned(camera[0], camera[1], camera[2], point[0], point[1], point[2])
        x, y, z = x + camera[3], y + camera[4], z + camera[5]
        u, v = x / z, y / z
        square = u * u + v * v
        bend = 1.0 + camera[6] * square + camera[7] * square * square
        total += (u * bend - found[k, 0]) ** 2
        total += (v * bend - found[k, 1]) ** 2
    return total


def rotate(r, x):
    square = np.sum(r * r)
    if square == 0.0:
        return x + np.cross(r, x)
    angle = np.sqrt(square)
    axis = r / angle
    c, s = np.cos(angle), np.sin(angle)
    return x * c + np.cross(axis, x) * s + axis * (np.dot(axis, x) * (1.0 - c))


def arrays(cameras, points, seen, found):
    total = 0.0
    for k in range(seen.shape[0]):
        camera = cameras[seen[k, 0]]
        p = rotate(camera[:3], points[seen[k, 1]]) + camera[3:6]
        flat = p[:2] / p[2]
        square = np.sum(flat * flat)
        bend = 1.0 + square * (camera[6] + camera[7] * square)
        total += np.sum((flat * bend - found[k]) ** 2)
    return total


def broadcast(cameras, points, seen, found):
    camera, x = cameras[seen[:, 0]], points[seen[:, 1]]
    angle = np.linalg.norm(camera[:, :3], axis=1)[:, None]
    axis = camera[:, :3] / angle
    c, s = np.cos(angle), np.sin(angle)
    along = np.sum(axis * x, axis=1)[:, None]
    p = x * c + np.cross(axis, x) * s + axis * along * (1.0 - c) + camera[:, 3:6]
    flat = p[:, :2] / p[:, 2:]
    square = np.sum(flat**2, axis=1)
    bend = 1.0 + square * (camera[:, 6] + camera[:, 7] * square)
    return np.sum((flat * bend[:, None] - found) ** 2)


def matrix(r):
    angle = math.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
    a, b, d = r[0] / angle, r[1] / angle, r[2] / angle
    c, s = math.cos(angle), math.sin(angle)
    return np.array([
        [c + a * a * (1 - c), a * b * (1 - c) - d * s, a * d * (1 - c) + b * s],
        [a * b * (1 - c) + d * s, c + b * b * (1 - c), b * d * (1 - c) - a * s],
        [a * d * (1 - c) - b * s, b * d * (1 - c) + a * s, c + d * d * (1 - c)],
    ])


def matrices(cameras, points, seen, found):
    total = 0.0
    for k in range(len(seen)):
        camera = cameras[seen[k, 0]]
        p = matrix(camera) @ points[seen[k, 1]] + camera[3:6]
        u, v = p[0] / p[2], p[1] / p[2]
        square = u * u + v * v
        bend = 1.0 + square * (camera[6] + camera[7] * square)
        total += (u * bend - found[k, 0]) ** 2 + (v * bend - found[k, 1]) ** 2
    return total


def error(camera, point, place):
    x, y, z = turned(camera[0], camera[1], camera[2], point[0], point[1], point[2])
    u, v = (x + camera[3]) / (z + camera[5]), (y + camera[4]) / (z + camera[5])
    square = u**2 + v**2
    bend = 1.0 + square * (camera[6] + camera[7] * square)
    return (u * bend - place[0]) ** 2 + (v * bend - place[1]) ** 2


def functions(cameras, points, seen, found):
    return sum(error(cameras[i], points[j], place) for (i, j), place in zip(seen, found))


SPELLINGS = loops, in_order, arrays, broadcast, matrices, functions
