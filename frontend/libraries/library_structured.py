"""NumPy's functions that create arrays, for dtypes with fields and for structured arrays as arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend.arrays import structured
from adc.frontend.containers import sequences
from adc.frontend.data.compounds import Structured
from adc.frontend.data.dims import Dim
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Ref, Static, Tuple
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries import library_arrays
from adc.frontend.libraries.creation import shape_argument
from adc.frontend.libraries.rules import Rule, no_keywords
from adc.frontend.numeric.slices import Item
from adc.frontend.objects import growing, heap, rows
from adc.ir import kinds
from adc.ir.builder import current_loc

Args = Sequence[AbstractValue]
Keywords = Mapping[str, AbstractValue]


def _dtype(frame: Frame, v: AbstractValue | None) -> np.dtype[Any] | None:
    """The dtype with fields that an argument stands for, or None."""
    try:
        found = np.dtype(_constant(frame, v))
    except TypeError:
        return None
    return found if found.names is not None else None


def _constant(frame: Frame, v: AbstractValue | None) -> Any:
    if v is None:
        return None
    held = sequences.snapshot(frame, v)
    if isinstance(held, Tuple):
        return (list if held.form.kind == "list" else tuple)(_constant(frame, item) for item in held.items)
    return held.value if isinstance(held, Static) else None


def _argument(args: Args, kwargs: Keywords, name: str, position: int) -> AbstractValue | None:
    return args[position] if position < len(args) else kwargs.get(name)


def _filled(function: Any, number: int | None) -> Rule:
    plain = library_arrays.TABLE[function]

    def rule(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
        dtype = _dtype(frame, _argument(args, kwargs, "dtype", 1))
        shape = _argument(args, kwargs, "shape", 0)
        if dtype is None or shape is None:
            return plain(frame, args, kwargs)
        no_keywords(f"np.{function.__name__}", {k: v for k, v in kwargs.items() if k not in ("dtype", "shape")})
        return _made(frame, shape_argument(shape), dtype, number)

    return rule


def _made(frame: Frame, dims: Sequence[Dim], dtype: np.dtype[Any], number: int | None) -> Structured:
    made = structured.new(frame, dims, dtype)
    if number is not None:
        structured.store_all(frame, made, Static(number))
    return made


def _like(function: Any, number: int | None) -> Rule:
    plain = library_arrays.TABLE[function]

    def rule(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
        model = _argument(args, kwargs, "a", 0) or _argument(args, kwargs, "prototype", 0)
        if not isinstance(model, Structured) or len(args) + len(kwargs) > 1:
            return plain(frame, args, kwargs)
        return _made(frame, model.dims, model.form.dtype, number)

    return rule


def _copy(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    if len(args) == 1 and not kwargs and isinstance(args[0], Structured):
        return structured.copy(frame, args[0])
    return library_arrays.TABLE[np.copy](frame, args, kwargs)


def _array(function: Any, copies: bool) -> Rule:
    plain = library_arrays.TABLE[function]

    def rule(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
        given = _argument(args, kwargs, "object" if copies else "a", 0)
        dtype = _dtype(frame, _argument(args, kwargs, "dtype", 1))
        if isinstance(given, Structured) and dtype in (None, given.form.dtype):
            return structured.copy(frame, given) if copies else given
        if dtype is None or given is None:
            return plain(frame, args, kwargs)
        return _of_rows(frame, given, dtype, f"np.{function.__name__}")

    return rule


def _of_rows(frame: Frame, given: AbstractValue, dtype: np.dtype[Any], name: str) -> AbstractValue:
    """The structured array of a list of tuples, one for each element; or of one tuple."""
    if rows.grows(frame, given):
        assert isinstance(given, Ref)
        columns = growing.windows(heap.contents(frame, given))
        made = structured.new(frame, columns[0].dims if columns else [0], dtype)
        structured.store_all(frame, made, Tuple(tuple(columns)))
        return made
    found = sequences.snapshot(frame, given)
    if not isinstance(found, Tuple):
        message = f"{name}() of {describe_type(given)} with a dtype that has fields is not supported"
        help = "pass a list of tuples; or make np.zeros(n, dtype), and store to its fields"
        raise refuse(current_loc(), message, help, kind=kinds.WRONG_TYPE)
    if found.form.kind != "list":
        made = structured.new(frame, [], dtype)
        structured.store_all(frame, made, found)
        return made
    made = structured.new(frame, [len(found.items)], dtype)
    for k, row in enumerate(found.items):
        structured.store(frame, made, [Item(current_loc(), Static(k))], row)
    return made


TABLE: dict[Any, Rule] = {
    np.zeros: _filled(np.zeros, 0),
    np.ones: _filled(np.ones, 1),
    np.empty: _filled(np.empty, None),
    np.zeros_like: _like(np.zeros_like, 0),
    np.ones_like: _like(np.ones_like, 1),
    np.empty_like: _like(np.empty_like, None),
    np.copy: _copy,
    np.array: _array(np.array, copies=True),
    np.asarray: _array(np.asarray, copies=False),
    np.asanyarray: _array(np.asanyarray, copies=False),
}
