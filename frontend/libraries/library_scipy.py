"""SciPy's special functions: those that are formulas of adc's operations, and those that SciPy computes.

SciPy is only imported if a program uses it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend.arrays import arrays, reductions
from adc.frontend.arrays.reductions import Over, axes_of
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Scalar, Static
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries import scipy_functions
from adc.frontend.libraries.creation import need_array
from adc.frontend.libraries.elementary import FUNCTIONS
from adc.frontend.libraries.rules import OnScalars, Rule, apply, float_dtype, fold, positional, take
from adc.frontend.numeric import views
from adc.frontend.numeric.convert import as_scalar, convert
from adc.frontend.numeric.float_tests import is_finite
from adc.ir import kinds, ops
from adc.ir.arith import const
from adc.ir.builder import current_loc
from adc.ir.core import Value


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
    """The logarithm of a sum of exponentials. The greatest element counts as a constant, so that the derivative is
    softmax."""
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
    """An array minus its greatest elements along some axes, so that the rounding of large ones does not matter.

    ``powers`` are the powers of e, ``total`` is their sum along the axes.
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
        greatest = apply(name, constant, reductions.reduce(frame, reductions.MAX, array, Over(self._axes)))
        self.greatest = arrays.settled(frame, greatest)
        self.below = arrays.settled(frame, arrays.operate(frame, "-", array, self.spread(self.greatest)))
        self.powers = arrays.settled(frame, apply(name, _EXP, self.below))
        self.total = reductions.reduce(frame, reductions.SUM, need_array(name, self.powers), Over(self._axes))

    def spread(self, reduced: AbstractValue) -> AbstractValue:
        """A reduced array with its axes restored, to be combined with the array it was computed from."""
        settled = arrays.settled(self._frame, reduced)
        if not isinstance(settled, Array):
            return settled
        axes = range(self._rank) if self._axes is None else self._axes
        return views.with_new_axes(settled, [k in axes for k in range(self._rank)])


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
    """The rules by function object, for use when SciPy is installed."""
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
    for kind in FUNCTIONS:
        for name in kind.special.split():
            function = getattr(special, name, None)  # some exist only in later versions
            if function is not None:
                found[function] = _function(f"special.{name}", function, kind.emit, kind.count)
    return found


def belongs(obj: Any) -> bool:
    """Whether ``obj`` may be one of these functions."""
    module = getattr(obj, "__module__", None) or ""
    return "scipy.special" in sys.modules and (isinstance(obj, np.ufunc) or module.startswith("scipy.special"))
