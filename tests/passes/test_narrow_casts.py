"""Casts between integers of all widths: which of two successive casts may be omitted."""

from __future__ import annotations

import itertools
from typing import Any

from adc.ir import ops
from adc.ir.types import Type, i8, i16, i32, i64, index, ui8, ui16, ui32, ui64
from adc.passes.analysis.integers import limits
from adc.passes.canonicalize.integer_rules import _keeps

TYPES: tuple[Type, ...] = (i8, i16, i32, i64, ui8, ui16, ui32, ui64, index)


def cast(value: int, t: Type) -> Any:
    assert ops.index_cast.evaluate is not None
    return ops.index_cast.evaluate({}, t, value)


def test_a_cast_is_left_out_only_where_it_changes_nothing() -> None:
    left_out = 0
    for source, between, target in itertools.product(TYPES, repeat=3):
        least, most = limits(source)
        values = {0, 1, most, least, most // 2 + 1, max(least, -1), min(most, 200)}
        same = all(cast(cast(v, between), target) == cast(v, target) for v in values)
        if _keeps(source, between, target):
            assert same, (source, between, target)
            left_out += 1
    assert left_out > 300


def test_limits_are_those_of_the_type() -> None:
    for t in TYPES:
        least, most = limits(t)
        assert cast(least, t) == least and cast(most, t) == most
        assert cast(most + 1, t) == least and cast(least - 1, t) == most
