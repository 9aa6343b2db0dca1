"""Library functions that are programs: Python that adc traces, like a user's, where the library's function is called.

Each has the library's parameters, names and defaults, and is found by the library's function object, however the user
imported it. All of its code and its errors have the location of the user's call, since its own lines mean nothing to
the user. Methods of arrays are looked up under ``numpy.ndarray.`` first, and then as the function of the same name.

To add one: a function in a module of this folder, marked ``@stands_for("numpy.median")``. It may use everything that
adc compiles, including other stand-ins, and ``constant`` and ``unsupported``. Common parts are in helper functions
beside them, whose code has the location of the user's call as well.

Large parts are functions in ``adc.frontend.kernels``.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn, TypeVar

_ONE_BY_ONE = ("scipy.", "adc.", "numpy.testing.", "numpy.polynomial.")

F = TypeVar("F", bound=Callable[..., Any])

_BY_NAME: dict[str, FunctionType] = {}


def stands_for(*names: str) -> Callable[[F], F]:
    """Mark a function as the stand-in for the library's functions of these full names; names that the installed library
    does not have are left out."""

    def mark(function: F) -> F:
        assert isinstance(function, FunctionType)
        for name in names:
            assert name not in _BY_NAME, name
            _BY_NAME[name] = function
        return function

    return mark


def is_helper(function: FunctionType) -> bool:
    """Whether this is a part of such programs, whose code has the location of the call."""
    return (function.__module__ or "").startswith(f"{__name__}.")


def constant(value: Any) -> Any:
    """``value``, which must be known when the program is compiled: an axis, a mode, an order."""
    return value


def is_one_row(x: Any) -> bool:
    """Whether it is known, when the program is compiled, that the first axis of ``x`` has one element."""
    return len(x) == 1


def computed(function: Any, *args: Any) -> Any:
    """The vectors that the library's function returns for numbers that must be known when the program is compiled, as
    tuples of constants."""
    return function(*args)


def parts(z: Any) -> Any:
    """The floats of an array of complex numbers, with one more axis: the real and the imaginary part. A view."""
    return z.view(z.real.dtype).reshape(*z.shape, 2)


def of_parts(x: Any) -> Any:
    """The complex numbers whose parts are along the last axis of a new array. A view."""
    return x.view(complex)[..., 0]


def unsupported(message: str, help: str = "") -> NoReturn:
    """Refuse, when the program is compiled, the call that is being traced. ``help``: what to write instead."""
    raise NotImplementedError(message)


def stand_in(obj: Any) -> FunctionType | None:
    """The function that is traced instead of a library's function; None if there is none."""
    _load()
    try:
        # By an intersection Python would go through all modules of the program.
        return _by_object(frozenset(filter(sys.modules.__contains__, _modules()))).get(obj)
    except TypeError:  # not hashable
        return None


def names() -> dict[str, FunctionType]:
    """All stand-ins by the full names of the functions that they stand for."""
    _load()
    return dict(_BY_NAME)


@functools.cache
def _load() -> None:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


@functools.cache
def _modules() -> frozenset[str]:
    """The modules that there are stand-ins for."""
    return frozenset(map(_module, _BY_NAME))


@functools.cache
def _by_object(modules: frozenset[str]) -> dict[Any, FunctionType]:
    """The stand-ins by function object, for the modules that the program has imported."""
    found: dict[Any, FunctionType] = {}
    for name, function in _BY_NAME.items():
        module = _module(name)
        if module in modules:
            obj: Any = sys.modules[module]
            for part in name.removeprefix(module + ".").split("."):
                obj = getattr(obj, part, None)
            if obj is not None:
                found[obj] = function
    return found


def _module(name: str) -> str:
    """The module of a function. Those of SciPy and of adc are imported one by one, most of NumPy's all at once."""
    return ".".join(name.split(".")[: 2 if name.startswith(_ONE_BY_ONE) else 1])
