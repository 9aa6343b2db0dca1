"""Machine code kept from one process to the next.

A file is found by all that decides what is in it: the text of the LLVM IR, the target, the level, LLVM's version and
the modules of adc that run LLVM. So no file is ever out of date. A function, a rule or a constant that changes makes
another text, and what nobody asks for any more goes when there is no room.

``ADC_CACHE_DIR`` says where files are, ``ADC_CACHE_BYTES`` how much they may take (a number; default 1e9, for a while
about a quarter more), ``ADC_CACHE=0`` that there are none. Where files cannot be written or read, code is made again,
and nothing is said. Nor is code used that somebody else may have put there, as it would run with all that this user
may do: files and directories must be this user's own and writable by nobody else, which is said once where they are
not, and what is not a regular file is not opened for long. A file is bound to its name: another one's code is not taken
for it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import math
import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from adc.backend.target import Target
from adc.ir.notices import warn

SUFFIX = ".adc-object"
LOCK = ".adc-lock"
_LIMIT = 1_000_000_000
_DIGEST = 32
_MAKERS = "optimize.py", "llvm_calls.py", "loop_nodes.py", "moved_loads.py", "partial_sums.py", "target.py"
_written: float = math.inf  # bytes since it was looked how much there is
_FOLDERS = 256  # by the first two digits of the name


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
    """The code that was kept; None if there is none, or if the file is damaged or of another name."""
    with contextlib.suppress(OSError), place(name) as inner:
        number = os.open(_file(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=inner)
        with open(number, "rb") as file:
            _check(number, stat.S_ISREG, "a file")
            data = file.read()
            digest, code = data[:_DIGEST], data[_DIGEST:]
            if _seal(name, code) != digest:
                return None
            os.utime(number)  # what was used last is the last to go
            return code
    return None


def keep(name: str, code: bytes) -> None:
    """Write a file as a whole: another process sees it entire or not at all."""
    global _written
    folder = directory()
    if folder is None or len(code) > limit() / 4:
        return
    with contextlib.suppress(OSError):
        with place(name, make=True) as inner:
            unfinished = f"{secrets.token_hex(8)}{SUFFIX}"
            number = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=inner)
            try:
                with open(number, "wb") as file:
                    file.write(_seal(name, code) + code)
                os.replace(unfinished, _file(name), src_dir_fd=inner, dst_dir_fd=inner)
            except BaseException:
                os.unlink(unfinished, dir_fd=inner)
                raise
        _written += len(code)
        if _written > limit() / 4:
            _written = 0
            if _estimate(folder, name) > 0.9 * limit():
                make_room(folder)


class _Unsafe(OSError):
    """Somebody else may have written what is there."""


@contextlib.contextmanager
def place(name: str, *, make: bool = False) -> Iterator[int]:
    """The directory of a file, open: it and the one around it are this user's, and nobody else's to write to. What is
    looked at is what is then used, whatever happens to its name meanwhile. ``make`` it if it is not there."""
    folder = directory()
    if folder is None:
        raise FileNotFoundError
    if make and not (folder / name[:2]).exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / name[:2]).mkdir(mode=0o700, exist_ok=True)
    try:
        outer = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _check(outer, stat.S_ISDIR, "a directory")
            inner = os.open(name[:2], os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=outer)
        finally:
            os.close(outer)
        try:
            _check(inner, stat.S_ISDIR, "a directory")
            yield inner
        finally:
            os.close(inner)
    except _Unsafe as error:
        _say(folder, str(error))
        raise


def _check(number: int, is_kind: Callable[[int], bool], kind: str) -> None:
    """Raises ``_Unsafe`` unless what is open is of a kind, this user's, and writable by nobody else."""
    found = os.fstat(number)
    if not is_kind(found.st_mode):
        raise _Unsafe(f"something in it is not {kind}")
    if found.st_uid != os.geteuid():
        raise _Unsafe(f"{kind} of it belongs to another user")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _Unsafe(f"others may write to {kind} of it")


@functools.cache
def _say(folder: Path, why: str) -> None:
    """Once: that files are not used, and what to do."""
    warn(
        f"machine code that is kept in {folder} is not used: {why}. Take away what others may write "
        "(`chmod -R go-w`), or let ADC_CACHE_DIR name a directory of your own"
    )


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


def _estimate(folder: Path, name: str) -> int:
    """About how many bytes there are. The digits of names are as good as random, so one folder stands for all: each
    process looks before it writes, and to look at tens of thousands of files takes a second."""
    return _FOLDERS * sum(file.size for file in _files(folder, name[:2]))


def usage() -> tuple[int, int]:
    """How many files there are, and their bytes."""
    folder = directory()
    sizes = [file.size for file in _files(folder)] if folder is not None else []
    return len(sizes), sum(sizes)


def clear() -> int:
    """Delete all files; how many there were. Raises ``OSError`` where that is not allowed."""
    folder = directory()
    if folder is None:
        return 0
    files = list(_files(folder))
    for path in (*(file.path for file in files), *folder.glob(f"??/*{LOCK}")):
        path.unlink(missing_ok=True)
    return len(files)


@dataclass(frozen=True)
class _File:
    path: Path
    size: int
    used: float


def _files(folder: Path, inner: str = "??") -> Iterator[_File]:
    """What is there, and nothing else that lies in the directory."""
    for path in folder.glob(f"{inner}/*{SUFFIX}"):
        with contextlib.suppress(OSError):  # deleted by another process
            found = path.lstat()
            if stat.S_ISREG(found.st_mode):
                yield _File(path, found.st_size, found.st_mtime)


def _file(name: str) -> str:
    return name[2:] + SUFFIX


def _seal(name: str, code: bytes) -> bytes:
    """What binds code to the name it was kept under: neither another file nor a damaged one has it."""
    return hashlib.sha256(name.encode() + code).digest()
