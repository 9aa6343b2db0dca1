"""More physics programs for several ranks, each in more than one spelling: elastic and electromagnetic waves on
staggered grids, shallow water over a bed, advection, phase separation, level sets. See ``tests.ranks.physics``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.ranks.physics import STEPS, Program


def elastic_slices(mu: Any, v0: Any, source: Any, steps: Any) -> Any:
    """Velocities and stresses between each other's points; a sponge at the borders."""
    n, m = mu.shape
    x = np.minimum(np.arange(n), n - 1 - np.arange(n))
    y = np.minimum(np.arange(m), m - 1 - np.arange(m))
    near = np.minimum(x[:, None], y[None, :])
    damp = np.where(near < 3, np.exp(-((0.2 * (3 - near)) ** 2)), 1.0)
    lam = 1.5 * mu
    vx, vy = v0.copy(), np.zeros((n, m))
    sxx, syy, sxy = np.zeros((n, m)), np.zeros((n, m)), np.zeros((n, m))
    seen = 0.0
    for t in range(steps):
        vx[1:, 1:] += 0.1 * (sxx[1:, 1:] - sxx[:-1, 1:] + sxy[1:, 1:] - sxy[1:, :-1])
        vy[:-1, :-1] += 0.1 * (sxy[1:, :-1] - sxy[:-1, :-1] + syy[:-1, 1:] - syy[:-1, :-1])
        vx *= damp
        vy *= damp
        dx = vx[1:, 1:] - vx[:-1, 1:]
        dy = vy[:-1, 1:] - vy[:-1, :-1]
        sxx[:-1, 1:] += 0.1 * ((lam[:-1, 1:] + 2.0 * mu[:-1, 1:]) * dx + lam[:-1, 1:] * dy)
        syy[:-1, 1:] += 0.1 * (lam[:-1, 1:] * dx + (lam[:-1, 1:] + 2.0 * mu[:-1, 1:]) * dy)
        sxy[1:, :-1] += 0.1 * mu[1:, :-1] * (vx[1:, 1:] - vx[1:, :-1] + vy[1:, :-1] - vy[:-1, :-1])
        sxx[n // 2, m // 3] += source[t]
        seen += vx[3, 4] ** 2 + vy[n - 3, 4] ** 2
    return seen + 0.5 * np.sum(vx**2 + vy**2)


def elastic_loops(mu: Any, v0: Any, source: Any, steps: Any) -> Any:
    n, m = mu.shape
    vx, vy = v0.copy(), np.zeros((n, m))
    sxx, syy, sxy = np.zeros((n, m)), np.zeros((n, m)), np.zeros((n, m))
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                vx[i, j] += 0.1 * (sxx[i, j] - sxx[i - 1, j] + sxy[i, j] - sxy[i, j - 1])
                vy[i, j] += 0.1 * (sxy[i + 1, j] - sxy[i, j] + syy[i, j + 1] - syy[i, j])
                if i < 3 or i >= n - 3 or j < 3 or j >= m - 3:
                    vx[i, j] *= 0.9
                    vy[i, j] *= 0.9
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                dx, dy = vx[i + 1, j] - vx[i, j], vy[i, j] - vy[i, j - 1]
                sxx[i, j] += 0.1 * mu[i, j] * (3.5 * dx + 1.5 * dy)
                syy[i, j] += 0.1 * mu[i, j] * (1.5 * dx + 3.5 * dy)
                sxy[i, j] += 0.1 * mu[i, j] * (vx[i, j + 1] - vx[i, j] + vy[i, j] - vy[i - 1, j])
        sxx[n // 2, m // 3] += source[t]
    return 0.5 * np.sum(vx**2 + vy**2)


def bed_loops(h0: Any, b: Any, steps: Any) -> Any:
    """Shallow water over a bed, momentum by Lax and Friedrichs, walls that reflect."""
    n, m = h0.shape
    h, hu, hv = h0.copy(), np.zeros((n, m)), np.zeros((n, m))
    for _ in range(steps):
        p, q, r = h.copy(), hu.copy(), hv.copy()
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                mean = 0.25 * (h[i - 1, j] + h[i + 1, j] + h[i, j - 1] + h[i, j + 1])
                p[i, j] = mean - 0.05 * (hu[i + 1, j] - hu[i - 1, j] + hv[i, j + 1] - hv[i, j - 1])
                fe = hu[i + 1, j] ** 2 / h[i + 1, j] + 0.5 * h[i + 1, j] ** 2
                fw = hu[i - 1, j] ** 2 / h[i - 1, j] + 0.5 * h[i - 1, j] ** 2
                gn = hu[i, j + 1] * hv[i, j + 1] / h[i, j + 1]
                gs = hu[i, j - 1] * hv[i, j - 1] / h[i, j - 1]
                mean = 0.25 * (hu[i - 1, j] + hu[i + 1, j] + hu[i, j - 1] + hu[i, j + 1])
                q[i, j] = mean - 0.05 * (fe - fw + gn - gs) - 0.05 * h[i, j] * (b[i + 1, j] - b[i - 1, j])
                fn = hv[i, j + 1] ** 2 / h[i, j + 1] + 0.5 * h[i, j + 1] ** 2
                fs = hv[i, j - 1] ** 2 / h[i, j - 1] + 0.5 * h[i, j - 1] ** 2
                ge = hu[i + 1, j] * hv[i + 1, j] / h[i + 1, j]
                gw = hu[i - 1, j] * hv[i - 1, j] / h[i - 1, j]
                mean = 0.25 * (hv[i - 1, j] + hv[i + 1, j] + hv[i, j - 1] + hv[i, j + 1])
                r[i, j] = mean - 0.05 * (ge - gw + fn - fs) - 0.05 * h[i, j] * (b[i, j + 1] - b[i, j - 1])
        for j in range(m):
            p[0, j], q[0, j], r[0, j] = p[1, j], -q[1, j], r[1, j]
            p[n - 1, j], q[n - 1, j], r[n - 1, j] = p[n - 2, j], -q[n - 2, j], r[n - 2, j]
        for i in range(n):
            p[i, 0], q[i, 0], r[i, 0] = p[i, 1], q[i, 1], -r[i, 1]
            p[i, m - 1], q[i, m - 1], r[i, m - 1] = p[i, m - 2], q[i, m - 2], -r[i, m - 2]
        h, hu, hv = p, q, r
    return np.sum(h**2) + np.sum(hu**2)


def _flux(q: Any, h: Any) -> Any:
    return q**2 / h + 0.5 * h**2


def bed_slices(h0: Any, b: Any, steps: Any) -> Any:
    h, hu, hv = h0.copy(), np.zeros_like(h0), np.zeros_like(h0)
    for _ in range(steps):
        fx, fy, g = _flux(hu, h), _flux(hv, h), hu * hv / h
        c = (slice(1, -1), slice(1, -1))

        def mean(x: Any) -> Any:
            return 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])

        def dx(x: Any) -> Any:
            return 0.05 * (x[2:, 1:-1] - x[:-2, 1:-1])

        def dy(x: Any) -> Any:
            return 0.05 * (x[1:-1, 2:] - x[1:-1, :-2])

        p, q, r = h.copy(), hu.copy(), hv.copy()
        p[c] = mean(h) - dx(hu) - dy(hv)
        q[c] = mean(hu) - dx(fx) - dy(g) - h[c] * dx(b)
        r[c] = mean(hv) - dx(g) - dy(fy) - h[c] * dy(b)
        q[0], q[-1] = -q[1], -q[-2]
        p[0], p[-1] = p[1], p[-2]
        r[:, 0], r[:, -1] = -r[:, 1], -r[:, -2]
        h, hu, hv = p, q, r
    return np.sum(h**2) + np.sum(hu**2)


def bed_roll(h0: Any, b: Any, steps: Any) -> Any:
    h, hu, hv = h0.copy(), np.zeros_like(h0), np.zeros_like(h0)
    for _ in range(steps):
        level = h + b
        hu = hu - 0.05 * h * (np.roll(level, -1, 0) - np.roll(level, 1, 0))
        hv = hv - 0.05 * h * (np.roll(level, -1, 1) - np.roll(level, 1, 1))
        h = h - 0.05 * (np.roll(hu, -1, 0) - np.roll(hu, 1, 0) + np.roll(hv, -1, 1) - np.roll(hv, 1, 1))
    return np.sum(h**2) + np.sum(hu**2)


def upwind_slices(q0: Any, vx: Any, vy: Any, d: Any, steps: Any) -> Any:
    """Advection from the side that the wind comes from, and diffusion."""
    q = q0.copy()
    for _ in range(steps):
        c, a, b = q[1:-1, 1:-1], vx[1:-1, 1:-1] - 1.0, vy[1:-1, 1:-1] - 1.0
        dx = np.where(a > 0, c - q[:-2, 1:-1], q[2:, 1:-1] - c)
        dy = np.where(b > 0, c - q[1:-1, :-2], q[1:-1, 2:] - c)
        lap = q[:-2, 1:-1] + q[2:, 1:-1] + q[1:-1, :-2] + q[1:-1, 2:] - 4.0 * c
        q[1:-1, 1:-1] = c - 0.1 * (a * dx + b * dy) + d * lap
    return np.sum(q**2)


def upwind_loops(q0: Any, vx: Any, vy: Any, d: Any, steps: Any) -> Any:
    n, m = q0.shape
    q, p = q0.copy(), q0.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a, b = vx[i, j] - 1.0, vy[i, j] - 1.0
                dx = q[i, j] - q[i - 1, j] if a > 0 else q[i + 1, j] - q[i, j]
                dy = q[i, j] - q[i, j - 1] if b > 0 else q[i, j + 1] - q[i, j]
                lap = q[i - 1, j] + q[i + 1, j] + q[i, j - 1] + q[i, j + 1] - 4.0 * q[i, j]
                p[i, j] = q[i, j] - 0.1 * (a * dx + b * dy) + d * lap
        q, p = p, q
    return np.sum(q**2)


def upwind_roll(q0: Any, vx: Any, vy: Any, d: Any, steps: Any) -> Any:
    """Fluxes through the sides of cells."""
    q, a, b = q0.copy(), vx - 1.0, vy - 1.0
    for _ in range(steps):
        east, north = np.roll(q, -1, axis=0), np.roll(q, -1, axis=1)
        fx = np.maximum(a, 0.0) * q + np.minimum(a, 0.0) * east - d * (east - q)
        fy = np.maximum(b, 0.0) * q + np.minimum(b, 0.0) * north - d * (north - q)
        q = q - 0.1 * (fx - np.roll(fx, 1, axis=0) + fy - np.roll(fy, 1, axis=1))
    return np.sum(q**2)


def _lap(u: Any) -> Any:
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4.0 * u


def cahn_roll(c0: Any, kappa: Any, steps: Any) -> Any:
    """Cahn and Hilliard: a stencil of a stencil."""
    c = c0 - 1.0
    for _ in range(steps):
        c = c + 0.01 * _lap(c**3 - c - kappa * _lap(c))
    return np.sum((c * c - 1.0) ** 2)


def cahn_loops(c0: Any, kappa: Any, steps: Any) -> Any:
    n, m = c0.shape
    c, mu = c0 - 1.0, np.zeros_like(c0)
    for _ in range(steps):
        for i in range(n):
            for j in range(m):
                lap = c[i - 1, j] + c[(i + 1) % n, j] + c[i, j - 1] + c[i, (j + 1) % m] - 4.0 * c[i, j]
                mu[i, j] = c[i, j] ** 3 - c[i, j] - kappa * lap
        for i in range(n):
            for j in range(m):
                lap = mu[i - 1, j] + mu[(i + 1) % n, j] + mu[i, j - 1] + mu[i, (j + 1) % m] - 4.0 * mu[i, j]
                c[i, j] += 0.01 * lap
    return np.sum((c * c - 1.0) ** 2)


def cahn_slices(c0: Any, kappa: Any, steps: Any) -> Any:
    """Borders are fixed."""
    c = c0 - 1.0
    for _ in range(steps):
        mu = c**3 - c
        mu[1:-1, 1:-1] -= kappa * (c[:-2, 1:-1] + c[2:, 1:-1] + c[1:-1, :-2] + c[1:-1, 2:] - 4.0 * c[1:-1, 1:-1])
        c[2:-2, 2:-2] += 0.01 * (
            mu[1:-3, 2:-2] + mu[3:-1, 2:-2] + mu[2:-2, 1:-3] + mu[2:-2, 3:-1] - 4.0 * mu[2:-2, 2:-2]
        )
    return np.sum((c * c - 1.0) ** 2)


def maxwell_slices(eps: Any, source: Any, steps: Any) -> Any:
    """Ez, Hx, Hy by Yee, Ez in two parts for a perfectly matched layer."""
    n, m = eps.shape
    depth = 3
    sx, sy = np.zeros(n), np.zeros(m)
    for k in range(depth):
        sx[k] = sx[n - 1 - k] = 0.5 * ((depth - k) / depth) ** 2
        sy[k] = sy[m - 1 - k] = 0.5 * ((depth - k) / depth) ** 2
    ezx, ezy = np.zeros((n, m)), np.zeros((n, m))
    hx, hy = np.zeros((n, m - 1)), np.zeros((n - 1, m))
    seen = np.zeros(steps)
    for t in range(steps):
        ez = ezx + ezy
        hx -= 0.5 * (ez[:, 1:] - ez[:, :-1]) * (1.0 - sy[None, 1:])
        hy += 0.5 * (ez[1:, :] - ez[:-1, :]) * (1.0 - sx[1:, None])
        ezx[1:-1, 1:-1] += 0.5 / eps[1:-1, 1:-1] * (hy[1:, 1:-1] - hy[:-1, 1:-1]) - sx[1:-1, None] * ezx[1:-1, 1:-1]
        ezy[1:-1, 1:-1] -= 0.5 / eps[1:-1, 1:-1] * (hx[1:-1, 1:] - hx[1:-1, :-1]) + sy[None, 1:-1] * ezy[1:-1, 1:-1]
        ezx[n // 2, m // 2] += source[t]
        seen[t] = ezx[4, 5] + ezy[4, 5]
    return np.sum(seen**2) + np.sum((ezx + ezy) ** 2)


def maxwell_loops(eps: Any, source: Any, steps: Any) -> Any:
    n, m = eps.shape
    ez, hx, hy = np.zeros((n, m)), np.zeros((n, m)), np.zeros((n, m))
    loss = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            d = max(3 - i, 3 - (n - 1 - i), 3 - j, 3 - (m - 1 - j), 0)
            loss[i, j] = 0.05 * d * d
    seen = 0.0
    for t in range(steps):
        for i in range(n):
            for j in range(m - 1):
                hx[i, j] = (hx[i, j] - 0.5 * (ez[i, j + 1] - ez[i, j])) / (1.0 + loss[i, j])
        for i in range(n - 1):
            for j in range(m):
                hy[i, j] = (hy[i, j] + 0.5 * (ez[i + 1, j] - ez[i, j])) / (1.0 + loss[i, j])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                curl = hy[i, j] - hy[i - 1, j] - hx[i, j] + hx[i, j - 1]
                ez[i, j] = (ez[i, j] + 0.5 / eps[i, j] * curl) / (1.0 + loss[i, j])
        ez[n // 2, m // 2] += source[t]
        seen += ez[4, 5] ** 2
    return seen + np.sum(ez**2)


def maxwell_roll(eps: Any, source: Any, steps: Any) -> Any:
    n, m = eps.shape
    ez, hx, hy = np.zeros_like(eps), np.zeros_like(eps), np.zeros_like(eps)
    for t in range(steps):
        hx = hx - 0.5 * (np.roll(ez, -1, axis=1) - ez)
        hy = hy + 0.5 * (np.roll(ez, -1, axis=0) - ez)
        ez = ez + 0.5 / eps * (hy - np.roll(hy, 1, axis=0) - hx + np.roll(hx, 1, axis=1))
        ez[n // 2, m // 2] += source[t]
    return np.sum(ez**2)


def level_slices(phi0: Any, speed: Any, steps: Any) -> Any:
    """A distance from where a function is zero, by Godunov's differences."""
    phi = phi0 - 1.0
    sign = speed * phi / np.sqrt(phi**2 + 0.1)
    for _ in range(steps):
        p = np.pad(phi, 1, mode="edge")
        a, b = phi - p[:-2, 1:-1], p[2:, 1:-1] - phi
        c, d = phi - p[1:-1, :-2], p[1:-1, 2:] - phi
        out = np.maximum(np.maximum(a, 0.0) ** 2, np.minimum(b, 0.0) ** 2)
        out = out + np.maximum(np.maximum(c, 0.0) ** 2, np.minimum(d, 0.0) ** 2)
        inn = np.maximum(np.minimum(a, 0.0) ** 2, np.maximum(b, 0.0) ** 2)
        inn = inn + np.maximum(np.minimum(c, 0.0) ** 2, np.maximum(d, 0.0) ** 2)
        slope = np.where(sign > 0, np.sqrt(out + 1e-9), np.sqrt(inn + 1e-9))
        phi = phi - 0.1 * sign * (slope - 1.0)
    return np.sum(phi**2)


def level_loops(phi0: Any, speed: Any, steps: Any) -> Any:
    n, m = phi0.shape
    phi, new = phi0 - 1.0, np.empty_like(phi0)
    for _ in range(steps):
        for i in range(n):
            for j in range(m):
                a = phi[i, j] - phi[max(i - 1, 0), j]
                b = phi[min(i + 1, n - 1), j] - phi[i, j]
                c = phi[i, j] - phi[i, max(j - 1, 0)]
                d = phi[i, min(j + 1, m - 1)] - phi[i, j]
                if phi0[i, j] > 1.0:
                    out = max(max(a, 0.0) ** 2, min(b, 0.0) ** 2) + max(max(c, 0.0) ** 2, min(d, 0.0) ** 2)
                    new[i, j] = phi[i, j] - 0.1 * speed[i, j] * (np.sqrt(out + 1e-9) - 1.0)
                else:
                    inn = max(min(a, 0.0) ** 2, max(b, 0.0) ** 2) + max(min(c, 0.0) ** 2, max(d, 0.0) ** 2)
                    new[i, j] = phi[i, j] + 0.1 * speed[i, j] * (np.sqrt(inn + 1e-9) - 1.0)
        phi, new = new, phi
    return np.sum(phi**2)


def level_roll(phi0: Any, speed: Any, steps: Any) -> Any:
    phi = phi0 - 1.0
    for _ in range(steps):
        square = 1e-9 + 0.0 * phi
        for axis in (0, 1):
            a, b = phi - np.roll(phi, 1, axis=axis), np.roll(phi, -1, axis=axis) - phi
            square = square + np.maximum(np.maximum(a, 0.0) ** 2, np.minimum(b, 0.0) ** 2)
        phi = phi - 0.1 * speed * (np.sqrt(square) - 1.0)
    return np.sum(phi**2)


def received_slices(c: Any, source: Any, data: Any, steps: Any) -> Any:
    """A wave in new arrays, with a sponge, a source, and receivers that a loop goes through."""
    n, m = c.shape
    x, y = np.arange(n), np.arange(m)
    near = np.minimum(np.minimum(x, n - 1 - x)[:, None], np.minimum(y, m - 1 - y)[None, :])
    damp = np.exp(-((0.1 * np.maximum(4 - near, 0)) ** 2))
    u, before = np.zeros((n, m)), np.zeros((n, m))
    misfit = 0.0
    for t in range(steps):
        lap = np.zeros((n, m))
        lap[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        new = (2.0 * u - before + 0.1 * c**2 * lap) * damp
        new[n // 2, 3] += source[t]
        before = u * damp
        u = new
        for r in range(data.shape[1]):
            misfit += 0.5 * (u[3 * r + 2, 2] - data[t, r]) ** 2
    return misfit


def diagonal_roll(u0: Any, r: Any, steps: Any) -> Any:
    u = u0.copy()
    for _ in range(steps):
        u = u + r * np.roll(np.roll(u * u, 1, axis=0), -1, axis=1)
    return np.sum(u * u)


WAYS = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))


def lattice_roll(density: Any, tau: Any, steps: Any) -> Any:
    """Lattice Boltzmann with nine velocities."""
    weights = [4 / 9, *[1 / 9] * 4, *[1 / 36] * 4]
    f = [w * density for w in weights]
    for _ in range(steps):
        rho = f[0] + f[1] + f[2] + f[3] + f[4] + f[5] + f[6] + f[7] + f[8]
        ux = (f[1] - f[3] + f[5] - f[6] - f[7] + f[8]) / rho
        uy = (f[2] - f[4] + f[5] + f[6] - f[7] - f[8]) / rho
        new = []
        for k, (a, b) in enumerate(WAYS):
            along = a * ux + b * uy
            still = weights[k] * rho * (1.0 + 3.0 * along + 4.5 * along**2 - 1.5 * (ux**2 + uy**2))
            new.append(np.roll(f[k] - (f[k] - still) / tau, (a, b), axis=(0, 1)))
        f = new
    return np.sum((f[1] - f[3]) ** 2) + np.sum(f[0] ** 2)


def conjugate_while(b: Any, k: Any, limit: Any) -> Any:
    """Poisson's equation by conjugate gradients, until the residual is small."""
    x, r = np.zeros_like(b), b.copy()
    r[0, :], r[-1, :], r[:, 0], r[:, -1] = 0.0, 0.0, 0.0, 0.0
    p = r.copy()
    size = np.sum(r * r)
    while size > limit:
        ap = np.zeros_like(p)
        ap[1:-1, 1:-1] = 4.0 * p[1:-1, 1:-1] - p[:-2, 1:-1] - p[2:, 1:-1] - p[1:-1, :-2] - p[1:-1, 2:]
        step = size / (k * np.sum(p * ap))
        x, r = x + step * p, r - k * step * ap
        new = np.sum(r * r)
        p = r + new / size * p
        size = new
    return np.sum(x * x)


def fields() -> Iterator[Program]:
    two = (13, 11)
    for f in (elastic_slices, elastic_loops):
        yield Program(f, two, (0, 1, 2), lambda x: (x(), 0.1 * x(), np.arange(1.0, 1.0 + STEPS), STEPS))
    for f in (bed_loops, bed_slices, bed_roll):
        yield Program(f, two, (0, 1), lambda x: (0.5 + x(), 0.1 * x(), STEPS))
    for f in (upwind_slices, upwind_loops, upwind_roll):
        yield Program(f, two, (0, 1, 2, 3), lambda x: (x(), x(), x(), 0.05, STEPS))
    for f in (cahn_roll, cahn_loops, cahn_slices):
        yield Program(f, two, (0, 1), lambda x: (x(), 0.5, STEPS))
    for f in (maxwell_slices, maxwell_loops, maxwell_roll):
        yield Program(f, two, (0, 1), lambda x: (x(), np.arange(1.0, 1.0 + STEPS), STEPS))
    for f in (level_slices, level_loops, level_roll):
        yield Program(f, two, (0, 1), lambda x: (x(), x(), STEPS))
    yield Program(diagonal_roll, two, (0, 1), lambda x: (x(), 0.1, STEPS))
    yield Program(lattice_roll, two, (0, 1), lambda x: (1.0 + 0.1 * x(), 0.8, STEPS))
    yield Program(conjugate_while, two, (0, 1), lambda x: (x(), 1.3, 1.0))
    waves = np.arange(1.0, 1.0 + STEPS)
    yield Program(received_slices, two, (0, 1), lambda x: (x(), waves, np.outer(waves, waves[:3]), STEPS))
