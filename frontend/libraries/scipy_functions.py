"""Functions that SciPy computes: its compiled code is called by the addresses that ``scipy.special.cython_special``
exports for Cython. Their derivatives are formulas of such functions, so there are derivatives of any order.

Formulas: NIST Digital Library of Mathematical Functions, 6.2 (exponential integrals), 7.2 and 7.10 (error functions),
8.8 and 8.17 (incomplete gamma and beta functions), 10.6 and 10.29 (Bessel functions).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

from adc.frontend.kernels.capsules import address_of, signature_of
from adc.ir import externals, ops
from adc.ir.arith import const
from adc.ir.builder import build
from adc.ir.core import Value
from adc.ir.externals import Partial
from adc.ir.types import f32, f64, i32

LIBRARY = "scipy.special"
_CALLED = "__pyx_fuse_1", "__pyx_fuse_0", ""  # functions of real and complex, of single and double, of doubles alone


def call(name: str, *args: Value) -> Value:
    """A call of the function, in double precision for single precision, too."""
    single = args[0].type == f32
    given = [ops.extf(a, type=f64) for a in args] if single else list(args)
    attrs = {"library": LIBRARY, "symbol": name, "type": f64}
    result = build(ops.external, [*given, const(0, i32)], attrs).result  # zero: not through Python
    return ops.truncf(result, type=f32) if single else result


def caller(name: str) -> Callable[..., Value]:
    return functools.partial(call, name)


def _half(x: Value) -> Value:
    return 0.5 * x


def _order(name: str, below: float, above: float) -> Partial:
    """The derivative of a Bessel function by its argument: half the sum of its neighbours, each with its sign."""
    f = caller(name)
    return lambda y, v, x: _half(_signed(below, f(v - 1.0, x)) + _signed(above, f(v + 1.0, x)))


def _signed(sign: float, x: Value) -> Value:
    return x if sign > 0 else -x


def _second(name: str, x: Value) -> Value:
    """The function of order two."""
    return call(name, const(2.0, x.type), x)


def _sign(x: Value) -> Value:
    """The sign, zero at zero, as in the derivative of ``abs``."""
    zero = const(0.0, x.type)
    return ops.select(ops.cmpf(x, zero, predicate="oeq"), zero, ops.copysign(const(1.0, x.type), x))


def _erfcx_slope(y: Value, x: Value) -> Value:
    """By the asymptotic series where the difference would cancel completely."""
    far = ops.cmpf(x, const(50.0, x.type), predicate="ogt")
    large = ops.select(far, x, const(50.0, x.type))
    t = 1.0 / (large * large)
    series = 1.0 - t * (1.5 - t * (3.75 - t * (13.125 - 59.0625 * t)))
    return ops.select(far, -(_ONE_OVER_ROOT_PI * (t * series)), 2.0 * (x * y) - _TWO_OVER_ROOT_PI)


def _gamma_density(y: Value, a: Value, x: Value) -> Value:
    return ops.exp(_times_log(a - 1.0, x) - x - ops.lgamma(a))


def _beta_density(y: Value, a: Value, b: Value, x: Value) -> Value:
    log_beta = ops.lgamma(a) + ops.lgamma(b) - ops.lgamma(a + b)
    return ops.exp(_times_log(a - 1.0, x) + _times_log(b - 1.0, 1.0 - x, ops.log1p(-x)) - log_beta)


def _times_log(p: Value, x: Value, log: Value | None = None) -> Value:
    """``p log(x)``, zero where both ``p`` and ``x`` are zero."""
    zero = const(0.0, x.type)
    none = ops.andi(ops.cmpf(p, zero, predicate="oeq"), ops.cmpf(x, zero, predicate="oeq"))
    return ops.select(none, zero, p * (ops.log(x) if log is None else log))


_HALF_ROOT_PI, _ROOT_TWO_PI = math.sqrt(math.pi) / 2, math.sqrt(2 * math.pi)
_ROOT_HALF, _ROOT_TWO_OVER_PI = math.sqrt(0.5), math.sqrt(2 / math.pi)
_ONE_OVER_ROOT_PI, _TWO_OVER_ROOT_PI = 1 / math.sqrt(math.pi), 2 / math.sqrt(math.pi)

# The partial derivatives by each argument; None if not known.
PARTIALS: Mapping[str, tuple[Partial | None, ...]] = {
    "betainc": (None, None, _beta_density),
    "erfcinv": (lambda y, x: -(_HALF_ROOT_PI * ops.exp(y * y)),),
    "erfcx": (_erfcx_slope,),
    "erfinv": (lambda y, x: _HALF_ROOT_PI * ops.exp(y * y),),
    "exp1": (lambda y, x: -(ops.exp(-x) / x),),
    "expi": (lambda y, x: ops.exp(x) / x,),
    "gammainc": (None, _gamma_density),
    "gammaincc": (None, lambda y, a, x: -_gamma_density(y, a, x)),
    "i0": (lambda y, x: call("i1", x),),
    "i0e": (lambda y, x: call("i1e", x) - _sign(x) * y,),
    "i1": (lambda y, x: _half(call("i0", x) + _second("iv", x)),),
    "i1e": (lambda y, x: _half(call("i0e", x) + _second("ive", x)) - _sign(x) * y,),
    "iv": (None, _order("iv", 1.0, 1.0)),
    "ive": (None, lambda y, v, x: _order("ive", 1.0, 1.0)(y, v, x) - _sign(x) * y),
    "j0": (lambda y, x: -call("j1", x),),
    "j1": (lambda y, x: _half(call("j0", x) - _second("jv", x)),),
    "jv": (None, _order("jv", 1.0, -1.0)),
    "k0": (lambda y, x: -call("k1", x),),
    "k0e": (lambda y, x: y - call("k1e", x),),
    "k1": (lambda y, x: -_half(call("k0", x) + _second("kv", x)),),
    "k1e": (lambda y, x: y - _half(call("k0e", x) + _second("kve", x)),),
    "kv": (None, _order("kv", -1.0, -1.0)),
    "kve": (None, lambda y, v, x: y + _order("kve", -1.0, -1.0)(y, v, x)),
    "log_ndtr": (lambda y, x: _ROOT_TWO_OVER_PI / call("erfcx", x * -_ROOT_HALF),),
    "ndtri": (lambda y, x: _ROOT_TWO_PI * ops.exp(_half(y * y)),),
    "y0": (lambda y, x: -call("y1", x),),
    "y1": (lambda y, x: _half(call("y0", x) - _second("yv", x)),),
    "yv": (None, _order("yv", 1.0, -1.0)),
}


@functools.cache
def provide() -> frozenset[str]:
    """Let programs call these functions. Returns the names of those that the installed SciPy exports."""
    from scipy import special
    from scipy.special import cython_special

    exported = getattr(cython_special, "__pyx_capi__", {})
    found = set()
    for name, partials in PARTIALS.items():
        function = getattr(special, name, None)
        signature = f"double ({'double, ' * len(partials)}int __pyx_skip_dispatch)"
        address = next(filter(None, (_address(exported.get(p + name), signature) for p in _CALLED)), None)
        if function is None or address is None:
            continue
        python = functools.partial(_evaluate, function)
        types = (*[f64] * len(partials), i32)
        made = externals.Provided(address, python, (*map(_ignoring, partials), None), False)
        externals.provide(externals.Named(LIBRARY, name, types, f64), made)
        found.add(name)
    return frozenset(found)


def _evaluate(function: Any, *args: float) -> float:
    return float(function(*args[:-1]))


def _ignoring(partial: Partial | None) -> Partial | None:
    """A partial derivative of the function that takes an additional zero as its last operand."""
    return None if partial is None else lambda y, *operands: partial(y, *operands[:-1])


def _address(capsule: Any, signature: str) -> int | None:
    """The address in a capsule, if it holds a function of this signature."""
    return address_of(capsule) if capsule is not None and signature_of(capsule) == signature else None
