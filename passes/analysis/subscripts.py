"""Subscripts of two accesses to one array: are the elements different ones?"""

from __future__ import annotations

from collections.abc import Iterable

from adc.ir.core import Value
from adc.passes.analysis.integers import Integers


def differ(integers: Integers, a: Iterable[Value], b: Iterable[Value]) -> bool:
    """Whether two subscript lists, in scope at the same time, certainly name different elements."""
    return any(x is not y and _are_apart(integers, x, y) for x, y in zip(a, b, strict=True))


def _are_apart(integers: Integers, a: Value, b: Value) -> bool:
    difference = integers.difference(a, b)
    if difference is not None:
        return difference != 0
    return integers.proves_ge(a, b, 1) or integers.proves_ge(b, a, 1)
