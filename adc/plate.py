"""The plate problem: from noisy measurements of a plate that cools, recover how warm it was and how well it conducts.

The temperature u of a square plate obeys the heat equation. It is known at the rim and is stepped by the explicit
five-point scheme, whose one parameter is ``r`` = diffusivity x time step / spacing² (stable up to 1/4). Whole frames
are measured, every ``every`` steps, with normally distributed errors. The misfit is

    sum over frames, points of (u - data)² / (2 sigma²)  +  smooth / 2 x sum of squared differences of neighbours in u0,

the negative logarithm of the posterior with a smoothness prior: without it the problem is ill-posed, for the heat
equation forgets fine detail. (Tarantola, Inverse Problem Theory, SIAM 2005, chapters 1 and 3.)

It is written twice, with explicit loops and with slices; both have the same value and gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adc.functions.decorator import jit_grad
from adc.ir.lazy_dataclass import dataclass

Array = np.ndarray[Any, np.dtype[np.float64]]


def misfit_loops(u0, r, data, every, sigma, smooth):  # type: ignore[no-untyped-def]
    """The misfit, with explicit loops. ``u0``: (n, m); ``data``: (frames, n, m); ``every``: steps between frames."""
    frames, n, m = data.shape
    u = u0.copy()
    v = u0.copy()
    total = 0.0
    for k in range(frames):
        for _ in range(every):
            for i in range(1, n - 1):
                for j in range(1, m - 1):
                    v[i, j] = u[i, j] + r * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
            u, v = v, u
        for i in range(n):
            for j in range(m):
                d = (u[i, j] - data[k, i, j]) / sigma
                total += 0.5 * d * d
    for i in range(n - 1):
        for j in range(m):
            d = u0[i + 1, j] - u0[i, j]
            total += 0.5 * smooth * d * d
    for i in range(n):
        for j in range(m - 1):
            d = u0[i, j + 1] - u0[i, j]
            total += 0.5 * smooth * d * d
    return total


def misfit_slices(u0, r, data, every, sigma, smooth):  # type: ignore[no-untyped-def]
    """The misfit, with NumPy slices."""
    u = u0.copy()
    v = u0.copy()
    total = 0.0
    for k in range(data.shape[0]):
        for _ in range(every):
            v[1:-1, 1:-1] = u[1:-1, 1:-1] + r * (
                u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
            )
            u, v = v, u
        total += 0.5 * np.sum(((u - data[k]) / sigma) ** 2)
    total += 0.5 * smooth * np.sum((u0[1:, :] - u0[:-1, :]) ** 2)
    total += 0.5 * smooth * np.sum((u0[:, 1:] - u0[:, :-1]) ** 2)
    return total


loops = jit_grad(argnums=(0, 1))(misfit_loops)
slices = jit_grad(argnums=(0, 1))(misfit_slices)


@dataclass(frozen=True)
class Problem:
    """A plate, the measurements, and the true values behind them."""

    truth: Array
    r: float
    data: Array
    every: int
    sigma: float
    smooth: float

    def misfit(self, u0: Array, r: float) -> tuple[Any, ...]:
        """The arguments of the misfit for a guess."""
        return u0, r, self.data, self.every, self.sigma, self.smooth

    def first_guess(self) -> tuple[Array, float]:
        """A plate like the first frame, and r = 0.1.

        The plate is a copy: a view of the data would share memory with it, and gradients are with respect to memory.
        """
        return self.data[0].copy(), 0.1


def warm_plate(n: int) -> Array:
    """A plate with two warm spots, a warm bar and a cold spot, between 0 and 1."""
    y, x = np.mgrid[0:n, 0:n] / (n - 1)

    def spot(x0: float, y0: float, width: float, height: float) -> Array:
        found: Array = np.exp(-(((x - x0) / width) ** 4) - ((y - y0) / height) ** 4)
        return found

    warm = 0.75 * spot(0.3, 0.32, 0.15, 0.15) + 0.6 * spot(0.66, 0.6, 0.07, 0.27) + 0.5 * spot(0.3, 0.75, 0.1, 0.1)
    return np.ascontiguousarray(0.25 + warm - 0.25 * spot(0.75, 0.15, 0.12, 0.1))


def step(u: Array, r: float) -> Array:
    """One step of the scheme in plain NumPy; it makes the measurements, independently of the code under test."""
    v = u.copy()
    v[1:-1, 1:-1] += r * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1])
    return v


def measured(n: int = 48, frames: int = 10, every: int = 8, r: float = 0.18, sigma: float = 0.03) -> Problem:
    """A problem with known answer: ``frames`` noisy frames of an n x n plate, the first after ``every`` steps."""
    rng = np.random.default_rng(7)
    truth = warm_plate(n)
    u, data = truth, []
    for _ in range(frames):
        for _ in range(every):
            u = step(u, r)
        data.append(u + sigma * rng.standard_normal(u.shape))
    return Problem(truth, r, np.array(data), every, sigma, smooth=60.0)


@dataclass(frozen=True)
class Recovered:
    """The result: the plate, ``r``, the misfit at each iteration, and the name of the minimiser."""

    u0: Array
    r: float
    history: tuple[float, ...]
    evaluations: int
    method: str


def recover(
    problem: Problem,
    misfit: Any = loops,
    *,
    iterations: int = 60,
    progress: Callable[[int, float, float], None] | None = None,
) -> Recovered:
    """Minimise the misfit over the plate and r, from the first frame and r = 0.1.

    Uses L-BFGS-B of SciPy where that is installed, else ``lbfgs``. ``progress(iteration, misfit, r)`` is called after
    each iteration.
    """
    shape = problem.truth.shape
    evaluations = 0
    history: list[float] = []
    latest = (math.inf, 0.0)

    def objective(z: Array) -> tuple[float, Array]:
        nonlocal evaluations, latest
        evaluations += 1
        u0, r = z[:-1].reshape(shape), float(_rate(z[-1]))
        value, (u0_bar, r_bar) = misfit.value_and_grad(*problem.misfit(u0, r))
        latest = (value, r)
        return value, np.append(u0_bar.ravel(), r_bar * r * (1.0 - 4.0 * r) * _STIFFNESS)

    def note(_: Any) -> None:
        history.append(latest[0])
        if progress is not None:
            progress(len(history), *latest)

    u0, r = problem.first_guess()
    start = np.append(u0.ravel(), _coordinate(r))
    try:
        from scipy.optimize import minimize
    except ImportError:
        z, method = lbfgs(objective, start, iterations, note), "L-BFGS"
    else:
        options = {"maxiter": iterations, "maxcor": 20}
        z = minimize(objective, start, jac=True, method="L-BFGS-B", callback=note, options=options).x
        method = "SciPy's L-BFGS-B"
    return Recovered(z[:-1].reshape(shape), float(_rate(z[-1])), tuple(history), evaluations, method)


_STIFFNESS = 0.2  # scale of r, such that the misfit has about the same curvature in it as in a temperature


def _rate(s: float) -> float:
    """r from its coordinate: between 0 and the limit of stability."""
    return 0.25 / (1.0 + math.exp(-_STIFFNESS * s))


def _coordinate(r: float) -> float:
    return math.log(r / (0.25 - r)) / _STIFFNESS


def lbfgs(
    objective: Callable[[Array], tuple[float, Array]],
    start: Array,
    iterations: int,
    note: Callable[[Array], None],
    memory: int = 20,
) -> Array:
    """A minimum by limited-memory BFGS with a backtracking line search (Nocedal and Wright, algorithm 7.5)."""
    x = start.copy()
    value, g = objective(x)
    steps: list[tuple[Array, Array, float]] = []
    for _ in range(iterations):
        q, alphas = g.copy(), []
        for s, y, rho in reversed(steps):
            alphas.append(rho * (s @ q))
            q -= alphas[-1] * y
        if steps:
            s, y, _ = steps[-1]
            q *= (s @ y) / (y @ y)
        else:
            q /= max(1.0, float(np.linalg.norm(g)))
        for (s, y, rho), alpha in zip(steps, reversed(alphas), strict=True):
            q += (alpha - rho * (y @ q)) * s
        slope, length = -float(q @ g), 1.0
        while True:
            trial = x - length * q
            trial_value, trial_g = objective(trial)
            if trial_value <= value + 1e-4 * length * slope or length < 1e-10:
                break
            length *= 0.5
        s, y = trial - x, trial_g - g
        if s @ y > 1e-12 * (y @ y):
            steps = [*steps[-memory + 1 :], (s, y, 1.0 / float(s @ y))]
        converged = abs(value - trial_value) <= 1e-9 * abs(value)
        x, value, g = trial, trial_value, trial_g
        note(x)
        if converged:
            break
    return x
