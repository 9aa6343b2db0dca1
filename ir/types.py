"""Types of the IR: MLIR's scalar types, strided memrefs, functions, and adc's opaque record.

Every type is an immutable value: equal types are interchangeable, and ``str(t)`` is MLIR's spelling.
"""

from __future__ import annotations

from typing import ClassVar

from adc.ir.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Type:
    """Base of all types."""

    is_float: ClassVar[bool] = False
    is_integer: ClassVar[bool] = False
    """Whether this is an integer one computes with (i1 included)."""


@dataclass(frozen=True)
class FloatType(Type):
    """An IEEE binary float of ``width`` bits (16, 32 or 64)."""

    is_float: ClassVar[bool] = True
    width: int

    def __str__(self) -> str:
        return f"f{self.width}"


@dataclass(frozen=True)
class IntType(Type):
    """An integer of ``width`` bits (1, 8, 16, 32 or 64); ``i1`` is the Boolean. Elements of arrays and arguments may be
    ``unsigned``: this says how they are extended to ``index``, the type in which integers are computed."""

    is_integer: ClassVar[bool] = True
    width: int
    unsigned: bool = False

    def __str__(self) -> str:
        return f"ui{self.width}" if self.unsigned else f"i{self.width}"


@dataclass(frozen=True)
class ComplexType(Type):
    """The dtype of complex numbers of ``width`` bits (64 or 128), used in the frontend and in calls only.

    No value of the IR has it: a complex number is two floats there, and a complex array is an array of floats with one
    more axis, the innermost, of extent 2.
    """

    width: int

    @property
    def part(self) -> FloatType:
        """The type of the real and the imaginary part."""
        return FloatType(self.width // 2)

    def __str__(self) -> str:
        return f"c{self.width}"


@dataclass(frozen=True)
class IndexType(Type):
    """The 64-bit integer of loop counters, extents and subscripts. Python ints are computed with as this type."""

    is_integer: ClassVar[bool] = True

    def __str__(self) -> str:
        return "index"


@dataclass(frozen=True)
class RecordType(Type):
    """An opaque pointer to values packed by ``adc.pack``: what a call's forward sweep leaves for its reverse sweep."""

    def __str__(self) -> str:
        return "!adc.record"


@dataclass(frozen=True)
class MemRefType(Type):
    """A strided window on memory.

    ``shape`` has one entry per dimension, None where the extent is known only at run time. ``strides`` is None for
    the identity layout (C-contiguous, offset zero), else one entry per dimension, None where known only at run time;
    the offset of a strided layout is always dynamic. The element may itself be a memref: a tape of buffers.
    """

    shape: tuple[int | None, ...]
    element: Type
    strides: tuple[int | None, ...] | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    def __str__(self) -> str:
        dims = "".join(f"{_dim(extent)}x" for extent in self.shape)
        if self.strides is None:
            return f"memref<{dims}{self.element}>"
        strides = ", ".join(_dim(stride) for stride in self.strides)
        return f"memref<{dims}{self.element}, strided<[{strides}], offset: ?>>"


@dataclass(frozen=True)
class FunctionType(Type):
    """The type of a function: what it takes and what it returns."""

    inputs: tuple[Type, ...]
    results: tuple[Type, ...]

    def __str__(self) -> str:
        results = ", ".join(map(str, self.results))
        return f"({', '.join(map(str, self.inputs))}) -> ({results})"


def _dim(extent: int | None) -> str:
    return "?" if extent is None else str(extent)


f16 = FloatType(16)
f32 = FloatType(32)
f64 = FloatType(64)
PATTERNS = {16: "e", 32: "f", 64: "d"}  # format characters of the module struct, by the bits of a float
c64 = ComplexType(64)
c128 = ComplexType(128)
i1 = IntType(1)
i8 = IntType(8)
i16 = IntType(16)
i32 = IntType(32)
i64 = IntType(64)
ui8 = IntType(8, unsigned=True)
ui16 = IntType(16, unsigned=True)
ui32 = IntType(32, unsigned=True)
ui64 = IntType(64, unsigned=True)
index = IndexType()
record = RecordType()


def memref(element: Type, rank: int, strides: tuple[int | None, ...] | None = None) -> MemRefType:
    """A memref of ``rank`` dynamic extents; C-contiguous unless ``strides`` are given."""
    return MemRefType((None,) * rank, element, strides)


def innermost(t: Type) -> Type:
    """The scalar at the bottom of memrefs, and of memrefs of memrefs."""
    while isinstance(t, MemRefType):
        t = t.element
    return t


def scalar_bytes(t: Type) -> int:
    """Bytes that one element of type ``t`` takes in memory; a memref counts as its descriptor."""
    if isinstance(t, FloatType | ComplexType):
        return t.width // 8
    if isinstance(t, IntType):
        return max(1, t.width // 8)
    if isinstance(t, MemRefType):
        return 8 * (1 + 2 * t.rank)
    return 8


def holds_memory(t: Type) -> bool:
    """Whether it is a record, or an array of arrays: memory through which other memory is reached."""
    return isinstance(t, RecordType) or (isinstance(t, MemRefType) and isinstance(t.element, MemRefType))


def holds_records(t: Type) -> bool:
    """Whether it is a record, or an array of records, and so on."""
    return holds_records(t.element) if isinstance(t, MemRefType) else isinstance(t, RecordType)
