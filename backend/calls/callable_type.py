"""``NativeCallable``: the base class of Python objects whose call goes straight to compiled code.

An instance is an ordinary Python object (it has a ``__dict__``, methods, properties if its class defines them) that
holds a built-in function, its *target*. ``f(x, y)`` runs the target's C function without a Python frame. Calls with
keywords, and all calls while there is no target, go to the method ``_dispatch(*args, **kwargs)`` of the subclass.

The type is made from slots compiled by LLVM (``adc.backend.runtime``). It implements vectorcall. CPython 3.11 does not
let a class written in Python inherit that, so there a call goes through ``tp_call``, which forwards to the same code.
The target may be replaced at any time, also during calls: a call keeps the target that it began with.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from adc.backend import runtime
from adc.backend.library import callable_slots, python_abi
from adc.backend.library.python_abi import MethodDef


class _Spec(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.c_void_p),
    )


class _Slot(ctypes.Structure):
    _fields_ = (("slot", ctypes.c_int), ("pointer", ctypes.c_void_p))


class _Member(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


# Slot numbers (typeslots.h), type flags, member types.
_CALL, _CLEAR, _DEALLOC, _DOC, _METHODS, _NEW, _TRAVERSE, _MEMBERS = 50, 51, 52, 56, 64, 65, 71, 72
_BASETYPE, _HAVE_VECTORCALL, _HAVE_GC = 1 << 10, 1 << 11, 1 << 14
_T_OBJECT, _T_PYSSIZET, _READONLY = 6, 19, 1
_DOC_TEXT = b"A callable whose positional calls run the C function of its target. Base class; see the module."


def _make_type() -> type:
    members = (_Member * 3)(
        _Member(b"__vectorcalloffset__", _T_PYSSIZET, callable_slots.VECTORCALL, _READONLY, None),
        _Member(b"_target", _T_OBJECT, callable_slots.TARGET, _READONLY, b"the function that is called, or None"),
    )
    methods = (MethodDef * 2)(
        MethodDef(
            b"_set_target",
            runtime.address("adc_callable_set_target"),
            python_abi.METH_O,
            b"Call this METH_FASTCALL built-in function from now on; None: none.",
        ),
    )
    pointers = {
        _NEW: runtime.address("adc_callable_new"),
        _CALL: runtime.address("adc_callable_call"),
        _DEALLOC: runtime.address("adc_callable_dealloc"),
        _TRAVERSE: runtime.address("adc_callable_traverse"),
        _CLEAR: runtime.address("adc_callable_clear"),
        _METHODS: ctypes.addressof(methods),
        _MEMBERS: ctypes.addressof(members),
        _DOC: ctypes.cast(ctypes.c_char_p(_DOC_TEXT), ctypes.c_void_p).value,
    }
    slots = (_Slot * (len(pointers) + 1))(*(_Slot(slot, pointer) for slot, pointer in pointers.items()))
    flags = _BASETYPE | _HAVE_VECTORCALL | _HAVE_GC
    name = b"adc.backend.calls.callable_type.NativeCallable"
    spec = _Spec(name, callable_slots.SIZE, 0, flags, ctypes.addressof(slots))
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(("PyType_FromSpec", ctypes.pythonapi))
    made: type = make(ctypes.addressof(spec))
    # The type refers to these as long as it exists, which is until the process ends.
    for kept in (members, methods, name):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    return made


if TYPE_CHECKING:

    class NativeCallable:
        """The base class; see the docstring of the module."""

        @property
        def _target(self) -> object:
            """The built-in function that is called, or None."""

        def _set_target(self, target: object) -> None:
            """Call ``target`` (a ``METH_FASTCALL`` built-in function, or None) from now on."""

        def _dispatch(self, /, *args: Any, **kwargs: Any) -> Any:
            """Handles calls with keywords, and all calls while there is no target; subclasses define it."""

        def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
            """Run the target."""

else:
    NativeCallable = _make_type()
