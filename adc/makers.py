"""What makes code in one process, and has to be the same in another one for it to be used there."""

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

_COARSE = 20_000_000  # nanoseconds: the times of files lag behind the clock


@functools.cache
def makers() -> str:
    """What makes a specialisation: adc's own modules, the interpreter, NumPy, LLVM and the machine.

    Where a module has changed since adc was imported, by an upgrade for instance, what is in memory may be what it was
    before, or some of both. So nobody else may have what this process makes: its name is like no other.
    """
    own = hashlib.sha256()
    since, now = began.BEGAN - _COARSE, time.time_ns()
    folders = [str(Path(__file__).parent)]
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
    """The last nanosecond at which a file may have changed, or another one got its name: some file systems have whole
    seconds."""
    when = file.st_ctime_ns
    return when if when % 1_000_000_000 else when + 999_999_999
