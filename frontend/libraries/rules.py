"""The parts of the tables of library functions: rules made from a scalar function, applied elementwise to arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend import abstract
from adc.frontend.arrays import arrays
from adc.frontend.data.pins import option_of
from adc.frontend.data.type_names import describe_type, for_array
from adc.frontend.data.values import (
    AbstractValue,
    Array,
    Complex,
    Lazy,
    Scalar,
    Static,
    is_array,
    is_complex,
    is_number,
    is_numeric,
    is_static_number,
)
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.numeric import repetition, unsigned
from adc.frontend.numeric.complex_functions import PAIRS, parts
from adc.frontend.numeric.complexes import absolute
from adc.frontend.numeric.convert import (
    as_complex,
    as_number,
    as_scalar,
    cast,
    complex_of,
    convert,
    in_single,
    kind,
    promote,
    wrap,
)
from adc.frontend.numeric.handled import in_domain
from adc.frontend.numeric.integers import sign_of_integer
from adc.frontend.suggestions import for_option
from adc.ir import kinds, ops
from adc.ir.arith import const
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import Type, f16, f32, f64, i1, index, ui64

Rule = Callable[[Frame, Sequence[AbstractValue], Mapping[str, AbstractValue]], AbstractValue]
OnScalars = Callable[..., AbstractValue]


def positional(name: str, count: int | range, rule: Callable[..., AbstractValue], help: str = "") -> Rule:
    """A rule for positional arguments only; checks their number. ``help``: what to write for other numbers of
    arguments."""
    counts = range(count, count + 1) if isinstance(count, int) else count

    def call(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
        no_keywords(name, kwargs)
        if len(args) not in counts:
            wanted = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
            what = "argument" if wanted == "1" else "arguments"
            message = f"{name}() takes {wanted} {what} here, got {len(args)}"
            raise refuse(current_loc(), message, help, kind=kinds.WRONG_CALL)
        return rule(frame, *args)

    return call


def no_keywords(name: str, kwargs: Mapping[str, AbstractValue]) -> None:
    for key in kwargs:
        raise refuse(
            current_loc(),
            f"{name}() with the keyword '{key}' is not supported",
            for_option(key, ()),
            kind=kinds.UNSUPPORTED_OPTION,
        )


def take(
    name: str,
    parameters: Sequence[str],
    args: Sequence[AbstractValue],
    kwargs: Mapping[str, AbstractValue],
    required: int = 1,
) -> list[AbstractValue | None]:
    """Arguments in the order of ``parameters``; None for those left out."""
    if len(args) > len(parameters):
        raise refuse(
            current_loc(), f"{name}() with {len(args)} arguments is not supported", kind=kinds.UNSUPPORTED_OPTION
        )
    found: list[AbstractValue | None] = [*args, *[None] * (len(parameters) - len(args))]
    for key, value in kwargs.items():
        if key not in parameters:
            raise refuse(
                current_loc(),
                f"{name}() with the keyword '{key}' is not supported",
                for_option(key, parameters),
                kind=kinds.UNSUPPORTED_OPTION,
            )
        position = parameters.index(key)
        if found[position] is not None:
            raise refuse(current_loc(), f"{name}() got two values for '{key}'", kind=kinds.WRONG_CALL)
        found[position] = value
    for parameter, given in zip(parameters[:required], found, strict=False):
        if given is None:
            raise refuse(current_loc(), f"{name}() is missing the argument '{parameter}'", kind=kinds.WRONG_CALL)
    return found


def fold(function: Callable[..., Any], args: Sequence[AbstractValue]) -> Static | None:
    """The result for known numbers, computed now; None if that is not possible."""
    if not all(is_static_number(a) for a in args):
        return None
    try:
        with np.errstate(all="ignore"):
            result = function(*(a.value for a in args))  # type: ignore[attr-defined]
    except (ValueError, OverflowError, ZeroDivisionError, TypeError):
        return None
    return Static(result) if is_number(result) else None


def on_python_floats(name: str, function: Callable[..., Any], emit: Callable[..., Value], count: int = 1) -> Rule:
    """A function of ``math``: Python floats in, a Python float out."""

    def rule(frame: Frame, *args: AbstractValue) -> AbstractValue:
        need_numbers(name, args, f"use np.{name} on arrays")
        known = fold(function, args)
        if known is not None:
            return known
        values = [convert(as_scalar(a), f64) for a in args]
        return Scalar(in_domain(name, values, emit(*values)), f64)

    return positional(f"math.{name}", count, rule)


def need_numbers(name: str, args: Sequence[AbstractValue], help: str = "") -> None:
    for a in args:
        if not is_numeric(a) and not (isinstance(a, Array | Lazy) and not a.rank):
            raise refuse(current_loc(), f"{name}() takes numbers, not {describe_type(a)}", help, kind=kinds.WRONG_TYPE)


def ufunc(name: str, scalar: OnScalars, count: int = 1) -> Rule:
    """A universal function of NumPy: on numbers, and elementwise on arrays."""

    def rule(frame: Frame, *args: AbstractValue) -> AbstractValue:
        return apply(name, scalar, *repetition.computed_once(frame, args))

    return positional(f"np.{name}", count, rule)


def apply(name: str, scalar: OnScalars, *args: AbstractValue) -> AbstractValue:
    """``scalar`` on numbers, or elementwise if there is an array."""
    for a in args:
        if not (is_numeric(a) or is_array(a)):
            message = f"{name}() takes numbers and arrays, not {describe_type(a)}"
            raise refuse(current_loc(), message, for_array(a), kind=kinds.WRONG_TYPE)
    if any(is_array(a) for a in args):
        return arrays.elementwise(scalar, *args)
    return scalar(*args)


def strong(v: AbstractValue) -> AbstractValue:
    """A number as returned by NumPy."""
    if isinstance(v, Complex) and v.weak:
        return as_complex(v, v.dtype)
    if isinstance(v, Scalar) and v.weak:
        return Scalar(v.value, v.dtype, weak=False)
    return v


def float_function(name: str, function: Callable[..., Any], emit: Callable[..., Value], count: int = 1) -> Rule:
    """A universal function on floats: float32 stays float32, integers become float64. Some accept complex numbers."""
    pair = PAIRS.get(name)

    def scalar(*args: AbstractValue) -> AbstractValue:
        known = fold(function, args)
        if known is not None:
            return known
        if pair is not None and is_complex(args[0]):
            return complex_of(*pair(parts(args[0])))
        dtype = float_dtype(name, args)
        return Scalar(in_single(emit, [convert(as_scalar(a), dtype) for a in args]), dtype, weak=False)

    return ufunc(name, scalar, count)


def float_dtype(name: str, args: Sequence[AbstractValue]) -> Type:
    """The common float type of numbers."""
    dtype, weak = common_dtype(args)
    if kind(dtype) == 2:
        return dtype
    size = abstract.numpy_dtype(dtype).itemsize
    if size == 1 and not (weak and dtype != i1):
        return f16
    return f32 if size == 2 else f64


def operand_types(args: Sequence[AbstractValue]) -> tuple[Any, ...]:
    """The types of operands as NumPy names them when it chooses a loop: Python's numbers are represented by their
    class."""
    found: list[Any] = []
    for a in args:
        if isinstance(a, Array | Lazy):
            found.append(abstract.numpy_dtype(a.dtype))
            continue
        s = as_number(a)
        if isinstance(s, Complex):
            found.append(complex if s.weak else abstract.numpy_dtype(s.dtype))
            continue
        weak = s.weak and s.dtype != i1
        found.append((float if s.dtype.is_float else int) if weak else abstract.numpy_dtype(s.dtype))
    return tuple(found)


def loop_types(
    function: np.ufunc,
    args: Sequence[AbstractValue],
    *,
    types: tuple[Any, ...] | None = None,
    signature: tuple[Any, ...] | None = None,
    casting: str = "same_kind",
) -> list[Type]:
    """The dtypes of operands and results in the loop that NumPy chooses for ``args``."""
    types = (*operand_types(args), *[None] * function.nout) if types is None else types
    try:
        found = _resolved(function, types, signature, casting)
    except TypeError as error:
        cast = isinstance(error, np._core._exceptions._UFuncCastingError)  # type: ignore[attr-defined]
        kind = kinds.CAST_NOT_SAFE if cast else kinds.UNSUPPORTED_OPERAND
        raise refuse(current_loc(), str(error).partition("\n")[0], kind=kind) from None
    for dtype in found:
        if dtype not in abstract.DTYPES:
            message = f"np.{function.__name__}() is computed in {dtype} here, which is not supported"
            raise refuse(current_loc(), message, "convert to float first", kind=kinds.UNSUPPORTED_OPTION)
    return [abstract.DTYPES[dtype] for dtype in found]


@functools.cache
def _resolved(
    function: np.ufunc, types: tuple[Any, ...], signature: tuple[Any, ...] | None, casting: Any
) -> tuple[np.dtype[Any], ...]:
    found: tuple[np.dtype[Any], ...] = (
        function.resolve_dtypes(types, casting=casting)
        if signature is None
        else function.resolve_dtypes(types, signature=signature, casting=casting)
    )
    return found


def common_dtype(args: Sequence[AbstractValue]) -> tuple[Type, bool]:
    """The common dtype of numbers, and whether it is weak."""
    first = as_scalar(args[0])
    dtype, weak = first.dtype, first.weak
    for a in args[1:]:
        dtype, weak = promote(Scalar(first.value, dtype, weak), as_scalar(a))
    return dtype, weak


_UNSIGNED: dict[Any, Callable[..., Value]] = {
    ops.maxsi: unsigned.extreme(larger=True),
    ops.minsi: unsigned.extreme(larger=False),
    ops.absi: lambda x: x,
    sign_of_integer: lambda x: ops.index_castui(ops.cmpi(x, const(0, index), predicate="ne"), type=index),
}


_BOOLS: dict[Any, Callable[..., Value]] = {ops.maxsi: ops.ori, ops.minsi: ops.andi, ops.absi: lambda x: x}


def number_function(
    name: str,
    function: Callable[..., Any],
    on_floats: Callable[..., Value],
    on_integers: Callable[..., Value],
    count: int = 1,
) -> Rule:
    """A universal function that returns integers for integers (np.abs, np.maximum, ...)."""

    def scalar(*args: AbstractValue) -> AbstractValue:
        known = fold(function, args)
        if known is not None:
            return known
        if name == "abs" and is_complex(args[0]):
            return strong(absolute(args[0]))
        dtype, _ = common_dtype(args)
        emit = on_floats if kind(dtype) == 2 else on_integers
        if dtype == i1:
            loop_types(getattr(np, name), args)  # refuses what is not defined for bools
            emit = _BOOLS.get(on_integers, on_integers)
        if dtype == ui64:
            emit = _UNSIGNED.get(on_integers, on_integers)
        return Scalar(wrap(emit(*(convert(as_scalar(a), dtype) for a in args)), dtype), dtype, weak=False)

    return ufunc(name, scalar, count)


def rounded(places: int, x: AbstractValue) -> AbstractValue:
    """``np.round`` of a number to so many digits after the point, or before it if negative."""
    s = as_scalar(x)
    if s.dtype == i1:  # NumPy's result is of half precision
        if places:
            raise refuse(current_loc(), "np.round() to digits is not defined for bools", kind=kinds.WRONG_TYPE)
        return cast(s, f16, weak=False)
    if kind(s.dtype) < 2 and places >= 0:
        return strong(s)
    dtype = float_dtype("np.round", [x]) if kind(s.dtype) != 1 else f64
    value, power = convert(s, dtype), const(10.0 ** abs(places), dtype)
    if places:
        value = ops.roundeven(ops.mulf(value, power) if places > 0 else ops.divf(value, power))
        value = ops.divf(value, power) if places > 0 else ops.mulf(value, power)
    else:
        value = ops.roundeven(value)
    result = Scalar(value, dtype, weak=False)
    return result if kind(s.dtype) == 2 else Scalar(convert(result, s.dtype), s.dtype, weak=False)


def predicate(name: str, function: Callable[..., Any], emit: Callable[..., Value], weak: bool = False) -> Rule:
    """A test of floats with an i1 result; integers are converted. A complex number is finite if both parts are, and NaN
    or infinite if one is."""

    def scalar(x: AbstractValue) -> AbstractValue:
        known = fold(function, [x])
        if known is not None:
            return known
        if is_complex(x) and not weak:
            join = ops.andi if name == "isfinite" else ops.ori
            return Scalar(join(*map(emit, parts(x))), i1, weak)
        s = as_scalar(x)
        return Scalar(emit(convert(s, s.dtype if kind(s.dtype) == 2 else f64)), i1, weak)

    return ufunc(name, scalar)


def static_of(v: AbstractValue | None, what: str, help: str = "write it as a constant") -> Any:
    """The Python value of an argument that must be known while tracing."""
    if v is None:
        return None
    if isinstance(v, Static):
        return v.value
    known = option_of(v.value) if isinstance(v, Scalar) else None
    if known is not None:
        return known()
    raise refuse(
        current_loc(),
        f"{what} must be known when the function is compiled",
        help,
        kind=kinds.NOT_CONSTANT,
    )
