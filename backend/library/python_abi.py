"""Addresses of CPython's C API, and the few object layouts that compiled stubs rely on.

Everything is public C API. Stubs read a few fields directly, because a function call for each would double the cost of
a call: the type of an object, the value of a float, the items of a tuple, the contents of a cell. ``check`` verifies
their offsets in the running interpreter once, before any stub is built. Free-threaded builds have other layouts and are
not supported.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import sys
import sysconfig
import types
from collections.abc import Callable
from typing import Any

TYPE_OFFSET = 8  # of ob_type in PyObject
FLOAT_OFFSET = 16  # of ob_fval in PyFloatObject; of the value in every NumPy scalar of a built-in number type
TUPLE_OFFSET = tuple.__basicsize__  # of the first item in PyTupleObject (it moved in CPython 3.14)

CELL_OFFSET = 16  # of the contents of a cell

METH_FASTCALL = 0x80
METH_O = 0x08

# Functions that stubs and the run-time library may call, as LLVM declares them.
DECLARATIONS = {
    "PyBool_FromLong": "declare ptr @PyBool_FromLong(i64)",
    "PyCFunction_GetFlags": "declare i32 @PyCFunction_GetFlags(ptr)",
    "PyCFunction_GetFunction": "declare ptr @PyCFunction_GetFunction(ptr)",
    "PyCFunction_GetSelf": "declare ptr @PyCFunction_GetSelf(ptr)",
    "PyCapsule_GetPointer": "declare ptr @PyCapsule_GetPointer(ptr, ptr)",
    "PyCapsule_IsValid": "declare i32 @PyCapsule_IsValid(ptr, ptr)",
    "PyCapsule_New": "declare ptr @PyCapsule_New(ptr, ptr, ptr)",
    "PyCell_Get": "declare ptr @PyCell_Get(ptr)",
    "PyDict_GetItemWithError": "declare ptr @PyDict_GetItemWithError(ptr, ptr)",
    "PyErr_CheckSignals": "declare i32 @PyErr_CheckSignals()",
    "PyErr_Clear": "declare void @PyErr_Clear()",
    "PyErr_Fetch": "declare void @PyErr_Fetch(ptr, ptr, ptr)",
    "PyErr_NoMemory": "declare ptr @PyErr_NoMemory()",
    "PyErr_Occurred": "declare ptr @PyErr_Occurred()",
    "PyErr_Restore": "declare void @PyErr_Restore(ptr, ptr, ptr)",
    "PyErr_SetString": "declare void @PyErr_SetString(ptr, ptr)",
    "PyEval_RestoreThread": "declare void @PyEval_RestoreThread(ptr)",
    "PyEval_SaveThread": "declare ptr @PyEval_SaveThread()",
    "PyException_SetTraceback": "declare i32 @PyException_SetTraceback(ptr, ptr)",
    "PyFloat_FromDouble": "declare ptr @PyFloat_FromDouble(double)",
    "PyLong_AsLongLongAndOverflow": "declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)",
    "PyLong_FromLongLong": "declare ptr @PyLong_FromLongLong(i64)",
    "PyLong_FromVoidPtr": "declare ptr @PyLong_FromVoidPtr(ptr)",
    "PyObject_Call": "declare ptr @PyObject_Call(ptr, ptr, ptr)",
    "PyObject_CallMethod": "declare ptr @PyObject_CallMethod(ptr, ptr, ptr, ...)",
    "PyObject_CallNoArgs": "declare ptr @PyObject_CallNoArgs(ptr)",
    "PyObject_GC_UnTrack": "declare void @PyObject_GC_UnTrack(ptr)",
    "PyObject_GetAttrString": "declare ptr @PyObject_GetAttrString(ptr, ptr)",
    "PyObject_Size": "declare i64 @PyObject_Size(ptr)",
    "PyObject_Vectorcall": "declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)",
    "PyThread_get_thread_ident": "declare i64 @PyThread_get_thread_ident()",
    "PyTuple_New": "declare ptr @PyTuple_New(i64)",
    "PyTuple_SetItem": "declare i32 @PyTuple_SetItem(ptr, i64, ptr)",
    "PyTuple_Size": "declare i64 @PyTuple_Size(ptr)",
    "PyType_GenericNew": "declare ptr @PyType_GenericNew(ptr, ptr, ptr)",
    "PyType_GetSlot": "declare ptr @PyType_GetSlot(ptr, i32)",
    "Py_DecRef": "declare void @Py_DecRef(ptr)",
    "Py_IncRef": "declare void @Py_IncRef(ptr)",
}

# Objects by their names in compiled code. All live as long as the interpreter.
OBJECTS: dict[str, object] = {
    "adc_py_None": None,
    "adc_py_True": True,
    "adc_py_False": False,
    "adc_py_float": float,
    "adc_py_int": int,
    "adc_py_tuple": tuple,
    "adc_py_builtin": type(len),
    "adc_py_TypeError": TypeError,
    "adc_py_SystemError": SystemError,
}


@functools.cache
def address(name: str) -> int:
    """The address of a C API function or of one of ``OBJECTS``."""
    if name in OBJECTS:
        return id(OBJECTS[name])
    pointer = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert pointer is not None
    return pointer


class MethodDef(ctypes.Structure):
    """``PyMethodDef``. It must outlive every function made from it."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def builtin(method: MethodDef, state: object = None) -> Callable[..., Any]:
    """A built-in function that runs compiled code; ``state`` is passed to it as ``self``."""
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )
    made: Callable[..., Any] = make(ctypes.addressof(method), state, None)
    return made


@functools.cache
def offset_in(kind: type, attribute: str) -> int | None:
    """The offset, in function or class objects, of the pointer to the value of an attribute; None if it is not known.

    It is found by searching two probe objects: exactly one word must point to the value, at the same place in both.
    """
    probes: tuple[Any, ...] = (_probe, _other_probe) if kind is types.FunctionType else (_Probe, _OtherProbe)
    found = None
    for probe in probes:
        sought = id(getattr(probe, attribute))
        words = range(TYPE_OFFSET + 8, kind.__basicsize__ - 7, 8)
        places = [k for k in words if ctypes.c_void_p.from_address(id(probe) + k).value == sought]
        if len(places) != 1 or found not in (None, places[0]):
            return None
        (found,) = places
    return found


@functools.cache
def version_offset() -> int | None:
    """The offset, in dictionaries, of a version number that differs after each change; None if it is not known. It is
    tried with dictionaries of modules, of classes, and ordinary ones, but not with those of instances."""
    offset, space = object.__basicsize__ + 8, {"a": 1}
    if sys.version_info[:2] not in ((3, 11), (3, 12), (3, 13)):
        return None

    def version(of: dict[str, Any]) -> int:
        return ctypes.c_uint64.from_address(id(of) + offset).value

    module = types.ModuleType("probe")
    cls = type("Probe", (), {})
    (of_class,) = (d for d in gc.get_referents(vars(cls)) if isinstance(d, dict))
    changes: list[tuple[dict[str, Any], Callable[[int], object]]] = [
        (space, lambda k: space.__setitem__("a", k)),
        (space, lambda k: space.update(b=k)),
        (space, lambda k: space.pop("b")),
        (space, lambda k: space.setdefault("b", k)),
        (space, lambda k: space.__delitem__("b")),
        (space, lambda k: space.clear()),
        (vars(module), lambda k: setattr(module, "a", k)),
        (vars(module), lambda k: exec("a = 1; del a", vars(module))),
        (of_class, lambda k: setattr(cls, "a", k)),
    ]
    for of, change in changes:
        for k in range(1 if of is space else 40):  # often enough that the interpreter specialises the bytecode
            before = version(of)
            of.get("a")
            if version(of) != before:
                return None
            change(k)
            if version(of) in (before, 0):
                return None
    return offset


def _probe(x: Any, y: Any = (1, 2), *, k: Any = 1) -> Any:
    return x, y, k


def _other_probe(x: Any = 3, *, m: Any = 2) -> Any:
    return x, m


class _Probe:
    pass


class _OtherProbe(_Probe):
    pass


@functools.cache
def check() -> None:
    """Raise ``RuntimeError`` if the layouts of this interpreter's objects are not those that stubs expect."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise RuntimeError("adc needs CPython with the global interpreter lock")
    probe, pair = 1.25, (probe_a := object(), object())
    cell = types.CellType(probe_a)
    facts = (
        ctypes.sizeof(ctypes.c_void_p) == 8,
        object.__basicsize__ == 16,
        ctypes.c_void_p.from_address(id(probe) + TYPE_OFFSET).value == id(float),
        ctypes.c_double.from_address(id(probe) + FLOAT_OFFSET).value == probe,
        ctypes.c_void_p.from_address(id(pair) + TUPLE_OFFSET).value == id(probe_a),
        ctypes.c_void_p.from_address(id(cell) + CELL_OFFSET).value == id(probe_a),
    )
    if not all(facts):
        raise RuntimeError(f"adc does not know the object layout of this Python ({sys.version})")
