"""The plots of a run: peers beside each other, and adc over threads and over problem size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.suite.measuring import Measured


def draw(folder: Path, results: Sequence[Measured], scaled: Sequence[Measured], counts: Sequence[int]) -> list[Path]:
    """Write the plots into ``folder`` and return their paths. ImportError if there is no matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for what in ("primal", "gradient"):
        figure, axes = pyplot.subplots(figsize=(9, 1 + 0.6 * len(results)))
        _peers(axes, results, what, counts[-1])
        made.append(_save(figure, folder / f"peers-{what}.svg"))
    if len(counts) > 1:
        figure, axes = pyplot.subplots(figsize=(7, 5))
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


def _peers(axes: Any, results: Sequence[Measured], what: str, threads: int) -> None:
    """Seconds over adc's, for each peer on so many threads (NumPy: on one)."""
    names = list(dict.fromkeys(peer for m in results for peer, _, _ in m.seconds))
    for k, name in enumerate(names):
        ratios = [
            m.ratio((name, what, threads if name != "NumPy" else 1), ("adc", what, threads)) or 0.0 for m in results
        ]
        places = [row + 0.8 * (k + 0.5) / len(names) - 0.4 for row in range(len(results))]
        axes.barh(places, ratios, height=0.8 / len(names), label=name)
    axes.set_yticks(range(len(results)), [m.problem.name for m in results])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xlabel(f"time of the {what} / adc's, {threads} threads")
    axes.legend()


def _threads(axes: Any, results: Sequence[Measured], counts: Sequence[int]) -> None:
    for m in results:
        speedups = [m.ratio(("adc", "gradient", counts[0]), ("adc", "gradient", n)) for n in counts]
        if all(speedups):
            axes.plot(counts, speedups, marker="o", label=m.problem.name)
    axes.plot(counts, counts, color="black", linewidth=0.8, linestyle="--")
    axes.set_xlabel("threads")
    axes.set_ylabel("speedup of adc's gradient")
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
