"""Full-waveform inversion: recover the velocity of the ground from receivers' recordings of a few shots at the surface.

    python examples/wave.py [--quick] [--memory BYTES] [--iterations N] [--output DIRECTORY] [--workers N]

Pressure obeys the acoustic wave equation in two dimensions, discretised to second order in time and fourth order in
space, with damping layers at all four sides. A shot is a Ricker wavelet at one place of the surface, recorded by
receivers along the surface. The misfit of a shot is half the sum of squared differences between its traces and the
recorded ones. Its gradient with respect to the velocity needs the field of every step, last step first. This is more
than the given memory, so ``jit_grad(memory=...)`` keeps a part of it and runs steps again; ``forecast`` says in advance
how many. ``adc.sum_shots`` adds up misfit and gradient of all shots: with ``--workers 4`` on four processes, with
``--dask ADDRESS`` on a Dask cluster, with ``mpiexec -n 5 python -m mpi4py.futures examples/wave.py --mpi`` on MPI
processes. The recovered velocity has the same bits each time.

The recorded traces are made by the same scheme in plain NumPy, from a model with two bodies that the initial guess does
not contain. SciPy's L-BFGS-B minimises the sum over all shots; without SciPy, gradient descent with a line search is
used. With matplotlib installed, pictures of the models, of a shot's traces and of the misfit are written.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import adc
from adc import jit_grad, prange

Array = np.ndarray[Any, np.dtype[Any]]
Objective = Callable[[Array], tuple[float, Array]]

SURFACE = 2  # rows between the damping layer and sources and receivers


def shot_misfit(velocity, damping, ratio, wavelet, row, first, every, column, recorded):  # type: ignore[no-untyped-def]
    """Half the sum of squares of simulated minus recorded traces of one shot.

    ``velocity``: (n, m), km/s; ``damping``: (n, m), the fraction by which half a step damps the rate of change of the
    pressure; ``ratio``: time step / spacing, s/km; ``wavelet``: (steps,), pressure that the source adds in each step at
    ``row``, ``column``; ``recorded``: (steps, count), traces of receivers in that row, at columns ``first``,
    ``first + every`` and so on. All but the last two arguments are the same for all shots.
    """
    n, m = velocity.shape
    steps, count = recorded.shape
    before = np.zeros((n, m))
    now = np.zeros((n, m))
    total = 0.0
    for t in range(steps):
        for i in prange(2, n - 2):
            for j in range(2, m - 2):
                near = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
                far = now[i - 2, j] + now[i + 2, j] + now[i, j - 2] + now[i, j + 2]
                laplacian = (4.0 / 3.0) * near - (1.0 / 12.0) * far - 5.0 * now[i, j]
                courant = ratio * velocity[i, j]
                d = damping[i, j]
                ahead = 2.0 * now[i, j] - (1.0 - d) * before[i, j] + courant * courant * laplacian
                before[i, j] = ahead / (1.0 + d)
        before[row, column] += wavelet[t]
        before, now = now, before
        for k in range(count):
            residual = now[row, first + every * k] - recorded[t, k]
            total += 0.5 * residual * residual
    return total


@dataclass(frozen=True)
class Survey:
    """The measurements, their setup, and the true model. Models cover the whole grid, including the damping layers."""

    spacing: float  # km
    interval: float  # s, a time step
    border: int  # width of the damping layers in points
    truth: Array
    start: Array
    damping: Array
    wavelet: Array
    sources: Array
    receivers: range
    recorded: list[Array]

    @property
    def row(self) -> int:
        """The row of sources and receivers."""
        return self.border + SURFACE

    @property
    def inside(self) -> tuple[slice, slice]:
        """The part of a model that is recovered: below the sources and not damped."""
        n, m = self.truth.shape
        return slice(self.row + 3, n - self.border), slice(self.border, m - self.border)

    def model(self, velocity: Array) -> tuple[Any, ...]:
        """The arguments of ``shot_misfit`` that are the same for all shots."""
        ratio, first, every = self.interval / self.spacing, self.receivers.start, self.receivers.step
        return velocity, self.damping, ratio, self.wavelet, self.row, first, every

    def shots(self) -> list[tuple[int, Array]]:
        """The other arguments, for each shot: the column of the source, and the recorded traces."""
        return [(int(column), heard) for column, heard in zip(self.sources, self.recorded, strict=True)]

    def arguments(self, velocity: Array, shot: int) -> tuple[Any, ...]:
        """All arguments of ``shot_misfit``."""
        return *self.model(velocity), *self.shots()[shot]

    def traces(self, velocity: Array, shot: int) -> Array:
        """The traces that the receivers record of a shot, (steps, count)."""
        ratio, column = self.interval / self.spacing, int(self.sources[shot])
        return traces(velocity, self.damping, ratio, self.wavelet, self.row, column, self.receivers)

    def error(self, velocity: Array) -> float:
        """The root mean square error of a model in the recovered part, in km/s."""
        return float(np.sqrt(np.mean((velocity - self.truth)[self.inside] ** 2)))


def traces(velocity: Array, damping: Array, ratio: float, wavelet: Array, row: int, column: int, at: range) -> Array:
    """The traces of receivers at the columns ``at``, (steps, count), in NumPy; other arguments as in
    ``shot_misfit``."""
    before, now, middle = np.zeros(velocity.shape), np.zeros(velocity.shape), slice(2, -2)
    inner = middle, middle
    squared = (ratio * velocity[inner]) ** 2
    heard = np.empty((len(wavelet), len(at)))
    for t, pressure in enumerate(wavelet):
        near = now[1:-3, middle] + now[3:-1, middle] + now[middle, 1:-3] + now[middle, 3:-1]
        far = now[:-4, middle] + now[4:, middle] + now[middle, :-4] + now[middle, 4:]
        laplacian = 4.0 / 3.0 * near - far / 12.0 - 5.0 * now[inner]
        ahead = 2.0 * now[inner] - (1.0 - damping[inner]) * before[inner] + squared * laplacian
        before[inner] = ahead / (1.0 + damping[inner])
        before[row, column] += pressure
        before, now = now, before
        heard[t] = now[row, at.start : at.stop : at.step]
    return heard


def damping_layers(shape: tuple[int, int], border: int, spacing: float, interval: float, fastest: float) -> Array:
    """Damping grows with the square of the depth in a layer, such that a thousandth of a wave is left after it has
    passed in and back."""
    n, m = shape
    down, along = np.arange(n)[:, None], np.arange(m)[None, :]
    outside = np.maximum(np.maximum(border - down, down - (n - 1 - border)), 0)
    aside = np.maximum(np.maximum(border - along, along - (m - 1 - border)), 0)
    strongest = 3.0 * fastest * np.log(1000.0) / (2.0 * border * spacing)
    found: Array = 0.5 * interval * strongest * ((outside / border) ** 2 + (aside / border) ** 2)
    return found


def survey(*, quick: bool = False) -> Survey:
    """Ground whose velocity increases with depth, with a slow lens and a fast body in it; the initial guess is the
    ground alone."""
    if quick:
        depth, width, border, spacing, interval, steps, shots, frequency = 40, 72, 14, 0.025, 0.0045, 240, 3, 6.0
    else:
        depth, width, border, spacing, interval, steps, shots, frequency = 130, 300, 25, 0.01, 0.0018, 1400, 6, 7.0
    n, m = depth + 2 * border, width + 2 * border
    z = np.clip(np.arange(n) - border, 0, depth - 1)[:, None] / (depth - 1)
    x = np.clip(np.arange(m) - border, 0, width - 1)[None, :] / (width - 1)
    start = np.ascontiguousarray(1.6 + 1.2 * z + 0.0 * x)

    def body(x0: float, z0: float, along: float, down: float) -> Array:
        found: Array = np.exp(-((((x - x0) / along) ** 2 + ((z - z0) / down) ** 2) ** 2))
        return found

    truth = start - 0.25 * body(0.35, 0.32, 0.13, 0.16) + 0.3 * body(0.66, 0.48, 0.11, 0.18)
    damping = damping_layers((n, m), border, spacing, interval, float(truth.max()))
    late = (np.arange(steps) * interval - 1.2 / frequency) * np.pi * frequency
    wavelet = (1.0 - 2.0 * late**2) * np.exp(-(late**2))
    sources = np.linspace(border + 4, m - border - 5, shots).astype(np.int64)
    receivers = range(border + 2, m - border - 2, 2)
    made = Survey(spacing, interval, border, truth, start, damping, wavelet, sources, receivers, [])
    made.recorded.extend(made.traces(truth, shot) for shot in range(shots))
    return made


def smoother(count: int, width: float) -> Array:
    """(count, count): means of neighbours, weighted by a normal distribution ``width`` points wide."""
    place = np.arange(count)
    weights = np.exp(-0.5 * ((place[:, None] - place[None, :]) / width) ** 2)
    found: Array = weights / weights.sum(axis=1, keepdims=True)
    return found


@dataclass
class Inversion:
    """The misfit of all shots as a function of x. The smoothed x, with more weight at depth, is added to the initial
    guess.

    The smoothed values are means with weights up to one, so bounds of x are also bounds of the change: the velocity
    stays within the limits of the time step.
    """

    survey: Survey
    misfit: Any  # shot_misfit, by jit_grad
    executor: Any = None  # runs the shots; None: this process
    smooth: float = 3.0  # points
    most: float = 0.6  # km/s, largest change of the velocity
    history: list[float] = field(default_factory=list)
    gradients: int = 0

    def __post_init__(self) -> None:
        rows, columns = self.survey.start[self.survey.inside].shape
        deeper = np.linspace(0.3, 1.0, rows)[:, None]
        self.down, self.along = deeper * smoother(rows, self.smooth), smoother(columns, self.smooth)
        self.latest = 0.0

    def velocity(self, x: Array) -> Array:
        made = self.survey.start.copy()
        made[self.survey.inside] += self.down @ x.reshape(len(self.down), -1) @ self.along.T
        return made

    def by_velocity(self, velocity: Array) -> tuple[float, Array]:
        """The misfit of all shots and its gradient with respect to the velocity."""
        shots = self.survey.shots()
        self.gradients += len(shots)
        value, gradient = adc.sum_shots(self.misfit, shots, self.survey.model(velocity), executor=self.executor)
        return float(value), gradient

    def objective(self, x: Array) -> tuple[float, Array]:
        """The misfit, relative to that of the initial guess, and its gradient with respect to x."""
        value, gradient = self.by_velocity(self.velocity(x))
        self.latest = value
        if not self.history:
            self.history.append(value)
        scale = 1.0 / self.history[0]
        return scale * value, scale * (self.down.T @ gradient[self.survey.inside] @ self.along).ravel()

    def note(self, _: Any = None) -> None:
        """Report the misfit after an iteration."""
        self.history.append(self.latest)
        print(f"iteration {len(self.history) - 1:3d}  misfit {self.latest:12.4f}", flush=True)

    def run(self, iterations: int, *, scipy: bool = True) -> tuple[Array, str]:
        """The recovered velocity, and the name of the minimiser."""
        x = np.zeros(self.survey.start[self.survey.inside].size)
        try:
            if not scipy:
                raise ImportError
            from scipy.optimize import minimize
        except ImportError:
            return self.velocity(descend(self.objective, x, self.most, iterations, self.note)), "gradient descent"
        bounds = [(-self.most, self.most)] * len(x)
        limits = {"maxiter": iterations, "maxcor": 12, "ftol": 1e-12, "gtol": 1e-12}
        found = minimize(
            self.objective, x, jac=True, method="L-BFGS-B", bounds=bounds, callback=self.note, options=limits
        )
        return self.velocity(found.x), "SciPy's L-BFGS-B"


def descend(objective: Objective, x: Array, most: float, iterations: int, note: Callable[[], None]) -> Array:
    """Projected gradient descent within ``[-most, most]``: Barzilai-Borwein steps (1988), halved if too long."""
    value, gradient = objective(x)
    length = 0.1 * most / float(np.max(np.abs(gradient)))
    for _ in range(iterations):
        for _ in range(12):
            trial = np.clip(x - length * gradient, -most, most)
            trial_value, trial_gradient = objective(trial)
            if trial_value <= value + 1e-4 * float(gradient @ (trial - x)):
                break
            length *= 0.5
        else:
            break
        step, turn = trial - x, trial_gradient - gradient
        if (curvature := float(step @ turn)) > 0:
            length = float(step @ step) / curvature
        x, value, gradient = trial, trial_value, trial_gradient
        note()
    return x


def draw(problem: Survey, found: Array, history: list[float], folder: Path) -> list[Path]:
    """Draw the models, the traces of a shot, and the misfit after each iteration."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams["svg.hashsalt"] = "adc"
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / "wave-models.png", folder / "wave-traces.png", folder / "wave-misfit.svg"]
    n, m = problem.truth.shape
    b, h = problem.border, problem.spacing
    shown = slice(b, n - b), slice(b, m - b)
    extent = (0.0, (m - 2 * b) * h, (n - 2 * b) * h, 0.0)

    figure, axes = pyplot.subplots(1, 3, figsize=(12, 2.6), constrained_layout=True, sharey=True)
    low, high = float(problem.truth[shown].min()), float(problem.truth[shown].max())
    for axis, (title, model) in zip(
        axes, (("true", problem.truth), ("start", problem.start), ("recovered", found)), strict=True
    ):
        image = axis.imshow(model[shown], extent=extent, vmin=low, vmax=high, cmap="viridis", aspect="auto")
        axis.set_title(f"{title}, error {1000 * problem.error(model):.0f} m/s" if model is not problem.truth else title)
        axis.set_xlabel("km")
        axis.plot((problem.sources - b) * h, np.full(len(problem.sources), SURFACE * h), "r*", clip_on=False)
    axes[0].set_ylabel("depth, km")
    figure.colorbar(image, ax=axes, label="km/s", shrink=0.9)
    figure.savefig(written[0], dpi=70)
    pyplot.close(figure)

    shot = len(problem.sources) // 2
    recorded = problem.recorded[shot]
    panels = [
        ("recorded", recorded),
        ("start - recorded", problem.traces(problem.start, shot) - recorded),
        ("recovered - recorded", problem.traces(found, shot) - recorded),
    ]
    limit = 0.3 * float(np.abs(panels[1][1]).max())
    seconds = len(recorded) * problem.interval
    figure, axes = pyplot.subplots(1, 3, figsize=(12, 3.2), constrained_layout=True, sharey=True)
    for axis, (title, image) in zip(axes, panels, strict=True):
        axis.imshow(
            image[::4], extent=(0.0, extent[1], seconds, 0.0), vmin=-limit, vmax=limit, cmap="gray", aspect="auto"
        )
        axis.set_title(title)
        axis.set_xlabel("receiver, km")
    axes[0].set_ylabel("time, s")
    figure.savefig(written[1], dpi=70)
    pyplot.close(figure)

    figure, axis = pyplot.subplots(figsize=(5, 2.8), constrained_layout=True)
    axis.semilogy(history, ".-")
    axis.set_xlabel("iteration")
    axis.set_ylabel("misfit")
    figure.savefig(written[2], metadata={"Date": None})
    pyplot.close(figure)
    return written


def executor_for(options: argparse.Namespace) -> Any:
    """The executor for the shots; for processes a function that makes a pool, and a new pool if that one loses a
    worker."""
    if options.workers:
        from concurrent.futures import ProcessPoolExecutor

        return functools.partial(ProcessPoolExecutor, options.workers, multiprocessing.get_context("spawn"))
    if options.dask:
        from distributed import Client

        return Client(options.dask)
    if options.mpi:
        from mpi4py.futures import MPIPoolExecutor

        return MPIPoolExecutor()
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small survey, in seconds")
    parser.add_argument("--memory", help="what a gradient may take; default: 500MB, or 1500kB if quick")
    parser.add_argument("--iterations", type=int, help="default: 15, or 10 if quick")
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="where the pictures go")
    parser.add_argument("--workers", type=int, help="run shots on so many processes of this machine")
    parser.add_argument("--dask", metavar="ADDRESS", help="run shots on the workers of this scheduler of Dask")
    parser.add_argument("--mpi", action="store_true", help="run shots on processes of MPI, by mpi4py.futures")
    options = parser.parse_args()
    memory = options.memory or ("1500kB" if options.quick else "500MB")
    problem = survey(quick=options.quick)
    misfit = jit_grad(memory=memory)(shot_misfit)
    n, m = problem.truth.shape
    shots, traces_each = len(problem.sources), len(problem.receivers)
    print(f"{n} x {m} points, {len(problem.wavelet)} steps, {shots} shots, {traces_each} traces each")
    forecast = misfit.grad.forecast(*problem.arguments(problem.start, 0))
    print(forecast)
    (loop,) = forecast.loops
    print(f"\na tape of all steps would take {loop.steps * loop.tape / 1e6:.4g} MB; allowed are {memory}")

    inversion = Inversion(problem, misfit, executor_for(options))
    start = time.perf_counter()
    found, method = inversion.run(options.iterations or (10 if options.quick else 15))
    seconds = time.perf_counter() - start
    history = inversion.history
    print(f"{method}: {inversion.gradients} gradients of shots in {seconds:.1f} s")
    print(f"misfit: {history[0]:.4g} at the start, {history[-1]:.4g} in the end")
    print(f"digest of the velocity: {hashlib.sha256(found.tobytes()).hexdigest()[:16]}")
    first, last = problem.error(problem.start), problem.error(found)
    print(f"error of the velocity: {first:.4f} km/s at the start, {last:.4f} in the end")
    try:
        written = draw(problem, found, history, options.output)
    except ImportError:
        print("matplotlib is not installed: no pictures")
    else:
        print("wrote", *written)


if __name__ == "__main__":
    main()
