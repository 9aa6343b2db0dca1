"""The last traced and simplified form of a function, with which its value, gradient, pullback and tangents all begin.

All users get copies, including the first one, so that results do not depend on what was made before.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

from adc.border.binding import table_of
from adc.frontend.abstract import Abstract, Array, abstract_of
from adc.frontend.rules.registry import RULES
from adc.frontend.traced import Leaf, Traced
from adc.ir.copies import is_copy
from adc.ir.core import Module
from adc.ir.known import forget
from adc.ir.lazy_dataclass import dataclass
from adc.ir.rewrite import clone_module
from adc.passes.base import Pipeline

Key = tuple[tuple[Abstract, ...], bool]  # types of the arguments, and whether kernels are with it


@dataclass(frozen=True)
class _Known:
    key: Key
    traced: Traced
    passes: Pipeline = ()  # that made ``simplified``
    simplified: Module | None = None


class Remembered:
    """The last types that a function was traced for, and the results. Threads see a consistent state, old or new."""

    def __init__(self) -> None:
        self._last: _Known | None = None

    def traced(self, key: Key, trace: Callable[[], Traced]) -> Traced:
        """A copy of the result of ``trace`` for ``key``."""
        last = self._last
        if last is None or last.key != key or not still_holds(last.traced):
            last = self._last = _Known(key, trace())
        return replace(last.traced, module=clone_module(last.traced.module))

    def simplified(self, module: Module, passes: Pipeline, simplify: Callable[[Module], Module]) -> Module:
        """The result of ``simplify``, which runs ``passes`` on the module. It is kept only for a module as it was
        traced."""
        last = self._last
        if last is None or not is_copy(module, last.traced.module):
            return simplify(module)
        if last.simplified is None or last.passes != passes:
            made = simplify(module)
            forget(made)
            self._last = last = replace(last, passes=passes, simplified=made)
        assert last.simplified is not None
        return clone_module(last.simplified)


class Kept:
    """The last value of each kind that was made from a function, for as long as a call would be traced in the same way.
    The function's lock is held meanwhile."""

    def __init__(self) -> None:
        self._last: dict[Hashable, tuple[object, Traced, Any]] = {}

    def value(self, kind: Hashable, key: object, make: Callable[[], tuple[Traced, Any]]) -> Any:
        """The value of this kind for ``key``, made now if the last one was for another key, or does not hold any more.
        ``make`` also returns what was traced, of which the module is not kept."""
        last = self._last.get(kind)
        if last is None or last[0] != key or not still_holds(last[1]):
            traced, value = make()
            last = self._last[kind] = key, replace(traced, module=Module({})), value
        return last[2]


def fetched(leaf: Leaf) -> Any:
    """The current value of a captured variable."""
    assert leaf.fetch is not None
    return leaf.fetch()


def _is_of(value: Any, type: Abstract) -> bool:
    sized = isinstance(type, Array) and type.extents
    now = abstract_of(value)
    return (replace(now, extents=value.shape) if sized and isinstance(now, Array) else now) == type


def still_holds(traced: Traced) -> bool:
    """Whether everything that the function reads by name is still the same as in tracing, or of the same type.

    The derivative rules of what it calls must be the same, too.
    """
    if RULES.changed(map(id, traced.consulted), traced.version):
        return False
    table = table_of(traced)
    if not table.holds():
        if not traced.looks.hold():
            return False
        table.refresh()  # compiled code compares objects by identity
    try:
        return all(_is_of(fetched(leaf), leaf.abstract) for leaf in traced.leaves if leaf.kind == "capture")
    except (LookupError, AttributeError, ValueError, TypeError):
        return False
