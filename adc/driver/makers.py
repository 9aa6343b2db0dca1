"""Identifies what makes code: it must be the same in two processes for one to use the other's code."""

from __future__ import annotations

import functools
import hashlib
import os
import secrets
import sys
import time
from pathlib import Path

import llvmlite
import numpy as np

from adc import began
from adc.backend.target import host

_COARSE = 20_000_000  # nanoseconds: file times lag behind the clock


@functools.cache
def makers() -> str:
    """A name for what makes a specialisation: adc's own modules, the interpreter, NumPy, LLVM and the machine.

    If a module has changed since adc was imported, for instance by an upgrade, the code in memory may be the old one or
    a mixture. No other process may use what this process makes, so the name is then unique.
    """
    own = hashlib.sha256()
    since, now = began.BEGAN - _COARSE, time.time_ns()
    folders = [str(Path(__file__).parents[1])]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.name.endswith(".py"):
                    found = entry.stat()
                    own.update(f"{entry.path} {found.st_mtime_ns} {found.st_size}\n".encode())
                    if found.st_ctime_ns <= now and _changed(found) > since:
                        own.update(secrets.token_bytes())
                elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                    folders.append(entry.path)
    versions = sys.version, sys.implementation.cache_tag, np.__version__, llvmlite.__version__
    return f"{own.hexdigest()} {versions} {host()}"


def _changed(file: os.stat_result) -> int:
    """The latest time, in nanoseconds, at which a file may have been changed or replaced; some file systems store whole
    seconds."""
    when = file.st_ctime_ns
    return when if when % 1_000_000_000 else when + 999_999_999
