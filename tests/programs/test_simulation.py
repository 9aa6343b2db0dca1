"""Ordinary differential equations, iterations to a tolerance, filters, random walks with given draws."""

from __future__ import annotations

import math

import numpy as np

from adc import prange
from tests.programs.harness import check

rng = np.random.default_rng(11)


def nbody(x, v, m, dt, steps):
    n = x.shape[0]
    for _ in range(steps):
        for i in range(n):
            ax = ay = az = 0.0
            for j in range(n):
                if i != j:
                    dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
                    r2 = dx * dx + dy * dy + dz * dz + 0.05
                    w = m[j] / (r2 * math.sqrt(r2))
                    ax, ay, az = ax + w * dx, ay + w * dy, az + w * dz
            v[i, 0] += dt * ax
            v[i, 1] += dt * ay
            v[i, 2] += dt * az
        for i in range(n):
            for k in range(3):
                x[i, k] += dt * v[i, k]
    energy = 0.0
    for i in range(n):
        energy += 0.5 * m[i] * (v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2)
        for j in range(i):
            energy -= m[i] * m[j] / math.sqrt(np.sum((x[i] - x[j]) ** 2) + 0.05)
    return energy


def nbody_pairs(x, v, m, dt, steps):
    """Newton's third law: each pair once, both written."""
    n = len(m)
    a = np.empty((n, 2))
    for _ in range(steps):
        a[:] = 0.0
        for i in range(n):
            for j in range(i + 1, n):
                d = x[j] - x[i]
                w = (d[0] ** 2 + d[1] ** 2 + 0.1) ** -1.5
                a[i] += m[j] * w * d
                a[j] -= m[i] * w * d
        v += dt * a
        x += dt * v


def rhs(y, out, a, b):
    out[0] = a * (y[1] - y[0])
    out[1] = y[0] * (b - y[2]) - y[1]
    out[2] = y[0] * y[1] - 8.0 / 3.0 * y[2]


def rk4(y, a, b, dt, steps):
    k1, k2, k3, k4 = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    for _ in range(steps):
        rhs(y, k1, a, b)
        rhs(y + 0.5 * dt * k1, k2, a, b)
        rhs(y + 0.5 * dt * k2, k3, a, b)
        rhs(y + dt * k3, k4, a, b)
        y += dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return y[0] * y[1] + y[2]


def pendulum_rhs(t, th, w, q):
    return w, -math.sin(th) - q * w + 0.2 * math.cos(t)


def rk4_tuples(th, w, q, dt, steps):
    t = 0.0
    for k in range(steps):
        a1, b1 = pendulum_rhs(t, th, w, q)
        a2, b2 = pendulum_rhs(t + dt / 2, th + dt / 2 * a1, w + dt / 2 * b1, q)
        a3, b3 = pendulum_rhs(t + dt / 2, th + dt / 2 * a2, w + dt / 2 * b2, q)
        a4, b4 = pendulum_rhs(t + dt, th + dt * a3, w + dt * b3, q)
        th, w = th + dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4), w + dt / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
        t = (k + 1) * dt
    return 0.5 * w * w + 1 - math.cos(th), th


def leapfrog(q, p, k, dt, steps):
    for t in range(steps):
        p -= 0.5 * dt * (k * q + q * q * q)
        q += dt * p
        p -= 0.5 * dt * (k * q + q * q * q)
    return np.dot(p, p) / 2 + np.sum(k * q * q / 2 + q**4 / 4)


def adaptive(y, lam, tol):
    """Step-size control: the number of steps depends on the data, the steps on the state."""
    t, h, taken = 0.0, 0.1, 0
    while t < 1.0 and taken < 200:
        if t + h > 1.0:
            h = 1.0 - t
        f0 = -lam * y + math.sin(t)
        low = y + h * f0
        f1 = -lam * low + math.sin(t + h)
        high = y + 0.5 * h * (f0 + f1)
        if abs(high - low) < tol or h < 1e-3:
            t += h
            y = high
            h = h * 1.2
        else:
            h = h * 0.5
        taken += 1
    return y


def newton_system(x, c):
    it = 0
    r0, r1 = x[0] ** 2 + x[1] - c[0], x[0] - x[1] ** 3 - c[1]
    while math.hypot(r0, r1) > 1e-13 and it < 60:
        a, b, d, e = 2 * x[0], 1.0, 1.0, -3 * x[1] ** 2
        det = a * e - b * d
        x[0] -= (e * r0 - b * r1) / det
        x[1] -= (a * r1 - d * r0) / det
        r0, r1 = x[0] ** 2 + x[1] - c[0], x[0] - x[1] ** 3 - c[1]
        it += 1
    return x[0] * 3 + x[1]


def kepler(mean, ecc):
    out = 0.0
    for i in prange(mean.shape[0]):
        e = mean[i]
        step = 1.0
        while abs(step) > 1e-13:
            step = (e - ecc * math.sin(e) - mean[i]) / (1 - ecc * math.cos(e))
            e -= step
        out += e * math.cos(e)
    return out


def bisection(c, lo, hi):
    """What it returns depends on c by branches alone, but for the last step."""
    for _ in range(40):
        mid = 0.5 * (lo + hi)
        if mid * mid * mid - c < 0:
            lo = mid
        else:
            hi = mid
    return mid - (mid**3 - c) / (3 * mid**2)


def kalman(z, q, r, x0, p0):
    x, p, loglik = x0, p0, 0.0
    for t in range(z.size):
        x = 0.95 * x
        p = 0.9025 * p + q
        s = p + r
        innovation = z[t] - x
        gain = p / s
        x += gain * innovation
        p *= 1 - gain
        loglik -= 0.5 * (math.log(2 * math.pi * s) + innovation**2 / s)
    return loglik


def kalman_matrix(z, F, Q, H, r):
    n = F.shape[0]
    x, P = np.zeros(n), np.ones((n, n)) * 0.1
    for i in range(n):
        P[i, i] += 1.0
    total = 0.0
    for t in range(len(z)):
        x = F @ x
        P = F @ P @ F.T + Q
        s = H @ P @ H + r
        k = P @ H / s
        v = z[t] - H @ x
        x = x + k * v
        for i in range(n):
            for j in range(n):
                P[i, j] -= k[i] * k[j] * s
        total += v * v / s + math.log(s)
    return total


def black_scholes(s, k, t, r, vol):
    total = 0.0
    for i in prange(len(s)):
        d1 = (math.log(s[i] / k[i]) + (r + 0.5 * vol * vol) * t[i]) / (vol * math.sqrt(t[i]))
        d2 = d1 - vol * math.sqrt(t[i])
        n1, n2 = 0.5 * (1 + math.erf(d1 / math.sqrt(2))), 0.5 * math.erfc(-d2 / math.sqrt(2))
        total += s[i] * n1 - k[i] * math.exp(-r * t[i]) * n2
    return total


def asian_option(z, s0, sigma, strike):
    paths, steps = z.shape
    dt = 1.0 / steps
    payoff = np.zeros(paths)
    for p in prange(paths):
        s, mean = s0, 0.0
        for k in range(steps):
            s *= math.exp(-0.5 * sigma**2 * dt + sigma * math.sqrt(dt) * z[p, k])
            mean += s / steps
        payoff[p] = max(mean - strike, 0.0)
    return np.mean(payoff)


def escape(re, im, limit):
    n, total = re.shape[0], 0.0
    for i in range(n):
        x = y = 0.0
        k = 0
        while x * x + y * y <= 4.0 and k < limit:
            x, y = x * x - y * y + re[i], 2 * x * y + im[i]
            k += 1
        total += math.sin(x) * y if k == limit else k + 0.01 * (x + y)
    return total


def logistic(x, r, n):
    for _ in range(n):
        x = r * x * (1 - x)
    return x


def test_nbody():
    args = (rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), rng.uniform(0.5, 1, 4), 0.05, 6)
    check(nbody, args, (*args[:4], 0), tol=1e-6)


def test_nbody_pairs():
    args = (rng.normal(size=(5, 2)), rng.normal(size=(5, 2)), rng.uniform(0.5, 1, 5), 0.03, 4)
    check(nbody_pairs, args, (np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0), 0.1, 2), tol=1e-6)


def test_rk4():
    check(rk4, (np.array([1.0, 0.5, 2.0]), 10.0, 28.0, 0.01, 10), tol=1e-6, single=True)
    check(rk4_tuples, (1.0, 0.3, 0.1, 0.1, 12), (1.0, 0.3, 0.1, 0.1, 0))


def test_leapfrog():
    check(
        leapfrog,
        (rng.normal(size=6), rng.normal(size=6), 1.3, 0.1, 9),
        (rng.normal(size=0), rng.normal(size=0), 1.0, 0.1, 3),
        (rng.normal(size=1), rng.normal(size=1), 1.0, 0.1, 1),
        single=True,
        layouts=True,
    )


def test_adaptive_steps():
    check(adaptive, (0.7, 3.0, 0.01), step=0.01, tol=1e-6)


def test_newton():
    check(newton_system, (np.array([1.0, 0.6]), np.array([2.0, 0.4])))
    check(kepler, (rng.uniform(0.2, 3, 9), 0.4), (rng.uniform(0.2, 3, 0), 0.4), (rng.uniform(0.2, 3, 1), 0.4))
    check(bisection, (2.3, 0.0, 4.0), tol=1e-5)


def test_kalman():
    check(kalman, (rng.normal(size=12), 0.3, 0.5, 0.1, 1.0), (rng.normal(size=0), 0.3, 0.5, 0.1, 1.0))
    F = np.array([[1.0, 0.1], [-0.2, 0.9]])
    check(kalman_matrix, (rng.normal(size=6), F, 0.1 * np.eye(2), np.array([1.0, 0.5]), 0.3), pullback=True)


def test_options():
    s, k = rng.uniform(80, 120, 11), rng.uniform(80, 120, 11)
    check(black_scholes, (s, k, rng.uniform(0.5, 2, 11), 0.03, 0.25), step=0.1)
    check(
        asian_option, (rng.normal(size=(9, 5)), 100.0, 0.3, 95.0), (rng.normal(size=(1, 5)), 100.0, 0.3, 60.0), step=0.1
    )


def test_escape():
    re, im = np.array([-0.5, 0.1, 0.5, -1.6, 0.0]), np.array([0.3, 0.2, 0.7, 0.3, 0.0])
    check(escape, *((re, im, limit) for limit in (25, 0, 1)), step=0.1, tol=1e-6)


def test_logistic():
    check(logistic, (0.3, 3.2, 8), (0.3, 3.2, 0), (0.3, 3.2, 1), step=0.1, tol=1e-5)
