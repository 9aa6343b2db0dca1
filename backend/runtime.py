"""The run-time library of this process: addresses of its symbols, and Python functions to configure and query it."""

from __future__ import annotations

import ctypes
import functools
import math
import os
import platform
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from adc.backend import granted, runtime_units
from adc.backend.library import array_memory, numpy_abi, python_abi
from adc.backend.support import contexts
from adc.ir import forks

EXPORTS = tuple(runtime_units.HOMES)
"""The symbols that compiled code may call."""

_HANDLER_NAME = b"mem_handler"  # the name that NumPy expects
_building = forks.Lock()


@functools.cache
def _check() -> None:
    """Raise ``ImportError`` where adc cannot run code."""
    if platform.system() not in ("Linux", "Darwin"):
        raise ImportError(f"adc runs code on Linux and macOS, not on {platform.system()} (on Windows, use WSL)")
    python_abi.check()
    numpy_abi.check()


@functools.cache
def _core() -> dict[str, int]:
    """The addresses of the unit that nearly every call needs, initialised for this process."""
    addresses = runtime_units.addresses(runtime_units.CORE)
    ctypes.c_int32.from_address(addresses["adc_default_threads"]).value = threads_asked()
    ctypes.c_uint64.from_address(addresses["adc_main_thread"]).value = threading.main_thread().ident or 0
    handler = ctypes.pythonapi.PyCapsule_New
    handler.restype, handler.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    # The new reference is never released, and the name lives as long.
    ctypes.c_void_p.from_address(addresses["adc_array_capsule"]).value = handler(
        addresses["adc_array_handler"], _HANDLER_NAME, None
    )
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=functools.partial(_after_fork, addresses))
    return addresses


def _after_fork(addresses: dict[str, int]) -> None:
    """Reset the state in a forked child, where the forking thread is the main thread and the only one."""
    ctypes.c_int32.from_address(addresses["adc_forked"]).value += 1  # also frees locks that other threads held
    ctypes.c_int32.from_address(addresses["adc_ticker_alive"]).value = 0
    ctypes.c_void_p.from_address(addresses["adc_runs"]).value = None
    ctypes.c_int32.from_address(addresses["adc_runs_watched"]).value = 0
    ctypes.c_int32.from_address(addresses["adc_attention"]).value = 0
    ctypes.c_int32.from_address(addresses["adc_library_calls"]).value = 0
    ctypes.c_uint64.from_address(addresses["adc_main_thread"]).value = threading.get_ident()


def threads_asked() -> int:
    """The number of threads that the environment asks for, else the number of processors granted to this process."""
    return granted.asked() or min(granted.processors(), 1024)


def address(name: str) -> int:
    """The address of a symbol that compiled code may import: of the support, of Python or of NumPy.

    Raises ``KeyError`` for other names.
    """
    with _building:
        _check()
        if runtime_units.HOMES.get(name, runtime_units.CALLABLE) != runtime_units.CALLABLE:
            _core()  # other units call it, so it must be initialised
        return runtime_units.address(name)


def symbols(names: Iterable[str]) -> dict[str, int]:
    """The addresses of those ``names`` that ``address`` knows: the imports of a JIT library."""
    known: dict[str, int] = {}
    for name in names:
        try:
            known[name] = address(name)
        except KeyError:
            continue
    return known


def threads() -> int:
    """The number of threads that parallel loops use by default."""
    return ctypes.c_int32.from_address(address("adc_default_threads")).value


def set_threads(count: int) -> None:
    """Set the number of threads that parallel loops use by default."""
    if not 1 <= count <= 1024:
        raise ValueError(f"the number of threads must be from 1 to 1024, not {count}")
    ctypes.c_int32.from_address(address("adc_default_threads")).value = count


def keep_to_one_thread(get: int, set: int) -> None:
    """Restrict a library to one thread in calls from compiled code; the addresses are those of its functions to get and
    set the number of threads."""
    ctypes.c_void_p.from_address(address("adc_library_set")).value = set
    ctypes.c_void_p.from_address(address("adc_library_get")).value = get


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    """A context in which parallel loops use ``count`` threads by default."""
    before = threads()
    set_threads(count)
    try:
        yield
    finally:
        set_threads(before)


@functools.cache
def _new_array() -> Callable[..., Any]:
    pointer, number = ctypes.c_void_p, ctypes.c_int
    kind = ctypes.PYFUNCTYPE(ctypes.py_object, number, pointer, pointer, ctypes.c_int64, number)
    return kind(address("adc_array_new"))


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Like ``numpy.empty``, with memory from the same arena as arrays that calls return."""
    size = math.prod(shape) * dtype.itemsize
    if size < array_memory.SMALLEST:
        return np.empty(shape, dtype)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dtype))  # the call consumes a reference
    extents = (ctypes.c_int64 * len(shape))(*shape)
    array: np.ndarray[Any, Any] = _new_array()(len(shape), extents, id(dtype), size, 0)
    return array


@functools.cache
def digest_of() -> Callable[[np.ndarray[Any, Any], int], int]:
    """The function that computes a 64-bit digest of an array in C order, given its size in bytes."""
    method = python_abi.MethodDef(b"digest_of", address("adc_digest_of"), python_abi.METH_FASTCALL, None)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(method))
    return python_abi.builtin(method)


def digest(array: np.ndarray[Any, Any]) -> int:
    """A 64-bit digest of the contents of an array, bit by bit (``adc.backend.library.contents``)."""
    whole = array if array.flags.c_contiguous else np.ascontiguousarray(array)
    return digest_of()(whole, whole.nbytes)


def release_memory() -> None:
    """Return to the system the memory that the arenas keep between calls."""
    # The interpreter lock is held: it protects the pool from stubs.
    for function in ("adc_pool_release", "adc_array_release"):
        ctypes.PYFUNCTYPE(None)(address(function))()


def peak_bytes(*, reset: bool = False) -> int:
    """The largest number of bytes of tapes and temporaries that a call has used at once since the last reset."""
    most = ctypes.c_int64.from_address(address("adc_peak_bytes"))
    value = most.value
    if reset:
        most.value = 0
    return value


def held_bytes() -> int:
    """Bytes that the arenas keep between calls."""
    arrays = ctypes.c_void_p.from_address(address("adc_array_arena")).value
    idle = 0
    if arrays:
        idle = ctypes.c_int64.from_address(arrays + contexts.CONTEXT_HELD_BYTES).value
        idle -= ctypes.c_int64.from_address(arrays + contexts.CONTEXT_LIVE_BYTES).value
    total, context = idle, ctypes.c_void_p.from_address(address("adc_pool")).value
    while context:
        total += ctypes.c_int64.from_address(context + contexts.CONTEXT_HELD_BYTES).value
        context = ctypes.c_void_p.from_address(context + contexts.CONTEXT_NEXT).value
    return total
