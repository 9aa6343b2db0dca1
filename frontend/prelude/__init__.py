"""Library functions that are programs: Python that adc traces, as it traces a user's, where the library's is called.

Each has the library's parameters, names and defaults, and is found by the library's function object, however the user
imported it. What it raises, refuses and computes stands at the user's call, for its own lines are nothing to the user.
Methods of arrays are looked for under ``numpy.ndarray.`` first, and then as the function of the same name.

To add one: a function in a module of this folder, marked ``@stands_for("numpy.median")``. It may use what adc compiles,
other stand-ins among them, and ``constant`` and ``unsupported``. What they have in common is in functions beside them, whose
code stands at the user's call as well.

What is large is a function in the folder ``kernels``: one for all calls, at its own lines, which raises nothing. It may have
derivatives of its own, by ``@reverse_rule(f)`` and ``@forward_rule(f)``: as ``adc.rrule`` and ``adc.frule``, for any arguments.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn, TypeVar

from adc.frontend.rules.registry import RULES, Kind, Rule

F = TypeVar("F", bound=Callable[..., Any])

_BY_NAME: dict[str, FunctionType] = {}


def stands_for(*names: str) -> Callable[[F], F]:
    """Mark a function as what is traced in place of the library's functions of these full names; those that the
    installed library has not are left out."""

    def mark(function: F) -> F:
        assert isinstance(function, FunctionType)
        for name in names:
            assert name not in _BY_NAME, name
            _BY_NAME[name] = function
        return function

    return mark


def reverse_rule(function: Callable[..., Any]) -> Callable[[F], F]:
    """Mark what returns the value of a kernel, and the pullback."""
    return _rule("rrule", function, skipped=0)


def forward_rule(function: Callable[..., Any]) -> Callable[[F], F]:
    """Mark what takes the tangents and the arguments of a kernel, and returns its value and the tangent of that."""
    return _rule("frule", function, skipped=1)


def _rule(kind: Kind, function: Callable[..., Any], skipped: int) -> Callable[[F], F]:
    def mark(rule: F) -> F:
        code = rule.__code__  # type: ignore[attr-defined]
        types = (object,) * (code.co_argcount - skipped)
        RULES.add_own(
            Rule(kind, function, types, None, rule, (), rule.__name__, code.co_filename, code.co_firstlineno)
        )
        return rule

    return mark


def is_helper(function: FunctionType) -> bool:
    """Whether this is a part of such programs, which stands where they are called."""
    module = function.__module__ or ""
    return module.startswith(f"{__name__}.") and not module.startswith(f"{__name__}.kernels.")


def constant(value: Any) -> Any:
    """``value``, which has to be known when the program is compiled: an axis, a mode, an order."""
    return value


def unsupported(message: str, help: str = "") -> NoReturn:
    """Refuse, when the program is compiled, the call that is being traced. ``help``: what to write in its place."""
    raise NotImplementedError(message)


def stand_in(obj: Any) -> FunctionType | None:
    """What is traced in place of a library's function; None if there is none."""
    _load()
    try:
        return _by_object(frozenset(m for m in map(_module, _BY_NAME) if m in sys.modules)).get(obj)
    except TypeError:  # not hashable
        return None


def names() -> dict[str, FunctionType]:
    """All of them by the full names of what they stand for."""
    _load()
    return dict(_BY_NAME)


@functools.cache
def _load() -> None:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


@functools.cache
def _by_object(modules: frozenset[str]) -> dict[Any, FunctionType]:
    """By the functions themselves, of the modules that the program has imported."""
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


@functools.cache
def _module(name: str) -> str:
    """SciPy's modules are imported one by one, NumPy's all at once."""
    return ".".join(name.split(".")[: 2 if name.startswith("scipy.") else 1])
