"""Capsules in which Cython modules export C functions, as ``__pyx_capi__``: an address, under the C signature."""

from __future__ import annotations

import ctypes
from typing import Any


def signature_of(capsule: Any) -> str:
    """The C signature of the function in a capsule."""
    return str((_name(capsule) or b"").decode())


def address_of(capsule: Any) -> int:
    """The address of the function in a capsule."""
    return int(_pointer(capsule, _name(capsule)))


_name = ctypes.pythonapi.PyCapsule_GetName
_name.restype, _name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
