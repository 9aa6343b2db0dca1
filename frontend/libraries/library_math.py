"""Python's ``math`` module."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adc.frontend.data.values import AbstractValue, Scalar, Static, Tuple, is_static_number
from adc.frontend.frame import Frame
from adc.frontend.libraries.elementary import FUNCTIONS, Function
from adc.frontend.libraries.rules import Rule, fold, need_numbers, on_python_floats, positional, predicate
from adc.frontend.numeric.convert import as_scalar, convert, kind
from adc.frontend.numeric.float_tests import is_finite, is_inf, is_nan
from adc.frontend.numeric.handled import check_divisor, in_domain
from adc.frontend.numeric.powers import float_power
from adc.frontend.prelude import python_math
from adc.ir import ops
from adc.ir.core import Value
from adc.ir.types import f64, i64


def _to_integer(function: Callable[[float], int], emit: Callable[[Value], Value]) -> Callable[..., AbstractValue]:
    """floor, ceil and trunc of a float, as a Python int."""

    def rule(frame: Frame, x: AbstractValue) -> AbstractValue:
        need_numbers(f"math.{function.__name__}", [x])
        known = fold(function, [x])
        if known is not None:
            return known
        s = as_scalar(x)
        if kind(s.dtype) < 2:
            return Scalar(convert(s, i64), i64)
        return Scalar(convert(Scalar(emit(s.value), s.dtype), i64), i64)

    return rule


def _of(kind: Function) -> Rule:
    function = getattr(math, kind.math)
    if kind.on_integers is not None:
        return positional(f"math.{kind.math}", 1, _to_integer(function, kind.emit))
    return on_python_floats(kind.math, function, kind.emit, kind.count)


def _log(frame: Frame, x: AbstractValue, base: AbstractValue | None = None) -> AbstractValue:
    args = [x] if base is None else [x, base]
    need_numbers("math.log", args, "use np.log on arrays")
    known = fold(math.log, args)
    if known is not None:
        return known
    given = [convert(as_scalar(a), f64) for a in args]
    values = [in_domain("log", [v], ops.log(v)) for v in given]
    if base is None:
        return Scalar(values[0], f64)
    check_divisor(values[1])
    return Scalar(ops.divf(*values), f64)


def _pow(frame: Frame, x: AbstractValue, y: AbstractValue) -> AbstractValue:
    need_numbers("math.pow", [x, y], "use ** on arrays")
    known = fold(math.pow, [x, y])
    if known is not None:
        return known
    base, exponent = (convert(as_scalar(a), f64) for a in (x, y))
    result = float_power(base, exponent, y.value if is_static_number(y) else None)  # type: ignore[attr-defined]
    return Scalar(in_domain("pow", [base, exponent], result), f64)


def _fma(x: Value, y: Value, z: Value) -> Value:
    return ops.fma(x, y, z)


def _in_python(own: Callable[..., Any]) -> Rule:
    """The rule for a function that is traced; for known arguments, Python's result."""
    function = getattr(math, own.__name__)

    def rule(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
        known = None if kwargs or not all(map(is_static_number, args)) else fold(function, args)
        if known is not None:
            return known
        given = [Tuple(a.items) if isinstance(a, Tuple) else a for a in args]  # including former lists
        return frame.tracer.call(frame, Static(own), given, kwargs)

    return rule


def _of_any_number(of_two: Rule, of_others: Rule) -> Rule:
    def rule(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
        return (of_two if len(args) == 2 else of_others)(frame, args, kwargs)

    return rule


def _ldexp(frame: Frame, x: AbstractValue, i: AbstractValue) -> AbstractValue:
    result = _in_python(python_math.ldexp)(frame, [x, i], {})
    if isinstance(result, Static):
        return result
    return Scalar(in_domain("ldexp", [convert(as_scalar(x), f64)], as_scalar(result).value), f64)


TABLE: dict[Any, Rule] = {
    **{getattr(math, own.__name__): _in_python(own) for own in python_math.FUNCTIONS},
    **{getattr(math, kind.math): _of(kind) for kind in FUNCTIONS if kind.math and hasattr(math, kind.math)},
    math.log: positional("math.log", range(1, 3), _log),
    math.pow: positional("math.pow", 2, _pow),
    math.ldexp: positional("math.ldexp", 2, _ldexp),
    math.isnan: predicate("isnan", math.isnan, is_nan, weak=True),
    math.isinf: predicate("isinf", math.isinf, is_inf, weak=True),
    math.isfinite: predicate("isfinite", math.isfinite, is_finite, weak=True),
}
TABLE[math.hypot] = _of_any_number(TABLE[math.hypot], _in_python(python_math.hypot))
if hasattr(math, "fma"):
    TABLE[math.fma] = on_python_floats("fma", math.fma, _fma, 3)
