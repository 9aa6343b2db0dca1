"""Hand-written C, compiled in the run and called through ctypes."""

from __future__ import annotations

import ctypes
import functools
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SOURCES = Path(__file__).resolve().parent / "c"
FLAGS = ["-O3", "-march=native", "-ffast-math", "-fopenmp", "-fPIC", "-std=gnu11", "-Wall", "-Wextra"]


@functools.lru_cache(maxsize=1)
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Where objects go. It is removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="adc-benchmarks-")


@functools.cache
def library(name: str) -> ctypes.CDLL:
    """``c/<name>.c``, compiled and loaded. OSError or CalledProcessError where that fails.

    It is compiled with -ffast-math but linked without: linking with it makes loading the library switch denormals off
    in the whole process, for adc and NumPy as well.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        raise OSError("there is no C compiler (cc)")
    built = Path(_folder().name) / name
    wide = ["-mprefer-vector-width=512"] if platform.machine() == "x86_64" else []
    source, made, shared = str(SOURCES / f"{name}.c"), f"{built}.o", f"{built}.so"
    for command in (
        [compiler, *FLAGS, *wide, "-c", source, "-o", made],
        [compiler, "-shared", "-fopenmp", made, "-o", shared, "-lm"],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise OSError(f"{' '.join(command)}:\n{done.stderr}")
    return ctypes.CDLL(shared)


def bound(source: str, name: str, threads: int, *args: Any) -> Callable[[], float]:
    """A call of the C function ``name`` of ``c/<source>.c``, which returns a double, on so many threads.

    Arrays go to pointers (they must be C-contiguous), floats to double, ints to int64_t.
    """
    loaded = library(source)
    foreign, set_threads = getattr(loaded, name), loaded.set_threads
    foreign.restype = ctypes.c_double
    converted = [_converted(a) for a in args]
    count = ctypes.c_int(threads)

    def call() -> float:
        assert args  # keeps the arrays behind the pointers alive
        set_threads(count)
        result: float = foreign(*converted)
        return result

    return call


def _converted(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise ValueError("C takes contiguous arrays")
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, int | np.integer):
        return ctypes.c_int64(int(value))
    return ctypes.c_double(value)
