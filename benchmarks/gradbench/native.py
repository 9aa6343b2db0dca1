"""The adjoints by hand, in C: compiled in the run, and called through ctypes."""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SOURCES = Path(__file__).resolve().parent / "c"
FLAGS = ["-O3", "-march=native", "-fPIC", "-shared", "-std=gnu11", "-Wall", "-Wextra"]


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Where libraries go. It is removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="adc-gradbench-")


@functools.cache
def library(name: str) -> ctypes.CDLL:
    """``c/<name>.c``, compiled and loaded. OSError where that fails."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise OSError("there is no C compiler (cc)")
    made = str(Path(_folder().name) / f"{name}.so")
    command = [compiler, *FLAGS, str(SOURCES / f"{name}.c"), "-o", made, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{' '.join(command)}:\n{done.stderr}")
    return ctypes.CDLL(made)


def bound(source: str, name: str, *args: Any) -> Callable[[], float]:
    """A call of the C function ``name`` of ``c/<source>.c``, which returns a double.

    Arrays go to pointers (they must be C-contiguous), floats to double, integers to int64_t.
    """
    foreign = getattr(library(source), name)
    foreign.restype = ctypes.c_double
    converted = [_converted(a) for a in args]

    def call() -> float:
        assert args  # keeps the arrays behind the pointers alive
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
    return ctypes.c_double(float(value))
