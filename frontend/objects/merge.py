"""Merging values from several paths: their common type, conversion to it, and trees taken apart into IR values and
built up again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce

import numpy as np

from adc.frontend import abstract
from adc.frontend.data.compounds import OneOf, compound, slice_object
from adc.frontend.data.described import (
    Maybe,
    Same,
    Span,
    bounds_of,
    describe,
    is_member,
    is_slice,
    key_of,
    opened,
    widen,
)
from adc.frontend.data.dims import common_dims
from adc.frontend.data.roots import Roots
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import (
    NONE,
    AbstractValue,
    Array,
    Compound,
    Range,
    Ref,
    Scalar,
    Static,
    Unbound,
    array,
    is_number,
    number_dtype,
)
from adc.frontend.errors import refuse
from adc.frontend.forms import COMPLEX, Form
from adc.frontend.numeric.convert import as_complex, as_scalar, convert, kind, limits
from adc.frontend.objects.alternatives import (
    MOST_NESTED,
    NONE_TYPE,
    Alternatives,
    alternatives,
    beside_none,
    is_bool,
    is_complex_type,
    is_function,
    nesting,
    of_one_class,
    options_of,
)
from adc.frontend.prelude.python_rows import PooledList
from adc.frontend.sites import OtherPools
from adc.ir import kinds, ops
from adc.ir.arith import const, const_index
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.diagnostics import AdcError
from adc.ir.types import ComplexType, IntType, MemRefType, Type, c64, c128, f16, f32, f64, i1, i64

_MOST_ALTERNATIVES = 128  # the characters of ASCII; code is made for each of them
_MOST_LENGTHS = 32  # of the texts among them: more are there only if they grow


class Clash(Exception):
    """Two values have no common type. ``help``: what to write instead, if that is known here."""

    def __init__(self, message: str = "", help: str = "") -> None:
        super().__init__(message)
        self.help = help


def join(a: abstract.Abstract, b: abstract.Abstract) -> abstract.Abstract:
    """A type to which values of both convert without a change of meaning. Raises ``Clash``."""
    if a == b:
        return a
    if is_slice(a) or is_slice(b):
        a, b = opened(a), opened(b)
    joined = _join_complex(a, b)
    if joined is not None:
        return joined
    if isinstance(a, Maybe) or isinstance(b, Maybe):
        return Maybe(join(a.item if isinstance(a, Maybe) else a, b.item if isinstance(b, Maybe) else b))
    first, second = alternatives(a), alternatives(b)
    if NONE_TYPE in first or NONE_TYPE in second:
        first, second = first or beside_none(a), second or beside_none(b)
    if first and second and not (is_bool(a) and is_bool(b)) and not of_one_class(a, b):
        return _join_alternatives(first, second)
    if isinstance(a, abstract.Tuple) and isinstance(b, abstract.Tuple):
        if a.form != b.form or len(a.items) != len(b.items):
            _bring_together(a.form, b.form)
            raise Clash(differing(a, b))
        return replace(a, items=tuple(join(x, y) for x, y in zip(a.items, b.items, strict=True)))
    if isinstance(a, Span) and isinstance(b, Span) and a.parallel == b.parallel:
        bounds = join(a.bounds, b.bounds)
        assert isinstance(bounds, abstract.Tuple)
        return Span(bounds, a.parallel)
    if isinstance(a, abstract.Array) and isinstance(b, abstract.Array):
        if a.element != b.element:
            raise Clash("the element types differ")
        if a.rank != b.rank:
            raise Clash("the numbers of dimensions differ")
        layouts = {a.layout, b.layout}
        layout: abstract.Layout = "any" if layouts & {"any", "F"} or not a.rank else "inner"
        return replace(a, layout=a.layout if len(layouts) == 1 else layout, dims=common_dims(a.dims, b.dims))
    x, y = _number(a), _number(b)
    if isinstance(x, abstract.Scalar) and isinstance(y, abstract.Scalar):
        return _join_scalars(a, x, b, y)
    raise Clash("they have no common type")


def _bring_together(a: Form, b: Form) -> None:
    """Have lists that meet be in one pool, if one of them is in a pool: the function is traced again."""
    first, second = (form.kind == "handle" and issubclass(form.cls, PooledList) for form in (a, b))
    if first and second:
        raise OtherPools(lambda pools: pools.unify(a.cls, b.cls), _apart())
    if (first and b.kind == "list") or (second and a.kind == "list"):
        raise OtherPools(lambda pools: pools.want_lists(pools.by_value), _apart())


def _apart() -> AdcError:
    message = "a list that was made outside cannot be kept together with lists that are made here"
    return refuse(current_loc(), message, "use a copy: rows.append(list(row))", kind=kinds.TYPE_DIFFERS)


def _join_complex(a: abstract.Abstract, b: abstract.Abstract) -> abstract.Abstract | None:
    """The type of two numbers, at least one of which is complex; None if neither is."""
    if not is_complex_type(a) and not is_complex_type(b):
        return None
    parts = [_part_of(x) for x in (a, b)]
    if None in parts:
        return None
    part = join(*parts)  # type: ignore[arg-type]
    assert isinstance(part, abstract.Scalar)
    part = part if part.type.is_float else replace(part, type=f64)
    return abstract.complex_number(np.complex64 if part.type == f32 else complex if part.weak else np.complex128)


def _part_of(a: abstract.Abstract) -> abstract.Abstract | None:
    """The type of a number's real part in a complex number; None if it is not a number. Known numbers stay known, if
    both parts are exact in float32."""
    if isinstance(a, abstract.Tuple) and a.form.kind == "complex":
        return a.items[0]
    if isinstance(a, abstract.Static) and type(a.value) in COMPLEX:
        if isinstance(a.value, np.generic):
            return abstract.Scalar(f32 if isinstance(a.value, np.complex64) else f64, weak=False)
        exact = _fits(a.value.imag, f32)
        return abstract.Static(a.value.real) if exact else abstract.Scalar(f64)
    number = _number(a)
    if not isinstance(number, abstract.Scalar):
        return None
    if isinstance(a, abstract.Static) and not is_member(a):
        return abstract.Static(float(a.value)) if number.weak else number
    return number


def _number(a: abstract.Abstract) -> abstract.Abstract:
    """``a`` as a run-time number, if it is a number: also a member of an enum, or one of several, that is a number."""
    if isinstance(a, abstract.Static) and is_number(a.value):
        return abstract.Scalar(*number_dtype(a.value))
    if isinstance(a, abstract.Tuple) and a.form.kind == "choice" and all(map(is_member, a.items[1:])):
        return reduce(join, map(_number, a.items[1:]))
    return a


def _join_alternatives(first: Alternatives, second: Alternatives) -> abstract.Abstract:
    found = dict(first)
    for key, a in second.items():
        found[key] = _join_items(found[key], a) if key in found else a
    if any(isinstance(a, abstract.Scalar) for a in found.values()) and any(map(is_bool, found.values())):
        raise Clash("a constant bool beside None is not a number")
    if len(found) == 1:
        return next(iter(found.values()))
    texts = [a.value for a in found.values() if isinstance(a, abstract.Static) and isinstance(a.value, str)]
    if len(found) > _MOST_ALTERNATIVES or len(set(map(len, texts))) > _MOST_LENGTHS:
        help = "keep numbers, or its parts in a list: a text that grows in a loop is another one in each iteration"
        raise Clash("it may be one of too many values that are known when the function is compiled", help)
    result = abstract.Tuple((abstract.Scalar(i64), *found.values()), Form("choice", object, tuple(found)))
    if nesting(result) > MOST_NESTED:
        raise Clash(
            "they are made of one another, to a depth that is not known when the function is compiled"
        )
    return result


def _join_items(a: abstract.Abstract, b: abstract.Abstract) -> abstract.Abstract:
    """The common type of two alternatives with one key: constants, or functions with different bound values."""
    if isinstance(a, abstract.Tuple) and isinstance(b, abstract.Tuple):
        return replace(a, items=tuple(join(x, y) for x, y in zip(a.items, b.items, strict=True)))
    return join(a, b) if isinstance(a, abstract.Scalar | abstract.Array) else a


def differing(a: abstract.Abstract, b: abstract.Abstract) -> str:
    """The reason why two containers have no common type."""
    if not isinstance(a, abstract.Tuple) or not isinstance(b, abstract.Tuple):
        return "they have no common type"
    if is_function(a) and is_function(b):
        return "they are different functions, and one uses what cannot be handed on, such as a method of an array"
    if a.form.cls is not b.form.cls:
        return f"they are of the classes {a.form} and {b.form}"
    if a.form.kind == "text":
        return "they are made of different texts"
    if a.form.names != b.form.names and a.form.kind != "list":
        return f"they do not have the same {'keys' if a.form.kind == 'dict' else 'attributes'}"
    return f"they have {len(a.items)} and {len(b.items)} items"


def _join_scalars(
    a: abstract.Abstract, x: abstract.Scalar, b: abstract.Abstract, y: abstract.Scalar
) -> abstract.Scalar:
    if x.type == y.type:
        return abstract.Scalar(x.type, x.weak and y.weak)
    for narrow, other, wide in ((x, b, y), (y, a, x)):
        if is_narrow(narrow.type) and (kind(wide.type) >= kind(narrow.type) or narrow.type in (f16, f32)):
            # A literal such as 0.0 before a loop over float32 becomes float32, as when the two are first combined.
            if isinstance(other, abstract.Static) and _fits(other.value, narrow.type):
                return narrow
            if kind(wide.type) >= 1 and not (kind(narrow.type) == 1 and kind(wide.type) == 2):
                raise Clash("adc does not convert between them by itself")
    dtype = x.type if kind(x.type) > kind(y.type) else y.type
    return abstract.Scalar(dtype, x.weak and y.weak)


def _fits(value: float, dtype: Type) -> bool:
    if dtype in (f16, f32):
        with np.errstate(over="ignore"):
            return float((np.float32 if dtype == f32 else np.float16)(value)) == value
    least, most = limits(dtype)
    return isinstance(value, int | np.integer) and least <= value <= most


def is_narrow(t: Type) -> bool:
    """Whether Python has no number of this type: combined with it, it matters whether a number is Python's or
    NumPy's."""
    return t in (f16, f32) or (isinstance(t, IntType) and t not in (i1, i64))


def coerce(v: AbstractValue, to: abstract.Abstract) -> AbstractValue:
    """``v`` converted, at the insertion point, to a type from ``join``."""
    if isinstance(to, Same):
        return v if isinstance(v, Ref) else NONE  # it is not carried: ``rebuild`` has it
    if isinstance(to, abstract.Scalar):
        if isinstance(v, OneOf):
            return _number_of(v, to)
        s = as_scalar(v)
        return Scalar(convert(s, to.type), to.type, to.weak)
    if isinstance(to, abstract.Array):
        assert isinstance(v, Array)
        wanted = abstract.memref_type(to)
        return v if v.type == wanted else replace(v, memref=ops.cast(v.memref, type=wanted))
    if isinstance(to, abstract.Tuple) and to.form.kind == "choice":
        return _chosen(v, to)
    if isinstance(to, abstract.Tuple) and to.form.kind == "complex":
        return as_complex(v, c64 if to.form.cls is np.complex64 else c128, weak=to.form.cls is complex)
    if isinstance(to, abstract.Tuple):
        v = slice_object(v) or v
        assert isinstance(v, Compound)
        return v.of(coerce(item, t) for item, t in zip(v.items, to.items, strict=True))
    if isinstance(to, Span):
        assert isinstance(v, Range)
        start, stop, step = (coerce(item, t) for item, t in zip(bounds_of(v), to.bounds.items, strict=True))
        return Range(start, stop, step, to.parallel)
    if isinstance(to, Maybe):
        if isinstance(v, Unbound):
            return Unbound(v.flag, coerce(v.value, to.item))
        return Unbound(const(True, i1), coerce(v, to.item))
    return v


def _chosen(v: AbstractValue, to: abstract.Tuple) -> OneOf:
    """A constant or function, or one of several, as one of the alternatives of ``to``. If it is not among these, the
    value is undefined."""
    given = options_of(v)
    if not given.keys() & set(to.form.names):
        if isinstance(v, Static) and slice_object(v) is None:
            given = {key_of(widen(describe(v))): v}  # a known number, where others are run-time values
        else:
            given = options_of(slice_object(v) or v)  # a constant slice, joined with others
    options = [coerce(given[key], t) if key in given else undefined(t) for key, t in alternatives(to).items()]
    places = [to.form.names.index(name) if name in to.form.names else 0 for name in given]
    position = const_index(places[0])
    if isinstance(v, OneOf):
        for k, place in enumerate(places[1:], 1):
            here = ops.cmpi(v.position, const_index(k), predicate="eq")
            position = ops.select(here, const_index(place), position)
        if places == list(range(len(places))):
            position = v.position
    return OneOf((Scalar(position, i64), *options), to.form)


def _number_of(v: OneOf, to: abstract.Scalar) -> Scalar:
    """The number of a choice between members of enums."""
    first, *others = (coerce(option, to) for option in v.options)
    assert isinstance(first, Scalar)
    value = first.value
    for k, other in enumerate(others, 1):
        assert isinstance(other, Scalar)
        value = ops.select(ops.cmpi(v.position, const_index(k), predicate="eq"), other.value, value)
    return Scalar(value, to.type, to.weak)


def unset(to: abstract.Abstract) -> Unbound:
    """An unset variable of type ``to``: zeros, which are never read but may be converted, and no memory."""
    return Unbound(const(False, i1), undefined(to.item if isinstance(to, Maybe) else to))


def undefined(a: abstract.Abstract) -> AbstractValue:
    """A value of type ``a`` that is never read."""
    empty = [ops.undef(type=t) if isinstance(t, MemRefType) else const(0, t) for t in types(a)]
    return rebuild(a, iter(empty), lambda k: frozenset())


def types(a: abstract.Abstract) -> list[Type]:
    """The IR types of a value of ``a`` that is taken apart."""
    if isinstance(a, abstract.Scalar):
        return [abstract.value_type(a.type)]
    if isinstance(a, abstract.Array):
        return [abstract.memref_type(a)]
    if isinstance(a, abstract.Tuple):
        return [t for item in a.items for t in types(item)]
    if isinstance(a, Span):
        return types(a.bounds)
    if isinstance(a, Maybe):
        return [i1, *types(a.item)]
    return []


def flatten(v: AbstractValue) -> list[Value]:
    """The IR values of a tree in order."""
    if isinstance(v, Scalar):
        return [v.value]
    if isinstance(v, Array):
        return [v.memref]
    if isinstance(v, Compound):
        return [x for item in v.items for x in flatten(item)]
    if isinstance(v, Range):
        return [x for item in bounds_of(v) for x in flatten(item)]
    if isinstance(v, Unbound):
        return [v.flag, *flatten(v.value)]
    return []


def arrays(v: AbstractValue) -> list[Array]:
    """The arrays of a tree in order."""
    if isinstance(v, Array):
        return [v]
    if isinstance(v, Compound):
        return [x for item in v.items for x in arrays(item)]
    if isinstance(v, Unbound):
        return arrays(v.value)
    return []


def rebuild(a: abstract.Abstract, values: Iterator[Value], roots: Callable[[int], Roots]) -> AbstractValue:
    """The tree of type ``a`` from its IR values; ``roots(k)`` are those of its ``k``-th array."""
    counter = iter(range(10**9))

    def make(a: abstract.Abstract) -> AbstractValue:
        if isinstance(a, abstract.Scalar):
            return Scalar(next(values), a.type, a.weak)
        if isinstance(a, abstract.Array):
            return array(next(values), roots(next(counter)), a.dims, pairs=isinstance(a.element, ComplexType))
        if isinstance(a, abstract.Tuple):
            return compound(a.form, tuple(make(item) for item in a.items))
        if isinstance(a, Span):
            start, stop, step = (make(item) for item in a.bounds.items)
            return Range(start, stop, step, a.parallel)
        if isinstance(a, Maybe):
            return Unbound(next(values), make(a.item))
        if isinstance(a, Same):
            return a.value
        assert isinstance(a, abstract.Static)
        return Static(a.value)

    return make(a)


def array_count(a: abstract.Abstract) -> int:
    """The number of arrays in values of type ``a``."""
    if isinstance(a, Maybe):
        return array_count(a.item)
    if isinstance(a, abstract.Tuple):
        return sum(map(array_count, a.items))
    return int(isinstance(a, abstract.Array))


def clash_message(name: str, a: AbstractValue, b: AbstractValue, reason: Clash) -> str:
    first, second = (describe_type(v.value if isinstance(v, Unbound) else v) for v in (a, b))
    return f"{name} is {first} on one path and {second} on another: {reason}"
