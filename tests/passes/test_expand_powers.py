"""expand-powers: values as those of ``pow``, also where C makes special ones."""

from __future__ import annotations

import math

import pytest

from adc.ir import ops
from adc.ir.arith import const
from adc.ir.core import Module
from adc.ir.evaluate.evaluate import normal
from adc.ir.evaluate.samples import special_values
from adc.ir.interpret.interpreter import run
from adc.ir.types import Type, f32, f64, index
from adc.passes.simplify.expand_powers import MOST, ExpandPowers
from tests.passes.derivative_harness import define

EXPONENTS = [sign * n / 4 for n in range(4 * MOST + 4) for sign in (1, -1)]
POINTS = (0.3, -0.7, 1.0, -1.0, 1.7, -2.5, 3.1)


@pytest.mark.parametrize("t", [f64, f32], ids=str)
def test_values(t: Type) -> None:
    unit, least = (2.0**-52, 1e-300) if t == f64 else (2.0**-23, 1e-37)
    assert ops.powf.evaluate is not None
    for exponent in EXPONENTS:
        module = Module()
        define(module, "f", [t], lambda x, e=exponent: [ops.powf(x, const(e, t))])
        ExpandPowers().run(module)
        assert not any(op.opdef is ops.powf for op in module.funcs["f"].walk())
        for x in (*special_values(t), *(normal(x, t) for x in POINTS)):
            (got,), want = run(module, "f", [x]), ops.powf.evaluate({}, t, x, exponent)
            if least < abs(want) < math.inf:
                assert abs(got - want) <= (abs(exponent) / 2 + 2) * unit * abs(want), (x, exponent)
            else:
                assert abs(got) < least if abs(want) < least else str(got) == str(want), (x, exponent)
                assert math.isnan(want) or math.copysign(1.0, got) == math.copysign(1.0, want), (x, exponent)


def test_whole_exponents_are_powers_too() -> None:
    module = Module()
    define(module, "f", [f64], lambda x: [ops.fpowi(x, const(7, index)), ops.powf(x, const(7.0, f64))])
    ExpandPowers().run(module)
    assert {op.opdef for op in module.funcs["f"].body.ops} & {ops.fpowi, ops.powf} == set()
    one, other = run(module, "f", [-1.7])
    assert one == other < 0


@pytest.mark.parametrize("exponent", [MOST + 1.0, 0.125, -2.4, math.inf, math.nan])
def test_left(exponent: float) -> None:
    module = Module()
    define(module, "f", [f64], lambda x: [ops.powf(x, const(exponent, f64))])
    ExpandPowers().run(module)
    assert any(op.opdef is ops.powf for op in module.funcs["f"].body.ops)
