"""LLVM's two long calls, without the lock that llvmlite holds during each of its calls: threads optimise and generate
code in parallel.

LLVM allows this if each thread has its own context (``llvm::LLVMContext``) and target machine. llvmlite's other calls
are short, and stay under its lock.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi


def run_passes(passes: llvm.ModulePassManager, module: llvm.ModuleRef, builder: llvm.PassBuilder) -> None:
    """Run a pipeline on a module that no other thread uses."""
    _without_lock("LLVMPY_RunNewModulePassManager")(passes, module, builder)


def emit_object(machine: llvm.TargetMachine, module: llvm.ModuleRef) -> bytes:
    """The object code of a module; no other thread may use the module or the machine meanwhile."""
    with ffi.OutputString() as error:
        buffer = _without_lock("LLVMPY_TargetMachineEmitToMemory")(machine, module, 1, error)
        if not buffer:
            raise RuntimeError(str(error))
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def _without_lock(name: str) -> Callable[..., Any]:
    """A function of llvmlite's library, called without the lock; with the lock in versions of llvmlite that are
    organised differently."""
    function = getattr(ffi.lib, name)
    found: Callable[..., Any] = getattr(function, "_cfn", function)
    return found
