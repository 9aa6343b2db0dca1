"""NumPy's elementwise functions, on numbers and on arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Scalar, Static, is_array, is_numeric, number_dtype
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.elementary import FUNCTIONS, Function
from adc.frontend.libraries.library_builtins import cast_rule
from adc.frontend.libraries.library_math import is_finite, is_inf, is_nan
from adc.frontend.numeric import bits, operands, scalars
from adc.frontend.numeric.arrays import elementwise
from adc.frontend.numeric.choosing import chosen
from adc.frontend.numeric.convert import as_scalar, convert, kind, promote
from adc.frontend.numeric.rules import (
    Rule,
    apply,
    float_dtype,
    float_function,
    fold,
    number_function,
    positional,
    predicate,
    rounded,
    static_of,
    strong,
    ufunc,
)
from adc.ir import kinds, ops
from adc.ir.arith import const
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import f32, f64, i1, i32, i64


def _operator(name: str, symbol: str) -> Rule:
    """A ufunc that an operator stands for. To it two of Python's numbers are NumPy's."""
    function = getattr(np, name)
    on_elements = scalars.power_of_elements if symbol == "**" else partial(scalars.binary, symbol)

    def rule(frame: Frame, x: AbstractValue, y: AbstractValue) -> AbstractValue:
        if is_array(x) or is_array(y):
            return apply(name, on_elements, x, y)
        return fold(function, [x, y]) or apply(name, on_elements, *_numpy_numbers(x, y))

    return positional(f"np.{name}", 2, rule)


def _numpy_numbers(*numbers: AbstractValue) -> list[AbstractValue]:
    """Numbers as NumPy's, if all are Python's; those that are known stay so."""
    weak = all(number_dtype(v.value)[1] if isinstance(v, Static) else isinstance(v, Scalar) and v.weak for v in numbers)
    return [strong(v) for v in numbers] if weak else list(numbers)


def _minus(x: AbstractValue) -> AbstractValue:
    return fold(np.negative, [x]) or scalars.unary("-", strong(as_scalar(x)))


def _square(x: AbstractValue) -> AbstractValue:
    if as_scalar(x).dtype == i1:
        raise operands.small_integers()
    x = strong(as_scalar(x))
    return scalars.binary("*", x, x)


def _reciprocal(x: AbstractValue) -> AbstractValue:
    dtype = float_dtype("np.reciprocal", [x])
    if kind(as_scalar(x).dtype) < 2:
        message = "np.reciprocal() of integers is zero nearly everywhere"
        raise refuse(current_loc(), message, "convert to float first", kind=kinds.UNSUPPORTED_OPTION)
    return Scalar(ops.divf(const(1.0, dtype), convert(as_scalar(x), dtype)), dtype, weak=False)


def _fmod(x: AbstractValue, y: AbstractValue) -> AbstractValue:
    a, b = as_scalar(x), as_scalar(y)
    dtype, _ = promote(a, b)
    if kind(dtype) < 2:
        raise refuse(
            current_loc(), "np.fmod() of integers is not supported", "use % or math.fmod", kind=kinds.UNSUPPORTED_OPTION
        )
    return Scalar(ops.remf(convert(a, dtype), convert(b, dtype)), dtype, weak=False)


def _logical(symbol: str) -> Callable[..., AbstractValue]:
    def scalar(x: AbstractValue, y: AbstractValue) -> AbstractValue:
        a, b = (Scalar(convert(as_scalar(v), i1), i1, weak=False) for v in (x, y))
        return scalars.binary(symbol, a, b)

    return scalar


def _logical_not(x: AbstractValue) -> AbstractValue:
    return Scalar(bits.logical_not(convert(as_scalar(x), i1)), i1, weak=False)


def _heaviside(x: AbstractValue, at_zero: AbstractValue) -> AbstractValue:
    dtype = float_dtype("np.heaviside", [x, at_zero])
    p, q = convert(as_scalar(x), dtype), convert(as_scalar(at_zero), dtype)
    zero, one = const(0.0, dtype), const(1.0, dtype)
    positive = ops.select(ops.cmpf(p, zero, predicate="ogt"), one, ops.select(is_nan(p), p, q))
    return Scalar(ops.select(ops.cmpf(p, zero, predicate="olt"), zero, positive), dtype, weak=False)


def _where(frame: Frame, condition: AbstractValue, x: AbstractValue, y: AbstractValue) -> AbstractValue:
    """Elements of ``x`` or ``y``."""
    for v in (condition, x, y):
        if not (is_array(v) or is_numeric(v)):
            raise refuse(
                current_loc(), f"np.where() takes numbers and arrays, not {describe_type(v)}", kind=kinds.WRONG_TYPE
            )
    if any(is_array(v) for v in (condition, x, y)):
        return elementwise(chosen, condition, x, y, deferred=True)
    return chosen(*(partial(_given, v) for v in (condition, x, y)))


def _given(v: AbstractValue) -> AbstractValue:
    return v


def _clip(
    frame: Frame, x: AbstractValue, low: AbstractValue | None = None, high: AbstractValue | None = None
) -> AbstractValue:
    result = x
    for bound, rule in ((low, TABLE[np.maximum]), (high, TABLE[np.minimum])):
        if bound is not None and not (isinstance(bound, Static) and bound.value is None):
            result = rule(frame, [result, bound], {})
    return result


def _round(frame: Frame, x: AbstractValue, digits: AbstractValue | None = None) -> AbstractValue:
    places = static_of(digits, "the number of digits") or 0
    return fold(lambda x: np.round(x, places), [x]) or apply("np.round", partial(rounded, places), x)


def _of(kind: Function) -> dict[Any, Rule]:
    """By all its names."""
    name, *others = kind.numpy.split()
    function = getattr(np, name)
    if kind.on_integers is None:
        rule = float_function(name, function, kind.emit, kind.count)
    else:
        rule = number_function(name, function, kind.emit, kind.on_integers, kind.count)
    return {getattr(np, n): rule for n in (name, *others) if hasattr(np, n)}


def _truth_of(name: str, emit: Callable[[Value], Value]) -> Rule:
    return predicate(name, getattr(np, name), emit)


TABLE: dict[Any, Rule] = {
    **{function: rule for kind in FUNCTIONS if kind.numpy for function, rule in _of(kind).items()},
    np.add: _operator("add", "+"),
    np.subtract: _operator("subtract", "-"),
    np.multiply: _operator("multiply", "*"),
    np.divide: _operator("divide", "/"),
    np.floor_divide: _operator("floor_divide", "//"),
    np.mod: _operator("mod", "%"),
    np.power: _operator("power", "**"),
    np.negative: ufunc("negative", _minus),
    np.square: ufunc("square", _square),
    np.reciprocal: ufunc("reciprocal", _reciprocal),
    np.fmod: ufunc("fmod", _fmod, 2),
    np.less: _operator("less", "<"),
    np.less_equal: _operator("less_equal", "<="),
    np.greater: _operator("greater", ">"),
    np.greater_equal: _operator("greater_equal", ">="),
    np.equal: _operator("equal", "=="),
    np.not_equal: _operator("not_equal", "!="),
    np.logical_and: ufunc("logical_and", _logical("&"), 2),
    np.logical_or: ufunc("logical_or", _logical("|"), 2),
    np.logical_xor: ufunc("logical_xor", _logical("^"), 2),
    np.logical_not: ufunc("logical_not", _logical_not),
    np.heaviside: ufunc("heaviside", _heaviside, 2),
    np.isnan: _truth_of("isnan", is_nan),
    np.isinf: _truth_of("isinf", is_inf),
    np.isfinite: _truth_of("isfinite", is_finite),
    np.where: positional("np.where", 3, _where, "go through the elements in a loop; np.where(c, a, b) chooses"),
    np.clip: positional("np.clip", range(1, 4), _clip),
    np.round: positional("np.round", range(1, 3), _round),
    np.float64: cast_rule("np.float64", f64, False, np.float64),
    np.float32: cast_rule("np.float32", f32, False, np.float32),
    np.int64: cast_rule("np.int64", i64, False, np.int64),
    np.int32: cast_rule("np.int32", i32, False, np.int32),
    np.bool_: cast_rule("np.bool_", i1, False, np.bool_),
}
