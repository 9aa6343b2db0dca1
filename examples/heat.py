"""Recover the initial temperature and the diffusivity of a plate from later, noisy measurements.

    python examples/heat.py [--size N] [--iterations N] [--output DIRECTORY]

The solver, its misfit and the problem are in ``adc.plate``: ``misfit_loops`` with explicit loops, ``misfit_slices``
with NumPy slices. Their gradients are compared, and SciPy's L-BFGS-B minimises the misfit. With matplotlib installed, a
picture of truth, measurement and recovered plate is written.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from adc import plate


class ProgressBar:
    """A line that shows the progress of the minimisation; if the output is not a terminal, a line for every tenth
    iteration."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.first = 0.0

    def __call__(self, iteration: int, misfit: float, r: float) -> None:
        self.first = self.first or misfit
        text = f"iteration {iteration:3d}/{self.total}  misfit {misfit:12.2f}  r {r:.5f}"
        if sys.stdout.isatty():
            done = round(30 * iteration / self.total)
            sys.stdout.write(f"\r[{'#' * done}{'.' * (30 - done)}] {text}")
            sys.stdout.flush()
        elif iteration == 1 or iteration % 10 == 0:
            print(text)

    def finish(self) -> None:
        if sys.stdout.isatty():
            print()


def compare_versions(problem: plate.Problem) -> float:
    """The largest relative difference between the gradients of the two versions of the solver, at the first guess."""
    guess = problem.misfit(*problem.first_guess())
    by_loops, by_slices = plate.loops.grad(*guess), plate.slices.grad(*guess)
    return max(
        float(np.max(np.abs(a - b)) / np.max(np.abs(a))) for a, b in zip(by_loops, by_slices, strict=True)
    )


def draw(problem: plate.Problem, recovered: plate.Recovered, path: Path) -> None:
    """Draw the truth, the first and last measurement, and the recovered plate."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels: list[tuple[str, Any]] = [
        (f"truth, r = {problem.r:.4f}", problem.truth),
        ("first measurement", problem.data[0]),
        ("last measurement", problem.data[-1]),
        (f"recovered, r = {recovered.r:.4f}", recovered.u0),
    ]
    figure, axes = pyplot.subplots(1, len(panels) + 1, figsize=(18, 3.6), constrained_layout=True)
    for axis, (title, image) in zip(axes[:-1], panels, strict=True):
        shown = axis.imshow(image, vmin=-0.05, vmax=1.05, cmap="inferno")
        axis.set_title(title)
        axis.set_xticks([])
        axis.set_yticks([])
    figure.colorbar(shown, ax=axes[:-1], shrink=0.9, label="temperature")
    axes[-1].semilogy(recovered.history)
    axes[-1].set_title("misfit")
    axes[-1].set_xlabel("iteration")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=64, help="points along each side of the plate")
    parser.add_argument("--iterations", type=int, default=80)
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="where the picture goes")
    options = parser.parse_args()
    problem = plate.measured(options.size)
    difference = compare_versions(problem)
    print(f"gradients of the version with loops and of that with slices differ by {difference:.1e} at most")
    progress = ProgressBar(options.iterations)
    start = time.perf_counter()
    recovered = plate.recover(problem, iterations=options.iterations, progress=progress)
    seconds = time.perf_counter() - start
    progress.finish()
    before = float(np.sqrt(np.mean((problem.data[0] - problem.truth) ** 2)))
    after = float(np.sqrt(np.mean((recovered.u0 - problem.truth) ** 2)))
    print(f"{recovered.method}: {recovered.evaluations} gradients in {seconds:.2f} s")
    print(f"diffusivity r: true {problem.r:.4f}, recovered {recovered.r:.4f}")
    print(f"error of the plate (root mean square): first measurement {before:.4f}, recovered {after:.4f}")
    try:
        options.output.mkdir(parents=True, exist_ok=True)
        draw(problem, recovered, options.output / "heat.png")
    except ImportError:
        print("matplotlib is not installed: no picture")
    else:
        print(f"wrote {options.output / 'heat.png'}")


if __name__ == "__main__":
    main()
