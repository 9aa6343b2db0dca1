"""What makes code in one process, and has to be the same in another one for it to be used there."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from pathlib import Path

import llvmlite
import numpy as np

from adc.backend.target import host


@functools.cache
def makers() -> str:
    """What makes a specialisation: adc's own modules, the interpreter, NumPy, LLVM and the machine."""
    own = hashlib.sha256()
    folders = [str(Path(__file__).parent)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.name.endswith(".py"):
                    found = entry.stat()
                    own.update(f"{entry.path} {found.st_mtime_ns} {found.st_size}\n".encode())
                elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                    folders.append(entry.path)
    versions = sys.version, sys.implementation.cache_tag, np.__version__, llvmlite.__version__
    return f"{own.hexdigest()} {versions} {host()}"
