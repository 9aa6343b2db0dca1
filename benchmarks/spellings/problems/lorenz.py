"""Lorenz' equations by the classical Runge-Kutta method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ACTIVE = 0, 1


def arguments():
    return np.array([1.0, 1.2, 20.0]), np.array([10.0, 28.0, 8.0 / 3.0]), 0.005, 200


def slope(x, y, z, sigma, rho, beta):
    return sigma * (y - x), x * (rho - z) - y, x * y - beta * z


def scalars(start, parameters, dt, steps):
    x, y, z = start[0], start[1], start[2]
    s, r, b = parameters[0], parameters[1], parameters[2]
    for _ in range(steps):
        a1, b1, c1 = slope(x, y, z, s, r, b)
        a2, b2, c2 = slope(x + 0.5 * dt * a1, y + 0.5 * dt * b1, z + 0.5 * dt * c1, s, r, b)
        a3, b3, c3 = slope(x + 0.5 * dt * a2, y + 0.5 * dt * b2, z + 0.5 * dt * c2, s, r, b)
        a4, b4, c4 = slope(x + dt * a3, y + dt * b3, z + dt * c3, s, r, b)
        x += dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        y += dt / 6.0 * (b1 + 2.0 * b2 + 2.0 * b3 + b4)
        z += dt / 6.0 * (c1 + 2.0 * c2 + 2.0 * c3 + c4)
    return x * x + y * y + z * z


def field(u, p):
    return np.array([p[0] * (u[1] - u[0]), u[0] * (p[1] - u[2]) - u[1], u[0] * u[1] - p[2] * u[2]])


def arrays(start, parameters, dt, steps):
    u = start
    for _ in range(steps):
        k1 = field(u, parameters)
        k2 = field(u + 0.5 * dt * k1, parameters)
        k3 = field(u + 0.5 * dt * k2, parameters)
        k4 = field(u + dt * k3, parameters)
        u = u + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return np.sum(u * u)


def filled(u, p):
    out = np.zeros(3)
    out[0] = p[0] * (u[1] - u[0])
    out[1] = u[0] * (p[1] - u[2]) - u[1]
    out[2] = u[0] * u[1] - p[2] * u[2]
    return out


def in_place(start, parameters, dt, steps):
    u = start.copy()
    for _ in range(steps):
        k1 = filled(u, parameters)
        k2 = filled(u + dt / 2 * k1, parameters)
        k3 = filled(u + dt / 2 * k2, parameters)
        k4 = filled(u + dt * k3, parameters)
        u += dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return np.dot(u, u)


def written(u, p, out):
    out[0] = p[0] * (u[1] - u[0])
    out[1] = u[0] * (p[1] - u[2]) - u[1]
    out[2] = u[0] * u[1] - p[2] * u[2]


def loops(start, parameters, dt, steps):
    u = start.copy()
    k, w = np.zeros((4, 3)), np.zeros(3)
    for _ in range(steps):
        written(u, parameters, k[0])
        for s in range(1, 4):
            for i in range(3):
                w[i] = u[i] + (dt if s == 3 else 0.5 * dt) * k[s - 1, i]
            written(w, parameters, k[s])
        for i in range(3):
            u[i] += dt / 6.0 * (k[0, i] + 2.0 * k[1, i] + 2.0 * k[2, i] + k[3, i])
    return u[0] ** 2 + u[1] ** 2 + u[2] ** 2


@dataclass
class State:
    x: float
    y: float
    z: float


def moved(state, by, k):
    return State(state.x + by * k.x, state.y + by * k.y, state.z + by * k.z)


def motion(u, p):
    return State(p[0] * (u.y - u.x), u.x * (p[1] - u.z) - u.y, u.x * u.y - p[2] * u.z)


def records(start, parameters, dt, steps):
    u = State(start[0], start[1], start[2])
    for _ in range(steps):
        k1 = motion(u, parameters)
        k2 = motion(moved(u, 0.5 * dt, k1), parameters)
        k3 = motion(moved(u, 0.5 * dt, k2), parameters)
        k4 = motion(moved(u, dt, k3), parameters)
        u = moved(moved(moved(moved(u, dt / 6, k1), dt / 3, k2), dt / 3, k3), dt / 6, k4)
    return u.x**2 + u.y**2 + u.z**2


def step(u, p, dt):
    k1 = field(u, p)
    k2 = field(u + 0.5 * dt * k1, p)
    k3 = field(u + 0.5 * dt * k2, p)
    return u + dt / 6.0 * (k1 + 2.0 * (k2 + k3) + field(u + dt * k3, p))


def functions(start, parameters, dt, steps):
    path = np.empty((steps + 1, 3))
    path[0] = start
    n = 0
    while n < steps:
        path[n + 1] = step(path[n], parameters, dt)
        n += 1
    return np.sum(path[-1] ** 2)


SPELLINGS = scalars, arrays, in_place, loops, records, functions
