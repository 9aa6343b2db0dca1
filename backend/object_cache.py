"""A cache of machine code on disk, which later processes use.

The name of a file is a digest of all that determines its contents: the text of the LLVM IR, the target, the level,
LLVM's version and the modules of adc that run LLVM. So no file is ever out of date. After a change of a function, a
rule or a constant the text has another name, and files that are no longer used are deleted when room is needed.

``ADC_CACHE_DIR`` is the directory of the files, ``ADC_CACHE_BYTES`` the size that they may have together (a number;
default 1e9, exceeded for a while by about a quarter), and ``ADC_CACHE=0`` switches the cache off. Where files cannot be
written or read, code is compiled again, silently. Code that another user may have placed there is not used, since it
would run with all permissions of this user: files and directories must belong to this user and be writable by nobody
else (otherwise there is one warning), and anything but a regular file is not read. The contents of a file are bound to
its name, so that the code of another file is not accepted.
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
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from adc.backend.target import Target
from adc.ir.lazy_dataclass import dataclass
from adc.ir.notices import warn

SUFFIX = ".adc-object"
LOCK = ".adc-lock"
_LIMIT = 1_000_000_000
_DIGEST = 32
_MAKERS = (
    *("optimize.py", "llvm_calls.py", "loop_nodes.py", "sunk_loads.py", "partial_sums.py", "scalar_selects.py"),
    *("chosen_stores.py", "target.py"),
)
_written: float = math.inf  # bytes written since the size was last estimated
_FOLDERS = 256  # by the first two digits of the name


def directory() -> Path | None:
    """The directory of the cache; None if there is no cache."""
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
    """The size, in bytes, that the files may have together."""
    with contextlib.suppress(ValueError):
        return float(os.environ.get("ADC_CACHE_BYTES", _LIMIT))
    return _LIMIT


def key(text: str, target: Target, level: int) -> str:
    """The name of the code that LLVM generates from a text."""
    return hashlib.sha256(f"{_makers()}\n{target}\n{level}\n{text}".encode()).hexdigest()


@functools.cache
def _makers() -> str:
    """A digest of what turns a text into code: LLVM, and those modules of this package that run it."""
    own = hashlib.sha256()
    for name in _MAKERS:
        own.update(Path(__file__).with_name(name).read_bytes())
    return f"{llvmlite.__version__} {llvm.llvm_version_info} {own.hexdigest()}"


def find(name: str) -> bytes | None:
    """The cached code; None if there is none, or if the file is damaged or was written under another name."""
    with contextlib.suppress(OSError), opened_directory(name) as inner:
        number = os.open(_file(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=inner)
        with open(number, "rb") as file:
            _check(number, stat.S_ISREG, "a file")
            data = file.read()
            digest, code = data[:_DIGEST], data[_DIGEST:]
            if _seal(name, code) != digest:
                return None
            os.utime(number)  # the least recently used files are deleted first
            return code
    return None


def keep(name: str, code: bytes) -> None:
    """Write a file atomically: another process sees all of it or nothing."""
    global _written
    folder = directory()
    if folder is None or len(code) > limit() / 4:
        return
    with contextlib.suppress(OSError):
        with opened_directory(name, make=True) as inner:
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
    """Another user may have written to the cache."""


@contextlib.contextmanager
def opened_directory(name: str, *, make: bool = False) -> Iterator[int]:
    """A descriptor of the directory of a file. It and its parent are checked: they belong to this user, and nobody else
    may write to them. The check and later uses refer to the same descriptor, whatever happens to the name meanwhile.
    With ``make`` the directory is made if it does not exist."""
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
    """Raises ``_Unsafe`` unless the open file is of a kind, belongs to this user, and is writable by nobody else."""
    found = os.fstat(number)
    if not is_kind(found.st_mode):
        raise _Unsafe(f"something in it is not {kind}")
    if found.st_uid != os.geteuid():
        raise _Unsafe(f"{kind} of it belongs to another user")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _Unsafe(f"others may write to {kind} of it")


@functools.cache
def _say(folder: Path, why: str) -> None:
    """Warn once that files are not used, and say what to do."""
    warn(
        f"machine code that is kept in {folder} is not used: {why}. Remove write permission for others "
        "(`chmod -R go-w`), or let ADC_CACHE_DIR name a directory of your own"
    )


def make_room(folder: Path) -> None:
    """If the files exceed the limit, delete the least recently used ones until three quarters of it are left."""
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
    """An estimate of the size of the cache in bytes. The digits of names are practically random, so one folder is a
    sample of all: each process needs the size when it writes, and going through tens of thousands of files takes a
    second."""
    return _FOLDERS * sum(file.size for file in _files(folder, name[:2]))


def usage() -> tuple[int, int]:
    """The number of files, and their size in bytes."""
    folder = directory()
    sizes = [file.size for file in _files(folder)] if folder is not None else []
    return len(sizes), sum(sizes)


def clear() -> int:
    """Delete all files, and return how many there were. Raises ``OSError`` where that is not allowed."""
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
    """The files of the cache; other files in the directory are ignored."""
    for path in folder.glob(f"{inner}/*{SUFFIX}"):
        with contextlib.suppress(OSError):  # deleted by another process
            found = path.lstat()
            if stat.S_ISREG(found.st_mode):
                yield _File(path, found.st_size, found.st_mtime)


def _file(name: str) -> str:
    return name[2:] + SUFFIX


def _seal(name: str, code: bytes) -> bytes:
    """A digest of code and name, which detects damaged files and files under another name."""
    return hashlib.sha256(name.encode() + code).digest()
