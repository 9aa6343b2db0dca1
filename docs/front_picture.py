"""Draw the picture of the README, for light and for dark pages: an inverse problem before and after, and the time of
gradients beside peers.

    python docs/front_picture.py

The inverse problem is that of ``adc demo``; the times are those of docs/plots/peers-gradient.csv, which
docs/benchmarks.md explains.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

from adc import plate

DOCS = Path(__file__).resolve().parent
SHOWN = {
    "heat2d": "heat equation",
    "burgers": "Burgers' equation",
    "wave": "wave equation",
    "shallow-water": "shallow water",
    "black-scholes": "option prices",
    "mixture": "Gaussian mixture",
    "bundle": "bundle adjustment",
    "lstm": "LSTM",
}
COLOURS = {"C": "#8a8f98", "JAX": "#4c78a8", "PyTorch": "#e45756"}
LABELS = {"C": "C, adjoint by hand", "JAX": "JAX 0.10", "PyTorch": "PyTorch 2.13"}
PAGES: dict[str, tuple[str | dict[str, Any], ...]] = {
    "front.png": ("default",),
    "front-dark.png": ("dark_background", {"figure.facecolor": "#131416", "axes.facecolor": "#131416"}),
}


def main() -> None:
    problem = plate.measured(64)
    found = plate.recover(problem, iterations=60)
    for name, style in PAGES.items():
        with pyplot.style.context(list(style)):
            figure = drawn(problem, found)
            figure.savefig(DOCS / "images" / name, dpi=130)


def drawn(problem: plate.Problem, found: plate.Recovered) -> Any:
    figure = pyplot.figure(figsize=(11, 3.5), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1.35, 1])
    panels = [("measured later, with noise", problem.data[0]), ("recovered", found.u0), ("truth", problem.truth)]
    for axis, (title, image) in zip(left.subplots(1, 3), panels, strict=True):
        axis.imshow(image, vmin=-0.05, vmax=1.05, cmap="inferno")
        axis.set_title(title, fontsize=11)
        axis.set_xticks([])
        axis.set_yticks([])
    unknowns = f"initial temperature of a plate: {64 * 64 + 1} unknowns, {found.evaluations} gradients"
    left.text(0.5, 0.08, unknowns, ha="center", fontsize=12)
    axis = right.subplots()
    with (DOCS / "plots" / "peers-gradient.csv").open() as file:
        rows = {row["problem"]: row for row in csv.DictReader(file)}
    for k, (peer, colour) in enumerate(COLOURS.items()):
        places = [row + 0.27 * (k - 1) for row in range(len(SHOWN))]
        axis.barh(places, [float(rows[name][peer]) for name in SHOWN], 0.25, color=colour, label=LABELS[peer])
    axis.axvline(1.0, color=pyplot.rcParams["text.color"], linewidth=1)
    axis.set_xscale("log")
    axis.set_xticks([1, 2, 5, 10, 20, 50], ["adc", "2x", "5x", "10x", "20x", "50x"])
    axis.minorticks_off()
    axis.set_xlim(0.6, 110)
    axis.set_yticks(range(len(SHOWN)), list(SHOWN.values()), fontsize=10)
    axis.invert_yaxis()
    axis.tick_params(axis="x", labelsize=10)
    right.legend(loc="outside lower center", ncols=3, fontsize=10, frameon=False)
    axis.set_title("time of a gradient, 2 threads (adc = 1)", fontsize=11)
    return figure


if __name__ == "__main__":
    main()
