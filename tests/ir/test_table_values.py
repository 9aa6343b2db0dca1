"""Evaluation of every scalar operation: against mpmath at regular points, C's math library or NumPy at special ones."""

from __future__ import annotations

import ctypes
import ctypes.util
import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from adc.ir import ops
from adc.ir.evaluate.evaluate import Undefined, bits
from adc.ir.evaluate.samples import Typing, special_values, typings
from adc.ir.opdef import OpDef
from adc.ir.types import FloatType, Type, f32, f64, i1, i32, i64, index

SCALARS = [d for d in ops.TABLE.values() if d.evaluate is not None and d is not ops.constant]
TYPINGS = [t for d in SCALARS for t in typings(d)]
CASTS = [d for d in SCALARS if "type" in d.attrs]


def evaluate(definition: OpDef, t: Type, *values: Any, **attrs: Any) -> Any:
    assert definition.evaluate is not None
    return definition.evaluate(attrs, t, *values)


def exactly(a: Any, b: Any) -> bool:
    """Equal, NaN to NaN, and zeros by sign."""
    if a != a or b != b:
        return bool(a != a and b != b)
    return bool(a == b) and math.copysign(1.0, a) == math.copysign(1.0, b)


# The form of results --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("typing", TYPINGS, ids=str)
def test_results_have_the_form_of_their_type(typing: Typing) -> None:
    assert typing.opdef.evaluate is not None
    form: Any = {f64: float, f32: np.float32, i1: bool}.get(typing.result, int)
    seen = 0
    for values in [*typing.samples(), *typing.specials()]:
        try:
            result = typing.opdef.evaluate(typing.attrs, typing.result, *values)
        except Undefined:
            continue
        seen += 1
        assert type(result) is form, (values, result)
        if form is int:
            assert -(1 << (bits(typing.result) - 1)) <= result < 1 << (bits(typing.result) - 1)
    assert seen


# Regular points against mpmath ----------------------------------------------------------------------------------------


def _round_half_away(x: Any) -> Any:
    return mpmath.sign(x) * mpmath.floor(abs(x) + mpmath.mpf(0.5))


def _remf(x: Any, y: Any) -> Any:
    return x - y * int(x / y)


MPMATH: dict[OpDef, Callable[..., Any]] = {
    ops.addf: lambda x, y: x + y,
    ops.subf: lambda x, y: x - y,
    ops.mulf: lambda x, y: x * y,
    ops.divf: lambda x, y: x / y,
    ops.negf: lambda x: -x,
    ops.remf: _remf,
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
    ops.sinh: mpmath.sinh,
    ops.cosh: mpmath.cosh,
    ops.tanh: mpmath.tanh,
    ops.asinh: mpmath.asinh,
    ops.acosh: mpmath.acosh,
    ops.atanh: mpmath.atanh,
    ops.atan2: mpmath.atan2,
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
    ops.powf: lambda x, y: x**y,
    ops.fpowi: lambda x, n: x**n,
    ops.erf: mpmath.erf,
    ops.erfc: mpmath.erfc,
    ops.fma: lambda x, y, z: x * y + z,
    ops.copysign: lambda x, y: abs(x) * mpmath.sign(y),
    ops.absf: abs,
    ops.floor: mpmath.floor,
    ops.ceil: mpmath.ceil,
    ops.trunc: lambda x: mpmath.sign(x) * mpmath.floor(abs(x)),
    ops.round_: _round_half_away,
    ops.roundeven: mpmath.nint,
    ops.stop_gradient: lambda x: x,
    ops.twin: lambda value, derivative: value,
    ops.strong_mulf: lambda x, y, *marks: 0 if any(marks) else x * y,
    ops.strong_divf: lambda x, y, mark: 0 if mark else x / y,
    ops.hypot: mpmath.hypot,
    ops.lgamma: lambda x: mpmath.log(abs(mpmath.gamma(x))),
    ops.tgamma: mpmath.gamma,
    ops.remainder: lambda x, y: x - y * mpmath.nint(x / y),
}
FLOAT_RESULTS = [
    t
    for t in TYPINGS
    if isinstance(t.result, FloatType) and t.opdef not in CASTS and t.opdef not in (ops.select, ops.polygamma)
]


@pytest.mark.parametrize("typing", FLOAT_RESULTS, ids=str)
def test_regular_points(typing: Typing) -> None:
    """Within 2 units in the last place, of f64 or of f32; gamma's logarithm and gamma within 16 of f64."""
    assert isinstance(typing.result, FloatType)
    oracle = MPMATH[typing.opdef]
    ulp = 2.0**-52 if typing.result.width == 64 else 2.0**-23
    tolerance = (16 * 2.0**-52 if typing.opdef in (ops.lgamma, ops.tgamma) else 0) + 2 * ulp
    with mpmath.workdps(60):
        for values in typing.samples():
            got = evaluate(typing.opdef, typing.result, *values, **typing.attrs)
            exact = oracle(*(mpmath.mpf(float(v)) if isinstance(v, float | np.floating) else signed(v) for v in values))
            assert abs(mpmath.mpf(float(got)) - exact) <= tolerance * abs(exact), (values, got, exact)


EXACT = [ops.addf, ops.subf, ops.mulf, ops.divf, ops.sqrt, ops.fma, ops.remf, ops.remainder]


@pytest.mark.parametrize("t", [f64, f32], ids=str)
@pytest.mark.parametrize("definition", EXACT, ids=lambda d: d.name)
def test_basic_operations_round_correctly(definition: OpDef, t: FloatType) -> None:
    """The result is no further from the exact one than its neighbours are."""
    rng = random.Random(7)
    dtype = np.float64 if t.width == 64 else np.float32
    for _ in range(200):
        values = [dtype(math.ldexp(rng.uniform(-1, 1), rng.randint(-12, 12))) for _ in definition.samples[0]]
        if definition is ops.sqrt:
            values = [abs(values[0])]
        got = dtype(evaluate(definition, t, *values))
        with mpmath.workdps(120):
            exact = MPMATH[definition](*(mpmath.mpf(float(v)) for v in values))
            error = abs(mpmath.mpf(float(got)) - exact)
            for neighbour in (np.nextafter(got, dtype(-np.inf)), np.nextafter(got, dtype(np.inf))):
                assert error <= abs(mpmath.mpf(float(neighbour)) - exact), (values, got)


def test_fma_rounds_once() -> None:
    x = 1.0 + 2.0**-27
    assert evaluate(ops.fma, f64, x, x, -(1.0 + 2.0**-26)) == 2.0**-54
    # Rounded to f64 first, this would be a tie in f32 and go the wrong way.
    a, b, c = np.float32(1 + 2.0**-23), np.float32(1 + 2.0**-23), np.float32(2.0**-80)
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    got = evaluate(ops.fma, f32, a, b, c)
    below, above = np.nextafter(got, np.float32(0)), np.nextafter(got, np.float32(9))
    assert abs(Fraction(float(got)) - exact) < min(abs(Fraction(float(n)) - exact) for n in (below, above))
    tie = np.float32(1 + 2.0**-12)  # its square is 1 + 2^-11 + 2^-24: half way between two floats
    assert evaluate(ops.fma, f32, tie, tie, np.float32(2.0**-80)) == np.float32(1 + 2.0**-11 + 2.0**-23)
    assert evaluate(ops.fma, f32, tie, tie, np.float32(-(2.0**-80))) == np.float32(1 + 2.0**-11)


def test_integers_to_floats_round_once() -> None:
    value = (1 << 60) + (1 << 36) + 1  # rounded to f64 first, a tie in f32
    assert evaluate(ops.sitofp, f32, value) == np.float32(2.0**60 + 2.0**37)
    assert evaluate(ops.sitofp, f64, (1 << 62) + 1) == 2.0**62


@pytest.mark.parametrize("order", range(6))
def test_polygamma(order: int) -> None:
    """Relative to the larger of the value and what cancels in it near a zero: within 1e-14."""
    rng = random.Random(order)
    points = [rng.uniform(-12, 12) for _ in range(60)] + [10 ** rng.uniform(-6, 6) for _ in range(40)]
    points += [1.0, 0.5, 1e-12, -1e-7, 170.5]
    with mpmath.workdps(50):
        for x in points:
            exact = mpmath.polygamma(order, mpmath.mpf(x))
            got = evaluate(ops.polygamma, f64, x, order=order)
            assert abs(got - exact) <= 1e-14 * max(abs(exact), 1 if order == 0 else 0.1), (x, got, exact)
            low = np.float32(x)
            exact = mpmath.polygamma(order, mpmath.mpf(float(low)))
            if abs(exact) < 3e38:
                got = mpmath.mpf(float(evaluate(ops.polygamma, f32, low, order=order)))
                assert abs(got - exact) <= 1e-6 * abs(exact)


def test_polygamma_at_poles_and_ends() -> None:
    inf = math.inf
    expected = {
        0: {0.0: -inf, -1.0: math.nan, inf: inf, -inf: math.nan},
        1: {0.0: inf, -1.0: inf, inf: 0.0},
        2: {0.0: -inf, -3.0: math.nan, inf: -0.0},
    }
    for order, points in expected.items():
        for x, value in points.items():
            assert exactly(evaluate(ops.polygamma, f64, x, order=order), value), (order, x)
    assert evaluate(ops.polygamma, f64, -0.0, order=0) == inf
    assert evaluate(ops.polygamma, f64, -0.0, order=2) == inf
    assert math.isnan(evaluate(ops.polygamma, f64, math.nan, order=3))


def test_lgamma_is_accurate_near_its_zeros() -> None:
    with mpmath.workdps(50):
        for x in [1 + 1e-12, 1 - 1e-9, 2 + 1e-10, 2 - 1e-5, 1.2, 0.8, 2.2, 1.76]:
            exact = mpmath.loggamma(mpmath.mpf(x))
            assert abs(evaluate(ops.lgamma, f64, x) - exact) <= 1e-15 * abs(exact), x


# Special values -------------------------------------------------------------------------------------------------------

_LIBM = ctypes.CDLL(ctypes.util.find_library("m"))


def libm(name: str, count: int) -> Callable[..., float]:
    function = getattr(_LIBM, name)
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_double] * count
    return function  # type: ignore[no-any-return]


C_NAMES = {
    **{
        d: d.name.split(".")[1]
        for d in SCALARS
        if d.dialect == "math" and d not in (ops.absi, ops.ipowi, ops.fpowi, ops.rsqrt)
    },
    ops.absf: "fabs",
    ops.powf: "pow",
    ops.remf: "fmod",
    ops.remainder: "remainder",
    ops.hypot: "hypot",
    ops.lgamma: "lgamma",
    ops.tgamma: "tgamma",
    ops.maxnumf: "fmax",
    ops.minnumf: "fmin",
}


@pytest.mark.parametrize("definition", C_NAMES, ids=lambda d: d.name)
def test_special_values_as_c(definition: OpDef) -> None:
    count = len(definition.samples[0])
    reference = libm(C_NAMES[definition], count)
    points = [*special_values(f64), 0.49999999999999994, 2.0**52 + 1, -0.5, 1.5, -3.0, 710.0, -2.0]
    for values in itertools.product(points if count < 3 else special_values(f64), repeat=count):
        got, want = evaluate(definition, f64, *values), reference(*values)
        if definition in (ops.maxnumf, ops.minnumf) and got == want == 0:
            continue  # C leaves the sign open
        assert exactly(got, want) or abs(got - want) <= 1e-14 * abs(want), (values, got, want)


@pytest.mark.parametrize("definition", [ops.addf, ops.subf, ops.mulf, ops.divf, ops.negf], ids=lambda d: d.name)
@pytest.mark.parametrize("t", [f64, f32], ids=str)
def test_special_values_as_numpy(definition: OpDef, t: Type) -> None:
    numpy: Any = {ops.addf: np.add, ops.subf: np.subtract, ops.mulf: np.multiply, ops.divf: np.divide}
    function = numpy.get(definition, np.negative)
    dtype = np.float64 if t == f64 else np.float32
    with np.errstate(all="ignore"):
        for values in itertools.product(special_values(t), repeat=len(definition.samples[0])):
            want = function(*(dtype(v) for v in values))
            assert exactly(evaluate(definition, t, *values), want), values


def test_rsqrt_at_special_values() -> None:
    for x, want in [(0.0, math.inf), (-0.0, -math.inf), (-1.0, math.nan), (math.inf, 0.0), (4.0, 0.5)]:
        assert exactly(evaluate(ops.rsqrt, f64, x), want)


def test_maximum_and_minimum_of_zeros_and_nan() -> None:
    nan = math.nan
    for definition, number in [(ops.maximumf, nan), (ops.maxnumf, 1.0), (ops.minimumf, nan), (ops.minnumf, 1.0)]:
        assert exactly(evaluate(definition, f64, nan, 1.0), number)
        assert exactly(evaluate(definition, f64, 1.0, nan), number)
    for x, y in [(0.0, -0.0), (-0.0, 0.0)]:
        assert exactly(evaluate(ops.maximumf, f64, x, y), 0.0)
        assert exactly(evaluate(ops.minimumf, f64, x, y), -0.0)


def test_fpowi_as_pow() -> None:
    power = libm("pow", 2)
    for x in special_values(f64):
        for n in (0, 1, 2, 3, -1, -2, -3, 1075, -1075):
            assert exactly(evaluate(ops.fpowi, f64, x, n), power(x, float(n))), (x, n)
    odd = (1 << 62) + 1  # its parity is lost in a float
    assert evaluate(ops.fpowi, f64, -1.0, odd) == -1.0


COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "oeq": lambda x, y: x == y,
    "one": lambda x, y: not (math.isnan(x) or math.isnan(y) or x == y),
    "olt": lambda x, y: x < y,
    "ole": lambda x, y: x <= y,
    "ogt": lambda x, y: x > y,
    "oge": lambda x, y: x >= y,
    "une": lambda x, y: not x == y,
    "uno": lambda x, y: math.isnan(x) or math.isnan(y),
    "ord": lambda x, y: not (math.isnan(x) or math.isnan(y)),
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "slt": lambda x, y: x < y,
    "sle": lambda x, y: x <= y,
    "sgt": lambda x, y: x > y,
    "sge": lambda x, y: x >= y,
}


@pytest.mark.parametrize("typing", [t for t in TYPINGS if t.opdef in (ops.cmpf, ops.cmpi)], ids=str)
def test_comparisons(typing: Typing) -> None:
    for x, y in [*typing.samples(), *typing.specials()]:
        want = COMPARE[typing.attrs["predicate"]](signed(x), signed(y))
        assert evaluate(typing.opdef, i1, x, y, **typing.attrs) == want, (x, y)


@pytest.mark.parametrize("typing", [t for t in TYPINGS if t.opdef is ops.select], ids=str)
def test_select(typing: Typing) -> None:
    for condition, x, y in typing.specials():
        assert exactly(evaluate(ops.select, typing.result, condition, x, y), x if condition else y)


# Integers -------------------------------------------------------------------------------------------------------------


def signed(x: Any) -> Any:
    """The number that an operand stands for: the one bit of a Boolean is its sign."""
    return -1 if x is True else 0 if x is False else x


def _toward_zero(x: int, y: int) -> int:
    return math.trunc(Fraction(x, y))


INTEGERS: dict[OpDef, Callable[..., int]] = {
    ops.addi: lambda x, y: x + y,
    ops.subi: lambda x, y: x - y,
    ops.muli: lambda x, y: x * y,
    ops.divsi: _toward_zero,
    ops.remsi: lambda x, y: x - y * _toward_zero(x, y),
    ops.floordivsi: lambda x, y: math.floor(Fraction(x, y)),
    ops.ceildivsi: lambda x, y: math.ceil(Fraction(x, y)),
    ops.divui: lambda x, y: x // y,
    ops.remui: lambda x, y: x % y,
    ops.andi: lambda x, y: x & y,
    ops.ori: lambda x, y: x | y,
    ops.xori: lambda x, y: x ^ y,
    ops.shli: lambda x, y: x * 2**y,
    ops.shrsi: lambda x, y: math.floor(Fraction(x, 2**y)),
    ops.shrui: lambda x, y: x // 2**y,
    ops.maxsi: max,
    ops.minsi: min,
    ops.ipowi: lambda x, n: x**n,
    ops.absi: abs,
}
INTEGER_TYPINGS = [t for t in TYPINGS if t.opdef in INTEGERS]


@pytest.mark.parametrize("typing", INTEGER_TYPINGS, ids=str)
def test_integer_arithmetic(typing: Typing) -> None:
    """The exact result reduced modulo 2^width; Undefined just where LLVM has none."""
    width = bits(typing.result)
    division = typing.opdef in (ops.divsi, ops.remsi, ops.floordivsi, ops.ceildivsi, ops.divui, ops.remui)
    for values in [*typing.samples(), *typing.specials()]:
        numbers = [signed(v) for v in values]
        if typing.opdef in (ops.divui, ops.remui, ops.shrui):
            numbers = [n % (1 << width) for n in numbers]
        shift = typing.opdef in (ops.shli, ops.shrsi, ops.shrui)
        undefined = (
            (division and numbers[1] == 0)
            or (shift and not 0 <= numbers[1] < width)
            or (typing.opdef is ops.ipowi and numbers[1] < 0)
        )
        if undefined:
            with pytest.raises(Undefined):
                evaluate(typing.opdef, typing.result, *values)
            continue
        if typing.opdef is ops.ipowi and numbers[1] > 1000:
            continue  # the exact power is beyond this test
        got = evaluate(typing.opdef, typing.result, *values)
        assert (signed(got) - INTEGERS[typing.opdef](*numbers)) % (1 << width) == 0, (values, got)


FITTING = [t for t in TYPINGS if t.opdef is ops.fits]


@pytest.mark.parametrize("typing", FITTING, ids=str)
def test_whether_results_fit(typing: Typing) -> None:
    kind, outcomes = typing.attrs["kind"], set()
    exact = {"add": ops.addi, "sub": ops.subi, "mul": ops.muli, "shl": ops.shli, "pow": ops.ipowi}[kind]
    for x, y in [*typing.samples(), *typing.specials()]:
        if kind in ("shl", "pow") and not 0 <= y < 200:
            continue
        fits = typing.opdef.evaluate(typing.attrs, i1, x, y)
        assert fits == (-(2**63) <= INTEGERS[exact](x, y) < 2**63), (x, y)
        outcomes.add(fits)
    assert outcomes == {True, False}


def test_large_powers_wrap() -> None:
    assert evaluate(ops.ipowi, index, 3, 10**9) == pow(3, 10**9, 2**64) - (2**64 if pow(3, 10**9, 2**64) >> 63 else 0)


# Casts ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("typing", [t for t in TYPINGS if t.opdef in CASTS], ids=str)
def test_casts(typing: Typing) -> None:
    numpy: Any = {f32: np.float32, f64: np.float64, i1: np.bool_, i32: np.int32, i64: np.int64, index: np.int64}
    (source,) = typing.operands
    for (value,) in [*typing.samples(), *typing.specials()]:
        definition, target = typing.opdef, typing.result
        if definition is ops.bitcast:
            got = evaluate(definition, target, value)
            assert exactly(got, numpy[source](value).view(numpy[target]).item()) or math.isnan(got)
            assert evaluate(definition, source, got) == value or math.isnan(got) or math.isnan(value)
            continue
        if definition is ops.fptosi:
            value = float(value)
            least = -(2 ** (bits(target) - 1))
            if not (math.isfinite(value) and least <= math.trunc(value) < -least):
                with pytest.raises(Undefined):
                    evaluate(definition, target, value)
                continue
            assert signed(evaluate(definition, target, value)) == math.trunc(value)
            continue
        unsigned = definition in (ops.uitofp, ops.index_castui, ops.extui)
        if unsigned and value < 0 and definition is not ops.extui:
            with pytest.raises(Undefined):
                evaluate(definition, target, value)
            continue
        number = value if isinstance(source, FloatType) else int(value) if unsigned else signed(value)
        if definition is ops.extui:
            number %= 1 << bits(source)
        got = evaluate(definition, target, value)
        if target == i1:
            want: Any = bool(number & 1)
        elif isinstance(target, FloatType):
            with np.errstate(all="ignore"):
                want = numpy[target](number)
        else:
            width = bits(target)
            want = (number + (1 << (width - 1))) % (1 << width) - (1 << (width - 1))
        assert exactly(got, want), (value, got, want)


def test_constants() -> None:
    assert evaluate(ops.constant, f64, value=2, type=f64) == 2.0
    assert type(evaluate(ops.constant, f32, value=0.1, type=f32)) is np.float32
    assert evaluate(ops.constant, i1, value=1, type=i1) is True
