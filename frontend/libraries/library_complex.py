"""Functions of complex numbers: those of NumPy with a special meaning for them, and Python's ``cmath``."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend.arrays import arrays, subscripts
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
from adc.frontend.forms import COMPLEX
from adc.frontend.frame import Frame
from adc.frontend.libraries.rules import Rule, apply, positional, static_of, strong, take
from adc.frontend.numeric import complex_functions, complexes
from adc.frontend.numeric.complex_functions import PAIRS, parts
from adc.frontend.numeric.convert import as_complex, as_number, as_scalar, cast, complex_like, complex_of, convert, kind
from adc.frontend.numeric.float_tests import is_finite, is_inf, is_nan
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import c64, c128, f16, f64, i1


def has_complex(v: AbstractValue) -> bool:
    """Whether ``v`` is a complex number or an array of them."""
    return is_complex(v) or (isinstance(v, Array | Lazy) and kind(v.dtype) == 3)


def real(frame: Frame, v: AbstractValue) -> AbstractValue:
    """The real part; of an array in memory, a view."""
    return _part(frame, "np.real", v, 0)


def imag(frame: Frame, v: AbstractValue) -> AbstractValue:
    """The imaginary part; of an array in memory, a view, unless it is zero because the array is real."""
    return _part(frame, "np.imag", v, 1)


def _part(frame: Frame, name: str, v: AbstractValue, k: int) -> AbstractValue:
    if isinstance(v, Array) and v.is_complex:
        return subscripts.part(v, k)
    if isinstance(v, Lazy) and kind(v.dtype) == 3:
        return arrays.elementwise(lambda x: _number_part(x, k), v)
    if isinstance(v, Array | Lazy) and k == 0:
        return v
    return apply(name, lambda x: _number_part(x, k), v)


def _number_part(x: AbstractValue, k: int) -> AbstractValue:
    if isinstance(x, Static):
        return Static(x.value.imag if k else x.value.real)
    s = as_number(x)
    if isinstance(s, Complex):
        return s.imag if k else s.real
    return Scalar(const(0, s.value.type), s.dtype, s.weak) if k else s


def conjugate(frame: Frame, v: AbstractValue) -> AbstractValue:
    """The conjugate; for a real array or number, itself."""
    if not has_complex(v):
        return strong(v) if is_numeric(v) else apply("np.conjugate", lambda x: x, v)
    return apply("np.conjugate", lambda x: strong(complexes.conjugate(x)), v)


def _angle(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    v, deg = take("np.angle", ["z", "deg"], args, kwargs)
    assert v is not None
    found = apply("np.angle", _angle_of, v)
    in_degrees = deg is not None and static_of(deg, "the keyword deg")
    return arrays.operate(frame, "*", found, Static(180.0 / math.pi)) if in_degrees else found


def _angle_of(x: AbstractValue) -> AbstractValue:
    s = as_number(x)
    found = complex_functions.angle(as_complex(s, s.dtype if kind(s.dtype) == 3 else complex_like(s.dtype)))
    return cast(found, f16, weak=False) if s.dtype == f16 else strong(found)


def complex_rule(cls: type) -> Rule:
    """``complex(a, b)``, ``np.complex128(z)`` and similar conversions."""
    weak = cls is complex
    dtype = c64 if cls is np.complex64 else c128

    def scalar(x: AbstractValue) -> AbstractValue:
        return as_complex(x, dtype, weak)

    def rule(frame: Frame, x: AbstractValue | None = None, y: AbstractValue | None = None) -> AbstractValue:
        given = [v for v in (x, y) if v is not None]
        if all(isinstance(v, Static) for v in given):
            try:
                return Static(cls(*(v.value for v in given)))  # type: ignore[attr-defined]
            except (TypeError, ValueError) as error:
                raise refuse(current_loc(), str(error), kind=kinds.WRONG_TYPE) from None
        if y is None:
            assert x is not None
            if weak and is_array(x):
                raise refuse(current_loc(), f"complex() takes a number, not {describe_type(x)}", kind=kinds.WRONG_TYPE)
            return apply(cls.__name__, scalar, x)
        assert x is not None
        if has_complex(x) or has_complex(y):
            raise refuse(
                current_loc(),
                "complex() of two complex numbers is not supported",
                "write a + 1j * b",
                kind=kinds.WRONG_TYPE,
            )
        return complex_of(*(convert(as_scalar(v), f64) for v in (x, y)), weak=weak)

    return positional(cls.__name__, range(3) if weak else range(2), rule)


def _is_complex_object(answer: bool) -> Rule:
    def rule(frame: Frame, x: AbstractValue) -> AbstractValue:
        return Static(has_complex(x) == answer)

    return positional("np.iscomplexobj" if answer else "np.isrealobj", 1, rule)


# cmath ----------------------------------------------------------------------------------------------------------------


def _of_cmath(name: str) -> Rule:
    function = getattr(cmath, name)
    pair = PAIRS[f"arc{name[1:]}" if name in _INVERSE else name]

    def rule(frame: Frame, x: AbstractValue, base: AbstractValue | None = None) -> AbstractValue:
        given = [x] if base is None else [x, base]
        _need_numbers(name, *given)
        if all(isinstance(v, Static) for v in given):
            try:
                return Static(function(*(v.value for v in given)))  # type: ignore[attr-defined]
            except (ValueError, OverflowError, ZeroDivisionError):
                pass
        found = [pair(_defined(name, _wide(v))) for v in given]
        return complex_of(*(found[0] if base is None else complexes.quotient(*found, python=True)), weak=True)

    return positional(f"cmath.{name}", range(1, 3) if name == "log" else 1, rule)


def _wide(v: AbstractValue) -> complexes.Pair:
    return parts(as_complex(v, c128))


def _defined(name: str, pair: complexes.Pair) -> complexes.Pair:
    """``pair``, which is not where Python raises an error because the function is infinite there."""
    pole = _POLES.get(name)
    if pole is not None:
        there = (ops.cmpf(ops.absf(x), const(at, f64), predicate="oeq") for x, at in zip(pair, pole, strict=True))
        trap_unless(ops.xori(ops.andi(*there), const(True, i1)), "ValueError", "math domain error")
    return pair


_POLES = {"log": (0.0, 0.0), "log10": (0.0, 0.0), "atanh": (1.0, 0.0), "atan": (0.0, 1.0)}
"""The real and imaginary part, up to signs."""


def _need_numbers(name: str, *args: AbstractValue) -> None:
    for v in args:
        if not is_numeric(v):
            message = f"cmath.{name}() takes numbers, not {describe_type(v)}"
            raise refuse(current_loc(), message, f"use np.{name} on arrays", kind=kinds.WRONG_TYPE)


def _phase(frame: Frame, x: AbstractValue) -> AbstractValue:
    _need_numbers("phase", x)
    return complex_functions.angle(as_complex(x, c128, weak=True))


def _polar(frame: Frame, x: AbstractValue) -> AbstractValue:
    _need_numbers("polar", x)
    z = as_complex(x, c128, weak=True)
    return Tuple((complexes.absolute(z), complex_functions.angle(z)))


def _rect(frame: Frame, r: AbstractValue, phi: AbstractValue) -> AbstractValue:
    radius, angle = (convert(as_scalar(v), f64) for v in (r, phi))
    return complex_of(ops.mulf(radius, ops.cos(angle)), ops.mulf(radius, ops.sin(angle)), weak=True)


def _test(name: str, emit: Callable[[Value], Value]) -> Rule:
    def rule(frame: Frame, x: AbstractValue) -> AbstractValue:
        _need_numbers(name, x)
        join = ops.andi if name == "isfinite" else ops.ori
        return Scalar(join(*map(emit, _wide(x))), i1)

    return positional(f"cmath.{name}", 1, rule)


_INVERSE = ("asin", "acos", "atan", "asinh", "acosh", "atanh")
_CMATH = ("exp", "log", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", *_INVERSE)

TABLE: dict[Any, Rule] = {
    **{cls: complex_rule(cls) for cls in COMPLEX},
    **{getattr(cmath, name): _of_cmath(name) for name in _CMATH},
    cmath.phase: positional("cmath.phase", 1, _phase),
    cmath.polar: positional("cmath.polar", 1, _polar),
    cmath.rect: positional("cmath.rect", 2, _rect),
    cmath.isnan: _test("isnan", is_nan),
    cmath.isinf: _test("isinf", is_inf),
    cmath.isfinite: _test("isfinite", is_finite),
    np.real: positional("np.real", 1, real),
    np.imag: positional("np.imag", 1, imag),
    np.conjugate: positional("np.conjugate", 1, conjugate),
    np.angle: _angle,
    np.iscomplexobj: _is_complex_object(True),
    np.isrealobj: _is_complex_object(False),
}
