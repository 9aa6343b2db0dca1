"""Runs IR functions natively through ctypes, for the tests of the lowering; and compares with the interpreter."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from adc.backend import runtime
from adc.backend.jit import Engine, Library
from adc.backend.lowering import lower
from adc.backend.optimize import Optimized, optimize, vectorises
from adc.backend.support import contexts
from adc.backend.support.team import DECLARATIONS as OF_TEAMS
from adc.backend.support.threads import FUNCTIONS as OF_THREADS
from adc.backend.target import Target
from adc.ir.core import Func, Module
from adc.ir.types import PATTERNS, FloatType, IntType, MemRefType, RecordType, Type, scalar_bytes

_SUPPORT = ("adc_alloc", "adc_free", "adc_grow", "adc_raise", "adc_stack_limit", "adc_threads", *OF_THREADS, *OF_TEAMS)
_C = {"f64": ctypes.c_double, "f32": ctypes.c_float, "i1": ctypes.c_bool, "i32": ctypes.c_int32}
_engine: list[Engine] = []


def engine() -> Engine:
    if not _engine:
        _engine.append(Engine(runtime.symbols(_SUPPORT)))
    return _engine[0]


class Trapped(Exception):
    """A run that ended with an error: its site and operands."""

    def __init__(self, site: lower.Site, operands: tuple[int, int]) -> None:
        super().__init__(site, operands)
        self.site, self.operands = site, operands


class Native:
    """A module compiled for this machine, or another target whose code runs on it."""

    def __init__(
        self,
        module: Module,
        *,
        threads: bool = True,
        debug: bool = False,
        level: int = 3,
        symbols: Mapping[str, int] | None = None,
        target: Target | None = None,
    ) -> None:
        self.module = module
        self.lowered = lower.lower_module(module, target, threads=threads, debug=debug, vectors=vectorises(level))
        llvm.parse_assembly(str(self.lowered), llvm.create_context()).verify()
        self.optimized: Optimized = optimize(str(self.lowered), self.lowered.target, level)
        self.library: Library = engine().load(self.optimized.object_code, self.lowered.exports, symbols)

    def __call__(self, name: str, *args: Any, threads: int = 1) -> list[Any]:
        func = self.module.funcs[name]
        kept: list[Any] = []
        context = runtime.address("adc_context_new")
        new = ctypes.CFUNCTYPE(ctypes.c_void_p)(context)
        delete = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(runtime.address("adc_context_delete"))
        ctx = new()
        try:
            ctypes.c_int32.from_address(ctx + contexts.CONTEXT_THREADS).value = threads
            given: list[Any] = [ctypes.c_void_p(ctx)]
            for value, t in zip(args, (a.type for a in func.args), strict=True):
                given += _pass(value, t, kept)
            outs = [ctypes.create_string_buffer(max(8, scalar_bytes(t))) for t in func.result_types]
            function = ctypes.CFUNCTYPE(ctypes.c_int32)(self.library.address(f"adc.{name}"))
            function.argtypes = [type(g) for g in given] + [ctypes.c_void_p] * len(outs)
            status = function(*given, *outs)
            if status:
                site = ctypes.c_int32.from_address(ctx + contexts.CONTEXT_SITE).value
                a = ctypes.c_int64.from_address(ctx + contexts.CONTEXT_A).value
                b = ctypes.c_int64.from_address(ctx + contexts.CONTEXT_B).value
                raise Trapped(self.lowered.sites[site], (a, b))
            return [_result(out.raw, t) for out, t in zip(outs, func.result_types, strict=True)]
        finally:
            delete(ctx)


def _pass(value: Any, t: Type, kept: list[Any]) -> list[Any]:
    if isinstance(t, MemRefType):
        kept.append(value)
        words = [ctypes.c_void_p(value.ctypes.data), *map(ctypes.c_int64, value.shape)]
        if t.strides is not None:
            words += [ctypes.c_int64(s // value.itemsize) for s in value.strides]
        else:
            assert value.flags.c_contiguous
        return words
    return [_C.get(str(t), ctypes.c_int64)(value)]


def _result(raw: bytes, t: Type) -> Any:
    if isinstance(t, MemRefType):
        words = struct.unpack(f"<{1 + 2 * t.rank}q", raw[: 8 * (1 + 2 * t.rank)])
        dtype = np.dtype({"f64": "f8", "f32": "f4", "i1": "?", "i32": "i4"}.get(str(t.element), "i8"))
        shape, strides = words[1 : 1 + t.rank], words[1 + t.rank :]
        if 0 in shape:
            return np.empty(shape, dtype)
        low = sum(min(0, s * (n - 1)) for s, n in zip(strides, shape, strict=True))
        high = sum(max(0, s * (n - 1)) for s, n in zip(strides, shape, strict=True)) + 1
        raw = (ctypes.c_char * ((high - low) * dtype.itemsize)).from_address(words[0] + low * dtype.itemsize)
        flat = np.frombuffer(bytearray(raw), dtype)
        byte_strides = [s * dtype.itemsize for s in strides]
        return np.lib.stride_tricks.as_strided(flat[-low:], shape, byte_strides).copy()
    if isinstance(t, FloatType):
        return struct.unpack(f"<{PATTERNS[t.width]}", raw[: t.width // 8])[0]
    if isinstance(t, IntType):
        return bool(raw[0]) if t.width == 1 else struct.unpack("<i" if t.width == 32 else "<q", raw[: t.width // 8])[0]
    assert not isinstance(t, RecordType)
    return struct.unpack("<q", raw[:8])[0]


def module_of(*funcs: Func) -> Module:
    module = Module()
    for func in funcs:
        module.add(func)
    return module


def ulps(x: float, y: float, t: Type) -> float:
    """Distance of two floats in units of the last place of the larger; zero if both are NaN or equal."""
    if x == y or (x != x and y != y):
        return 0.0
    spacing = np.spacing(np.float32(max(abs(x), abs(y)))) if t == FloatType(32) else np.spacing(max(abs(x), abs(y)))
    return float(abs(x - y) / spacing)


def copies(args: Sequence[Any]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]
