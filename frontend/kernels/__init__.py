"""Functions of arrays that library functions are built on, in Python that is traced. Each is traced once for all calls,
with its own source locations, since it raises nothing.

They may have derivatives of their own, by ``@reverse_rule(f)`` and ``@forward_rule(f)``: like ``adc.rrule`` and
``adc.frule``, for any arguments. Both are needed for arrays. If they are built on such functions, they are valid for
derivatives of any order.

Those with rules, and those marked ``@compiled_once``, are not part of the programs that use them: they are compiled by
themselves, once for a machine, and called (``adc.driver.kernels``).
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

COMPILED_ONCE: set[FunctionType] = set()
WHEN_REACHED: dict[FunctionType, frozenset[str]] = {}
REVERSE: dict[FunctionType, FunctionType] = {}
FORWARD: dict[FunctionType, FunctionType] = {}
SMALL: set[FunctionType] = set()
COLLECTIVE: set[FunctionType] = set()
"""Functions that all ranks call together, with the same result on all; see
``adc.passes.differentiation.activity.locality``."""
CROSSING: set[FunctionType] = set()
"""Functions whose results come from other ranks; see ``adc.passes.analysis.messages``."""


def compiled_once(function: F) -> F:
    """Mark a function without derivatives, since its results are integers, to be compiled by itself. It writes to none
    of its arguments, and returns numbers and new arrays; its subscripts are not checked."""
    assert isinstance(function, FunctionType)
    COMPILED_ONCE.add(function)
    return function


def when_reached(*written: str) -> Callable[[F], F]:
    """Mark a part of kernels that is compiled by itself, not even traced before, when a call reaches it. It returns
    nothing, and writes to no arguments but those named, which overlap with no other."""

    def mark(function: F) -> F:
        assert isinstance(function, FunctionType)
        WHEN_REACHED[function] = frozenset(written)
        return function

    return mark


def small_beside_lapack(function: F) -> F:
    """Mark a kernel that gives LAPACK, where there is one, all but small matrices: loops over these are too short to be
    shared out among threads."""
    assert isinstance(function, FunctionType)
    SMALL.add(function)
    return function


def reverse_rule(function: Callable[..., Any]) -> Callable[[F], F]:
    """Mark the function that returns the value of a kernel, and the pullback."""
    assert isinstance(function, FunctionType)
    COMPILED_ONCE.add(function)
    return _marked(REVERSE, function)


def forward_rule(function: Callable[..., Any]) -> Callable[[F], F]:
    """Mark the function that takes the tangents and the arguments of a kernel, and returns its value and tangent."""
    return _marked(FORWARD, function)


def with_rules(function: Callable[..., Any], reverse: Callable[..., Any], forward: Callable[..., Any]) -> FunctionType:
    """Give a function both rules, and let it be a part of the programs that use it, since it has effects."""
    _marked(REVERSE, function)(reverse)
    _marked(FORWARD, function)(forward)
    assert isinstance(function, FunctionType)
    return function


def _marked(table: dict[FunctionType, FunctionType], function: Callable[..., Any]) -> Callable[[F], F]:
    assert isinstance(function, FunctionType) and function not in table, function

    def mark(rule: F) -> F:
        assert isinstance(rule, FunctionType)
        table[function] = rule
        return rule

    return mark
