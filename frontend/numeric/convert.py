"""Conversion of numbers between dtypes, and the common dtype of two of them (NumPy 2: Python's numbers are weak)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from adc.frontend import abstract
from adc.frontend.abstract import value_type
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import (
    AbstractValue,
    Array,
    Complex,
    LargeLiteral,
    Lazy,
    Number,
    Scalar,
    Static,
    is_complex,
    is_number,
    number_dtype,
)
from adc.frontend.elements import from_element, to_element
from adc.frontend.errors import refuse
from adc.frontend.forms import COMPLEX
from adc.frontend.numeric.float_tests import is_finite
from adc.frontend.traps import handled, trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import as_float, const, const_index, constant_of
from adc.ir.builder import at_loc, build, current_loc
from adc.ir.core import Value
from adc.ir.types import ComplexType, FloatType, IntType, Type, c64, c128, f16, f32, f64, i1, i64, index, ui64

INT64 = np.iinfo(np.int64)


def as_scalar(v: AbstractValue) -> Scalar:
    """A number as a run-time value; a literal becomes a constant."""
    if isinstance(v, Scalar):
        return v
    if isinstance(v, Static) and is_number(v.value):
        dtype, weak = number_dtype(v.value)
        if beyond(v):
            with at_loc(v.loc if isinstance(v, LargeLiteral) else current_loc()):
                trap_unless(const(False, i1), "RangeError", TOO_LARGE.format(v.value))
            return Scalar(const(0, index), i64, weak)
        number = _item(v.value)
        if dtype == ui64:  # as the index with the same bits
            number = int(np.uint64(number).astype(np.int64))
        return Scalar(const(number, value_type(dtype)), dtype, weak)
    if is_complex(v):
        raise real_needed()
    if isinstance(number := unboxed(v), Scalar | Complex):
        return as_scalar(number)
    raise refuse(current_loc(), f"a number is needed here, not {describe_type(v)}", kind=kinds.WRONG_TYPE)


def unboxed(v: AbstractValue) -> AbstractValue:
    """The number in an array without dimensions; anything else unchanged."""
    if isinstance(v, Array) and not v.rank:
        return load_scalar(v.memref, [], v.dtype)
    return v.element([], False) if isinstance(v, Lazy) and not v.rank else v


def real_needed() -> Exception:
    """The refusal of a complex number, or an array of them, where only real ones make sense or are supported."""
    return refuse(
        current_loc(),
        "a real number is needed here, not a complex one",
        "take the real part, z.real, or abs(z)",
        kind=kinds.WRONG_TYPE,
    )


def as_number(v: AbstractValue) -> Number:
    """Like ``as_scalar``, for real and complex numbers."""
    if isinstance(v, Complex):
        return v
    if isinstance(v, Static) and type(v.value) in COMPLEX:
        part = FloatType(32) if type(v.value) is np.complex64 else f64
        parts = (const(float(x), part) for x in (v.value.real, v.value.imag))
        return _complex(COMPLEX[type(v.value)].cls, *parts)
    return as_scalar(v)


def complex_of(real: Value, imag: Value, *, weak: bool = False) -> Complex:
    """The complex number of these parts, NumPy's unless it is ``weak``."""
    return _complex(complex if weak else np.complex64 if real.type == f32 else np.complex128, real, imag)


def _complex(cls: type, real: Value, imag: Value) -> Complex:
    weak = cls is complex
    return Complex((Scalar(real, real.type, weak), Scalar(imag, imag.type, weak)), COMPLEX[cls])


def as_element(v: AbstractValue) -> Number:
    """A number as it is as an element of an array: NumPy's."""
    s = as_number(v)
    return as_complex(s, s.dtype) if isinstance(s, Complex) else Scalar(s.value, s.dtype, weak=False)


def undefined(dtype: Type) -> Number:
    """An undefined element of a dtype."""
    if isinstance(dtype, ComplexType):
        return complex_of(*(ops.undef(type=dtype.part) for _ in range(2)))
    return Scalar(from_element(ops.undef(type=dtype)), dtype, weak=False)


def complex_like(dtype: Type) -> ComplexType:
    """The complex dtype that numbers of a real dtype are converted to."""
    return c64 if dtype in (f16, f32) else c128


def as_complex(v: AbstractValue, dtype: Type, weak: bool = False) -> Complex:
    """A number as a complex one of ``dtype``, NumPy's unless it is ``weak``."""
    assert isinstance(dtype, ComplexType)
    s = as_number(v)
    if isinstance(s, Complex):
        parts = convert(s.real, dtype.part), convert(s.imag, dtype.part)
    else:
        parts = convert(s, dtype.part), const(0.0, dtype.part)
    return complex_of(*parts, weak=weak)


def beyond(v: AbstractValue) -> bool:
    """Whether ``v`` is a known Python int that does not fit into 64 bits."""
    return isinstance(v, Static) and isinstance(v.value, int) and not INT64.min <= v.value <= INT64.max


def meeting(v: AbstractValue, dtype: Type) -> AbstractValue:
    """A number to be combined with one of ``dtype``: a large Python int becomes NumPy's if that is unsigned."""
    if dtype == ui64 and beyond(v) and isinstance(v, Static) and 0 <= v.value <= limits(ui64)[1]:
        return Static(np.uint64(v.value))
    return v


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def kind(dtype: Type) -> int:
    """0 for bool, 1 for integers, 2 for floats, 3 for complex numbers."""
    return 0 if dtype == i1 else 2 if dtype.is_float else 3 if isinstance(dtype, ComplexType) else 1


_WEAK_DTYPES = (i1, i64, f64, c128)


def promote(a: Number, b: Number) -> tuple[Type, bool]:
    """The common dtype of ``a`` and ``b``, and whether it is weak."""
    if a.weak and b.weak:
        return _WEAK_DTYPES[max(kind(a.dtype), kind(b.dtype))], True
    return promote_types(a.dtype, a.weak, b.dtype, b.weak), False


def promote_types(a: Type, a_weak: bool, b: Type, b_weak: bool) -> Type:
    if a_weak and b_weak:
        return _WEAK_DTYPES[max(kind(a), kind(b))]
    if a_weak or b_weak:
        weak, strong = (a, b) if a_weak else (b, a)
        if strong in (f16, f32) and kind(weak) == 3:
            return c64
        return strong if kind(weak) <= kind(strong) else _WEAK_DTYPES[kind(weak)]
    return _meet(a, b)


@lru_cache(maxsize=64)
def _meet(a: Type, b: Type) -> Type:
    return abstract.DTYPES[np.result_type(abstract.numpy_dtype(a), abstract.numpy_dtype(b))]


def convert(s: Number, dtype: Type) -> Value:
    """The value of ``s``, which must be real, in the type in which ``dtype`` is computed.

    Floats become integers by truncation; NaN and numbers out of range raise, as ``int()`` does. A Python int that does
    not fit raises OverflowError, as in NumPy; a NumPy integer wraps around.
    """
    if isinstance(dtype, ComplexType) or not isinstance(s, Scalar):
        raise real_needed()
    if s.dtype == dtype:
        return s.value
    known = constant_of(s.value)
    if known is not None and s.dtype != ui64 and (kind(dtype) == 2 or (dtype == i64 and kind(s.dtype) < 2)):
        if dtype in (f16, f32):
            with np.errstate(over="ignore"):
                known = float(abstract.numpy_dtype(dtype).type(known))
        return const(known, value_type(dtype))
    if dtype == i1:
        return nonzero(s)
    if kind(dtype) == 2:
        return _to_float(s, dtype)
    if s.dtype == i1:
        return ops.index_castui(s.value, type=index)
    if kind(s.dtype) == 2:
        return _truncate(s, dtype)
    if s.weak:
        if s.dtype == ui64:
            check_range(s.value, ui64)
        check_range(s.value, dtype)
        return s.value
    return wrap(s.value, dtype)


def _to_float(s: Scalar, dtype: Type) -> Value:
    if s.dtype == i1:
        return ops.uitofp(s.value, type=dtype)
    if kind(s.dtype) == 1:
        if s.dtype == ui64:
            return ops.uitofp(ops.index_cast(s.value, type=ui64), type=dtype)
        if dtype in (f16, f32) and s.weak:  # NumPy first converts Python's integers to doubles
            return ops.truncf(ops.sitofp(s.value, type=f64), type=dtype)
        if dtype == f16:  # and its own to single precision
            return ops.truncf(ops.sitofp(s.value, type=f32), type=f16)
        return ops.sitofp(s.value, type=dtype)
    return as_float(s.value, dtype)


def in_single(emit: Callable[..., Value], values: Sequence[Value]) -> Value:
    """The result of ``emit`` on floats of one type: for half precision, computed in single and rounded once, as in
    NumPy."""
    if values[0].type != f16:
        return emit(*values)
    return ops.truncf(emit(*(ops.extf(v, type=f32) for v in values)), type=f16)


def accumulator(dtype: Type) -> Type:
    """The dtype in which elements are summed: single precision for half."""
    return f32 if dtype == f16 else dtype


def _truncate(s: Scalar, dtype: Type) -> Value:
    x, (least, most) = s.value, limits(dtype)
    trap_unless(ops.cmpf(x, x, predicate="oeq"), "ValueError", "cannot convert float NaN to integer")
    above = float(most + 1)
    # If there is no float between the least integer and the next integer below, that one is the bound.
    exact = float(np.asarray(least - 1, abstract.numpy_dtype(x.type))) == least - 1
    low, side = (float(least - 1), "ogt") if exact else (float(least), "oge")
    fits = ops.andi(
        ops.cmpf(x, const(above, x.type), predicate="olt"), ops.cmpf(x, const(low, x.type), predicate=side)
    )
    if handled(OverflowError):
        trap_unless(is_finite(x), "OverflowError", "cannot convert float infinity to integer")
    trap_unless(fits, "RangeError", "the float {} is too large to convert to an integer", x)
    if dtype != ui64:
        return ops.fptosi(x, type=index)
    half = const(2.0**63, x.type)
    large = ops.cmpf(x, half, predicate="oge")
    part = ops.fptosi(ops.select(large, ops.subf(x, half), x), type=index)
    return ops.xori(part, ops.select(large, const(INT64.min, index), const(0, index)))


def limits(dtype: Type) -> tuple[int, int]:
    """The least and the largest integer of a dtype."""
    info = np.iinfo(abstract.numpy_dtype(dtype))
    return int(info.min), int(info.max)


TOO_LARGE = "the integer {} does not fit into 64 bits"
_SHOWN = {"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "shl": "{} << {}", "pow": "{} ** {}"}


def check_fits(kind: str, p: Value, q: Value) -> None:
    """Python's integers are exact: if the result of ``kind`` does not fit into 64 bits, it is an OverflowError."""
    trap_unless(ops.fits(p, q, kind=kind), "RangeError", TOO_LARGE.format(_SHOWN[kind]), p, q)


def check_range(value: Value, dtype: Type) -> None:
    """Raise ``OverflowError`` unless an integer fits into ``dtype``."""
    (least, most), known = limits(dtype), constant_of(value)
    if known is not None and least <= known <= most:
        return
    fits = const(True, i1)
    for bound, predicate in ((least, "sge"), (most, "sle")):
        if INT64.min < bound < INT64.max:
            fits = ops.andi(fits, ops.cmpi(value, const(bound, index), predicate=predicate))
    trap_unless(fits, "OverflowError", f"Python integer {{}} out of bounds for {abstract.numpy_dtype(dtype)}", value)


def wrap(value: Value, dtype: Type) -> Value:
    """An integer result of ``dtype`` wrapped around to its bits."""
    if not isinstance(dtype, IntType) or dtype.width in (1, 64):
        return value
    return ops.index_cast(ops.index_cast(value, type=dtype), type=index)


def nonzero(s: Number) -> Value:
    """Truth of a number: i1."""
    if isinstance(s, Complex):
        return ops.ori(nonzero(s.real), nonzero(s.imag))
    if s.dtype == i1:
        return s.value
    if kind(s.dtype) == 2:
        return ops.cmpf(s.value, const(0.0, s.dtype), predicate="une")
    return ops.cmpi(s.value, const(0, index), predicate="ne")


def cast(v: AbstractValue, dtype: Type, weak: bool) -> Number:
    """``v`` as a number of ``dtype``."""
    if kind(dtype) == 3:
        return as_complex(v, dtype, weak)
    return Scalar(convert(as_scalar(meeting(v, dtype)), dtype), dtype, weak)


def as_python(s: Scalar) -> Scalar:
    """A NumPy number as one of Python's."""
    dtype = _WEAK_DTYPES[kind(s.dtype)]
    if s.dtype == ui64:
        fits = ops.cmpi(s.value, const(0, index), predicate="sge")
        trap_unless(fits, "RangeError", "an unsigned integer does not fit into 64 bits with a sign")
    return Scalar(convert(Scalar(s.value, s.dtype, weak=False), dtype), dtype, weak=True)


def load_scalar(memref: Value, subscripts: list[Value] | tuple[Value, ...], dtype: Type) -> Number:
    """The element of an array, as a NumPy number."""
    if kind(dtype) == 3:
        return complex_of(*(ops.load(memref, *subscripts, const_index(k)) for k in (0, 1)))
    value = ops.load(memref, *subscripts)
    return Scalar(from_element(value), dtype, weak=False)


def store_scalar(v: AbstractValue, memref: Value, subscripts: list[Value], element: Type) -> None:
    """Store a number into an array, converted as NumPy does when arrays are assigned: integers wrap around."""
    if kind(element) == 3:
        number = as_complex(v, element)
        for k, part in enumerate((number.real, number.imag)):
            build(ops.store, [part.value, memref, *subscripts, const_index(k)])
        return
    if is_complex(v):
        raise cannot_hold()
    value = to_element(convert(as_scalar(meeting(v, element)), element), element)
    build(ops.store, [value, memref, *subscripts])


def cannot_hold() -> Exception:
    """The refusal of a complex number that is stored into an array of real ones, where NumPy raises, or warns and drops
    the imaginary part."""
    return refuse(
        current_loc(),
        "a complex number cannot be stored into an array of real numbers",
        "make the array with dtype=complex, or store its real part, z.real",
        kind=kinds.CAST_NOT_SAFE,
    )


def assigned(v: AbstractValue, dtype: Type) -> Number:
    """A number that is assigned to elements of ``dtype``: an integer must fit there, whether it is Python's or
    NumPy's."""
    s = as_number(meeting(v, dtype))
    if isinstance(s, Complex):
        return s
    return Scalar(s.value, s.dtype, weak=True)
