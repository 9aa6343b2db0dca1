"""The overhead of processes that run shots: ``adc.sum_shots`` on one and on two processes.

Run ``python -m benchmarks.shots [--workers N] [--shots N] [--rounds N]``. The shots are those of
``examples/wave.py --quick``, with one thread each. Pools of one and of N processes run them alternately. It prints wall
times, the minimum of all rounds, whose ratio is meaningful only if enough processors are idle; and CPU time, that of
the worker processes and that of this process, which pickles and sums. From these follows a lower bound of the time with
N undisturbed workers: an equal share of the work each, plus the time of this process. All values and gradients are
compared bit by bit with a sum in this process.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import adc

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "wave.py"


def example() -> Any:
    spec = importlib.util.spec_from_file_location("wave_example", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def processor_time(processes: list[int]) -> float:
    """CPU seconds that processes have used, according to Linux."""
    found = 0.0
    for number in processes:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        found += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


class Measured:
    """A pool, and the times of sums on it."""

    def __init__(self, workers: int) -> None:
        before = {child.pid for child in multiprocessing.active_children()}
        self.pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("fork"))
        self.pool.submit(int).result()
        self.workers = workers
        self.processes = [c.pid for c in multiprocessing.active_children() if c.pid and c.pid not in before]
        self.wall: list[float] = []
        self.work: list[float] = []
        self.here: list[float] = []

    def run(self, *args: Any) -> tuple[Any, Any]:
        work, here, wall = processor_time(self.processes), time.process_time(), time.perf_counter()
        found = adc.sum_shots(*args, executor=self.pool)
        self.wall.append(time.perf_counter() - wall)
        self.here.append(time.process_time() - here)
        self.work.append(processor_time(self.processes) - work)
        return found

    @property
    def least(self) -> float:
        return min(self.work) / self.workers + min(self.here)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--shots", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    module = example()
    problem = module.survey(quick=True)
    misfit = adc.jit_grad(checkpoint=adc.revolve(20), threads=1)(module.shot_misfit)
    shots = (problem.shots() * options.shots)[: options.shots]
    model = problem.model(problem.start)
    value, gradient = adc.sum_shots(misfit, shots, model)
    pools = [Measured(1), Measured(options.workers)]
    for k in range(options.rounds + 1):
        for measured in pools:
            found = measured.run(misfit, shots, model)
            assert (found[0], found[1].tobytes()) == (value, gradient.tobytes())
            if k == 0:  # in the first round the model was sent and code was loaded
                for times in (measured.wall, measured.work, measured.here):
                    times.clear()
    for measured in pools:
        print(
            f"{measured.workers} workers: wall {min(measured.wall):.3f} s; processor time: workers "
            f"{min(measured.work):.3f} s, this process {min(measured.here):.3f} s"
        )
    one, many = pools
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{many.workers} workers to one: wall {min(many.wall) / min(one.wall):.2f}", end="; ")
    print(f"by processor time {many.least / one.least:.2f}")


if __name__ == "__main__":
    main()
