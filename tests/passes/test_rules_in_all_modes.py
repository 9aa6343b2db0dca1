"""Every operation at fifty points, in four modes, against mpmath: forward, reverse, forward over reverse, reverse over
reverse. Kinks are tested with the rules, in ``test_rules``."""

from __future__ import annotations

import random
from typing import Any

import mpmath
import numpy as np
import pytest

from adc.ir import ops
from adc.ir.opdef import OpDef
from tests.passes.derivative_harness import Modes
from tests.passes.test_rules import TRUTH

POINTS = 50
# Where an operation is smooth and well conditioned; of the others, any numbers between -2 and 2.
RANGES: dict[OpDef, tuple[tuple[float, float], ...]] = {
    ops.divf: ((-2.0, 2.0), (0.3, 3.0)),
    ops.remf: ((0.1, 0.9), (1.0, 3.0)),
    ops.remainder: ((0.6, 0.9), (1.0, 1.1)),
    ops.maximumf: ((-2.0, 0.4), (0.5, 2.0)),
    ops.minimumf: ((-2.0, 0.4), (0.5, 2.0)),
    ops.maxnumf: ((0.5, 2.0), (-2.0, 0.4)),
    ops.minnumf: ((0.5, 2.0), (-2.0, 0.4)),
    ops.tan: ((-1.2, 1.2),),
    ops.asin: ((-0.9, 0.9),),
    ops.acos: ((-0.9, 0.9),),
    ops.atan2: ((0.2, 2.0), (-2.0, 2.0)),
    ops.acosh: ((1.2, 5.0),),
    ops.atanh: ((-0.9, 0.9),),
    ops.log: ((0.1, 5.0),),
    ops.log2: ((0.1, 5.0),),
    ops.log10: ((0.1, 5.0),),
    ops.log1p: ((-0.8, 3.0),),
    ops.sqrt: ((0.1, 5.0),),
    ops.rsqrt: ((0.1, 5.0),),
    ops.cbrt: ((0.2, 5.0),),
    ops.powf: ((0.2, 3.0), (-2.0, 3.0)),
    ops.hypot: ((0.2, 2.0), (-2.0, 2.0)),
    ops.lgamma: ((2.5, 20.0),),
    ops.tgamma: ((0.3, 5.0),),
    ops.absf: ((0.1, 2.0),),
    ops.copysign: ((0.1, 2.0), (-2.0, -0.1)),
}


@pytest.mark.parametrize("opdef", TRUTH, ids=lambda opdef: opdef.name)
def test_first_and_second_derivatives(opdef: OpDef) -> None:
    modes = Modes(opdef)
    rng = random.Random(opdef.name)
    for _ in range(POINTS):
        point = [rng.uniform(*r) for r in RANGES.get(opdef, ((-2.0, 2.0),) * modes.count)]
        first, second = _truth(opdef, point)
        agree(modes.reverse(point), first)
        agree(modes.forward(point), first)
        agree(modes.forward_over_reverse(point), second)
        agree(modes.reverse_over_reverse(point), second)


def _truth(opdef: OpDef, point: list[float]) -> tuple[Any, Any]:
    with mpmath.workdps(60):
        at = [mpmath.mpf(x) for x in point]

        def partial(*axes: int) -> float:
            order = tuple(axes.count(k) for k in range(len(point)))
            return float(mpmath.diff(TRUTH[opdef], at if len(at) > 1 else at[0], order if len(at) > 1 else order[0]))

        every = range(len(point))
        return [partial(k) for k in every], [[partial(j, k) for k in every] for j in every]


def agree(got: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.array(got, float), expected, rtol=1e-12, atol=1e-14)
