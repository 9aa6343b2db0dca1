"""Exponential, logarithm and hyperbolic tangent for targets without a library of vector mathematics.

On such a target SIMD loops have these functions and sine and cosine (``sincos``); for all others they call the C
library, lane by lane. The target must have a fused multiply-add instruction. Coefficients are minimax (Remez).

- exp: x = n log 2 + r with n an integer; e^r = 1 + r + r^2 Q(r), and 2^n as two factors, so that results may be
  subnormal (J.-M. Muller, Elementary Functions, 2016). Within 1 ulp.
- log: x = 2^k m with m between sqrt(1/2) and sqrt(2); log m = 2 atanh(s) with s = (m - 1) / (m + 1), as 2 s + s z P(z)
  with z = s^2, summed so that only small terms are rounded (same book). Within 1 ulp.
- tanh: t / (t + 2) with t = e^(2|x|) - 1, which the first part of exp computes without cancellation. Within 3 ulp.
"""

from __future__ import annotations

from math import inf, nan
from typing import TYPE_CHECKING

from adc.backend.lowering.lane_code import PREFIX, ROUND, Code, define
from adc.backend.target import Target

if TYPE_CHECKING:
    from adc.backend.lowering.lower_emitter import FunctionEmitter
    from adc.backend.lowering.module_emitter import ModuleEmitter

_LOG2_E = 1.4426950408889634
_LOG_2 = (0.6931471805599453, 2.3190468138462996e-17)  # the nearest double, and the rest
_LOG_2_SHORT = (0.6931471805598903, 5.497923018708371e-14)  # 42 bits, so that products with k are exact, and the rest
_EXP = (
    0.5000000000000006,
    0.16666666666666685,
    0.0416666666665741,
    0.008333333333314654,
    0.0013888888932255595,
    0.00019841269902903165,
    2.4801504570015813e-05,
    2.755722806100473e-06,
    2.7626283670839364e-07,
    2.5114441074274527e-08,
)
_LOG = (
    0.6666666666666731,
    0.3999999999943656,
    0.2857142873825092,
    0.2222219894778646,
    0.1818354673499082,
    0.15314463862895974,
    0.14792107013866002,
)
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
_MANTISSA = (1 << 52) - 1


def has(target: Target, name: str) -> bool:
    """Whether the function is implemented here; others come from the C library."""
    return name in _WRITTEN and target.fused


def call(e: FunctionEmitter, name: str, x: str) -> str:
    """Call a function, given by its C name, on the double ``x``."""
    symbol = f"{PREFIX}{name}"
    define(e.module, symbol, lambda called, lanes, attributes: _function(e.module, name, called, lanes, attributes))
    e.calls.twofold += 1
    return e.let(f"call double @{symbol}(double {x})")


def _function(module: ModuleEmitter, name: str, called: str, lanes: int, attributes: str) -> str:
    code = Code(module, lanes)
    number = module.attributes(f"{attributes} {module.function_attributes}".rstrip())
    result = _WRITTEN[name](code, "%x")
    head = f"define internal {code.kind} @{called}({code.kind} %x) {number} {{\nentry:"
    return "\n".join([head, *code.lines, f"  ret {code.kind} {result}\n}}\n"])


def _reduced(code: Code, x: str) -> tuple[str, str, str]:
    """For a number that is not large: n, the bits of n + ROUND, and e^r - 1."""
    rounded = code.fma(x, code.constant(_LOG2_E), code.constant(ROUND))
    n = code.do("fsub", rounded, code.constant(ROUND))
    minus = code.let(f"fneg {code.kind} {n}")
    r = x
    for part in _LOG_2:
        r = code.fma(minus, code.constant(part), r)
    powers = [r]
    for _ in range(3):
        powers.append(code.do("fmul", powers[-1], powers[-1]))
    return n, code.bits(rounded), code.fma(code.polynomial(powers, _EXP), powers[1], r)


def _power_of_two(code: Code, bits: str) -> str:
    """2^n, given the bits of n + ROUND."""
    biased = code.integral("add", bits, code.integer(1023))
    return code.number(code.integral("shl", biased, code.integer(52)))


def _exp(code: Code, x: str) -> str:
    bounded = code.choose("ogt", x, 710.0, code.constant(710.0), x)
    bounded = code.choose("olt", bounded, -746.0, code.constant(-746.0), bounded)  # NaN stays
    n, bits, less_one = _reduced(code, bounded)
    half = code.bits(code.fma(n, code.constant(0.5), code.constant(ROUND)))
    rest = code.integral("sub", bits, half)
    near = code.do("fmul", code.do("fadd", less_one, code.constant(1.0)), _power_of_two(code, half))
    return code.do("fmul", near, _power_of_two(code, rest))


def _log(code: Code, x: str) -> str:
    scaled = code.do("fmul", x, code.constant(2.0**54))
    tiny = 2.0**-1022
    normal = code.choose("olt", x, tiny, scaled, x)
    bias = code.choose("olt", x, tiny, code.constant(2.0**52 + 1023 + 54), code.constant(2.0**52 + 1023))
    # The exponent's bias is added once more, so that the shifted number is not negative.
    offset = code.integral("sub", code.bits(normal), code.integer(_SQRT_HALF_BITS - (1023 << 52)))
    exponent = code.integral("lshr", offset, code.integer(52))
    k = code.do("fsub", code.number(code.integral("or", exponent, code.integer(0x433 << 52))), bias)
    fraction = code.integral("and", offset, code.integer(_MANTISSA))
    f = code.do("fsub", code.number(code.integral("add", fraction, code.integer(_SQRT_HALF_BITS))), code.constant(1.0))
    s = code.do("fdiv", f, code.do("fadd", f, code.constant(2.0)))
    powers = [code.do("fmul", s, s)]
    for _ in range(2):
        powers.append(code.do("fmul", powers[-1], powers[-1]))
    half_square = code.do("fmul", code.do("fmul", f, code.constant(0.5)), f)
    inner = code.fma(code.polynomial(powers, _LOG), powers[0], half_square)
    small = code.fma(s, inner, code.do("fmul", k, code.constant(_LOG_2_SHORT[1])))
    less = code.do("fsub", code.do("fsub", half_square, small), f)
    result = code.do("fsub", code.do("fmul", k, code.constant(_LOG_2_SHORT[0])), less)
    result = code.choose("olt", x, 0.0, code.constant(nan), result)
    result = code.choose("oeq", x, 0.0, code.constant(-inf), result)
    return code.choose("uge", x, inf, x, result)  # infinity and NaN are their own logarithms


def _tanh(code: Code, x: str) -> str:
    size = code.let(f"call {code.kind} {code.intrinsic('fabs', 1)}({code.kind} {x})")
    bounded = code.choose("ogt", size, 20.0, code.constant(20.0), size)
    _, bits, less_one = _reduced(code, code.do("fadd", bounded, bounded))
    scale = _power_of_two(code, bits)
    t = code.fma(scale, less_one, code.do("fsub", scale, code.constant(1.0)))
    result = code.do("fdiv", t, code.do("fadd", t, code.constant(2.0)))
    v = code.kind
    return code.let(f"call {v} {code.intrinsic('copysign', 2)}({v} {result}, {v} {x})")


_WRITTEN = {"exp": _exp, "log": _log, "tanh": _tanh}
