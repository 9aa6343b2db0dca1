"""Programs of several fields of physics for one process, in the spellings that are common there.
``tests.ranks.table`` runs them on several ranks, with those of ``physics`` and ``fields``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.ranks.physics import STEPS, Program


def rd_pad_wrap(u0: Any, v0: Any, feed: Any, kill: Any, steps: Any) -> Any:
    """Gray and Scott's reactions, periodic by ``np.pad``."""
    u, v = u0.copy(), v0.copy()
    for _ in range(steps):
        up = np.pad(u, 1, mode="wrap")
        vp = np.pad(v, 1, mode="wrap")
        lu = up[:-2, 1:-1] + up[2:, 1:-1] + up[1:-1, :-2] + up[1:-1, 2:] - 4 * u
        lv = vp[:-2, 1:-1] + vp[2:, 1:-1] + vp[1:-1, :-2] + vp[1:-1, 2:] - 4 * v
        uvv = u * v * v
        u = u + 0.16 * lu - uvv + feed * (1 - u)
        v = v + 0.08 * lv + uvv - (feed + kill) * v
    return np.sum((u - v)**2)


def thomas_adi(u0: Any, r: Any, steps: Any) -> Any:
    """Implicit along the second axis, explicit along the first."""
    n, m = u0.shape
    u = u0.copy()
    for _ in range(steps):
        b = u.copy()
        b[1:-1, :] += r * (u[2:, :] - 2 * u[1:-1, :] + u[:-2, :])
        c = np.zeros(m)
        d = np.zeros((n, m))
        c[0] = -r / (1 + 2 * r)
        d[:, 0] = b[:, 0] / (1 + 2 * r)
        for j in range(1, m):
            den = 1 + 2 * r + r * c[j - 1]
            c[j] = -r / den
            d[:, j] = (b[:, j] + r * d[:, j - 1]) / den
        u[:, m - 1] = d[:, m - 1]
        for j in range(m - 2, -1, -1):
            u[:, j] = d[:, j] - c[j] * u[:, j + 1]
    return np.sum(u**2)


def fdtd_pml(eps: Any, source: Any, sigma: Any, steps: Any) -> Any:
    """Maxwell's equations with split fields in absorbing layers, which profiles along the axes describe."""
    n, m = eps.shape
    ezx, ezy = np.zeros((n, m)), np.zeros((n, m))
    hx, hy = np.zeros((n, m - 1)), np.zeros((n - 1, m))
    sx = sigma * np.maximum(0.0, (3.0 - np.minimum(np.arange(n), n - 1 - np.arange(n))) / 3.0)**2
    sy = sigma * np.maximum(0.0, (3.0 - np.minimum(np.arange(m), m - 1 - np.arange(m))) / 3.0)**2
    loss = 0.0
    for t in range(steps):
        ez = ezx + ezy
        hx -= 0.5 * (ez[:, 1:] - ez[:, :-1])
        hy += 0.5 * (ez[1:, :] - ez[:-1, :])
        ax = (1 - sx) / (1 + sx)
        ay = (1 - sy) / (1 + sy)
        ezx[1:-1, :] = ax[1:-1, None] * ezx[1:-1, :] + 0.5 / eps[1:-1, :] * (hy[1:, :] - hy[:-1, :])
        ezy[:, 1:-1] = ay[None, 1:-1] * ezy[:, 1:-1] - 0.5 / eps[:, 1:-1] * (hx[:, 1:] - hx[:, :-1])
        ezx[n // 2, m // 3] += source[t]
        loss += ezx[n // 4, m // 2]**2 + ezy[n - 3, 2]**2
    return loss + np.sum((ezx + ezy)**2)


def wet_dry(h0: Any, b: Any, g: Any, steps: Any) -> Any:
    """Shallow water over a bed that falls dry."""
    h = h0.copy()
    hu = np.zeros_like(h)
    hv = np.zeros_like(h)
    dt = 0.02
    for _ in range(steps):
        wet = h > 0.7
        eta = np.where(wet, h + b, b)
        u = np.where(wet, hu / np.maximum(h, 0.1), 0.0)
        v = np.where(wet, hv / np.maximum(h, 0.1), 0.0)
        hu[1:-1, 1:-1] -= dt * g * h[1:-1, 1:-1] * (eta[2:, 1:-1] - eta[:-2, 1:-1]) / 2
        hv[1:-1, 1:-1] -= dt * g * h[1:-1, 1:-1] * (eta[1:-1, 2:] - eta[1:-1, :-2]) / 2
        h[1:-1, 1:-1] -= dt * ((hu[2:, 1:-1] - hu[:-2, 1:-1]) / 2 + (hv[1:-1, 2:] - hv[1:-1, :-2]) / 2)
        hu *= 1 - 0.01 * np.abs(u)
        hv *= 1 - 0.01 * np.abs(v)
        hu[~wet] = 0.0
        hv[~wet] = 0.0
    return np.sum(h**2) + np.sum(hu**2 + hv**2)


def levelset(phi0: Any, speed: Any, steps: Any) -> Any:
    """Upwind differences chosen by a condition."""
    phi = phi0.copy()
    for _ in range(steps):
        new = phi.copy()
        for i in range(1, phi.shape[0] - 1):
            for j in range(1, phi.shape[1] - 1):
                a = phi[i, j] - phi[i - 1, j]
                b = phi[i + 1, j] - phi[i, j]
                c = phi[i, j] - phi[i, j - 1]
                d = phi[i, j + 1] - phi[i, j]
                if speed[i, j] > 0.9:
                    g = max(a, 0.0)**2 + min(b, 0.0)**2 + max(c, 0.0)**2 + min(d, 0.0)**2
                else:
                    g = min(a, 0.0)**2 + max(b, 0.0)**2 + min(c, 0.0)**2 + max(d, 0.0)**2
                new[i, j] = phi[i, j] - 0.1 * speed[i, j] * np.sqrt(g + 1e-8)
        phi = new
    return np.sum(phi**2)


CX = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
CY = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
W = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)


def lbm(rho0: Any, tau: Any, ux0: Any, steps: Any) -> Any:
    """Lattice Boltzmann, nine directions in tables."""
    n, m = rho0.shape
    f = np.zeros((9, n, m))
    for k in range(9):
        f[k] = W[k] * rho0 * (1 + 3 * CX[k] * ux0)
    for _ in range(steps):
        rho = np.sum(f, axis=0)
        ux = (f[1] - f[3] + f[5] - f[6] - f[7] + f[8]) / rho
        uy = (f[2] - f[4] + f[5] + f[6] - f[7] - f[8]) / rho
        usq = ux * ux + uy * uy
        for k in range(9):
            cu = 3 * (CX[k] * ux + CY[k] * uy)
            feq = W[k] * rho * (1 + cu + 0.5 * cu * cu - 1.5 * usq)
            f[k] += (feq - f[k]) / tau
        for k in range(9):
            f[k] = np.roll(np.roll(f[k], CX[k], axis=0), CY[k], axis=1)
    rho = np.sum(f, axis=0)
    return np.sum((rho - 1.0)**2)


def lbm_lists(rho0: Any, tau: Any, steps: Any) -> Any:
    """Two components, in lists of arrays."""
    fs = [w * rho0 for w in (4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9)]
    gs = [w * (2.0 - rho0) for w in (4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9)]
    for _ in range(steps):
        r = fs[0] + fs[1] + fs[2] + fs[3] + fs[4]
        s = gs[0] + gs[1] + gs[2] + gs[3] + gs[4]
        force = -0.1 * (np.roll(s, -1, axis=0) - np.roll(s, 1, axis=0))
        w = (1 / 3, 1 / 6, 1 / 6, 1 / 6, 1 / 6)
        fs = [f + (wk * r - f) / tau for f, wk in zip(fs, w)]
        gs = [f + (wk * s - f) / tau for f, wk in zip(gs, w)]
        fs[1] = fs[1] + force * r
        fs[2] = fs[2] - force * r
        fs[1], fs[2] = np.roll(fs[1], 1, axis=0), np.roll(fs[2], -1, axis=0)
        fs[3], fs[4] = np.roll(fs[3], 1, axis=1), np.roll(fs[4], -1, axis=1)
        gs[1], gs[2] = np.roll(gs[1], 1, axis=0), np.roll(gs[2], -1, axis=0)
        gs[3], gs[4] = np.roll(gs[3], 1, axis=1), np.roll(gs[4], -1, axis=1)
    return np.sum((fs[1] - gs[2])**2) + np.sum(fs[0]**2)


def redblack_slices(u0: Any, f: Any, sweeps: Any) -> Any:
    """Gauss-Seidel in two colours, by slices in steps of two."""
    u = u0.copy()
    for _ in range(sweeps):
        for colour in (((1, 1), (2, 2)), ((1, 2), (2, 1))):
            for i, j in colour:
                near = u[i - 1 : -2 : 2, j:-1:2] + u[i + 1 :: 2, j:-1:2]
                near = near + u[i:-1:2, j - 1 : -2 : 2] + u[i:-1:2, j + 1 :: 2]
                u[i:-1:2, j:-1:2] = 0.25 * (near + f[i:-1:2, j:-1:2])
    return np.sum(u**2)


def redblack_if(u0: Any, f: Any, sweeps: Any) -> Any:
    """Gauss-Seidel in two colours, by a condition."""
    u = u0.copy()
    for _ in range(sweeps):
        for colour in range(2):
            for i in range(1, u.shape[0] - 1):
                for j in range(1, u.shape[1] - 1):
                    if (i + j) % 2 == colour:
                        u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] + f[i, j])
    return np.sum(u**2)


def redblack_mask(u0: Any, f: Any, sweeps: Any) -> Any:
    """Gauss-Seidel in two colours, by masks."""
    u = u0.copy()
    n, m = u.shape
    i, j = np.arange(n)[:, None], np.arange(m)[None, :]
    red = (i + j) % 2 == 0
    for _ in range(sweeps):
        for k in range(2):
            new = u.copy()
            new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + f[1:-1, 1:-1])
            u = np.where(red, new, u) if k == 0 else np.where(red, u, new)
    return np.sum(u**2)


def _around(a: Any) -> Any:
    return (np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a)


def phase_field(phi0: Any, temp0: Any, k: Any, steps: Any) -> Any:
    """Kobayashi's dendrites."""
    phi, temp = phi0.copy(), temp0.copy()
    for _ in range(steps):
        gx = 0.5 * (np.roll(phi, -1, axis=1) - np.roll(phi, 1, axis=1))
        gy = 0.5 * (np.roll(phi, -1, axis=0) - np.roll(phi, 1, axis=0))
        theta = np.arctan2(gy, gx)
        eps = 0.01 * (1 + 0.04 * np.cos(6 * theta))
        deps = -0.01 * 0.04 * 6 * np.sin(6 * theta)
        y = eps * deps * gx
        x = -eps * deps * gy
        div = 0.5 * (np.roll(y, -1, 0) - np.roll(y, 1, 0)) + 0.5 * (np.roll(x, -1, 1) - np.roll(x, 1, 1))
        m = 0.9 / np.pi * np.arctan(10.0 * (1.0 - temp))
        new = phi + 0.1 * (div + eps**2 * _around(phi) + phi * (1 - phi) * (phi - 0.5 + m))
        temp = temp + 0.1 * _around(temp) + k * (new - phi)
        phi = new
    return np.sum(phi**2) + np.mean(temp)


def elastic3(lam: Any, mu: Any, src: Any, steps: Any) -> Any:
    """Elastic waves in three dimensions, with a source and receivers."""
    n, m, k = lam.shape
    vx, vy, vz = np.zeros((n, m, k)), np.zeros((n, m, k)), np.zeros((n, m, k))
    sxx = np.zeros((n, m, k))
    syy = np.zeros((n, m, k))
    szz = np.zeros((n, m, k))
    sxy = np.zeros((n, m, k))
    out = np.zeros((steps, 3))
    dt = 0.1
    for t in range(steps):
        vx[1:, 1:, :] += dt * (sxx[1:, 1:, :] - sxx[:-1, 1:, :] + sxy[1:, 1:, :] - sxy[1:, :-1, :])
        vy[:-1, :-1, :] += dt * (sxy[1:, :-1, :] - sxy[:-1, :-1, :] + syy[:-1, 1:, :] - syy[:-1, :-1, :])
        vz[:, :, :-1] += dt * (szz[:, :, 1:] - szz[:, :, :-1])
        dx = vx[1:, :-1, 1:] - vx[:-1, :-1, 1:]
        dy = vy[:-1, 1:, 1:] - vy[:-1, :-1, 1:]
        dz = vz[:-1, :-1, 1:] - vz[:-1, :-1, :-1]
        l, mm = lam[:-1, :-1, 1:], mu[:-1, :-1, 1:]
        tr = l * (dx + dy + dz)
        sxx[:-1, :-1, 1:] += dt * (tr + 2 * mm * dx)
        syy[:-1, :-1, 1:] += dt * (tr + 2 * mm * dy)
        szz[:-1, :-1, 1:] += dt * (tr + 2 * mm * dz)
        sxy[1:, 1:, :] += dt * mu[1:, 1:, :] * (vx[1:, 1:, :] - vx[1:, :-1, :] + vy[1:, 1:, :] - vy[:-1, 1:, :])
        sxx[n // 2, m // 2, k // 2] += src[t]
        szz[n // 2, m // 2, k // 2] += src[t]
        for r in range(3):
            out[t, r] = vz[1 + 2 * r, m // 2, 2]
    return np.sum(out**2) + np.sum(vx**2)


def implicit_cg(u0: Any, kappa: Any, dt: Any, steps: Any) -> Any:
    """Diffusion in implicit steps, by conjugate gradients."""
    u = u0.copy()
    def apply(x: Any) -> Any:
        y = x.copy()
        fx = 0.5 * (kappa[1:, :] + kappa[:-1, :]) * (x[1:, :] - x[:-1, :])
        fy = 0.5 * (kappa[:, 1:] + kappa[:, :-1]) * (x[:, 1:] - x[:, :-1])
        y[:-1, :] -= dt * fx
        y[1:, :] += dt * fx
        y[:, :-1] -= dt * fy
        y[:, 1:] += dt * fy
        return y
    for _ in range(steps):
        x = u.copy()
        r = u - apply(x)
        p = r.copy()
        rs = np.sum(r * r)
        for _ in range(5):
            ap = apply(p)
            alpha = rs / np.sum(p * ap)
            x = x + alpha * p
            r = r - alpha * ap
            new = np.sum(r * r)
            p = r + (new / rs) * p
            rs = new
        u = x
    return np.sum(u**2)


def timed_border(u0: Any, left: Any, right: Any, r: Any, steps: Any) -> Any:
    """Borders that depend on time, and others without flow."""
    u = u0.copy()
    for t in range(steps):
        u[0, :] = left[t]
        u[-1, :] = right[t] * np.sin(0.1 * t)
        u[:, 0] = u[:, 1]
        u[:, -1] = u[:, -2]
        near = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + r * (near - 4 * u[1:-1, 1:-1])
    return np.sum(u**2)


def observables(u0: Any, data: Any, r: Any, steps: Any) -> Any:
    u = u0.copy()
    mass = energy = peak = 0.0
    history = np.zeros(steps)
    for t in range(steps):
        lap = np.zeros_like(u)
        lap[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        u = u + r * lap
        mass += np.sum(u)
        energy += 0.5 * np.sum((u[1:, :] - u[:-1, :])**2) + 0.5 * np.sum((u[:, 1:] - u[:, :-1])**2)
        peak = max(peak, np.max(u))
        history[t] = np.mean(u * data)
    rows = np.sum(u, axis=1)
    cols = u.mean(axis=0)
    seen = mass * 1e-3 + energy + peak + np.sum(history**2)
    return seen + np.sum(rows**2) + np.sum(cols**2) + np.var(u) + np.linalg.norm(u - data)


def mg2d(u0: Any, f: Any, cycles: Any) -> Any:
    """Two grids, by slices in steps of two."""
    n, m = u0.shape
    u = u0.copy()
    for _ in range(cycles):
        for _ in range(2):
            near = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            u[1:-1, 1:-1] = 0.2 * u[1:-1, 1:-1] + 0.2 * (near + f[1:-1, 1:-1])
        res = np.zeros_like(u)
        res[1:-1, 1:-1] = f[1:-1, 1:-1] - (4 * u[1:-1, 1:-1] - u[:-2, 1:-1] - u[2:, 1:-1] - u[1:-1, :-2] - u[1:-1, 2:])
        rc = res[::2, ::2].copy()
        e = np.zeros_like(rc)
        for _ in range(4):
            e[1:-1, 1:-1] = 0.25 * (e[:-2, 1:-1] + e[2:, 1:-1] + e[1:-1, :-2] + e[1:-1, 2:] + 4 * rc[1:-1, 1:-1])
        u[::2, ::2] += e
        u[1::2, ::2] += 0.5 * (e[:-1, :] + e[1:, :])
        u[::2, 1::2] += 0.5 * (e[:, :-1] + e[:, 1:])
        u[1::2, 1::2] += 0.25 * (e[:-1, :-1] + e[1:, :-1] + e[:-1, 1:] + e[1:, 1:])
    return np.sum(u**2)


def advect_where(q0: Any, vx: Any, vy: Any, dt: Any, steps: Any) -> Any:
    """Upwind differences by ``np.where``, and limits."""
    q = q0.copy()
    for _ in range(steps):
        dxm = q - np.roll(q, 1, axis=0)
        dxp = np.roll(q, -1, axis=0) - q
        dym = q - np.roll(q, 1, axis=1)
        dyp = np.roll(q, -1, axis=1) - q
        q = q - dt * (vx * np.where(vx > 1.0, dxm, dxp) + vy * np.where(vy > 1.0, dym, dyp))
        q = np.clip(q, 0.0, 2.0)
    return np.sum(q**2)


def euler_muscl(rho0: Any, p0: Any, dt: Any, steps: Any) -> Any:
    """Euler's equations in one dimension, with ghost cells by ``np.concatenate``."""
    rho = rho0.copy()
    mom = 0.1 * rho0
    e = p0 / 0.4 + 0.5 * mom**2 / rho
    for _ in range(steps):
        u = mom / rho
        p = 0.4 * (e - 0.5 * rho * u * u)
        c = np.sqrt(1.4 * p / rho)
        a = np.max(np.abs(u) + c)
        def flux(q: Any, f: Any) -> Any:
            qq = np.concatenate((q[:1], q, q[-1:]))
            ff = np.concatenate((f[:1], f, f[-1:]))
            return 0.5 * (ff[1:] + ff[:-1]) - 0.5 * a * (qq[1:] - qq[:-1])
        f1 = flux(rho, mom)
        f2 = flux(mom, mom * u + p)
        f3 = flux(e, u * (e + p))
        rho = rho - dt * (f1[1:] - f1[:-1])
        mom = mom - dt * (f2[1:] - f2[:-1])
        e = e - dt * (f3[1:] - f3[:-1])
    return np.sum(rho**2) + np.sum(e)


def kuramoto_gradient(u0: Any, nu: Any, steps: Any) -> Any:
    """``np.gradient`` and ``np.diff``."""
    u = u0.copy()
    for _ in range(steps):
        gx = np.gradient(u, axis=0)
        gy = np.gradient(u, axis=1)
        d2 = np.diff(u, 2, axis=0)
        u = u - 0.05 * (gx**2 + gy**2)
        u[1:-1, :] += nu * d2
    return np.sum(u**2)


def domains() -> Iterator[Program]:
    two, three, line = (13, 11), (9, 7, 8), (33,)
    times = np.arange(1.0, 1.0 + STEPS)
    yield Program(rd_pad_wrap, two, (0, 1, 2, 3), lambda x: (x(), x(), 0.04, 0.06, STEPS))
    yield Program(thomas_adi, two, (0, 1), lambda x: (x(), 0.3, STEPS))
    yield Program(fdtd_pml, two, (0, 1, 2), lambda x: (x(), times, 0.5, STEPS))
    yield Program(wet_dry, two, (0, 1, 2), lambda x: (x(), 0.1 * x(), 9.81, STEPS))
    yield Program(levelset, two, (0, 1), lambda x: (x(), x(), STEPS))
    yield Program(lbm, two, (0, 1, 2), lambda x: (x(), 0.8, 0.1, STEPS))
    yield Program(lbm_lists, two, (0, 1), lambda x: (x(), 0.8, STEPS))
    yield Program(redblack_slices, two, (0, 1), lambda x: (x(), x(), STEPS))
    yield Program(redblack_if, two, (0, 1), lambda x: (x(), x(), STEPS))
    yield Program(redblack_mask, two, (0, 1), lambda x: (x(), x(), STEPS))
    yield Program(phase_field, two, (0, 1, 2), lambda x: (x(), x(), 1.6, STEPS))
    yield Program(elastic3, three, (0, 1, 2), lambda x: (x(), x(), times, STEPS))
    yield Program(implicit_cg, two, (0, 1, 2), lambda x: (x(), x(), 0.1, STEPS))
    yield Program(timed_border, two, (0, 1, 2, 3), lambda x: (x(), times, times + 1, 0.1, STEPS))
    yield Program(observables, two, (0, 1, 2), lambda x: (x(), x(), 0.1, STEPS))
    yield Program(mg2d, two, (0, 1), lambda x: (x(), x(), 2))
    yield Program(advect_where, two, (0, 1, 2, 3), lambda x: (x(), x(), x(), 0.1, STEPS))
    yield Program(euler_muscl, line, (0, 1, 2), lambda x: (x(), x(), 0.05, STEPS))
    yield Program(kuramoto_gradient, two, (0, 1), lambda x: (x(), 0.1, STEPS))
