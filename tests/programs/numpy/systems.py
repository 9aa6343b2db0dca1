"""Control, estimation, kinetics and trees, by classes, records, tables and lists of arrays."""

# mypy: ignore-errors
import math
from typing import NamedTuple

import numpy as np

from tests.programs.numpy.programs import program


def double_integrator(r, n):
    A, B = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.005], [0.1]])
    return A + 0.01 * r.random((2, 2)), B, np.array([1.0, 0.2]), np.diag([1.0, 0.1]), n


@program(double_integrator, 4, 60, by=(0, 1, 2, 3))
def predictive_control(A, B, x0, Q, horizon, effort=0.01, most=1.5, iterations=10):
    """The states of all steps as one linear function of the inputs; then a projected, accelerated gradient method."""
    n, m = B.shape
    powers = [np.eye(n)]
    for _ in range(horizon):
        powers.append(A @ powers[-1])
    free = np.vstack(powers[1:])
    forced = np.block(
        [[powers[i - j] @ B if j <= i else np.zeros((n, m)) for j in range(horizon)] for i in range(horizon)]
    )
    weights = np.kron(np.eye(horizon), Q)
    H = forced.T @ weights @ forced + effort * np.eye(horizon * m)
    f = forced.T @ weights @ free @ x0
    u = np.zeros(horizon * m)
    step = 1 / np.linalg.norm(H)
    y, t = u.copy(), 1.0
    for _ in range(iterations):
        new = np.clip(y - step * (H @ y + f), -most, most)
        further = (1 + math.sqrt(1 + 4 * t * t)) / 2
        y = new + (t - 1) / further * (new - u)
        u, t = new, further
    states = (free @ x0 + forced @ u).reshape(horizon, n)
    return 0.5 * u @ H @ u + f @ u, u, states[-1]


REACTIONS = [
    {"k": 0, "left": (0,), "right": (1,)},
    {"k": 1, "left": (1, 1), "right": (1, 2)},
    {"k": 2, "left": (1, 2), "right": (0, 2)},
]


@program(lambda r, n: (np.array([0.04, 3.0, 10.0]), np.array([1.0, 0.1, 0.0]), n), 4, 400, by=(0, 1))
def implicit_chemistry(k, c0, steps, dt=0.5, newton=6):
    """Stiff kinetics from a table of reactions: implicit Euler, each step by Newton's method."""
    n = len(c0)

    def rates(c):
        f, J = np.zeros(n), np.zeros((n, n))
        for reaction in REACTIONS:
            left, right = reaction["left"], reaction["right"]
            rate = k[reaction["k"]] * math.prod(c[s] for s in left)
            for s in left:
                f[s] -= rate
            for s in right:
                f[s] += rate
            for i, s in enumerate(left):
                others = left[:i] + left[i + 1 :]
                slope = k[reaction["k"]] * math.prod(c[o] for o in others)
                for q in left:
                    J[q, s] -= slope
                for q in right:
                    J[q, s] += slope
        return f, J

    c = c0.copy()
    found = [c0]
    for _ in range(steps):
        guess = c.copy()
        for _ in range(newton):
            f, J = rates(guess)
            change = np.linalg.solve(np.eye(n) - dt * J, c + dt * f - guess)
            guess += change
            if np.abs(change).max() < 1e-12:
                break
        c = guess
        found.append(c)
    course = np.vstack(found)
    np.testing.assert_allclose(course.sum(axis=1), c0.sum(), rtol=1e-9, err_msg="mass is not conserved")
    return course[:, ::2]


def product(a, b):
    w0, x0, y0, z0 = a
    w1, x1, y1, z1 = b
    return np.array(
        [
            w0 * w1 - x0 * x1 - y0 * y1 - z0 * z1,
            w0 * x1 + x0 * w1 + y0 * z1 - z0 * y1,
            w0 * y1 - x0 * z1 + y0 * w1 + z0 * x1,
            w0 * z1 + x0 * y1 - y0 * x1 + z0 * w1,
        ]
    )


class Orientation:
    """A filter that corrects what gyroscopes say by the direction of gravity."""

    def __init__(self, gain, dt=0.01, q0=(1.0, 0.0, 0.0, 0.0)):
        self.gain = gain
        self.dt = dt
        self.q = np.array(q0)

    def update(self, gyro, acceleration):
        q = self.q
        rate = 0.5 * product(q, (0.0, *gyro))
        norm = np.linalg.norm(acceleration)
        if norm > 0:
            ax, ay, az = acceleration / norm
            w, x, y, z = q
            off = np.array([2 * (x * z - w * y) - ax, 2 * (w * x + y * z) - ay, 1 - 2 * (x * x + y * y) - az])
            J = np.array([[-2 * y, 2 * z, -2 * w, 2 * x], [2 * x, 2 * w, 2 * z, 2 * y], [0, -4 * x, -4 * y, 0]])
            g = J.T @ off
            length = np.linalg.norm(g)
            if length > 1e-9:
                rate -= self.gain * g / length
        q = q + rate * self.dt
        self.q = q / np.linalg.norm(q)
        return self.q

    @staticmethod
    def angles(q):
        w, x, y, z = q
        pitch = math.asin(max(-1.0, min(1.0, 2 * (w * y - z * x))))
        return np.array([math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)), pitch])


def flight(r, n):
    return 0.1, r.normal(size=(n, 3)) * 0.3, np.array([0.0, 0.0, 9.8]) + r.normal(size=(n, 3)) * 0.5


@program(flight, 6, 2000, by=(0, 1, 2))
def attitude(gain, gyro, acceleration):
    """The orientation of a body from its gyroscopes and accelerometers, by an object with a state."""
    body = Orientation(gain)
    angles = np.array([body.angles(body.update(g, a)) for g, a in zip(gyro, acceleration, strict=True)])
    return angles, body.q


class Split(NamedTuple):
    gain: float
    feature: int
    threshold: float


def best_split(X, g, h, penalty=1.0, least=3):
    best = Split(0.0, -1, 0.0)
    G, H = g.sum(), h.sum()
    for f in range(X.shape[1]):
        order = np.argsort(X[:, f], kind="stable")
        left, weight = np.cumsum(g[order])[:-1], np.cumsum(h[order])[:-1]
        gain = left**2 / (weight + penalty) + (G - left) ** 2 / (H - weight + penalty) - G**2 / (H + penalty)
        gain[: least - 1] = -np.inf
        gain[len(gain) - least + 1 :] = -np.inf
        k = np.argmax(gain)
        if gain[k] > best.gain:
            best = Split(gain[k], f, 0.5 * (X[order[k], f] + X[order[k + 1], f]))
    return best


@program(lambda r, n: (r.random(n), r.normal(size=(n, 3)), 0.5, 3), 16, 2000, by=(0, 2))
def boosted_stumps(y, X, rate, rounds):
    """Trees of one split each, by second-order gains over sorted features."""
    raw = np.zeros(len(y))
    losses = []
    for _ in range(rounds):
        p = 1.0 / (1.0 + np.exp(-raw))
        g, h = p - y, p * (1 - p)
        split = best_split(X, g, h)
        if split.feature < 0:
            break
        left = X[:, split.feature] <= split.threshold
        for side in (left, ~left):
            raw[side] -= rate * g[side].sum() / (h[side].sum() + 1.0)
        losses.append(np.mean(np.logaddexp(0, raw) - y * raw))
    return losses[-1], raw, split.gain
