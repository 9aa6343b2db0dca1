"""Shows compiled code to debuggers, through GDB's interface for JIT compilers.

A debugger looks for two symbols in each library that a process loads: a list of object files in memory, and a function
that is called whenever the list changes, on which it sets a breakpoint. llvmlite does not expose these of LLVM's JIT
linkers. So a small library with the two symbols is written here, and linked by the C compiler.

(GDB's manual, "JIT Compilation Interface"; System V ABI, "Sections".)
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import shutil
import struct
import tempfile
import weakref
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adc.backend import elf, shared_library
from adc.backend.optimize import optimize
from adc.backend.target import host
from adc.ir import forks
from adc.ir.diagnostics import AdcError
from adc.ir.notices import warn

_LIST, _FUNCTION = "__jit_debug_descriptor", "__jit_debug_register_code"
_LIBRARY = f"""
@{_LIST} = global {{i32, i32, ptr, ptr}} {{i32 1, i32 0, ptr null, ptr null}}
define void @{_FUNCTION}() noinline nounwind {{
  call void asm sideeffect "", "~{{memory}}"()
  ret void
}}
"""
_FRAMES = ".eh_frame"
_ADDED, _REMOVED = 1, 2  # what has happened
_lock = forks.Lock()
_gone: deque[tuple[_Entry, Any]] = deque()  # objects that were unloaded, and their memory


class _Entry(ctypes.Structure):
    """An object file."""


_Entry._fields_ = [
    ("next", ctypes.POINTER(_Entry)),
    ("before", ctypes.POINTER(_Entry)),
    ("start", ctypes.c_void_p),
    ("size", ctypes.c_uint64),
]


class _List(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32),
        ("happened", ctypes.c_uint32),
        ("where", ctypes.POINTER(_Entry)),
        ("first", ctypes.POINTER(_Entry)),
    )


def has_lines(object_code: bytes) -> bool:
    """Whether an object file has line information."""
    return b".debug_line" in object_code and bool(elf.sections(object_code))


def show(object_code: bytes, addresses: Mapping[str, int], owner: Any) -> None:
    """Tell debuggers about an object that was loaded with its exports at these addresses. It stays listed as long as
    ``owner`` lives."""
    code = ctypes.create_string_buffer(_placed(object_code, addresses), len(object_code))
    entry = _Entry(None, None, ctypes.addressof(code), len(object_code))
    with _lock:
        library = _library()  # one for all threads: there is one list
        if library is None:
            return
        objects, tell = _List.in_dll(library, _LIST), library[_FUNCTION]
        while _gone:
            _remove(objects, _gone.popleft()[0])
            tell()
        entry.next = objects.first
        if entry.next:
            entry.next.contents.before = ctypes.pointer(entry)
        objects.first = objects.where = ctypes.pointer(entry)
        objects.happened = _ADDED
        tell()
    # An owner may be finalised while this function runs, so its finaliser does not change the list itself.
    weakref.finalize(owner, _gone.append, (entry, code)).atexit = False


def _remove(objects: _List, entry: _Entry) -> None:
    if entry.before:
        entry.before.contents.next = entry.next
    else:
        objects.first = entry.next
    if entry.next:
        entry.next.contents.before = entry.before
    objects.where, objects.happened = ctypes.pointer(entry), _REMOVED


def _placed(object_code: bytes, addresses: Mapping[str, int]) -> bytes:
    """A copy of an ELF object whose code sections have the addresses at which they were loaded."""
    out = bytearray(object_code)
    sections, entries = elf.sections(object_code), elf.entries(object_code)
    starts = {s.section: addresses[s.name] - s.offset for s in elf.functions(object_code) if s.name in addresses}
    # Frame descriptions are read from this object, and give code addresses relative to themselves: any address near the
    # code is right.
    near = max((start + sections[number].size for number, start in starts.items()), default=0)
    starts |= {number: -(-near // 16) * 16 for number, section in enumerate(sections) if section.name == _FRAMES}
    for number, start in starts.items():
        struct.pack_into("<Q", out, entries[number] + elf.ADDRESS, start)
    return bytes(out)


@functools.cache
def _library() -> ctypes.CDLL | None:
    """The library with the two symbols; None, with a warning, if it cannot be linked. Its file stays until the process
    ends, for debuggers that attach later."""
    try:
        folder = tempfile.mkdtemp(prefix="adc-debug-")
        atexit.register(_clear, folder, os.getpid())
        library = Path(folder, "debug.so")
        shared_library.link(optimize(_LIBRARY, host(), 0).object_code, library)
        return ctypes.CDLL(str(library))
    except (AdcError, OSError) as error:
        warn(f"debuggers are not told of compiled code: {error}")
        return None


def _clear(folder: str, process: int) -> None:
    """Delete the library's file, but not when a forked child ends."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
