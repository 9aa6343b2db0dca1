"""Passing values to a callee: they are bound to parameters, described, taken apart into operands, and put together
again."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adc.frontend import abstract
from adc.frontend.closures import capture
from adc.frontend.containers import sequences
from adc.frontend.data.callables import Closure, Code, passed
from adc.frontend.data.compounds import Contents, SliceObject, compound
from adc.frontend.data.dims import ArgumentDim, Dim, ToldDim, dim_in_call, is_one, representative, static_dim
from adc.frontend.data.roots import overlap, protection
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import (
    AbstractValue,
    Array,
    Compound,
    Method,
    Range,
    Ref,
    Scalar,
    Static,
    Tuple,
    is_complex,
    is_static_number,
)
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.rules import static_of
from adc.frontend.numeric.convert import as_number, as_scalar
from adc.frontend.suggestions import for_name
from adc.frontend.syntax.bindings import Function
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import index


def bind(
    frame: Frame,
    node: Function,
    name: str,
    args: Sequence[AbstractValue],
    kwargs: Mapping[str, AbstractValue],
    defaults: Mapping[str, Callable[[], AbstractValue]],
) -> dict[str, AbstractValue]:
    """Arguments by parameter name, as Python binds them."""
    a = node.args
    positional = [p.arg for p in (*a.posonlyargs, *a.args)]
    keyword = [p.arg for p in (*a.args, *a.kwonlyargs)]
    if len(args) > len(positional) and a.vararg is None:
        raise refuse(
            current_loc(),
            f"{name}() takes {len(positional)} positional arguments but {len(args)} were given",
            kind=kinds.WRONG_CALL,
        )
    bound = dict(zip(positional, args, strict=False))
    others: dict[object, AbstractValue] = {}
    for key, value in kwargs.items():
        if key not in keyword:
            if a.kwarg is None:
                suggestion = for_name(key, keyword)
                raise refuse(current_loc(), f"{name}() has no parameter '{key}'", suggestion, kind=kinds.WRONG_CALL)
            others[key] = value
        elif key in bound:
            raise refuse(current_loc(), f"{name}() got two values for '{key}'", kind=kinds.WRONG_CALL)
        else:
            bound[key] = value
    ordered: dict[str, AbstractValue] = {}
    for parameter in (*positional, *(p.arg for p in a.kwonlyargs)):
        if parameter not in bound and parameter not in defaults:
            raise refuse(current_loc(), f"{name}() is missing the argument '{parameter}'", kind=kinds.WRONG_CALL)
        ordered[parameter] = bound[parameter] if parameter in bound else defaults[parameter]()
    if a.vararg is not None:
        ordered[a.vararg.arg] = Tuple(tuple(args[len(positional) :]))
    if a.kwarg is not None:
        ordered[a.kwarg.arg] = sequences.plain_dict(frame, others)
    return ordered


def prepare(v: AbstractValue) -> AbstractValue:
    """An argument as it is passed: numbers as run-time values (bools stay known), closures with their captured values.

    Array expressions have been computed before.
    """
    if is_static_number(v) and not isinstance(v.value, bool | enum.Enum):  # type: ignore[attr-defined]
        return as_scalar(v)
    if is_complex(v):
        return as_number(v)
    if isinstance(v, SliceObject):
        return v  # its known parts stay known
    if isinstance(v, Closure):
        v = capture(v)
    elif isinstance(v, Method):
        v = passed(v)
    if isinstance(v, Compound):
        return v.of(prepare(item) for item in v.items)
    if isinstance(v, Scalar | Array | Static | Range | Ref):
        return v
    raise refuse(current_loc(), f"{describe_type(v)} cannot be passed to a function", kind=kinds.UNSUPPORTED_VALUE)


def as_passed(name: str, v: AbstractValue, constants: set[str]) -> AbstractValue:
    """An argument as it is passed. The callee needs to know the values of those in ``constants``."""
    if name in constants:
        return _constant(v)
    if isinstance(v, Closure) and not constants.isdisjoint(v.code.captured):
        known = v.code.captured
        first = len(v.items) - len(known)
        items = [as_passed(n, item, constants) for n, item in zip(known, v.items[first:], strict=True)]
        return v.of([*map(prepare, v.items[:first]), *items])
    return prepare(v)


def _constant(v: AbstractValue) -> AbstractValue:
    """An argument whose value the callee needs to know: the number itself."""
    if isinstance(v, Contents) and v.form.grows:
        return prepare(v)
    if isinstance(v, Compound):
        return v.of(_constant(item) for item in v.items)
    if isinstance(v, Ref):
        return v
    return Static(static_of(v, "this argument"))


def describe_arguments(values: Sequence[AbstractValue], extents: bool = False) -> tuple[abstract.Abstract, ...]:
    """Abstract types of prepared arguments; arrays that may overlap get a common alias number. ``extents``: the callee
    is told those that are known."""
    numbers = _alias_numbers([a for v in values for a in arrays_of(v)])
    position = iter(range(10**9))

    def of(v: AbstractValue) -> abstract.Abstract:
        if isinstance(v, Scalar):
            return abstract.Scalar(v.dtype, v.weak)
        if isinstance(v, Array):
            alias = numbers[next(position)]
            ones = tuple(map(is_one, v.dims))
            known = tuple(map(static_dim, map(representative, v.dims))) if extents else ()
            told = known if any(n is not None for n in known) else ()
            return abstract.Array(v.dtype, v.rank, v.layout, alias, not protection(v.roots), ones, told)
        if isinstance(v, Compound):
            return abstract.Tuple(tuple(of(item) for item in v.items), v.form)
        if isinstance(v, Range):
            return abstract.Tuple((abstract.Static(range), of(v.start), of(v.stop), of(v.step)))
        assert isinstance(v, Static)
        return abstract.Static(v.value)

    return tuple(of(v) for v in values)


def _alias_numbers(arrays: Sequence[Array]) -> list[int | None]:
    """Arrays that may overlap, directly or through others, share a number."""
    group = list(range(len(arrays)))
    for k, a in enumerate(arrays):
        for m in range(k):
            if group[m] != group[k] and overlap(a.roots, arrays[m].roots):
                old, new = group[k], group[m]
                group = [new if g == old else g for g in group]
    order: dict[int, int] = {}
    for g in group:
        if group.count(g) > 1:
            order.setdefault(g, len(order))
    return [order.get(g) for g in group]


def arrays_of(v: AbstractValue) -> list[Array]:
    """The arrays of a prepared argument, in order."""
    return [x for x in leaves_of(v) if isinstance(x, Array)]


def leaves_of(v: AbstractValue) -> list[Scalar | Array]:
    """The run-time leaves of a prepared argument, in order."""
    if isinstance(v, Scalar | Array):
        return [v]
    parts: Sequence[AbstractValue] = ()
    if isinstance(v, Compound):
        parts = v.items
    elif isinstance(v, Range):
        parts = (v.start, v.stop, v.step)
    return [x for part in parts for x in leaves_of(part)]


def operands_of(v: AbstractValue) -> list[Value]:
    return [x.value if isinstance(x, Scalar) else x.memref for x in leaves_of(v)]


def passed_dim(leaves: Sequence[Scalar | Array], told: Any) -> Any:
    """An extent of the result of a call, given the arguments."""

    def argument(a: ArgumentDim) -> Dim | None:
        leaf = leaves[a.position]
        if isinstance(leaf, Array):
            return None if a.axis is None else leaf.dims[a.axis]
        return leaf.value if a.axis is None and leaf.value.type == index else None

    return dim_in_call(told, argument) if isinstance(told, ToldDim) else None


def receive(a: abstract.Abstract, name: str, leaf: Callable[[abstract.Abstract, str], AbstractValue]) -> AbstractValue:
    """The value of type ``a`` inside the callee; ``leaf`` adds an argument for a scalar or an array."""
    if isinstance(a, abstract.Static):
        return Static(a.value)
    if isinstance(a, abstract.Tuple):
        first = a.items[0] if a.items else None
        labels = [f"{name}.{k}" for k in range(len(a.items))]
        if isinstance(code := a.form.names[0] if a.form.kind == "function" else None, Code):
            labels[code.defaults + len(code.keywords) :] = code.captured
        items = [receive(item, label, leaf) for item, label in zip(a.items, labels, strict=True)]
        if a.form.grows and isinstance(items[0], Scalar):  # it is no constant for the function: items may be added
            items[0].value.pin = None
        if isinstance(first, abstract.Static) and first.value is range and len(items) == 4:
            return Range(items[1], items[2], items[3])
        return compound(a.form, tuple(items))
    return leaf(a, name)
