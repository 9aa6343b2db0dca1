"""Hand-written C, compiled during the run and called through ctypes."""

from __future__ import annotations

import ctypes
import functools
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import c_calls

SOURCES = Path(__file__).resolve().parent / "c"
FLAGS = ["-O3", "-march=native", "-ffast-math", "-fopenmp", "-fPIC", "-std=gnu11", "-Wall", "-Wextra"]


@functools.cache
def library(name: str) -> ctypes.CDLL:
    """``c/<name>.c``, compiled and loaded. Raises OSError or CalledProcessError if that fails.

    It is compiled with -ffast-math but linked without it: otherwise loading the library would switch off denormals in
    the whole process, for adc and NumPy as well.
    """
    built = c_calls.place(name)
    wide = ["-mprefer-vector-width=512"] if platform.machine() == "x86_64" else []
    source, made, shared = str(SOURCES / f"{name}.c"), f"{built}.o", f"{built}.so"
    c_calls.compile_c(
        [*FLAGS, *wide, "-c", source, "-o", made], ["-shared", "-fopenmp", made, "-o", shared, "-lm"]
    )
    return ctypes.CDLL(shared)


def bound(source: str, name: str, threads: int, *args: Any) -> Callable[[], float]:
    """A call of the C function ``name`` of ``c/<source>.c``, on so many threads; see ``c_calls.bound``."""
    loaded = library(source)
    run, set_threads, count = c_calls.bound(getattr(loaded, name), args), loaded.set_threads, ctypes.c_int(threads)

    def call() -> float:
        set_threads(count)
        return run()

    return call
