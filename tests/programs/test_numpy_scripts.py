"""Scripts in NumPy as people write them, each in one piece: values against NumPy, gradients against differences."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import adc

GAMMA = 1.4


def primitive(U):
    rho, mom, E = U
    u = mom / rho
    return rho, u, (GAMMA - 1) * (E - 0.5 * rho * u**2)


def flux(U):
    rho, u, p = primitive(U)
    return np.array([rho * u, rho * u**2 + p, u * (U[2] + p)])


def shock_tube(rho, u, p, cfl, steps):
    """Euler's equations by the fluxes of Harten, Lax and van Leer."""
    dx = 1.0 / len(rho)
    U = np.vstack((rho, rho * u, p / (GAMMA - 1) + 0.5 * rho * u * u))
    t = 0.0
    for _ in range(steps):
        r, v, q = primitive(U)
        c = np.sqrt(GAMMA * q / r)
        dt = cfl * dx / np.max(np.abs(v) + c)
        UL, UR = U[:, :-1], U[:, 1:]
        FL, FR = flux(UL), flux(UR)
        sL = np.minimum(v[:-1] - c[:-1], v[1:] - c[1:])
        sR = np.maximum(v[:-1] + c[:-1], v[1:] + c[1:])
        F = np.where(sL >= 0, FL, np.where(sR <= 0, FR, (sR * FL - sL * FR + sL * sR * (UR - UL)) / (sR - sL)))
        U[:, 1:-1] -= dt / dx * (F[:, 1:] - F[:, :-1])
        t += dt
    return U, t


def american_put(z, s0, strike, rate, sigma):
    """Longstaff and Schwartz on given draws."""
    steps, paths = z.shape
    dt = 1.0 / steps
    S = s0 * np.exp(np.cumsum((rate - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * z, axis=0))
    cash = np.maximum(strike - S[-1], 0)
    for t in range(steps - 2, -1, -1):
        cash *= np.exp(-rate * dt)
        itm = S[t] < strike
        x = S[t, itm]
        A = np.vander(x, 3)
        coef, *_ = np.linalg.lstsq(A, cash[itm], rcond=None)
        payoff = strike - x
        cash[itm] = np.where(payoff > A @ coef, payoff, cash[itm])
    return np.exp(-rate * dt) * cash.mean(), cash.std(ddof=1) / np.sqrt(paths)


def transport(C, a, b, eps):
    """Sinkhorn's iteration."""
    K = np.exp(-C / eps)
    u = np.ones_like(a)
    v = np.ones_like(b)
    it, err = 0, np.inf
    while err > 1e-9 and it < 50:
        before = u
        u = a / K.dot(v)
        v = b / K.T.dot(u)
        err = np.max(np.abs(u - before))
        it += 1
    P = u[:, None] * K * v[None]
    return np.sum(P * C), P, it


def two_layers(x, w, b, fc):
    """A convolution by windows, a maximum of each two by two, and a dense layer."""
    z = np.einsum("nchwij,ocij->nohw", sliding_window_view(x, (3, 3), axis=(2, 3)), w) + b[None, :, None, None]
    z = np.maximum(z, 0)
    n, c, h, k = z.shape
    pooled = z[:, :, : h // 2 * 2, : k // 2 * 2].reshape(n, c, h // 2, 2, k // 2, 2).max(axis=(3, 5))
    logits = pooled.reshape(n, -1) @ fc
    logits = logits - logits.max(1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def beacon(zs, x, Q, R):
    """An extended Kalman filter of ranges and bearings."""
    P = np.eye(len(x))
    F = np.eye(4)
    F[0, 2] = F[1, 3] = 0.1
    xs = []
    for z in zs:
        x = F.dot(x)
        P = F.dot(P).dot(F.T) + Q
        px, py = x[:2]
        rng = np.hypot(px, py)
        H = np.zeros((2, 4))
        H[0, :2] = px / rng, py / rng
        H[1, :2] = [-py / rng**2, px / rng**2]
        K = P.dot(H.T).dot(np.linalg.inv(H.dot(P).dot(H.T) + R))
        x = x + K.dot(z - np.array([rng, np.arctan2(py, px)]))
        P = (np.eye(4) - K.dot(H)).dot(P)
        xs.append(x.copy())
    return np.asarray(xs)


def damped(A, v):
    """A store into a diagonal by ``flat``, and pieces of several kinds."""
    B = np.select([A < 0.2, A < 0.5], [v * A, A**2], default=np.sin(v * A))
    B[np.triu_indices(len(A), 1)] = 0
    B.flat[:: len(A) + 1] += 2.0
    return np.linalg.solve(B, A[:, 0]), np.linalg.norm(B, "fro"), B.trace()


RNG = np.random.default_rng(0)
CASES: dict[Any, tuple[tuple[Any, ...], tuple[int, ...]]] = {
    shock_tube: ((1 + RNG.random(9), RNG.random(9) * 0.2, 1 + RNG.random(9), 0.05, 3), (0, 1, 2)),
    american_put: ((RNG.normal(size=(4, 9)), 1.0, 1.1, 0.05, 0.3), (1, 2, 3, 4)),
    transport: ((RNG.random((5, 5)) + 0.1, np.ones(5) / 5, np.ones(5) / 5, 0.5), (0, 1, 3)),
    two_layers: (
        (RNG.random((2, 1, 6, 6)), RNG.normal(size=(3, 1, 3, 3)), RNG.normal(size=3), RNG.normal(size=(12, 4))),
        (0, 1, 2, 3),
    ),
    beacon: ((RNG.random((4, 2)) + 1, np.array([0.5, 0.5, 0.1, 0.1]), np.eye(4) * 0.1, np.eye(2) * 0.2), (0, 1, 2, 3)),
    damped: ((RNG.random((5, 5)), 0.7), (0, 1)),
}


def squared(results: Any) -> float:
    """The sum of the squares of all floats."""
    each = results if isinstance(results, tuple) else (results,)
    return sum(float(np.sum(r * r)) for r in each if not isinstance(r, int))


@pytest.mark.parametrize("program", CASES, ids=lambda f: f.__name__)
def test_values_and_gradients(program: Any) -> None:
    args, by = CASES[program]
    compiled = adc.jit_grad(program)
    expected, (found, back) = program(*copy.deepcopy(args)), compiled.pullback(*copy.deepcopy(args))
    several = isinstance(expected, tuple)
    for a, b in zip(*((expected, found) if several else ([expected], [found])), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-13)
    double = tuple(None if isinstance(r, int) else 2.0 * r for r in found) if several else 2.0 * found
    bars = back(double)
    for k in by:
        along = np.random.default_rng(k).normal(size=np.shape(args[k]))
        sides = []
        for h in (1e-6, -1e-6):
            moved = copy.deepcopy(args)
            step = h * along if np.ndim(args[k]) else float(h * along)
            sides.append(squared(program(*moved[:k], moved[k] + step, *moved[k + 1 :])))
        np.testing.assert_allclose(np.sum(bars[k] * along), (sides[0] - sides[1]) / 2e-6, rtol=1e-5, atol=1e-8)
