"""The acoustic wave equation on 400 x 400 points and 2,000 steps, with several limits of its gradient's memory.

For budgets from a hundredth of the memory of a tape of all steps: the predicted peak, the peak measured by the
operating system (the growth of the resident set, each in its own process), the time relative to that with the tape, and
the theoretical time, given the number of repeated steps and the ratio of the gradient's time to the function's.

    python -m benchmarks.memory [--size N] [--steps N] [--threads N] [--parts N,N] [--plot FILE]
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from adc import jit_grad
from adc.backend import runtime
from benchmarks.timing import ratio

PARTS = (100, 50, 20, 10, 5, 2, 1)


def wave(c, u0, steps):  # type: ignore[no-untyped-def]
    """Energy at the end; three buffers rotate."""
    n, m = u0.shape
    old, now, new = u0.copy(), u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                around = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1] - 4.0 * now[i, j]
                new[i, j] = 2.0 * now[i, j] - old[i, j] + c[i, j] * around
        old, now, new = now, new, old
    return np.sum(now * now)


def run_one(size: int, steps: int, threads: int, memory: int | None) -> None:
    """Print time and memory of one gradient, as JSON. Without ``memory`` it has a tape, and the function is timed,
    too."""
    rng = np.random.default_rng(0)
    c, u0 = 0.2 * rng.random((size, size)), rng.random((size, size))
    compiled = jit_grad(memory=memory, threads=threads)(wave)
    predicted = compiled.grad.forecast(c, u0, steps)
    # Whether it has a schedule depends on the size, so the right code is compiled first.
    compiled.grad(c, u0, steps)
    runtime.release_memory()
    gc.collect()
    # Resets the peak resident set.
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        compiled.grad(c, u0, steps)
        seconds.append(time.perf_counter() - start)
    found = {
        "taken": _status("VmHWM") - before,
        "predicted": predicted.peak,
        "seconds": min(seconds),
        "again": sum(loop.repeated for loop in predicted.loops),
        "steps": sum(loop.steps for loop in predicted.loops),
    }
    if memory is None:
        compiled(c, u0, steps)
        start = time.perf_counter()
        compiled(c, u0, steps)
        found["primal"] = time.perf_counter() - start
    print(json.dumps(found))


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise OSError(f"the system does not say {name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=400)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--parts", default=",".join(map(str, PARTS)), help="budgets are the tape's memory over these")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="time over memory, as a picture (takes matplotlib)")
    parser.add_argument("--memory", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        run_one(options.size, options.steps, options.threads, options.memory)
        return 0

    def one(memory: int | None) -> dict[str, float]:
        command = [sys.executable, "-m", "benchmarks.memory", "--one", f"--size={options.size}"]
        command += [f"--steps={options.steps}", f"--threads={options.threads}"]
        command += [] if memory is None else [f"--memory={memory}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        return dict(json.loads(done.stdout.splitlines()[-1]))

    tape = one(None)
    slower = tape["seconds"] / tape["primal"]
    whole = tape["predicted"]
    print(f"a tape of all steps: {whole / 1e6:.0f} MB; {slower:.2f} times the function's {tape['primal']:.2f} s")
    good = True
    points: list[tuple[float, float, float]] = []
    for part in map(int, options.parts.split(",")):
        memory = int(whole / part)
        try:
            found = one(memory)
        except SystemExit as error:
            print(f"1/{part}: {str(error).strip().splitlines()[-1] if str(error) else 'refused'}")
            good = False
            continue
        theory = 1 + found["again"] / found["steps"] / slower
        print(
            f"1/{part}: {memory / 1e6:.1f} MB allowed, {found['predicted'] / 1e6:.1f} MB predicted, "
            f"{found['taken'] / 1e6:.1f} MB taken; {found['again']:.0f} of {found['steps']:.0f} steps run again"
        )
        good &= ratio("memory taken over predicted", found["taken"] / found["predicted"], 1.05)
        times = found["seconds"] / tape["seconds"]
        good &= ratio("time over that of the tape, over theory's", times / theory, 1.15)
        points.append((found["taken"] / 1e6, times, theory))
    if options.plot is not None:
        plot(options.plot, points)
    return 0 if good else 1


def plot(path: Path, points: list[tuple[float, float, float]]) -> None:
    """Draw time over memory; ``points`` are megabytes, time relative to the tape, and the theoretical time."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    memory, measured, theory = zip(*points, strict=True)
    axes.plot(memory, theory, label="the steps that are run again")
    axes.scatter(memory, measured, label="measured", zorder=2)
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("memory of the gradient (MB)")
    axes.set_ylabel("time over that with a tape of all steps")
    axes.grid(linewidth=0.4)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    sys.exit(main())
