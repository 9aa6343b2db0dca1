"""Attributes of operations: as keys, and the predicates of comparisons with operands exchanged or results negated."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from adc.ir.core import Attr

MIRRORED = {"oeq": "oeq", "one": "one", "une": "une", "uno": "uno", "ord": "ord"}
MIRRORED |= {"olt": "ogt", "ogt": "olt", "ole": "oge", "oge": "ole"}
MIRRORED |= {"eq": "eq", "ne": "ne", "slt": "sgt", "sgt": "slt", "sle": "sge", "sge": "sle"}
"""The predicate of a comparison whose operands are exchanged."""

OPPOSITE_INTEGER = {"eq": "ne", "ne": "eq", "slt": "sge", "sge": "slt", "sgt": "sle", "sle": "sgt"}
OPPOSITE_FLOAT = {"oeq": "une", "une": "oeq", "uno": "ord", "ord": "uno"}
"""The predicate that holds where another does not; NaN leaves most comparisons of floats without one."""


def attr_key(attrs: Mapping[str, Attr]) -> Hashable:
    """Equal for equal attributes; tells apart 0.0 and -0.0, and takes NaN as equal to itself."""
    if len(attrs) == 1:  # as most have
        ((name, value),) = attrs.items()
        return name, repr(value) if isinstance(value, float) else value
    return tuple([(name, repr(v) if isinstance(v, float) else v) for name, v in attrs.items()])
