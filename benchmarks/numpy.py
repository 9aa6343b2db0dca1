"""The programs of ``tests/programs/numpy``, as people write them, compared with NumPy, Numba and JAX; one thread, two
sizes.

For each: NumPy's time over adc's, Numba's over adc's if Numba supports the function as it is, the gradient's over the
value's, and the time of JAX's ``jit(value_and_grad)`` over adc's, for the program as a user of JAX writes it
(``benchmarks/jax_forms``), after values and gradients have been compared. Bars: NumPy at least 5 in the geometric mean
and never below 0.9; Numba 1.3; JAX 5, never below 1; the gradient at most 3.5 values in the median. CPU time.

    python -m benchmarks.numpy [--only NAME ...] [--sizes small large] [--peers numba jax]
"""

# ruff: noqa: E402 (how many threads libraries use is read when they are imported)
from __future__ import annotations

import argparse
import contextlib
import os
import signal
import statistics
import time
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ADC_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np

import adc
from benchmarks.jax_forms import compare, gradient_in_jax
from benchmarks.timing import least
from tests.programs.numpy.collection import PROGRAMS
from tests.programs.numpy.programs import Program, objective

LEAST = 1e-3  # seconds of a timed run
LIMIT = 60  # CPU seconds that a peer may take to compile
Row = dict[str, float]
Candidates = dict[str, Callable[..., Any]]


def measure(p: Program, size: int, peers: list[str]) -> Row:
    """Seconds of a call, by contender."""
    given = p.inputs(np.random.default_rng(0), size)
    expected = p.function(*_copies(given))
    compiled = adc.jit_grad(threads=1)(p.function)
    candidates: Candidates = {"numpy": p.function, "adc": compiled}
    if p.by:
        scalar = objective(p, expected)
        candidates["gradient"] = adc.value_and_grad(adc.jit_grad(threads=1)(scalar), argnums=p.by)
        if "jax" in peers:
            candidates |= _in_jax(p, scalar, candidates["gradient"], given)
    if "numba" in peers:
        candidates |= _found(lambda: _in_numba(p, given))
    after = _copies(given)
    p.function(*after)
    changes = not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(given, after, strict=True))

    with np.errstate(all="ignore"):
        calls = {n: (lambda f=f: f(*_copies(given))) if changes else partial(f, *given) for n, f in candidates.items()}
        often = {n: max(1, int(LEAST / one)) for n, one in least(calls, repeats=3, clock=time.process_time).items()}
        runs = {n: partial(_repeated, call, often[n]) for n, call in calls.items()}
        return {n: seconds / often[n] for n, seconds in least(runs, repeats=5, warm=0, clock=time.process_time).items()}


def _repeated(call: Callable[[], Any], times: int) -> None:
    for _ in range(times):
        call()


def _copies(given: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(v.copy() if isinstance(v, np.ndarray) else v for v in given)


def _found(make: Callable[[], Candidates]) -> Candidates:
    """A peer's version of a program, if the peer supports it and compiles it in time."""
    try:
        with _limited():
            return make()
    except Exception:
        return {}


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _in_numba(p: Program, given: tuple[Any, ...]) -> Candidates:
    import numba

    space = dict(p.function.__globals__)
    for name, value in space.items():
        if isinstance(value, types.FunctionType) and value.__module__ == p.function.__module__:
            space[name] = numba.njit(value)
    f = numba.njit(types.FunctionType(p.function.__code__, space))
    np.testing.assert_allclose(_first(f(*_copies(given))), _first(p.function(*_copies(given))), rtol=1e-6)
    return {"numba": f}


def _first(result: Any) -> Any:
    return result[0] if isinstance(result, tuple) else result


def _in_jax(p: Program, scalar: Callable[..., Any], ours: Callable[..., Any], given: tuple[Any, ...]) -> Candidates:
    """JAX's gradient, after comparison with adc's. Programs that JAX does not support, or that differ, are printed."""
    try:
        with _limited():
            theirs = gradient_in_jax(p, scalar, given)
            compare(p.name, ours(*_copies(given)), theirs(*_copies(given)))
    except Exception as error:
        print(f"{p.name}, JAX: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
        return {}
    return {"jax": theirs}


def mean(values: list[float]) -> float:
    return statistics.geometric_mean(values) if values else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=sorted(PROGRAMS))
    parser.add_argument("--sizes", nargs="*", default=["small", "large"])
    parser.add_argument("--peers", nargs="*", default=["numba", "jax"])
    options = parser.parse_args()
    print(f"{'program':26}{'size':>6}{'adc':>12}{'NumPy/adc':>11}{'Numba/adc':>11}{'grad/value':>12}{'JAX/adc':>9}")
    found: dict[str, list[float]] = {"numpy": [], "numba": [], "gradient": [], "jax": []}
    for name in options.only:
        for size in options.sizes:
            try:
                s = measure(PROGRAMS[name], getattr(PROGRAMS[name], size), options.peers)
            except adc.errors.CompileError as error:
                print(f"{name:26}{size:>6}  refused: {str(error).splitlines()[0]}")
                continue
            ratios: Row = {n: s[n] / s["adc"] for n in ("numpy", "numba", "gradient") if n in s}
            if "jax" in s:
                ratios["jax"] = s["jax"] / s["gradient"]
            for n in ratios:
                found[n].append(ratios[n])
            shown = [f"{ratios[n]:.2f}" if n in ratios else "-" for n in ("numpy", "numba", "gradient", "jax")]
            print(f"{name:26}{size:>6}{1e6 * s['adc']:>9.1f} us{shown[0]:>11}{shown[1]:>11}{shown[2]:>12}{shown[3]:>9}")
    print(f"NumPy over adc: geometric mean {mean(found['numpy']):.2f}, least {min(found['numpy']):.2f}")
    for n in ("numba", "jax"):
        if found[n]:
            print(f"{n} over adc: geometric mean {mean(found[n]):.2f}, least {min(found[n]):.2f}, of {len(found[n])}")
    if found["gradient"]:
        most = max(found["gradient"])
        print(f"gradient over value: median {statistics.median(found['gradient']):.2f}, most {most:.2f}")


if __name__ == "__main__":
    main()
