"""Times of GradBench's programs: adc, hand-written C and JAX alternate in one process.

    python -m benchmarks.gradbench [PROGRAM ...] [--seconds S] [--small] [--no-jax]

One thread; minimum CPU time of several runs. Values and derivatives are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.gradbench.program import Call, Program, flat
from benchmarks.gradbench.programs import NAMES, program

GOALS = {"det": 0.5, "ht": 1.0, "ode": 1.0}  # of C's time; 0.5 elsewhere
SHORT = 0.002  # seconds; of shorter calls several are timed in a row


def least(calls: Mapping[str, Call], seconds: float) -> dict[str, float]:
    """The minimum seconds of a call of each."""
    best = dict.fromkeys(calls, float("inf"))
    until = time.perf_counter() + seconds * len(calls)
    while True:
        for name, call in calls.items():
            count, begin = 0, time.process_time()
            while (now := time.process_time()) - begin < SHORT or not count:
                call()
                count += 1
            best[name] = min(best[name], (time.process_time() - begin) / count if count == 1 else (now - begin) / count)
        if time.perf_counter() > until:
            return best


def agree(given: Program, ours: Mapping[str, Call], theirs: Mapping[str, Call], who: str) -> None:
    for name, call in theirs.items():
        found, truth = flat(ours[name.split(",")[0]]()), flat(call())
        scale = np.max(np.abs(truth))
        assert np.max(np.abs(found - truth)) <= 1e-9 * scale, f"{given.name}, {name}: {who} differs"


def measure(given: Program, small: bool, seconds: float, jax: Any) -> str:
    sizes = given.small if small else given.sizes
    inputs = given.given(np.random.default_rng(1), **sizes)
    ours, c = given.by_adc(inputs), given.by_c(inputs)
    agree(given, ours, c, "C")
    calls = {"adc": ours[given.derivative], "adc value": ours[given.value]}
    calls |= {f"C {name}": call for name, call in c.items()}
    if jax is not None and given.by_jax is not None:
        theirs = given.by_jax(jax, inputs)
        agree(given, ours, theirs, "JAX")
        calls["JAX"] = theirs[given.derivative]
    times = least(calls, seconds)
    return row(given, sizes, times)


def row(given: Program, sizes: Mapping[str, int], times: Mapping[str, float]) -> str:
    ours, c = times["adc"], times[f"C {given.derivative}"]

    def over(name: str, base: float = ours) -> str:
        return f"{base / times[name]:.2f}" if name in times else ""

    others = ", ".join(
        f"{name.split(', ')[1]}: {ours / t:.2f}" for name, t in times.items() if name.startswith("C ") and ", " in name
    )
    what = ", ".join(f"{name} = {size:,}" for name, size in sizes.items())
    cells = (
        given.name, what, f"{1e3 * ours:.3f}", f"{ours / c:.2f}", f"{GOALS.get(given.name, 0.5):.1f}", over("JAX"),
        over(f"C {given.value}", times["adc value"]), "; ".join(part for part in (given.note, others) if part),
    )  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each candidate")
    parser.add_argument("--small", action="store_true", help="the sizes of the tests")
    parser.add_argument("--no-jax", action="store_true")
    options = parser.parse_args()
    jax = None if options.no_jax else one_thread_of_jax()
    print("| program | sizes | derivative, ms | over C | goal | over JAX | value over C | notes |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in options.programs or NAMES:
        print(measure(program(name), options.small, options.seconds, jax), flush=True)


def one_thread_of_jax() -> Any:
    """JAX, if it is installed, on one thread: its threads are configured when it starts."""
    cores = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(cores)})
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    start: Callable[..., Any] = jax.numpy.zeros
    start(1).block_until_ready()
    os.sched_setaffinity(0, cores)
    return jax


if __name__ == "__main__":
    main()
