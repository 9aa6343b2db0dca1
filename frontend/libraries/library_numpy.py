"""NumPy's elementwise functions, on numbers and on arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from adc.frontend import abstract
from adc.frontend.arrays.arrays import elementwise
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import (
    AbstractValue,
    Array,
    Complex,
    Lazy,
    Scalar,
    Static,
    Tuple,
    is_array,
    is_complex,
    is_numeric,
)
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries import float_parts, integer_formulas
from adc.frontend.libraries.array_likes import as_array_like
from adc.frontend.libraries.elementary import FUNCTIONS, Function
from adc.frontend.libraries.library_builtins import cast_rule
from adc.frontend.libraries.rules import (
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
    take,
    ufunc,
)
from adc.frontend.libraries.ufuncs import loops, stored
from adc.frontend.numeric import bits, scalars
from adc.frontend.numeric.choosing import chosen
from adc.frontend.numeric.complex_functions import parts, reciprocal_pair
from adc.frontend.numeric.convert import as_number, as_scalar, cast, complex_of, convert, kind, limits, nonzero
from adc.frontend.numeric.float_tests import is_finite, is_inf, is_nan
from adc.frontend.numeric.repetition import computed_once
from adc.ir import kinds, ops
from adc.ir.arith import const
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import f64, i1, i8, i64, ui64


def _operator(name: str, symbol: str) -> Rule:
    """The rule for a ufunc with an operator. It treats two of Python's numbers as NumPy's."""
    function = getattr(np, name)
    on_elements = scalars.power_of_elements if symbol == "**" else partial(scalars.binary, symbol)

    def rule(frame: Frame, x: AbstractValue, y: AbstractValue) -> AbstractValue:
        if is_array(x) or is_array(y):
            return apply(name, on_elements, *computed_once(frame, (x, y)))
        return fold(function, [x, y]) or apply(name, on_elements, *_numpy_numbers(x, y))

    return positional(f"np.{name}", 2, rule)


def _numpy_numbers(*numbers: AbstractValue) -> list[AbstractValue]:
    """Numbers as NumPy's, if all are Python's; known ones stay known."""
    return [strong(v) for v in numbers] if all(map(_is_python, numbers)) else list(numbers)


def _is_python(v: AbstractValue) -> bool:
    """Whether a number is one of Python's."""
    if isinstance(v, Static):
        return not isinstance(v.value, np.generic)
    return isinstance(v, Scalar | Complex) and v.weak


def _minus(x: AbstractValue) -> AbstractValue:
    if is_complex(x):
        return strong(scalars.unary("-", x))
    return fold(np.negative, [x]) or scalars.unary("-", strong(as_scalar(x)))


def _square(x: AbstractValue) -> AbstractValue:
    if is_complex(x):
        return strong(scalars.binary("*", x, x))
    s = as_scalar(x)
    x = strong(Scalar(convert(s, i8), i8) if s.dtype == i1 else s)
    return scalars.binary("*", x, x)


def _reciprocal(x: AbstractValue) -> AbstractValue:
    if is_complex(x):
        return complex_of(*reciprocal_pair(parts(x)))
    dtype = float_dtype("np.reciprocal", [x])
    if kind(as_scalar(x).dtype) < 2:
        message = "np.reciprocal() of integers is zero nearly everywhere"
        raise refuse(current_loc(), message, "convert to float first", kind=kinds.UNSUPPORTED_OPTION)
    return Scalar(ops.divf(const(1.0, dtype), convert(as_scalar(x), dtype)), dtype, weak=False)


def _float_power(x: AbstractValue, y: AbstractValue) -> AbstractValue:
    """A power in double precision, also for integers."""
    known = fold(np.float_power, [x, y])
    if known is not None:
        return known
    power = Static(np.float64(y.value)) if isinstance(y, Static) else cast(y, f64, False)
    return scalars.binary("**", cast(x, f64, False), power)


def _divmod(frame: Frame, x: AbstractValue, y: AbstractValue) -> AbstractValue:
    return Tuple(tuple(TABLE[function](frame, [x, y], {}) for function in (np.floor_divide, np.mod)))


def _logical(symbol: str) -> Callable[..., AbstractValue]:
    def scalar(x: AbstractValue, y: AbstractValue) -> AbstractValue:
        a, b = (Scalar(nonzero(as_number(v)), i1, weak=False) for v in (x, y))
        return scalars.binary(symbol, a, b)

    return scalar


def _logical_not(x: AbstractValue) -> AbstractValue:
    return Scalar(bits.logical_not(nonzero(as_number(x))), i1, weak=False)


def _heaviside(x: AbstractValue, at_zero: AbstractValue) -> AbstractValue:
    dtype = float_dtype("np.heaviside", [x, at_zero])
    p, q = convert(as_scalar(x), dtype), convert(as_scalar(at_zero), dtype)
    zero, one = const(0.0, dtype), const(1.0, dtype)
    positive = ops.select(ops.cmpf(p, zero, predicate="ogt"), one, ops.select(is_nan(p), p, q))
    return Scalar(ops.select(ops.cmpf(p, zero, predicate="olt"), zero, positive), dtype, weak=False)


def where(frame: Frame, condition: AbstractValue, x: AbstractValue, y: AbstractValue) -> AbstractValue:
    """Elements of ``x`` or ``y``."""
    condition, x, y = (as_array_like(frame, v) for v in (condition, x, y))
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


def _clip(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    """``np.clip``: ``x`` limited by those bounds that are given."""
    result, low, high, out, least, most = take(
        "np.clip", ["a", "a_min", "a_max", "out", "min", "max"], list(args), kwargs
    )
    assert result is not None
    if (low is None) != (high is None):
        message = f"np.clip() takes both a_min and a_max: {'a_min' if low is None else 'a_max'} is missing"
        raise refuse(current_loc(), message, "write None for the bound that there is not", kind=kinds.WRONG_CALL)
    if (low is not None or high is not None) and (least is not None or most is not None):
        message = "np.clip() takes either a_min and a_max or min and max"
        raise refuse(current_loc(), message, kind=kinds.WRONG_CALL)
    x = result
    for bound, rule, upper in ((low or least, TABLE[np.maximum], False), (high or most, TABLE[np.minimum], True)):
        if bound is not None and not _is_no_bound(x, bound, upper):
            result = rule(frame, [result, bound], {})
    if result is x:
        result = TABLE[np.positive](frame, [x], {})  # a new array
    return stored(frame, np.positive, result, out)


def _is_no_bound(x: AbstractValue, bound: AbstractValue, upper: bool) -> bool:
    """Whether a bound is None, or a Python int that no integer of the array's dtype exceeds."""
    if not isinstance(bound, Static):
        return False
    if bound.value is None:
        return True
    if not isinstance(x, Array | Lazy) or kind(x.dtype) != 1 or type(bound.value) is not int:
        return False
    least, most = limits(x.dtype)
    return bool(bound.value >= most if upper else bound.value <= least)


def _round(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    x, digits, out = take("np.round", ["a", "decimals", "out"], list(args), kwargs)
    assert x is not None
    places = static_of(digits, "the number of digits") or 0
    result = fold(lambda x: np.round(x, places), [x]) or apply("np.round", partial(rounded, places), x)
    return stored(frame, np.positive, result, out)


def _of(kind: Function) -> dict[Any, Rule]:
    """The rule for a function, under all its names."""
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
    np.fmod: loops("fmod", integer_formulas.fmod),
    np.float_power: ufunc("float_power", _float_power, 2),
    np.divmod: positional("np.divmod", 2, _divmod),
    np.positive: loops("positive", lambda x, dtype: x),
    np.invert: loops("invert", integer_formulas.invert),
    np.bitwise_and: loops("bitwise_and", lambda x, y, dtype: ops.andi(x, y)),
    np.bitwise_or: loops("bitwise_or", lambda x, y, dtype: ops.ori(x, y)),
    np.bitwise_xor: loops("bitwise_xor", lambda x, y, dtype: ops.xori(x, y)),
    np.left_shift: _operator("left_shift", "<<"),
    np.right_shift: _operator("right_shift", ">>"),
    np.bitwise_count: loops("bitwise_count", integer_formulas.bit_count),
    np.gcd: loops("gcd", integer_formulas.gcd),
    np.lcm: loops("lcm", integer_formulas.lcm),
    np.signbit: loops("signbit", float_parts.signbit),
    np.ldexp: loops("ldexp", float_parts.ldexp),
    np.frexp: loops("frexp", float_parts.frexp),
    np.modf: loops("modf", float_parts.modf),
    np.nextafter: loops("nextafter", float_parts.nextafter),
    np.spacing: loops("spacing", float_parts.spacing),
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
    np.clip: _clip,
    np.round: _round,
    np.around: _round,
    **{d.type: cast_rule(f"np.{d.type.__name__}", t, False, d.type) for d, t in abstract.REAL.items()},
    np.longlong: cast_rule("np.longlong", i64, False, np.int64),
    np.ulonglong: cast_rule("np.ulonglong", ui64, False, np.uint64),
}
