"""Every derivative rule against mpmath, first and second order, generated from the table of operations."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest

from adc.ir import ops
from adc.ir.arith import const
from adc.ir.core import Module, Value
from adc.ir.interpret.interpreter import run
from adc.ir.opdef import OpDef
from adc.ir.types import f32, f64, i1, index
from adc.passes.differentiation.differentiate import gradient
from adc.passes.differentiation.need.need import needs
from adc.passes.differentiation.need.strong_zeros import leaves_out
from adc.passes.differentiation.rules import CONSTANT, RULES
from tests.passes.derivative_harness import define

# The functions in mpmath, independent of what the operations compute.
TRUTH: dict[OpDef, Any] = {
    ops.addf: lambda a, b: a + b,
    ops.subf: lambda a, b: a - b,
    ops.mulf: lambda a, b: a * b,
    ops.divf: lambda a, b: a / b,
    ops.negf: lambda x: -x,
    ops.remf: lambda a, b: a - b * (mpmath.floor(a / b) if a / b >= 0 else mpmath.ceil(a / b)),
    ops.remainder: lambda a, b: a - b * mpmath.nint(a / b),
    ops.maximumf: max,
    ops.minimumf: min,
    ops.maxnumf: max,
    ops.minnumf: min,
    ops.sin: mpmath.sin,
    ops.cos: mpmath.cos,
    ops.tan: mpmath.tan,
    ops.asin: mpmath.asin,
    ops.acos: mpmath.acos,
    ops.atan: mpmath.atan,
    ops.atan2: lambda a, b: mpmath.atan2(a, b),
    ops.sinh: mpmath.sinh,
    ops.cosh: mpmath.cosh,
    ops.tanh: mpmath.tanh,
    ops.asinh: mpmath.asinh,
    ops.acosh: mpmath.acosh,
    ops.atanh: mpmath.atanh,
    ops.exp: mpmath.exp,
    ops.exp2: lambda x: mpmath.mpf(2) ** x,
    ops.expm1: mpmath.expm1,
    ops.log: mpmath.log,
    ops.log2: lambda x: mpmath.log(x, 2),
    ops.log10: mpmath.log10,
    ops.log1p: mpmath.log1p,
    ops.sqrt: mpmath.sqrt,
    ops.rsqrt: lambda x: 1 / mpmath.sqrt(x),
    ops.cbrt: lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    ops.powf: lambda x, p: x**p,
    ops.hypot: mpmath.hypot,
    ops.erf: mpmath.erf,
    ops.erfc: mpmath.erfc,
    ops.lgamma: lambda x: mpmath.log(abs(mpmath.gamma(x))),
    ops.tgamma: mpmath.gamma,
    ops.fma: lambda a, b, c: a * b + c,
    ops.absf: abs,
    ops.copysign: lambda x, s: abs(x) if s > 0 else -abs(x),
}
EXACT_BY_HAND = {
    *(ops.twin, ops.stop_gradient, ops.select, ops.extf, ops.truncf, ops.fpowi, ops.polygamma),
    *(ops.strong_mulf, ops.strong_divf),
}
BY_FUNCTION = {ops.external}  # of SciPy's, in tests/frontend/test_special_functions.py


def test_every_rule_is_tested() -> None:
    assert set(TRUTH) | EXACT_BY_HAND | BY_FUNCTION == set(RULES)


def test_operations_without_rule_give_no_float_that_varies() -> None:
    stepwise = {ops.floor, ops.ceil, ops.trunc, ops.round_, ops.roundeven}
    for opdef in CONSTANT - stepwise - {ops.constant, ops.sitofp, ops.uitofp}:
        assert opdef.infer is not None
        for typing in ((f64,), (f64, f64), (f64, f64, f64), (f64, index)):
            try:
                results = opdef.infer(typing, {name: "oeq" for name in opdef.attrs} | {"type": f32})
            except (TypeError, AttributeError):
                continue
            assert not any(t.is_float for t in results), opdef.name


def _points() -> list[Any]:
    return [
        pytest.param(opdef, point, id=f"{opdef.name}-{n}")
        for opdef in TRUTH
        for n, point in enumerate(opdef.samples)
        if not (opdef in (ops.maximumf, ops.minimumf, ops.maxnumf, ops.minnumf) and point[0] == point[1])
    ]


def _close(got: float, expected: float, scale: float) -> bool:
    return abs(got - expected) <= 1e-12 * max(1.0, abs(expected), scale)


@pytest.mark.parametrize(("opdef", "point"), _points())
def test_first_derivatives(opdef: OpDef, point: tuple[float, ...]) -> None:
    module = Module()
    define(module, "f", [f64] * len(point), lambda *args: [opdef(*args)])
    name = gradient(module, "f", tuple(range(len(point)))).name
    found = run(module, name, list(point))
    with mpmath.workdps(40):
        for k, got in enumerate(found):
            order = tuple(int(j == k) for j in range(len(point)))
            expected = float(mpmath.diff(TRUTH[opdef], point, order))
            assert _close(got, expected, abs(point[k])), (k, got, expected)


@pytest.mark.parametrize(("opdef", "point"), _points())
def test_second_derivatives_by_reverse_over_reverse(opdef: OpDef, point: tuple[float, ...]) -> None:
    count = len(point)
    for k in range(count):
        module = Module()
        define(module, "f", [f64] * count, lambda *args: [opdef(*args)])
        inner = gradient(module, "f", (k,)).name
        outer = gradient(module, inner, tuple(range(count))).name
        found = run(module, outer, list(point))
        with mpmath.workdps(40):
            for j, got in enumerate(found):
                order = tuple(int(i == k) + int(i == j) for i in range(count))
                expected = float(mpmath.diff(TRUTH[opdef], point, order))
                assert abs(got - expected) <= 1e-10 * max(1.0, abs(expected)), (k, j, got, expected)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("point", [p[0] for p in ops.polygamma.samples])
def test_polygamma(order: int, point: float) -> None:
    module = Module()
    define(module, "f", [f64], lambda x: [ops.polygamma(x, order=order)])
    (got,) = run(module, gradient(module, "f", (0,)).name, [point])
    with mpmath.workdps(40):
        expected = float(mpmath.psi(order + 1, point))
    assert math.isclose(got, expected, rel_tol=1e-10)


@pytest.mark.parametrize(("x", "n"), ops.fpowi.samples)
def test_integer_powers(x: float, n: int) -> None:
    module = Module()
    define(module, "f", [f64, index], lambda x, n: [ops.fpowi(x, n)])
    (got,) = run(module, gradient(module, "f", (0,)).name, [x, n])
    assert math.isclose(got, n * x ** (n - 1), rel_tol=1e-14, abs_tol=0.0)


def test_select_and_casts() -> None:
    module = Module()
    define(
        module,
        "f",
        [f64, f64],
        lambda x, y: [
            ops.select(ops.cmpf(x, y, predicate="olt"), ops.extf(ops.truncf(x * y, type=f32), type=f64), y + y)
        ],
    )
    name = gradient(module, "f", (0, 1)).name
    assert run(module, name, [0.5, 2.0]) == [2.0, 0.5]
    assert run(module, name, [3.0, 2.0]) == [0.0, 2.0]


def test_a_twin_has_the_derivative_of_the_second() -> None:
    module = Module()
    define(module, "f", [f64, f64], lambda x, y: [ops.twin(x * x, x * y)])
    name = gradient(module, "f", (0, 1), with_value=True).name
    assert run(module, name, [3.0, 3.0]) == [9.0, 3.0, 3.0]


@pytest.mark.parametrize("marks", [(False, False), (False, True), (True, False), (True, True)])
def test_strong_products_and_quotients(marks: tuple[bool, bool]) -> None:
    """What is marked is zero, but may vary; its partner, infinite or not, then does not matter."""
    module = Module()
    define(module, "f", [f64, f64, i1, i1], lambda a, b, za, zb: [ops.strong_mulf(a, b, za, zb)])
    define(module, "q", [f64, f64, i1], lambda a, b, za: [ops.strong_divf(a, b, za)])
    product = gradient(module, "f", (0, 1), with_value=True).name
    quotient = gradient(module, "q", (0, 1), with_value=True).name
    za, zb = marks
    a, b = 0.0 if za else 3.0, 0.0 if zb else math.inf if za else 5.0
    assert run(module, product, [a, b, za, zb]) == [0.0 if za or zb else 15.0, b, a]
    b = 0.0 if za else 4.0
    with np.errstate(all="ignore"):
        by_a = math.inf if za else 0.25
        assert run(module, quotient, [a, b, za]) == [0.0 if za else 0.75, by_a, 0.0 if za else -3.0 / 16.0]


@pytest.mark.parametrize("marks", [(False, False), (False, True), (True, False)])
def test_what_strong_products_leave_out(marks: tuple[bool, bool]) -> None:
    """A factor matters unless the other one may be nothing."""
    module = Module()

    def body(a: Value, b: Value, unknown: Value) -> list[Value]:
        return [ops.strong_mulf(a, b, *(unknown if mark else const(False, i1) for mark in marks))]

    (op,) = (op for op in define(module, "f", [f64, f64, i1], body).walk() if op.opdef is ops.strong_mulf)
    assert leaves_out(op) == [k for k in (0, 1) if marks[1 - k]]


def test_stop_gradient_is_a_constant() -> None:
    module = Module()
    define(module, "f", [f64], lambda x: [ops.stop_gradient(x * x) * x])
    name = gradient(module, "f", (0,), with_value=True).name
    assert run(module, name, [3.0]) == [27.0, 9.0]


KINKS = {
    "absf at 0": (ops.absf, (0.0,), [0.0]),
    "maximum of equals": (ops.maximumf, (2.0, 2.0), [0.5, 0.5]),
    "minimum of equals": (ops.minimumf, (2.0, 2.0), [0.5, 0.5]),
    "maxnum beside NaN": (ops.maxnumf, (math.nan, 2.0), [0.0, 1.0]),
    "minnum beside NaN": (ops.minnumf, (2.0, math.nan), [1.0, 0.0]),
    "hypot at the origin": (ops.hypot, (0.0, 0.0), [0.0, 0.0]),
    "sqrt at 0": (ops.sqrt, (0.0,), [math.inf]),
    "log at 0": (ops.log, (0.0,), [math.inf]),
    "0 to the 0": (ops.powf, (0.0, 0.0), [0.0, 0.0]),
    "0 to the 2": (ops.powf, (0.0, 2.0), [0.0, 0.0]),
    "0 to the 1": (ops.powf, (0.0, 1.0), [1.0, 0.0]),
}


@pytest.mark.parametrize("kink", KINKS)
def test_kinks_have_their_documented_subgradient(kink: str) -> None:
    opdef, point, expected = KINKS[kink]
    module = Module()
    define(module, "f", [f64] * len(point), lambda *args: [opdef(*args)])
    assert run(module, gradient(module, "f", tuple(range(len(point)))).name, list(point)) == expected


def test_needs_are_read_off_the_rules() -> None:
    module = Module()
    func = define(module, "f", [f64, f64], lambda x, y: [ops.addf(ops.mulf(x, y), ops.addf(ops.exp(x), ops.sin(y)))])
    product, exponential, sine, total = func.body.ops[:4]
    assert [op.opdef for op in func.body.ops[:4]] == [ops.mulf, ops.exp, ops.sin, ops.addf]
    assert needs(product, [0]).operands == (1,) and not needs(product, [0]).result
    assert needs(product, [0, 1]).operands == (0, 1)
    assert needs(exponential, [0]).result and needs(exponential, [0]).operands == ()
    assert needs(sine, [0]).operands == (0,)
    assert needs(total, [0, 1]).operands == () and not needs(total, [0, 1]).result
