"""The plots of a run: a comparison of peers, and adc over threads and over problem size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.suite.measuring import Measured


def draw(folder: Path, results: Sequence[Measured], scaled: Sequence[Measured], counts: Sequence[int]) -> list[Path]:
    """Write the plots into ``folder`` and return their paths. Raises ImportError without matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for what in ("primal", "gradient"):
        figure, axes = pyplot.subplots(figsize=(9, 1 + 0.4 * len(results)))
        _peers(axes, results, what, counts[-1])
        made.append(_save(figure, folder / f"peers-{what}.svg"))
    if len(counts) > 1:
        figure, axes = pyplot.subplots(figsize=(9, 1 + 0.4 * len(results)))
        _threads(axes, results, counts)
        made.append(_save(figure, folder / "threads.svg"))
    if scaled:
        figure, axes = pyplot.subplots(figsize=(7, 5))
        _sizes(axes, scaled, counts)
        made.append(_save(figure, folder / "sizes.svg"))
    pyplot.close("all")
    return made


def _save(figure: Any, path: Path) -> Path:
    figure.tight_layout()
    figure.savefig(path)
    return path


def _rows(axes: Any, names: Sequence[str]) -> None:
    """One line for each problem, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="y", linewidth=0.4)
    axes.axvline(1.0, color="black", linewidth=0.8)


def _points(axes: Any, ratios: Sequence[float | None], label: str, marker: str = "o") -> None:
    """A point in the line of each problem that has a ratio."""
    points = [(ratio, row) for row, ratio in enumerate(ratios) if ratio is not None]
    if points:
        axes.scatter(*zip(*points, strict=True), marker=marker, label=label, zorder=2)


def _peers(axes: Any, results: Sequence[Measured], what: str, threads: int) -> None:
    """Seconds relative to adc's, for each peer on ``threads`` threads (NumPy: on one)."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    _rows(axes, [m.problem.name for m in results])
    for name in dict.fromkeys(peer for m in results for peer, _, _ in m.seconds if peer != "adc"):
        over = name, what, threads if name != "NumPy" else 1
        _points(axes, [m.ratio(over, ("adc", what, threads)) for m in results], name)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(f"time of the {what} / adc's, {threads} threads (right of 1: slower than adc)")
    axes.legend()


def _threads(axes: Any, results: Sequence[Measured], counts: Sequence[int]) -> None:
    """How many times faster values and gradients are on several threads than on one."""
    _rows(axes, [m.problem.name for m in results])
    for what, marker in (("primal", "o"), ("gradient", "s")):
        for count in counts[1:]:
            speedups = [m.ratio(("adc", what, counts[0]), ("adc", what, count)) for m in results]
            _points(axes, speedups, f"{what}, {count} threads", marker)
    for count in counts[1:]:
        axes.axvline(count, color="black", linewidth=0.8, linestyle="--")
    axes.set_xlabel("speedup over one thread")
    axes.legend(fontsize="small")


def _sizes(axes: Any, scaled: Sequence[Measured], counts: Sequence[int]) -> None:
    for name in dict.fromkeys(m.problem.name for m in scaled):
        series = [m for m in scaled if m.problem.name == name]
        for n in counts:
            points = [m.seconds["adc", "gradient", n] / m.working_set * 1e9 for m in series]
            axes.plot([m.working_set for m in series], points, marker="o", label=f"{name}, {n} threads")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("working set (bytes)")
    axes.set_ylabel("adc's gradient: nanoseconds per byte of the working set")
    axes.legend(fontsize="small")
