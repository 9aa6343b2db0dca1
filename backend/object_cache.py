"""Machine code kept from one process to the next.

A file is found by all that decides what is in it: the text of the LLVM IR, the target, the level, LLVM's version and
the modules of adc that run LLVM. So no file is ever out of date. A function, a rule or a constant that changes makes
another text, and what nobody asks for any more goes when there is no room.

``ADC_CACHE_DIR`` says where files are, ``ADC_CACHE_BYTES`` how much they may take (a number; default 1e9, for a while a
quarter more), ``ADC_CACHE=0`` that there are none. Where files cannot be written or read, code is made again, and
nothing is said.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import math
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from adc.backend.target import Target

SUFFIX = ".adc-object"
_LIMIT = 1_000_000_000
_DIGEST = 32
_MAKERS = "optimize.py", "loop_nodes.py", "moved_loads.py", "partial_sums.py", "target.py"
_written: float = math.inf  # bytes since all files were looked at, which takes time


def directory() -> Path | None:
    """Where files are; None if there are none."""
    if os.environ.get("ADC_CACHE", "1") in ("", "0"):
        return None
    given = os.environ.get("ADC_CACHE_DIR")
    with contextlib.suppress(RuntimeError):  # no home
        if given:
            return Path(given).expanduser()
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "adc"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adc"
    return None


def limit() -> float:
    """Bytes that the files may take."""
    with contextlib.suppress(ValueError):
        return float(os.environ.get("ADC_CACHE_BYTES", _LIMIT))
    return _LIMIT


def key(text: str, target: Target, level: int) -> str:
    """The name of what LLVM makes of a text."""
    return hashlib.sha256(f"{_makers()}\n{target}\n{level}\n{text}".encode()).hexdigest()


@functools.cache
def _makers() -> str:
    """What turns a text into code: LLVM, and the modules beside this one that run it."""
    own = hashlib.sha256()
    for name in _MAKERS:
        own.update(Path(__file__).with_name(name).read_bytes())
    return f"{llvmlite.__version__} {llvm.llvm_version_info} {own.hexdigest()}"


def find(name: str) -> bytes | None:
    """The code that was kept; None if there is none, or if the file is damaged."""
    folder = directory()
    if folder is None:
        return None
    path = _path(folder, name)
    try:
        data = path.read_bytes()
        digest, code = data[:_DIGEST], data[_DIGEST:]
        if hashlib.sha256(code).digest() != digest:
            return None
        os.utime(path)  # what was used last is the last to go
    except OSError:
        return None
    return code


def keep(name: str, code: bytes) -> None:
    """Write a file as a whole: another process sees it entire or not at all."""
    global _written
    folder = directory()
    if folder is None or len(code) > limit() / 4:
        return
    path = _path(folder, name)
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        number, unfinished = tempfile.mkstemp(dir=path.parent, suffix=SUFFIX)
        try:
            with os.fdopen(number, "wb") as file:
                file.write(hashlib.sha256(code).digest() + code)
            os.replace(unfinished, path)
        except BaseException:
            os.unlink(unfinished)
            raise
        _written += len(code)
        if _written > limit() / 4:
            _written = 0
            make_room(folder)


def make_room(folder: Path) -> None:
    """Delete what was not used for longest, down to three quarters of the limit, if there is more than that allows."""
    files = sorted(_files(folder), key=lambda file: file.used)
    total = sum(file.size for file in files)
    if total <= limit():
        return
    for file in files:
        if total <= 0.75 * limit():
            break
        with contextlib.suppress(OSError):
            file.path.unlink()
            total -= file.size


def usage() -> tuple[int, int]:
    """How many files there are, and their bytes."""
    folder = directory()
    sizes = [file.size for file in _files(folder)] if folder is not None else []
    return len(sizes), sum(sizes)


def clear() -> int:
    """Delete all files; how many there were. Raises ``OSError`` where that is not allowed."""
    folder = directory()
    files = list(_files(folder)) if folder is not None else []
    for file in files:
        file.path.unlink(missing_ok=True)
    return len(files)


@dataclass(frozen=True)
class _File:
    path: Path
    size: int
    used: float


def _files(folder: Path) -> Iterator[_File]:
    """What is there, and nothing else that lies in the directory."""
    for path in folder.glob(f"??/*{SUFFIX}"):
        with contextlib.suppress(OSError):  # deleted by another process
            found = path.stat()
            yield _File(path, found.st_size, found.st_mtime)


def _path(folder: Path, name: str) -> Path:
    return folder / name[:2] / (name[2:] + SUFFIX)
