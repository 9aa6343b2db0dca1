"""NumPy's C API: addresses from its table of functions, and the layout of an array object.

The fields of ``PyArrayObject`` that are read here (data, nd, dimensions, strides, descr, flags; type number and byte
order of the descr) have the same offsets in every NumPy from 1.7 to 2.x: they are part of its stable ABI.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from typing import Any

import numpy as np

from adc.ir import types as t

# Byte offsets in PyArrayObject and PyArray_Descr.
DATA, ND, DIMENSIONS, STRIDES, DESCR, FLAGS = 16, 24, 32, 40, 56, 64
BYTE_ORDER, TYPE_NUMBER = 26, 28

C_CONTIGUOUS, F_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x2, 0x100, 0x400
KEEP_ORDER = 2  # NPY_KEEPORDER

# Positions in the table ``_ARRAY_API`` (numpy/__multiarray_api.h), unchanged since NumPy 1.7; the last, since 1.22.
_TABLE = {
    "PyArray_Type": 2,
    "PyArray_DescrFromType": 45,
    "PyArray_Scalar": 60,
    "PyArray_NewCopy": 85,
    "PyArray_New": 93,
    "PyArray_NewFromDescr": 94,
    "PyArray_Empty": 184,
    "PyArray_SetBaseObject": 282,
    "PyDataMem_SetHandler": 304,
}
DECLARATIONS = {
    "PyArray_DescrFromType": "declare ptr @PyArray_DescrFromType(i32)",
    "PyArray_Scalar": "declare ptr @PyArray_Scalar(ptr, ptr, ptr)",
    "PyArray_NewCopy": "declare ptr @PyArray_NewCopy(ptr, i32)",
    "PyArray_New": "declare ptr @PyArray_New(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)",
    "PyArray_NewFromDescr": "declare ptr @PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)",
    "PyArray_Empty": "declare ptr @PyArray_Empty(i32, ptr, ptr, i32)",
    "PyArray_SetBaseObject": "declare i32 @PyArray_SetBaseObject(ptr, ptr)",
    "PyDataMem_SetHandler": "declare ptr @PyDataMem_SetHandler(ptr)",
}
DTYPES: dict[t.Type, np.dtype[Any]] = {
    t.f64: np.dtype(np.float64),
    t.f32: np.dtype(np.float32),
    t.f16: np.dtype(np.float16),
    t.c128: np.dtype(np.complex128),
    t.c64: np.dtype(np.complex64),
    **{t.IntType(8 * n): np.dtype(f"i{n}") for n in (1, 2, 4, 8)},
    **{t.IntType(8 * n, unsigned=True): np.dtype(f"u{n}") for n in (1, 2, 4, 8)},
    t.i1: np.dtype(np.bool_),
}
_CODES = "?bhilqBHILQefdFD"  # of C types; several may be the same type in the IR

# dtype objects and NumPy's scalar types, by their names in compiled code.
OBJECTS: dict[str, object] = {
    **{f"adc_np_dtype_{element}": dtype for element, dtype in DTYPES.items()},
    **{f"adc_np_scalar_{np.dtype(c).num}": np.dtype(c).type for c in _CODES if np.dtype(c).kind != "c"},
}



def _memory(dtype: np.dtype[Any]) -> str:
    """LLVM's type of a number in memory."""
    if dtype.kind == "f":
        return {2: "half", 4: "float", 8: "double"}[dtype.itemsize]
    return f"i{8 * dtype.itemsize}"


# The scalar types (by type number) that are accepted for a strong scalar, each with its LLVM type in memory.
SCALARS: dict[t.Type, tuple[tuple[int, str], ...]] = {
    element: tuple((np.dtype(c).num, _memory(np.dtype(c))) for c in _CODES if np.dtype(c) == dtype)
    for element, dtype in DTYPES.items()
    if dtype.kind != "c"
}
SCALARS[t.i64] += ((np.dtype("i").num, "i32"),)  # sign-extended when loaded


def type_numbers(element: t.Type) -> tuple[int, ...]:
    """NumPy's type numbers of an element type; C's long and long long are one type of the IR."""
    dtype = DTYPES[element]
    same = [np.dtype(c) for c in _CODES if np.dtype(c) == dtype]
    return tuple(sorted({d.num for d in same}))


def dtype_symbol(element: t.Type) -> str:
    """The name, in compiled code, of the dtype object of an element type."""
    return f"adc_np_dtype_{element}"


@functools.cache
def _table() -> ctypes.Array[ctypes.c_void_p]:
    package = "numpy._core" if int(np.__version__.split(".")[0]) >= 2 else "numpy.core"
    core = importlib.import_module(f"{package}._multiarray_umath")
    kind = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    start = kind(("PyCapsule_GetPointer", ctypes.pythonapi))(core._ARRAY_API, None)
    return (ctypes.c_void_p * (max(_TABLE.values()) + 1)).from_address(start)


def address(name: str) -> int:
    """The address of a function of the table, or of one of ``OBJECTS``."""
    if name in OBJECTS:
        return id(OBJECTS[name])
    pointer = _table()[_TABLE[name]]
    assert isinstance(pointer, int)
    return pointer


@functools.cache
def check() -> None:
    """Raise ``RuntimeError`` if the layout of this NumPy's array objects is not the one that stubs expect."""
    probe = np.zeros((2, 3, 4))[:, 1:]

    def pointer(offset: int, base: int = id(probe)) -> int:
        return ctypes.c_int64.from_address(base + offset).value

    descr = pointer(DESCR)
    facts = (
        address("PyArray_Type") == id(np.ndarray),
        pointer(DATA) == probe.ctypes.data,
        ctypes.c_int.from_address(id(probe) + ND).value == probe.ndim,
        tuple((ctypes.c_int64 * 3).from_address(pointer(DIMENSIONS))) == probe.shape,
        tuple((ctypes.c_int64 * 3).from_address(pointer(STRIDES))) == probe.strides,
        descr == id(probe.dtype),
        ctypes.c_int.from_address(id(probe) + FLAGS).value == probe.flags.num,
        ctypes.c_char.from_address(descr + BYTE_ORDER).value == b"=",
        ctypes.c_int.from_address(descr + TYPE_NUMBER).value == probe.dtype.num,
    )
    if not all(facts):
        raise RuntimeError(f"adc does not know the array layout of this NumPy ({np.__version__})")
