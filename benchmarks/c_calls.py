"""Compiles C sources during the run, and calls their functions through ctypes."""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """The folder for object files. It is removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="adc-benchmarks-")


def place(name: str) -> str:
    """The path of what is built under a name; it exists as long as the process runs."""
    return str(Path(_folder().name) / name)


def compile_c(*arguments: Sequence[str]) -> None:
    """Run the C compiler with each of the arguments. Raises OSError if that fails."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise OSError("there is no C compiler (cc)")
    for given in arguments:
        command = [compiler, *given]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise OSError(f"{' '.join(command)}:\n{done.stderr}")


def bound(foreign: Any, args: Sequence[Any]) -> Callable[[], float]:
    """A call of a C function that returns a double.

    Arrays become pointers (they must be C-contiguous), floats double, integers int64_t.
    """
    foreign.restype = ctypes.c_double
    converted = [_converted(a) for a in args]

    def call() -> float:
        assert args is not None  # keeps the arrays behind the pointers alive
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
