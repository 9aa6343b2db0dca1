"""SciPy's special functions: those that are made of what adc computes anyway, and those that SciPy computes.
SciPy is only imported where a program has it.

Formulas: Abramowitz and Stegun, Handbook of Mathematical Functions, chapters 6 and 7; the logistic functions by the
exponential of what is not positive, which does not overflow.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import NONE, AbstractValue, Array, Scalar, Static
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries import reductions, scipy_functions
from adc.frontend.libraries.creation import need_array
from adc.frontend.libraries.library_math import is_finite
from adc.frontend.libraries.methods import axes_of
from adc.frontend.numeric import arrays, subscripts
from adc.frontend.numeric.convert import as_scalar, convert
from adc.frontend.numeric.rules import OnScalars, Rule, apply, float_dtype, fold, positional, take
from adc.ir import kinds, ops
from adc.ir.arith import const
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import f32, f64

SQRT_HALF = 0.7071067811865476


def _not_positive(x: Value) -> tuple[Value, Value]:
    """Whether ``x`` is not negative, and ``-|x|``, whose derivative at zero is that from the right."""
    right = ops.cmpf(x, const(0.0, x.type), predicate="oge")
    return right, ops.select(right, ops.negf(x), x)


def _expit(x: Value) -> Value:
    right, t = _not_positive(x)
    e = ops.exp(t)
    r = ops.divf(const(1.0, x.type), ops.addf(const(1.0, x.type), e))
    return ops.select(right, r, ops.mulf(e, r))


def _log_expit(x: Value) -> Value:
    right, t = _not_positive(x)
    softplus = ops.log1p(ops.exp(t))
    return ops.select(right, ops.negf(softplus), ops.subf(x, softplus))


def _logit(p: Value) -> Value:
    """The logarithm of the odds; near one half by what the odds are beyond one."""
    one = const(1.0, p.type)
    q = ops.subf(one, p)
    beyond = ops.divf(ops.subf(ops.addf(p, p), one), q)
    middle = ops.andi(
        ops.cmpf(p, const(0.3, p.type), predicate="ogt"), ops.cmpf(p, const(0.65, p.type), predicate="olt")
    )
    return ops.select(middle, ops.log1p(beyond), ops.log(ops.divf(p, q)))


def _product_or_zero(log: Callable[[Value], Value], end: float) -> Callable[[Value, Value], Value]:
    """``x * log(y)``, and zero where ``x`` is zero and the logarithm is infinite or no number, unless ``y`` is none;
    its derivative by ``x`` is the logarithm, wherever that is."""

    def emit(x: Value, y: Value) -> Value:
        none = ops.cmpf(x, const(0.0, x.type), predicate="oeq")
        outside = ops.ori(
            ops.cmpf(y, const(end, y.type), predicate="ole"), ops.cmpf(y, const(np.inf, y.type), predicate="oeq")
        )
        return _zero_if(none, ops.strong_mulf(x, log(y), ops.andi(none, outside), const(False, none.type)))

    return emit


def _zero_if(none: Value, product: Value) -> Value:
    """A product that has a factor of zero if ``none``: then 0.0, not -0.0. What is added has no derivative."""
    return ops.addf(product, ops.select(none, const(0.0, product.type), const(-0.0, product.type)))


def _entr(x: Value) -> Value:
    zero = const(0.0, x.type)
    none = ops.cmpf(x, zero, predicate="oeq")
    product = ops.strong_mulf(ops.negf(x), ops.log(x), none, const(False, none.type))
    return ops.select(ops.cmpf(x, zero, predicate="olt"), const(-np.inf, x.type), _zero_if(none, product))


def _ndtr(x: Value) -> Value:
    return ops.mulf(const(0.5, x.type), ops.erfc(ops.mulf(x, const(-SQRT_HALF, x.type))))


def _betaln(a: Value, b: Value) -> Value:
    """Where one is much the larger, the difference of its two terms is taken from Stirling's series for both. Single
    precision would have no digit left of others, so double is used."""
    if a.type == f32:
        return ops.truncf(_betaln(ops.extf(a, type=f64), ops.extf(b, type=f64)), type=f32)
    swapped = ops.cmpf(ops.absf(a), ops.absf(b), predicate="olt")
    large, small = ops.select(swapped, b, a), ops.select(swapped, a, b)
    much = const(1e6, a.type)
    far = ops.cmpf(large, ops.maximumf(ops.mulf(much, ops.absf(small)), much), predicate="ogt")
    one, two = const(1.0, a.type), const(2.0, a.type)
    away = ops.select(far, large, one)  # where it is not, the series must not be infinite
    rest = ops.subf(one, small)
    product = ops.divf(ops.mulf(small, rest), away)
    first = ops.mulf(const(0.5, a.type), product)
    second = ops.divf(ops.mulf(product, ops.subf(one, ops.mulf(two, small))), ops.mulf(const(12.0, a.type), away))
    third = ops.divf(ops.mulf(product, product), ops.mulf(const(12.0, a.type), away))
    series = ops.subf(ops.addf(first, second), third)
    near = ops.subf(ops.lgamma(large), ops.lgamma(ops.addf(large, small)))
    difference = ops.select(far, ops.subf(series, ops.mulf(small, ops.log(away))), near)
    return ops.addf(ops.lgamma(small), difference)


_UNARY: dict[str, Callable[[Value], Value]] = {
    "cbrt": ops.cbrt,
    "digamma": lambda x: ops.polygamma(x, order=0),
    "entr": _entr,
    "erf": ops.erf,
    "erfc": ops.erfc,
    "exp2": ops.exp2,
    "expit": _expit,
    "expm1": ops.expm1,
    "gamma": ops.tgamma,
    "gammaln": ops.lgamma,
    "log1p": ops.log1p,
    "log_expit": _log_expit,
    "logit": _logit,
    "ndtr": _ndtr,
    "psi": lambda x: ops.polygamma(x, order=0),
}
_BINARY: dict[str, Callable[..., Value]] = {
    "betaln": _betaln,
    "xlog1py": _product_or_zero(ops.log1p, -1.0),
    "xlogy": _product_or_zero(ops.log, 0.0),
}


def _polygamma(frame: Frame, order: AbstractValue, x: AbstractValue) -> AbstractValue:
    if not isinstance(order, Static) or isinstance(order.value, bool) or not isinstance(order.value, int | np.integer):
        raise refuse(
            current_loc(),
            f"special.polygamma() takes an order that is known when it is compiled, not {describe_type(order)}",
            "write the number",
            kind=kinds.UNSUPPORTED_OPTION,
        )
    n = int(order.value)
    if n < 0:
        raise refuse(current_loc(), f"special.polygamma() has no order {n}", kind=kinds.UNSUPPORTED_OPTION)

    name = "special.polygamma"
    return apply(name, _on_floats(name, lambda v: ops.polygamma(v, order=n)), x)


def _logsumexp(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    """The greatest element counts as a constant, so that the derivative is softmax, without a choice in it."""
    name = "special.logsumexp"
    a = _Shifted(frame, name, "a", args, kwargs, _FINITE)
    return arrays.operate(frame, "+", apply(name, _LOG, a.total), a.greatest)


def _log_softmax(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    name = "special.log_softmax"
    x = _Shifted(frame, name, "x", args, kwargs, _FINITE)
    return arrays.operate(frame, "-", x.below, x.spread(apply(name, _LOG, x.total)))


def _softmax(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    x = _Shifted(frame, "special.softmax", "x", args, kwargs, _CONSTANT)
    return arrays.operate(frame, "/", x.powers, x.spread(x.total))


class _Shifted:
    """An array less its greatest elements along some axes: where the rounding of large ones does not matter.

    ``powers`` are those of e, ``total`` is their sum along the axes.
    """

    def __init__(
        self,
        frame: Frame,
        name: str,
        parameter: str,
        args: Sequence[AbstractValue],
        kwargs: Mapping[str, AbstractValue],
        constant: OnScalars,
    ) -> None:
        given, axis = take(name, [parameter, "axis"], args, kwargs)
        assert given is not None
        array = need_array(name, given)
        self._frame, self._rank, self._axes = frame, array.rank, axes_of(axis, array.rank)
        greatest = apply(name, constant, reductions.reduce(frame, reductions.MAX, array, self._axes))
        self.greatest = arrays.settled(frame, greatest)
        self.below = arrays.settled(frame, arrays.operate(frame, "-", array, self.spread(self.greatest)))
        self.powers = arrays.settled(frame, apply(name, _EXP, self.below))
        self.total = reductions.reduce(frame, reductions.SUM, need_array(name, self.powers), self._axes)

    def spread(self, reduced: AbstractValue) -> AbstractValue:
        """What was reduced along the axes, to be combined with what it was made of."""
        settled = arrays.settled(self._frame, reduced)
        if not isinstance(settled, Array):
            return settled
        axes, loc = self._axes or (), current_loc()
        items = [subscripts.Item(loc, NONE if k in axes else subscripts.Slice()) for k in range(self._rank)]
        return subscripts.with_new_axes(settled, items)


def _finite_or_zero(x: Value) -> Value:
    return ops.stop_gradient(ops.select(is_finite(x), x, const(0.0, x.type)))


def _on_floats(name: str, emit: Callable[..., Value]) -> OnScalars:
    def scalar(*args: AbstractValue) -> AbstractValue:
        dtype = float_dtype(name, args)
        return Scalar(emit(*(convert(as_scalar(a), dtype) for a in args)), dtype, weak=False)

    return scalar


def _function(name: str, function: Callable[..., Any], emit: Callable[..., Value], count: int) -> Rule:
    scalar = _on_floats(name, emit)

    def rule(frame: Frame, *args: AbstractValue) -> AbstractValue:
        return fold(function, args) or apply(name, scalar, *args)

    return positional(name, count, rule)


_FINITE, _CONSTANT = _on_floats("special.logsumexp", _finite_or_zero), _on_floats("special.softmax", ops.stop_gradient)
_EXP, _LOG = _on_floats("np.exp", ops.exp), _on_floats("np.log", ops.log)


@functools.cache
def table() -> dict[Any, Rule]:
    """By the functions themselves: to be called where SciPy is there."""
    from scipy import special

    found: dict[Any, Rule] = {
        special.polygamma: positional("special.polygamma", 2, _polygamma),
        special.log_softmax: _log_softmax,
        special.logsumexp: _logsumexp,
        special.softmax: _softmax,
    }
    for name in scipy_functions.provide():
        function = getattr(special, name)
        found[function] = _function(f"special.{name}", function, scipy_functions.caller(name), function.nin)
    for emitters, count in ((_UNARY, 1), (_BINARY, 2)):
        for name, emit in emitters.items():
            function = getattr(special, name, None)  # some came with later versions
            if function is not None:
                found[function] = _function(f"special.{name}", function, emit, count)
    return found


def belongs(obj: Any) -> bool:
    """Whether ``obj`` may be one of them."""
    module = getattr(obj, "__module__", None) or ""
    return "scipy.special" in sys.modules and (isinstance(obj, np.ufunc) or module.startswith("scipy.special"))
