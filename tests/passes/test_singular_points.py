"""Every derivative rule at singular points, at kinks, and for infinities and NaN: modes agree, Hessians are symmetric.

Generated from the table of operations, and again for functions with equivalent derivative rules. The values are tested
with the rules; here the modes must agree, including the signs of infinities.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from adc.ir import ops
from adc.ir.opdef import OpDef
from tests.passes.derivative_harness import Modes
from tests.passes.test_rules import TRUTH

FINITE = (0.0, -0.0, 1.0, -1.0, 2.0, -2.5)
ENDLESS = (math.inf, -math.inf, math.nan)


def points(count: int) -> list[tuple[float, ...]]:
    values = (*FINITE, *ENDLESS) if count < 3 else (0.0, 1.0, -2.5, math.inf, math.nan)
    return list(itertools.product(values, repeat=count))


def same(a: Any, b: Any) -> bool:
    a, b = np.array(a, float), np.array(b, float)
    return bool(np.allclose(a, b, rtol=1e-12, atol=1e-15, equal_nan=True))


@pytest.mark.parametrize("ruled", [False, True], ids=["", "ruled"])
@pytest.mark.parametrize("opdef", TRUTH, ids=lambda opdef: opdef.name)
def test_modes_agree(opdef: OpDef, ruled: bool) -> None:
    modes = Modes(opdef, ruled=ruled)
    with np.errstate(all="ignore"):
        for point in points(modes.count):
            assert same(modes.reverse(point), modes.forward(point)), point
            hessian = modes.forward_over_reverse(point)
            assert same(hessian, np.transpose(hessian)), (point, hessian)
            assert same(hessian, modes.reverse_over_reverse(point)), (point, hessian)
            assert same(hessian, modes.reverse_over_forward(point)), (point, hessian)


INF = math.inf
KNOWN: list[tuple[OpDef, tuple[float, ...], list[list[float]]]] = [
    (ops.powf, (2.0, 0.0), [[0.0, 0.5], [0.5, math.log(2.0) ** 2]]),
    (ops.powf, (0.0, 2.0), [[2.0, 0.0], [0.0, 0.0]]),
    (ops.powf, (0.0, 0.0), [[0.0, 0.0], [0.0, 0.0]]),
    (ops.sqrt, (0.0,), [[-INF]]),
    (ops.log, (0.0,), [[-INF]]),
    (ops.asin, (1.0,), [[INF]]),
    (ops.acos, (-1.0,), [[INF]]),
    (ops.acosh, (1.0,), [[-INF]]),
    (ops.atanh, (-1.0,), [[-INF]]),
    (ops.hypot, (0.0, 0.0), [[0.0, 0.0], [0.0, 0.0]]),
    (ops.atan2, (0.0, 0.0), [[0.0, 0.0], [0.0, 0.0]]),
    (ops.atan2, (2.0, INF), [[0.0, 0.0], [0.0, 0.0]]),
    (ops.powf, (INF, 2.0), [[2.0, INF], [INF, INF]]),
    (ops.absf, (0.0,), [[0.0]]),
]


@pytest.mark.parametrize(("opdef", "point", "expected"), KNOWN, ids=lambda v: getattr(v, "name", None))
def test_known_second_derivatives(opdef: OpDef, point: tuple[float, ...], expected: list[list[float]]) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(Modes(opdef).forward_over_reverse(point), expected, rtol=1e-14)
