"""LLVM types for IR types: in registers, in memory, and for memrefs, which become pointer, extents and strides."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from adc.ir.types import FloatType, IndexType, IntType, MemRefType, Type, f16, f32, f64, scalar_bytes


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A memref as LLVM values: the address of its first element, and an extent and a stride (elements) per dimension.

    Known numbers are literals ("1"), so that LLVM can use them.
    """

    ptr: str
    extents: tuple[str, ...]
    strides: tuple[str, ...]


FLOATS = {16: "half", 32: "float", 64: "double"}


def register_type(t: Type) -> str:
    """The LLVM type of a scalar in a register, or of the first word of a memref."""
    if isinstance(t, FloatType):
        return FLOATS[t.width]
    if isinstance(t, IntType):
        return f"i{t.width}"
    return "i64" if isinstance(t, IndexType) else "ptr"


def memory_type(t: Type) -> str:
    """The LLVM type of an array's element: as in a register, but a Boolean is a byte."""
    return "i8" if t == IntType(1) else register_type(t)


def alignment(t: Type) -> int:
    return 8 if isinstance(t, MemRefType) else scalar_bytes(t)


def literal(value: float, t: Type) -> str:
    """A constant as LLVM writes it."""
    if t == f64:
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    if t == f32:
        return f"0x{struct.unpack('<Q', struct.pack('<d', to_f32(value)))[0]:016X}"
    if t == f16:
        return f"0xH{np.float16(value).view(np.uint16):04X}"
    if t == IntType(1):
        return "true" if value else "false"
    assert isinstance(t, IntType | IndexType), f"no literals of type {t}"
    width = t.width if isinstance(t, IntType) else 64
    value = int(value) & ((1 << width) - 1)
    return str(value - (1 << width) if value >> (width - 1) else value)


def quoted(text: str) -> str:
    """A name or string in quotes, as LLVM writes it."""
    plain = (chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in text.encode())
    return f'"{"".join(plain)}"'


def to_f32(value: float) -> float:
    """The nearest single-precision number; infinite where that overflows."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def carried_types(t: Type) -> list[str]:
    """LLVM types of the values that represent a value in phis and results: for a memref, the pointer and what its type
    leaves open."""
    if not isinstance(t, MemRefType):
        return [register_type(t)]
    dynamic = sum(extent is None for extent in t.shape)
    if t.strides is not None:
        dynamic += sum(stride is None for stride in t.strides)
    return ["ptr", *["i64"] * dynamic]


def carried_values(value: str | Descriptor, t: Type) -> list[str]:
    """The LLVM values that belong to ``carried_types``."""
    if isinstance(value, str):
        return [value]
    assert isinstance(t, MemRefType)
    values = [value.ptr]
    values += [v for v, extent in zip(value.extents, t.shape, strict=True) if extent is None]
    if t.strides is not None:
        values += [v for v, stride in zip(value.strides, t.strides, strict=True) if stride is None]
    return values


def abi_types(t: Type) -> list[str]:
    """LLVM types of an argument of a function; for a memref pointer, all extents, and all strides if it is not
    C-contiguous."""
    if not isinstance(t, MemRefType):
        return [register_type(t)]
    return ["ptr", *["i64"] * (t.rank if t.strides is None else 2 * t.rank)]


def abi_values(value: str | Descriptor, t: Type) -> list[str]:
    if isinstance(value, str):
        return [value]
    assert isinstance(t, MemRefType)
    return [value.ptr, *value.extents, *(() if t.strides is None else value.strides)]
