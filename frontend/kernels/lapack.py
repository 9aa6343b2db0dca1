"""LAPACK's subroutines, by the pointers to them that SciPy exports for Cython, for traced code and for plain Python.

Matrices are in Fortran's order, column by column: a subroutine gets the transpose of an array. If SciPy is not
installed, or if code must run without it, ``at_hand()`` is false, and nothing else may be called.

Reference: Anderson et al., LAPACK Users' Guide, 3rd ed. (1999).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import importlib.machinery
import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adc.frontend.kernels.capsules import address_of, signature_of
from adc.ir import externals
from adc.ir.externals import Named, Provided

LEAST = 40  # rows of a system from which LAPACK is used: smaller systems are solved before it has started
MANY = 256  # numbers in right-hand sides from which it is used, whatever the rows


@dataclass(frozen=True)
class Routine:
    """A subroutine. ``parameters`` has a letter for each parameter: ``c`` for a character, ``i`` for an integer, ``f``
    for a float; for an array of floats ``a``, or ``A`` if it is written to, of integers ``p`` or ``P``. ``library`` is
    the module of SciPy's that exports it.
    """

    name: str
    parameters: str
    library: str = "scipy.linalg.cython_lapack"

    def __call__(self, *args: Any) -> None:
        precision = next(a.dtype for a in args if isinstance(a, np.ndarray) and a.dtype.kind == "f")
        passed = [_plain(a, letter, precision) for a, letter in zip(args, self.parameters, strict=True)]
        _call(_address(self, self.symbol(precision == np.float64)), passed)

    def symbol(self, double: bool) -> str:
        """Its name for single or double precision."""
        return ("d" if double else "s") + self.name

    @property
    def written(self) -> tuple[int, ...]:
        """The positions of the arrays that it writes to."""
        return tuple(k for k, letter in enumerate(self.parameters) if letter.isupper())


getrf = Routine("getrf", "iiAiPP")  # m n a lda pivots info
getrs = Routine("getrs", "ciiaipAiP")  # trans n count a lda pivots b ldb info
potrf = Routine("potrf", "ciAiP")  # uplo n a lda info
geqrf = Routine("geqrf", "iiAiAAiP")  # m n a lda factors work lwork info
orgqr = Routine("orgqr", "iiiAiaAiP")  # m n count a lda factors work lwork info
syevd = Routine("syevd", "cciAiAAiPiP")  # job uplo n a lda w work lwork iwork liwork info
gesdd = Routine("gesdd", "ciiAiAAiAiAiPP")  # job m n a lda s u ldu vt ldvt work lwork iwork info
gelsd = Routine("gelsd", "iiiAiAiAfPAiPP")  # m n count a lda b ldb s cut rank work lwork iwork info
trsm = Routine("trsm", "cccciifaiAi", "scipy.linalg.cython_blas")  # side uplo trans unit m n alpha a lda b ldb

ROUTINES = {r.name: r for r in list(globals().values()) if isinstance(r, Routine)}


def at_hand() -> bool:
    """Whether the subroutines can be called in this process. A constant in traced code."""
    return all(_address(r, r.symbol(double)) for r in ROUTINES.values() for double in (False, True))


def is_installed() -> bool:
    """Whether SciPy is installed, and ``ADC_LAPACK`` does not forbid its use for this."""
    return os.environ.get("ADC_LAPACK", "1") not in ("", "0") and _where() is not None


@functools.cache
def _where() -> list[str] | None:
    """The folders of ``scipy.linalg``; SciPy is not imported."""
    spec = importlib.util.find_spec("scipy")
    if spec is None or not spec.submodule_search_locations:
        return None
    return [os.path.join(folder, "linalg") for folder in spec.submodule_search_locations]


@functools.cache
def _threads(library: str) -> tuple[int, int] | None:
    """Addresses of the functions that get and set the number of threads of the library behind it, if that is
    OpenBLAS."""
    spec = importlib.machinery.PathFinder.find_spec(library, _where())
    if spec is None or spec.origin is None:
        return None
    with contextlib.suppress(OSError):
        loaded = ctypes.CDLL(spec.origin)  # its dependencies are searched, too
        for prefix in ("scipy_openblas_", "openblas_"):
            with contextlib.suppress(AttributeError):
                found = [getattr(loaded, f"{prefix}{verb}_num_threads") for verb in ("get", "set")]
                get, set = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in found)
                return get, set
    return None


@functools.cache
def _exported(library: str) -> dict[str, Any]:
    """The functions that SciPy exports. Their module is loaded without the rest of ``scipy.linalg``, which takes 50
    times as long."""
    try:
        if "scipy.linalg" in sys.modules:
            module = importlib.import_module(library)
        else:
            spec = importlib.machinery.PathFinder.find_spec(library, _where())
            if spec is None or spec.loader is None:
                return {}
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            sys.modules.pop(library, None)  # so that an import finds it as a part of scipy.linalg
    except ImportError:
        return {}
    return getattr(module, "__pyx_capi__", {})


_TYPES = {"c": "char", "i": "int", "p": "int", "a": r"\w*_[sd]|float|double", "f": r"\w*_[sd]|float|double"}


@functools.cache
def _address(routine: Routine, symbol: str) -> int:
    """The address of a subroutine that takes the expected parameters; else zero."""
    capsule = _exported(routine.library).get(symbol)
    if capsule is None:
        return 0
    wanted = ", ".join(rf"(?:{_TYPES[p.lower()]}) \*" for p in routine.parameters)
    if re.fullmatch(rf"void \({wanted}\)", signature_of(capsule)) is None:
        return 0
    return address_of(capsule)


def _plain(value: Any, letter: str, precision: Any) -> Any:
    """The address that is passed for a value."""
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.__array_interface__["data"][0])
    if letter == "c":
        return ctypes.byref(ctypes.c_char(value.encode() if isinstance(value, str) else value))
    if letter == "f":
        return ctypes.byref(ctypes.c_double(value) if precision == np.float64 else ctypes.c_float(value))
    return ctypes.byref(ctypes.c_int32(value))


def _call(address: int, given: Sequence[Any]) -> None:
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(given))(address)(*given)


def _provided(named: Named) -> Provided | None:
    routine = ROUTINES.get(named.symbol[1:])
    address = _address(routine, named.symbol) if routine is not None else 0
    if routine is None or not address:
        return None
    shown = f"LAPACK's {named.symbol}"
    return Provided(address, routine, linked=False, shown=shown, threads=_threads(routine.library))


for _library in {r.library for r in ROUTINES.values()}:
    externals.provide_all(_library, _provided)
