"""The results of a run: tables for the terminal, ratios first, and JSON."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.suite.bars import Bar
from benchmarks.suite.measuring import Measured


def _number(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def ratios(results: Sequence[Measured], counts: Sequence[int]) -> Table:
    one, most = counts[0], counts[-1]
    table = Table(title="Ratios", title_justify="left")
    table.add_column("problem", no_wrap=True)
    heads = ["gradient / primal, 1", *(f"gradient / C's, {n}" for n in counts), "exact / C's, 1"]
    heads += [f"primal / Numba's, {n}" for n in counts]
    if most > one:
        heads += [f"primal, 1 / {most} threads", f"gradient, 1 / {most} threads"]
    for head in heads:
        table.add_column(head, justify="right")
    table.add_column("limit of the gradient")
    table.add_column("share", justify="right")
    table.add_column("C's", justify="right")
    for m in results:
        row = [m.ratio(("adc", "gradient", one), ("adc", "primal", one))]
        row += [m.ratio((m.fused, "gradient", n), ("C", "gradient", n)) for n in counts]
        row += [m.ratio(("adc", "gradient", one), ("C", "gradient", one))]
        row += [m.ratio((m.fused, "primal", n), ("Numba", "primal", n)) for n in counts]
        if most > one:
            row += [m.ratio(("adc", what, one), ("adc", what, most)) for what in ("primal", "gradient")]
        known = m.limits.get(("gradient", most))
        shares = [m.share("gradient", most, peer) for peer in (m.fused, "C")]
        table.add_row(
            m.problem.name, *map(_number, row), "" if known is None else known.name, *map(_number, shares)
        )
    return table


def exactness(results: Sequence[Measured], threads: int) -> Table:
    """The cost of rounding each operation that a problem has written."""
    title = f"Time with each operation rounded / with products fused, {threads} threads"
    table = Table(title=title, title_justify="left")
    for head in ("problem", "primal", "gradient"):
        table.add_column(head, no_wrap=True)
    for m in results:
        row = [m.cost_of_exactness(what, threads) for what in ("primal", "gradient")]
        table.add_row(m.problem.name, *map(_number, row))
    return table


def times(results: Sequence[Measured]) -> Table:
    """Milliseconds of each peer."""
    table = Table(title="Milliseconds (primal, gradient)", title_justify="left")
    columns = list(dict.fromkeys((peer, n) for m in results for peer, _, n in m.seconds))
    columns.sort(key=lambda key: (key[0] != "adc", key[0], key[1]))
    table.add_column("problem", no_wrap=True)
    for peer, n in columns:
        table.add_column(f"{peer}, {n}", justify="right")
    for m in results:
        row = []
        for peer, n in columns:
            both = [m.seconds.get((peer, what, n)) for what in ("primal", "gradient")]
            row.append("  ".join("-" if s is None else f"{1e3 * s:.3g}" for s in both) if any(both) else "")
        table.add_row(m.problem.name, *row)
    return table


def show(console: Console, results: Sequence[Measured], counts: Sequence[int], wanted: Sequence[Bar]) -> None:
    timed = [m for m in results if m.seconds]
    if timed:
        console.print(ratios(timed, counts))
        console.print(exactness(timed, counts[0]))
        for bar in wanted:
            console.print(str(bar), highlight=False, soft_wrap=True, style=None if bar.ok else "yellow")
        console.print(times(timed))
    for m in results:
        for text in m.wrong:
            console.print(f"WRONG  {m.problem.name}: {text}", highlight=False, soft_wrap=True, style="red")
    skipped = {f"{name} ({why})" for m in results for name, why in m.skipped.items()}
    if skipped:
        console.print(f"skipped: {', '.join(sorted(skipped))}", highlight=False, soft_wrap=True)


def as_json(
    results: Sequence[Measured], rates: dict[str, float], counts: Sequence[int], wanted: Sequence[Bar]
) -> dict[str, Any]:
    return {
        "machine": {"processor": platform.processor() or platform.machine(), "numpy": np.__version__, **rates},
        "threads": list(counts),
        "problems": [
            {
                "name": m.problem.name,
                "size": dict(m.size),
                "seconds": [
                    {"peer": peer, "what": what, "threads": n, "seconds": s} for (peer, what, n), s in m.seconds.items()
                ],
                "limits": [
                    {"what": what, "threads": n, "limit": known.name, "seconds": known.seconds}
                    for (what, n), known in m.limits.items()
                ],
                "wrong": m.wrong,
                "skipped": m.skipped,
            }
            for m in results
        ],
        "bars": [
            {"text": b.text, "value": b.value, "bound": b.bound if math.isfinite(b.bound) else None, "ok": b.ok}
            for b in wanted
        ],
    }


def write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n")
