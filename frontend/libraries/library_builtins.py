"""Python's built-in functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from adc.frontend import iteration, rematerialised
from adc.frontend.abstract import numpy_dtype, value_type
from adc.frontend.arrays import arrays, complex_reductions, subscripts
from adc.frontend.checkpoints import checkpoint, every, read, revolve, steps
from adc.frontend.containers import records, sequences
from adc.frontend.containers.texts import shown
from adc.frontend.control.loops import make_range
from adc.frontend.data.callables import Closure
from adc.frontend.data.compounds import Structured
from adc.frontend.data.dims import Dim, dim_value
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import (
    AbstractValue,
    Array,
    Complex,
    Compound,
    Lazy,
    Method,
    Number,
    Range,
    Ref,
    Scalar,
    Static,
    Stream,
    Tuple,
    is_array,
    is_complex,
    is_static_number,
)
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.attributes import extent
from adc.frontend.libraries.rules import (
    Rule,
    apply,
    fold,
    need_numbers,
    no_keywords,
    positional,
    rounded,
    static_of,
    take,
)
from adc.frontend.marker import prange, stop_gradient
from adc.frontend.numeric import complexes, decimals, integers, nests, scalars
from adc.frontend.numeric.complex_functions import parts
from adc.frontend.numeric.convert import (
    as_complex,
    as_number,
    as_python,
    as_scalar,
    complex_of,
    convert,
    kind,
    nonzero,
    promote_types,
)
from adc.frontend.objects import heap, list_pools, rows
from adc.frontend.prelude import python_collections, python_operators, python_ranges
from adc.frontend.prelude.python_collections import Held
from adc.frontend.traps import handled, trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, current_loc, insert_at
from adc.ir.core import Block, Value
from adc.ir.schedules import Schedule
from adc.ir.types import Type, f64, i1, i64, index


def _abs(frame: Frame, x: AbstractValue) -> AbstractValue:
    def scalar(x: AbstractValue) -> AbstractValue:
        known = fold(abs, [x])
        if known is not None:
            return known
        if is_complex(x):
            return complexes.absolute(x)
        s = as_scalar(x)
        if kind(s.dtype) == 2:
            return Scalar(ops.absf(s.value), s.dtype, s.weak)
        if s.dtype == i1:
            return Scalar(convert(s, i64), i64) if s.weak else s
        return integers.absolute(s)

    return apply("abs", scalar, x)


def _stop_gradient(frame: Frame, x: AbstractValue) -> AbstractValue:
    """A value as a constant; for a tuple, each item. Values without derivatives are unchanged."""
    if isinstance(x, Tuple):
        return x.of(_stop_gradient(frame, item) for item in x.items)
    if isinstance(x, Array | Lazy):
        return arrays.settled(frame, arrays.elementwise(_stopped, x))
    if isinstance(x, Scalar | Complex):
        return _stopped(x)
    if isinstance(x, Static):
        return x
    raise refuse(
        current_loc(),
        f"stop_gradient() takes numbers, arrays and tuples, not {describe_type(x)}",
        "use it on what it holds",
        kind=kinds.WRONG_TYPE,
    )


def _stopped(x: AbstractValue) -> Number:
    if isinstance(x, Complex):
        return x.of(map(_stopped, x.items))  # type: ignore[return-value]
    s = as_scalar(x)
    return Scalar(ops.stop_gradient(s.value), s.dtype, s.weak) if s.dtype.is_float else s


def _round(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    x, digits = take("round", ("number", "ndigits"), args, kwargs)
    assert x is not None
    need_numbers("round", [x], "use np.round on arrays")
    places = static_of(digits, "the number of digits")
    if is_static_number(x):
        return Static(round(x.value, places))  # type: ignore[attr-defined]
    s = as_scalar(x)
    if places is not None and not s.weak and s.dtype != i1:
        return rounded(places, s)
    if kind(s.dtype) < 2:
        return integers.rounded_integer(Scalar(convert(s, i64), i64), 0 if places is None else places)
    if places is not None:
        if abs(places) > decimals.MOST_DIGITS:
            message = f"round() to {places} digits is not supported"
            help = f"{decimals.MOST_DIGITS} digits are the most"
            raise refuse(current_loc(), message, help, kind=kinds.UNSUPPORTED_OPTION)
        return Scalar(decimals.rounded_to(s.value, places), s.dtype)
    return Scalar(convert(Scalar(ops.roundeven(s.value), s.dtype), i64), i64)


def _of_text(function: Any, text: str) -> AbstractValue:
    """The number that a text stands for; a ValueError of the run for any other text."""
    try:
        return Static(function(text))
    except ValueError as error:
        trap_unless(const(False, i1), "ValueError", str(error))
        return Static(function())


def cast_rule(name: str, to: Type, weak: bool, function: Any) -> Rule:
    """``float(x)``, ``np.float32(x)`` and similar conversions."""

    def scalar(x: AbstractValue) -> AbstractValue:
        known = fold(function, [x])
        if known is not None:
            return known
        if to == i1:
            return Scalar(nonzero(as_number(x)), to, weak)
        s = as_scalar(x)
        if weak and to == i64 and kind(s.dtype) == 1:
            return as_python(s)
        return Scalar(convert(s, to), to, weak)

    def rule(frame: Frame, x: AbstractValue | None = None) -> AbstractValue:
        if x is None:
            return Static(function())
        if weak and is_array(x):
            x = _single(frame, name, x)
        if isinstance(x, Static) and isinstance(x.value, str):
            return _of_text(function, x.value)
        return apply(name, scalar, x)

    return positional(name, range(2), rule)


def _single(frame: Frame, name: str, x: AbstractValue) -> AbstractValue:
    value = arrays.settled(frame, x)
    if not isinstance(value, Array):  # an expression of arrays without axes gives a number
        return value
    if value.rank and handled(TypeError):
        trap_unless(const(False, i1), "TypeError", "only 0-dimensional arrays can be converted to Python scalars")
        return Static(0)
    if value.rank:
        raise refuse(
            current_loc(),
            f"{name}() takes a number, not {describe_type(x)}",
            "subscript the array",
            kind=kinds.WRONG_TYPE,
        )
    return subscripts.read(frame, value, [])


def _len(frame: Frame, x: AbstractValue) -> AbstractValue:
    if isinstance(x, Array | Lazy) and x.rank:
        return extent(x.dims[0])
    if isinstance(x, Structured) and x.rank:
        return extent(x.dims[0])
    own = records.method(frame, x, "__len__")
    if own is not None:
        return frame.tracer.call(frame, own, [], {})
    items = sequences.known_items(frame, x)
    if items is not None:
        return Static(len(items))
    if rows.grows(frame, x):
        assert isinstance(x, Ref)
        return Scalar(rows.length(heap.contents(frame, x)), i64)
    if isinstance(x, Static) and isinstance(x.value, str | tuple):
        return Static(len(x.value))
    if isinstance(x, Range) and not x.parallel:
        return frame.tracer.call(frame, Static(python_ranges.length), [x.start, x.stop, x.step], {})
    if describe_type(x) == "str":
        raise refuse(current_loc(), "the length of a text that is made at run time is not known", kind=kinds.WRONG_TYPE)
    raise refuse(current_loc(), f"{describe_type(x)} has no len()", kind=kinds.WRONG_TYPE)


def _range(parallel: bool) -> Rule:
    name = "prange" if parallel else "range"

    def rule(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
        no_keywords(name, kwargs)
        return make_range(args, parallel)

    return rule


def _steps(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    given = dict(kwargs)
    checkpoint = given.pop("checkpoint", Static(None))
    no_keywords("steps", given)
    return replace(make_range(args), schedule=read(static_of(checkpoint, "a schedule")))


def _schedule(function: Callable[..., Schedule]) -> Rule:
    """Functions that make schedules are called while tracing."""

    def rule(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
        return Static(
            function(
                *(static_of(value, "a number") for value in args),
                **{name: static_of(value, "a number") for name, value in kwargs.items()},
            )
        )

    return rule


def _pow(frame: Frame, x: AbstractValue, y: AbstractValue, modulus: AbstractValue | None = None) -> AbstractValue:
    if modulus is not None:
        known = fold(pow, [x, y, modulus])
        if known is not None:
            return known
        for v in (x, y, modulus):
            if is_complex(v) or kind(as_scalar(v).dtype) == 2 or not as_scalar(v).weak:  # nor do NumPy's integers
                message = f"pow() with a modulus takes Python's integers, not {describe_type(v)}"
                raise refuse(current_loc(), message, "convert it first: int(x)", kind=kinds.WRONG_TYPE)
        return frame.tracer.call(frame, Static(python_operators.power), [x, y, modulus], {})
    return arrays.operate(frame, "**", x, y)


def _divmod(frame: Frame, x: AbstractValue, y: AbstractValue) -> AbstractValue:
    return Tuple((arrays.operate(frame, "//", x, y), arrays.operate(frame, "%", x, y)))


def _sum_in_order(total: AbstractValue, x: Array | Lazy) -> AbstractValue:
    """The elements of an array added to ``total`` one after the other, as in Python and unlike ``np.sum``."""
    lazy = nests.lazy_of(x)
    start = as_number(total)
    dtype = promote_types(start.dtype, start.weak, lazy.dtype, False)
    if kind(dtype) == 3:
        return _complex_sum(as_complex(start, dtype), lazy)
    first = as_scalar(total)
    if dtype == i1:
        dtype = i64

    def in_order(length: Dim, general: bool) -> Value:
        block = Block([index, value_type(dtype)], ["i", "total"])
        with insert_at(block):
            so_far = Scalar(block.args[1], dtype, weak=False)
            added = as_scalar(scalars.binary("+", so_far, lazy.element([block.args[0]], general)))
            build(ops.yield_, [added.value])
        bounds = [const_index(0), dim_value(length), const_index(1), convert(first, dtype)]
        return build(ops.for_, bounds, result_types=[value_type(dtype)], regions=[block]).result

    found = nests.versioned(lazy, lambda: in_order(lazy.plain[0], False), lambda: in_order(lazy.dims[0], True))
    assert found is not None
    return Scalar(found, dtype, weak=False)


def _complex_sum(start: Complex, lazy: Lazy) -> AbstractValue:
    if lazy.equalities:
        raise refuse(current_loc(), "sum() of this expression is not supported", "name it first", kind=kinds.WRONG_TYPE)

    def element(i: list[Value]) -> complexes.Pair:
        return parts(as_complex(lazy.element(i, False), start.dtype))

    return complex_of(*complex_reductions.in_order(lazy.plain, element, complexes.add, parts(start)))


def _sum(frame: Frame, x: AbstractValue, start: AbstractValue | None = None) -> AbstractValue:
    total: AbstractValue = Static(0) if start is None else start
    if isinstance(x, Array | Lazy) and x.rank == 1:
        return _sum_in_order(total, x)
    if isinstance(x, Range) and not x.parallel:
        return frame.tracer.call(frame, Static(python_ranges.added_up), [x, total], {})
    items = x.items if isinstance(x, Tuple) else iteration.all_of(frame, x) if isinstance(x, Stream) else None
    if items is None:
        raise refuse(
            current_loc(),
            f"sum() of {describe_type(x)} is not supported",
            "use np.sum on arrays",
            kind=kinds.WRONG_TYPE,
        )
    for item in items:
        total = arrays.operate(frame, "+", total, item)
    return arrays.settled(frame, total)


_PYTHON_TYPES: dict[Type, type] = {f64: float, i64: int, i1: bool}


def python_type(v: AbstractValue) -> type:
    """The Python type of a value."""
    if isinstance(v, Static):
        return type(v.value)
    if isinstance(v, Ref):
        return v.cls.stands_for if issubclass(v.cls, Held) else v.cls
    if list_pools.is_row(v):
        return list
    if isinstance(v, Compound):
        return v.form.cls
    if isinstance(v, Scalar):
        return _PYTHON_TYPES[v.dtype] if v.weak else numpy_dtype(v.dtype).type
    for kind_, python in ((Array, np.ndarray), (Lazy, np.ndarray), (Range, range)):
        if isinstance(v, kind_):
            return python
    assert isinstance(v, Closure | Method)
    return type(python_type)


def asked_type(frame: Frame, v: AbstractValue) -> type:
    """The Python type of a value, which the program asks for."""
    frame.tracer.attempt.ask(v)
    return python_type(v)


def _type(frame: Frame, x: AbstractValue) -> AbstractValue:
    return Static(asked_type(frame, x))


def _isinstance(frame: Frame, x: AbstractValue, classes: AbstractValue) -> AbstractValue:
    wanted = (
        tuple(static_of(c, "a class") for c in classes.items)
        if isinstance(classes, Tuple)
        else static_of(classes, "a class")
    )
    return Static(frame.tracer.looks.counts_as(asked_type(frame, x), wanted))


def _tuple(frame: Frame, x: AbstractValue | None = None) -> AbstractValue:
    if x is None:
        return Tuple(())
    items = iteration.all_of(frame, x)
    if items is not None:
        return Tuple(tuple(items))
    if iteration.sequence(frame, x) is not None:
        return frame.tracer.call(frame, Static(python_collections.long_tuple), [x], {})
    raise refuse(current_loc(), f"tuple() of {describe_type(x)} is not supported", kind=kinds.WRONG_TYPE)


TABLE: dict[Any, Rule] = {
    abs: positional("abs", 1, _abs),
    round: _round,
    int: cast_rule("int", i64, True, int),
    float: cast_rule("float", f64, True, float),
    bool: cast_rule("bool", i1, True, bool),
    len: positional("len", 1, _len),
    range: _range(parallel=False),
    prange: _range(parallel=True),
    steps: _steps,
    revolve: _schedule(revolve),
    every: _schedule(every),
    checkpoint: positional("checkpoint", 1, rematerialised.checkpoint),
    stop_gradient: positional("stop_gradient", 1, _stop_gradient),
    pow: positional("pow", range(2, 4), _pow),
    divmod: positional("divmod", 2, _divmod),
    sum: positional("sum", range(1, 3), _sum),
    type: positional("type", 1, _type),
    str: positional("str", range(2), shown("s")),
    repr: positional("repr", 1, shown("r")),
    isinstance: positional("isinstance", 2, _isinstance),
    tuple: positional("tuple", range(2), _tuple),
}
