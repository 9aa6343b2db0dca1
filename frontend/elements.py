"""Conversion between array elements and the values that are computed with: integers become indices."""

from __future__ import annotations

from adc.frontend.abstract import value_type
from adc.ir import ops
from adc.ir.core import Value
from adc.ir.types import Type, index


def from_element(value: Value) -> Value:
    """An array element or argument as a value to compute with."""
    return ops.index_cast(value, type=index) if value_type(value.type) == index else value


def to_element(value: Value, element: Type) -> Value:
    """A computed value as an array element or result of type ``element``."""
    return ops.index_cast(value, type=element) if value_type(element) == index else value
