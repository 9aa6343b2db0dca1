"""How ``adc.distribute`` scales: measured on a few ranks, and on up to 10,000 ranks by a model based on these
measurements.

    python -m benchmarks.scaling [--ranks 1,2] [--mpiexec mpiexec] [--latency US] [--bandwidth GB/S] [--extent N]

Needs mpi4py and an MPI library. The program is heat in two dimensions, with its gradient with respect to the field and
the coefficient. On one rank it measures the time of a step for blocks of several sizes; on two ranks, the time of
messages, and their number and size per step. From these follows the time of a step on any number of ranks:

    step = (points of a rank) x (time per point for such a block) + messages x latency + bytes / bandwidth

It prints how accurate this is where it was measured, and then strong scaling (one grid of N x N) and weak scaling (1024
x 1024 points per rank), with their limiting factors. ``--latency`` and ``--bandwidth`` are those of a network, to
replace the measured ones, which are for the shared memory of one machine. docs/scale.md explains the result.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SIZES = 64, 128, 256, 512, 1024, 2048
FEW, MANY, REPEATS = 10, 30, 7
MESSAGES = 8, 1024, 8192, 65536, 1 << 20
RANKS = 1, 4, 16, 64, 256, 1024, 4096, 10_000
WEAK = 1024

Row = dict[str, float]


def misfit(u0: Any, c: Any, steps: Any) -> Any:
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = u[i, j] + c * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
        u, v = v, u
    return np.sum(u * u)


def least(call: Callable[[], Any], barrier: Callable[[], Any]) -> float:
    """The minimum time of a call, in seconds, which the ranks begin together."""
    found = math.inf
    for _ in range(REPEATS):
        barrier()
        begin = time.perf_counter()
        call()
        found = min(found, time.perf_counter() - begin)
    return found


def measure(file: Path) -> None:
    """Run the measurements on each rank; the first rank writes the results to a file."""
    from mpi4py import MPI

    import adc
    from adc import jit_grad

    world = MPI.COMM_WORLD
    rows = []
    for n in SIZES if world.size == 1 else SIZES[3:]:
        grid = adc.Grid((n, n))
        function = adc.distribute(jit_grad(argnums=(0, 1), threads=1)(misfit), grid)
        field = grid.scatter(np.random.default_rng(0).standard_normal((n, n)))
        row: Row = {"n": n}
        calls: dict[str, Callable[[int], Any]] = {
            "value": lambda steps, f=function, u=field: f(u, 0.1, steps),  # type: ignore[misc]
            "gradient": lambda steps, f=function, u=field: f.value_and_grad(u, 0.1, steps),  # type: ignore[misc]
        }
        for name, call in calls.items():
            call(MANY)
            sent = []
            for steps in (FEW, MANY):
                before = grid.sent
                call(steps)
                sent.append([after - b for after, b in zip(grid.sent, before, strict=True)])
            for what, few, many in zip(("messages", "bytes"), *sent, strict=True):
                row[f"{name} {what}"] = (many - few) / (MANY - FEW)
            times = [least(lambda s=s, c=call: c(s), world.Barrier) for s in (FEW, MANY)]  # type: ignore[misc]
            row[name] = (times[1] - times[0]) / (MANY - FEW)
        rows.append(row)
    messages = [(size, _message(world, size)) for size in MESSAGES] if world.size == 2 else []
    if world.rank == 0:
        file.write_text(json.dumps({"rows": rows, "messages": messages}))


def _message(world: Any, size: int) -> float:
    """The time of an exchange of messages of ``size`` bytes between two ranks."""
    out, into = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
    other = 1 - world.rank

    def exchange() -> None:
        for _ in range(50):
            world.Sendrecv(out, other, 0, into, other, 0)

    return least(exchange, world.Barrier) / 50


class Model:
    """The time of a step, in seconds, according to the measurements."""

    def __init__(self, one: list[Row], two: list[Row], latency: float, bandwidth: float) -> None:
        self.one = one
        self.latency, self.bandwidth = latency, bandwidth
        widest = two[-1]  # two ranks, each with one neighbour
        self.messages = {what: widest[f"{what} messages"] for what in ("value", "gradient")}
        self.rows = {what: widest[f"{what} bytes"] / 8 / widest["n"] for what in ("value", "gradient")}

    def computing(self, what: str, points: float) -> float:
        known = [row["n"] ** 2 for row in self.one]
        rates = [row[what] / row["n"] ** 2 for row in self.one]
        return points * float(np.interp(math.log(points), np.log(known), rates))

    def sending(self, what: str, edges: list[float]) -> tuple[float, float]:
        """The time due to latency, and due to bytes, for a block with neighbours across edges of these lengths."""
        count = self.messages[what] * len(edges)
        return count * self.latency, self.rows[what] * 8 * sum(edges) / self.bandwidth


def fitted(messages: list[tuple[int, float]]) -> tuple[float, float]:
    """Latency in seconds, bandwidth in bytes a second."""
    sizes, times = np.array(messages).T
    return float(times[0]), float((sizes[-1] - sizes[0]) / max(times[-1] - times[0], 1e-12))


def run(ranks: int, mpiexec: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "found.json"
        command = [*mpiexec.split(), "-n", str(ranks), sys.executable, "-m", "benchmarks.scaling", "--measure"]
        subprocess.run([*command, str(file)], check=True, env={**os.environ, "ADC_NUM_THREADS": "1"})
        found: dict[str, Any] = json.loads(file.read_text())
        return found


def show(model: Model, title: str, sides: Callable[[int], float]) -> None:
    print(f"\n{title}")
    print(f"{'ranks':>7} {'block':>14} {'step':>10} {'computing':>10} {'latency':>9} {'bytes':>9} {'efficiency':>11}")
    first = None
    for ranks in RANKS:
        side = sides(ranks)
        across = 2 if ranks > 1 else 0
        edges = [side] * (across * 2)
        computing = model.computing("gradient", side * side)
        latency, volume = model.sending("gradient", edges)
        step = computing + latency + volume
        work = step / (side * side)  # time of a rank per point
        first = first or work
        cells = f"{step * 1e6:8.0f}us {computing * 1e6:8.0f}us {latency * 1e6:7.1f}us {volume * 1e6:7.1f}us"
        print(f"{ranks:7} {f'{side:.0f} x {side:.0f}':>14} {cells} {first / work:11.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="1,2", help="numbers of ranks to measure on, 1 and 2 among them")
    parser.add_argument("--mpiexec", default="mpiexec")
    parser.add_argument("--latency", type=float, help="microseconds")
    parser.add_argument("--bandwidth", type=float, help="GB/s")
    parser.add_argument("--extent", type=int, default=16384, help="of the grid for strong scaling")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure is not None:
        measure(options.measure)
        return 0
    found = {int(n): run(int(n), options.mpiexec) for n in options.ranks.split(",")}
    latency, bandwidth = fitted(found[2]["messages"])
    print(f"messages between two ranks: {latency * 1e6:.2f} us, {bandwidth / 1e9:.1f} GB/s")
    model = Model(found[1]["rows"], found[2]["rows"], latency, bandwidth)
    print(f"{'ranks':>5} {'grid':>6} {'':9} {'step':>9} {'model':>9} {'of one rank':>12} {'messages':>9} {'bytes':>8}")
    alone = {row["n"]: row for row in model.one}
    for ranks, result in found.items():
        for row in result["rows"]:
            n = int(row["n"])
            for what in ("value", "gradient"):
                edges = [] if ranks == 1 else [float(n)] * (2 if ranks > 2 else 1)
                said = model.computing(what, n * n / ranks) + sum(model.sending(what, edges))
                cells = f"{row[what] * 1e6:7.0f}us {said * 1e6:7.0f}us {row[what] / alone[n][what]:12.2f}"
                print(f"{ranks:5} {n:6} {what:9} {cells} {row[f'{what} messages']:9.1f} {row[f'{what} bytes']:8.0f}")
    if options.latency is not None:
        model.latency = options.latency * 1e-6
    if options.bandwidth is not None:
        model.bandwidth = options.bandwidth * 1e9
    print(f"\nbelow: messages of {model.latency * 1e6:.2f} us, {model.bandwidth / 1e9:.1f} GB/s; blocks along two axes")
    show(model, f"value and gradient, {options.extent} x {options.extent}", lambda p: options.extent / math.sqrt(p))
    show(model, f"value and gradient, {WEAK} x {WEAK} for each rank", lambda p: float(WEAK))
    return 0


if __name__ == "__main__":
    sys.exit(main())
