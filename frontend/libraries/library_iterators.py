"""Functions of Python's and NumPy's that return the items of any iterable, or sort them."""

from __future__ import annotations

import bisect
import builtins
import functools
import heapq
import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from adc.frontend import iteration
from adc.frontend.arrays import arrays, subscripts
from adc.frontend.containers import records, sequences
from adc.frontend.control.branches import trace
from adc.frontend.data.compounds import Handle
from adc.frontend.data.described import describe
from adc.frontend.data.dims import Dim, count_of, dim_value, static_dim, unravelled
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Lazy, Range, Ref, Scalar, Static, Stream, Tuple, is_array
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame, discard
from adc.frontend.item_effects import unchanged_meanwhile
from adc.frontend.iteration import Indexed, Items, Known
from adc.frontend.libraries.creation import need_array, shape_argument
from adc.frontend.libraries.library_containers import _list, stored
from adc.frontend.libraries.rules import Rule, need_numbers, no_keywords, positional, static_of, take
from adc.frontend.numeric import scalars
from adc.frontend.numeric.convert import as_scalar, load_scalar, unboxed
from adc.frontend.numeric.slices import Item
from adc.frontend.objects import rows
from adc.frontend.objects.joining import narrow_values
from adc.frontend.objects.merge import Clash, coerce, join
from adc.frontend.prelude import python_functions, python_heaps, python_operators
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import i64


def _map(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    no_keywords("map", kwargs)
    if len(args) < 2:
        raise refuse(current_loc(), "map() takes a function and what to call it for", kind=kinds.WRONG_CALL)
    rows = iteration.zipped(frame, args[1:]).items
    return called_for(frame, "map", args[0], rows, iteration.is_ahead(args[1:]))


def called_for(frame: Frame, name: str, function: AbstractValue, rows: Items, ahead: bool) -> Stream:
    """The results of a function for each row of arguments: it is called when an item is asked for."""

    def call(row: AbstractValue) -> AbstractValue:
        given = iteration.all_of(frame, row)
        if given is None:
            raise sequences.not_known(row, current_loc(), "write a for statement")
        through = f"what {name}() goes through"
        with unchanged_meanwhile(frame, "", current_loc(), through) if ahead else nullcontext():
            return arrays.settled(frame, frame.tracer.call(frame, function, given, {}))

    def unrolled(of: Known) -> Known:
        return Known(of.count, lambda k: call(of.item(k)), of.limits)

    if isinstance(rows, Known):
        return Stream(name, unrolled(rows), ahead)
    known = unrolled(rows.known) if rows.known else None
    return Stream(name, Indexed(rows.length, lambda k: call(rows.item(k)), known), ahead)


def _filter(frame: Frame, keep: AbstractValue, x: AbstractValue) -> AbstractValue:
    kept = frame.tracer.call(frame, Static(python_functions.kept), [keep, stored(frame, x)], {})
    found = iteration.sequence(frame, kept)
    return Stream("filter", found, ahead=True)


def by_program(program: Callable[..., Any]) -> Rule:
    """The rule for a function on iterables that is a program of the prelude."""

    def rule(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
        return frame.tracer.call(frame, Static(program), [stored(frame, a) for a in args], kwargs)

    return rule


def _sorted(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    """``sorted(x, key=..., reverse=...)``: computed while tracing if known values decide, as for the keys of a dict."""
    found = sequences.known_items(frame, args[0]) if len(args) == 1 and not isinstance(args[0], Range) else None
    ranks = _known_ranks(frame, found, kwargs.get("key")) if found and not kwargs.keys() - {"key", "reverse"} else None
    if ranks is None or found is None:
        plain = kwargs.get("key", Static(None))
        compared = isinstance(plain, Static) and plain.value is None and len(args) == 1 and _are_objects(frame, args)
        program = python_functions.sorted_objects if compared else python_functions.sorted_list
        return by_program(program)(frame, args, kwargs)
    falling = bool(static_of(kwargs.get("reverse", Static(False)), "'reverse'"))
    try:
        order = sorted(range(len(ranks)), key=ranks.__getitem__, reverse=falling)
    except TypeError as error:
        raise refuse(current_loc(), f"TypeError: {error}", kind=kinds.WRONG_TYPE) from None
    return sequences.new_list(frame, [found[k] for k in order])


def _known_ranks(
    frame: Frame, items: Sequence[AbstractValue], key: AbstractValue | None
) -> list[tuple[object, ...]] | None:
    """Sort keys of known items: the known part of each, as far as that distinguishes them. What the calls of ``key``
    do besides, or raise, is done if there are such keys."""
    if key is None or (isinstance(key, Static) and key.value is None):
        return _distinguishing(items)
    if not all(_prefix(item)[0] for item in items):
        return None
    called = trace(frame, lambda: Tuple(tuple(frame.tracer.call(frame, key, [item], {}) for item in items)))
    found = _distinguishing(called.result.items) if isinstance(called.result, Tuple) else None
    if found is None:
        discard(called.block)
    else:
        called.splice()
        frame.env = called.env
    return found


def _distinguishing(ranks: Sequence[AbstractValue]) -> list[tuple[object, ...]] | None:
    """The known part of each of these, as far as that distinguishes them."""
    prefixes = [_prefix(v) for v in ranks]
    if all(whole for _, whole in prefixes):
        return [p for p, _ in prefixes]
    least = min(len(p) for p, _ in prefixes)
    shortest = [p[:least] for p, _ in prefixes]
    return shortest if all(p not in shortest[:k] for k, p in enumerate(shortest)) else None


def _prefix(v: AbstractValue) -> tuple[tuple[object, ...], bool]:
    """The known prefix of a value, and whether it is the whole value."""
    if isinstance(v, Static):
        return (v.value,), True
    found: list[object] = []
    for item in v.items if isinstance(v, Tuple) else ():
        part, whole = _prefix(item)
        if not whole:
            break
        found.append(part if isinstance(item, Tuple) else part[0])
    else:
        return tuple(found), isinstance(v, Tuple)
    return tuple(found), False


def _extremum(name: str, symbol: str) -> Rule:
    """``min`` and ``max`` of numbers, with Python's comparisons: whether a NaN is the result depends on its
    position."""

    program = {"min": python_functions.least, "max": python_functions.greatest}[name]

    def rule(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
        if not args or (len(args) > 1 and "default" in kwargs):
            wrong = python_functions.called_without_items if not args else python_functions.called_with_default
            return frame.tracer.call(frame, Static(wrong), [Static(name)], {})
        alone = args[0] if len(args) == 1 else None
        if kwargs or isinstance(alone, Range) or _is_row(alone) or _are_objects(frame, args):
            found = args[0] if len(args) == 1 else Tuple(tuple(args))
            return frame.tracer.call(frame, Static(program), [stored(frame, found)], kwargs)
        several = args if len(args) > 1 else sequences.known_items(frame, args[0]) or ()
        if several and all(isinstance(item, Tuple) for item in several):
            first, *others = several
            one = Static(python_operators.greater if name == "max" else python_operators.lesser)
            return functools.reduce(lambda best, item: frame.tracer.call(frame, one, [item, best], {}), others, first)
        items = [sequences.snapshot(frame, a) for a in args]
        if len(items) > 1:
            items = [unboxed(v) for v in items]
        else:
            if is_array(items[0]):
                raise refuse(
                    current_loc(), f"{name}() of an array is not supported", f"use np.{name}(x)", kind=kinds.WRONG_TYPE
                )
            if not isinstance(items[0], Tuple):
                raise refuse(
                    current_loc(),
                    f"{name}() takes numbers or a tuple, not {describe_type(items[0])}",
                    kind=kinds.WRONG_TYPE,
                )
            items = list(items[0].items)
        if not items:
            raise refuse(current_loc(), f"{name}() of nothing", kind=kinds.INVALID_VALUE)
        need_numbers(name, items, f"use np.{name}imum on arrays")
        best = items[0]
        for item in items[1:]:
            best = _choose(frame, scalars.binary(symbol, item, best), item, best)
        return best

    return rule


def _is_row(v: AbstractValue | None) -> bool:
    return isinstance(v, Array | Lazy) and v.rank == 1


def _are_objects(frame: Frame, args: Sequence[AbstractValue]) -> bool:
    """Whether the items are objects, which a method of theirs compares."""
    items: Sequence[AbstractValue] = args if len(args) > 1 else sequences.known_items(frame, args[0]) or ()
    if rows.grows(frame, args[0]):
        return rows.of_objects(frame, args[0])
    return bool(items) and all(isinstance(item, Ref | Handle) and records.is_instance(item) for item in items)


def _choose(frame: Frame, condition: AbstractValue, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    known = scalars.truth(condition)
    if isinstance(known, bool):
        return a if known else b
    try:
        spec = join(describe(a), describe(b))
    except Clash as clash:
        narrow_values(frame, a, b)
        message = f"{describe_type(a)} and {describe_type(b)} cannot be chosen between: {clash}"
        raise refuse(current_loc(), message, "convert one of the two", kind=kinds.WRONG_TYPE) from None
    x, y = coerce(as_scalar(a), spec), coerce(as_scalar(b), spec)
    assert isinstance(x, Scalar) and isinstance(y, Scalar)
    return Scalar(ops.select(known, x.value, y.value), x.dtype, x.weak)


# Subscripts -----------------------------------------------------------------------------------------------------------


def _ndindex(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    no_keywords("np.ndindex", kwargs)
    dims = shape_argument(args[0] if len(args) == 1 else Tuple(tuple(args)))

    def item(k: Value) -> AbstractValue:
        return Tuple(tuple(Scalar(i, i64) for i in unravelled(k, dims)))

    return Stream("np.ndindex", Indexed(count_of(dims), item))


def _ndenumerate(frame: Frame, x: AbstractValue) -> AbstractValue:
    a = arrays.settled(frame, need_array("np.ndenumerate", x))
    assert isinstance(a, Array)

    def item(k: Value) -> AbstractValue:
        places = unravelled(k, a.dims)
        return Tuple((Tuple(tuple(Scalar(i, i64) for i in places)), load_scalar(a.memref, places, a.dtype)))

    return Stream("np.ndenumerate", Indexed(count_of(a.dims), item))


def _unstack(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    if len(args) > 1:
        raise refuse(current_loc(), "np.unstack() takes the axis by its name", "write axis=1", kind=kinds.WRONG_CALL)
    given = dict(kwargs)
    axis = given.pop("axis", Static(0))
    x, *_ = take("np.unstack", ("x",), args, given)
    a = arrays.settled(frame, need_array("np.unstack", x))
    if not isinstance(a, Array) or not a.rank:
        raise refuse(current_loc(), "np.unstack() takes an array of one dimension at least", kind=kinds.WRONG_TYPE)
    moved = frame.tracer.call(frame, Static(np.moveaxis), [a, axis, Static(0)], {})
    assert isinstance(moved, Array)
    count = static_dim(moved.dims[0])
    if count is not None:
        return Tuple(tuple(iteration.element(moved, const_index(k)) for k in range(count)))
    return Stream("np.unstack", Indexed(moved.dims[0], lambda k: iteration.element(moved, k)))


# Combinations ---------------------------------------------------------------------------------------------------------


def _product(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    given = dict(kwargs)
    times = static_of(given.pop("repeat", Static(1)), "'repeat'")
    no_keywords("itertools.product", given)
    parts = [_part(frame, "itertools.product", a) for a in args] * times
    known = [p.all() for p in parts]
    unrolled: Known | None = None
    if all(items is not None for items in known):
        rows = list(itertools.product(*(items for items in known if items is not None)))
        unrolled = iteration.known([Tuple(row) for row in rows])
        if not parts or not all(isinstance(p, Indexed) for p in parts):
            return Stream("itertools.product", unrolled)
    dims = [_length(p) for p in parts]

    def item(k: Value) -> AbstractValue:
        return Tuple(tuple(_at(p, i) for p, i in zip(parts, unravelled(k, dims), strict=True)))

    return Stream("itertools.product", Indexed(count_of(dims), item, unrolled))


def _part(frame: Frame, name: str, v: AbstractValue) -> Indexed | Known:
    if isinstance(v, Stream):
        v = _list(frame, v)
    return iteration.need(frame, v, name)


def _length(p: Indexed | Known) -> Dim:
    return p.length if isinstance(p, Indexed) else p.count


def _at(p: Indexed | Known, k: Value) -> AbstractValue:
    if isinstance(p, Indexed):
        return p.item(k)
    raise refuse(
        current_loc(),
        "itertools of items that are known, beside others whose number depends on the run, is not supported",
        "write nested for statements",
        kind=kinds.NOT_ITERABLE,
    )


def _combinations(name: str, offset: int, function: Any) -> Rule:
    def rule(frame: Frame, x: AbstractValue, r: AbstractValue) -> AbstractValue:
        part, size = _part(frame, name, x), static_of(r, "how many are taken together")
        known = part.all()
        if known is not None:
            return Stream(name, iteration.known([Tuple(row) for row in function(known, size)]))
        if size != 2 or offset is None or isinstance(part, Known):
            message = f"{name}() of a number of items that depends on the run takes two of them together"
            raise refuse(current_loc(), message, "write nested for statements", kind=kinds.NOT_CONSTANT)
        n = Scalar(dim_value(part.length), i64)
        places = frame.tracer.call(frame, Static(np.triu_indices), [n, Static(offset)], {})
        assert isinstance(places, Tuple)
        first, second = (arrays.settled(frame, a) for a in places.items)
        assert isinstance(first, Array) and isinstance(second, Array)

        def item(k: Value) -> AbstractValue:
            i, j = (subscripts.read(frame, a, [Item(current_loc(), Scalar(k, i64))]) for a in (first, second))
            assert isinstance(i, Scalar) and isinstance(j, Scalar)
            return Tuple((part.item(i.value), part.item(j.value)))

        return Stream(name, Indexed(first.dims[0], item))

    return positional(name, 2, rule)


def _pairwise(frame: Frame, x: AbstractValue) -> AbstractValue:
    part = _part(frame, "itertools.pairwise", x)
    known = part.all()
    if known is not None:
        return Stream("itertools.pairwise", iteration.known([Tuple(two) for two in itertools.pairwise(known)]))
    if isinstance(part, Known):
        raise refuse(current_loc(), f"itertools.pairwise() of {describe_type(x)}", kind=kinds.NOT_ITERABLE)
    count = ops.maxsi(dim_value(part.length) - 1, const_index(0))
    return Stream("itertools.pairwise", Indexed(count, lambda k: Tuple((part.item(k), part.item(k + 1)))))


_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and_": "&", "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip


def _operator(name: str, symbol: str) -> Rule:
    def rule(frame: Frame, a: AbstractValue, b: AbstractValue) -> AbstractValue:
        return arrays.operate(frame, symbol, a, b)

    return positional(f"operator.{name}", 2, rule)


_BY_PROGRAM = (
    "iadd", "isub", "imul", "itruediv", "lt", "le", "eq", "ne", "ge", "gt", "not_", "truth", "getitem", "contains",
)  # fmt: skip
_HEAPS = ("heappush", "heappop", "heapreplace", "heappushpop", "heapify", "nsmallest", "nlargest")
_BISECT = ("bisect_left", "bisect_right", "insort_left", "insort_right")

TABLE: dict[Any, Rule] = {
    min: _extremum("min", "<"),
    max: _extremum("max", ">"),
    map: _map,
    filter: positional("filter", 2, _filter),
    builtins.sorted: _sorted,
    functools.reduce: by_program(python_functions.reduced),
    np.fromiter: by_program(python_functions.from_items),
    **{getattr(heapq, name): by_program(getattr(python_heaps, name)) for name in _HEAPS},
    **{getattr(bisect, name): by_program(getattr(python_heaps, name)) for name in _BISECT},
    operator.neg: positional("operator.neg", 1, lambda frame, x: arrays.operate_unary(frame, "-", x)),
    **{getattr(operator, name): _operator(name, symbol) for name, symbol in _OPERATORS.items()},
    **{getattr(operator, name): by_program(getattr(python_operators, name)) for name in _BY_PROGRAM},
    np.ndindex: _ndindex,
    np.ndenumerate: positional("np.ndenumerate", 1, _ndenumerate),
    itertools.product: _product,
    itertools.combinations: _combinations("itertools.combinations", 1, itertools.combinations),
    itertools.combinations_with_replacement: _combinations(
        "itertools.combinations_with_replacement", 0, itertools.combinations_with_replacement
    ),
    itertools.pairwise: positional("itertools.pairwise", 1, _pairwise),
}
BY_IDENTITY = frozenset(TABLE)
if hasattr(np, "unstack"):
    TABLE[np.unstack] = _unstack
