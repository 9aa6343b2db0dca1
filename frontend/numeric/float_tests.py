"""Whether a float is NaN, infinite, finite."""

from __future__ import annotations

import math

from adc.ir import ops
from adc.ir.arith import const
from adc.ir.core import Value


def is_nan(x: Value) -> Value:
    return ops.cmpf(x, x, predicate="uno")


def is_inf(x: Value) -> Value:
    return ops.cmpf(ops.absf(x), const(math.inf, x.type), predicate="oeq")


def is_finite(x: Value) -> Value:
    return ops.cmpf(ops.absf(x), const(math.inf, x.type), predicate="olt")
