"""Hand-written adjoints in C: compiled during the run, and called through ctypes."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import c_calls

SOURCES = Path(__file__).resolve().parent / "c"
FLAGS = ["-O3", "-march=native", "-fPIC", "-shared", "-std=gnu11", "-Wall", "-Wextra"]


@functools.cache
def library(name: str) -> ctypes.CDLL:
    """``c/<name>.c``, compiled and loaded. Raises OSError if that fails."""
    made = c_calls.place(f"gradbench-{name}.so")
    c_calls.compile_c([*FLAGS, str(SOURCES / f"{name}.c"), "-o", made, "-lm"])
    return ctypes.CDLL(made)


def bound(source: str, name: str, *args: Any) -> Callable[[], float]:
    """A call of the C function ``name`` of ``c/<source>.c``; see ``c_calls.bound``."""
    return c_calls.bound(getattr(library(source), name), args)
