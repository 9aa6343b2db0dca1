"""Python's ``itertools``, except combinations: streams built on others; and ``operator.itemgetter``."""

from __future__ import annotations

import itertools
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend import iteration
from adc.frontend.containers import indexing, sequences
from adc.frontend.data.callables import partial
from adc.frontend.data.dims import dim_value
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import (
    NONE,
    AbstractValue,
    Array,
    Scalar,
    Static,
    Stream,
    Tuple,
    is_array,
    is_numeric,
    known_int,
)
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.iteration import Indexed, Items, Known
from adc.frontend.libraries.container_methods import extend
from adc.frontend.libraries.library_iterators import by_program, called_for
from adc.frontend.libraries.rules import Rule, no_keywords, positional, static_of, take
from adc.frontend.numeric.convert import as_scalar, convert, kind, unboxed
from adc.frontend.numeric.scalars import binary
from adc.frontend.numeric.slices import is_none
from adc.frontend.objects import heap
from adc.frontend.prelude import python_streams
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import i64

ENDLESS = sys.maxsize


def _chain(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    no_keywords("itertools.chain", kwargs)
    parts = [iteration.need(frame, a, "itertools.chain") for a in args]
    counts = [_known_count(p) for p in parts]
    if None not in counts:
        places = [(p, k) for p, count in zip(parts, counts, strict=True) for k in range(count or 0)]
        return Stream("itertools.chain", Known(len(places), lambda k: _item(*places[k])), iteration.is_ahead(args))
    if any(isinstance(a, Array) and a.rank > 1 for a in args):
        message = "itertools.chain() of arrays of several dimensions is not supported"
        raise refuse(current_loc(), message, "use np.concatenate", kind=kinds.NOT_ITERABLE)
    made = sequences.new_list(frame, [])
    for a in args:
        extend(frame, made, a)
    return _of_list(frame, "itertools.chain", made, True)


def _known_count(p: Items) -> int | None:
    if isinstance(p, Indexed):
        return None if p.known is None or p.known.limits else p.known.count
    return None if p.limits else p.count


def _item(p: Items, k: int) -> AbstractValue:
    """Item ``k``, as it is at that moment."""
    if isinstance(p, Indexed):
        assert p.known is not None
        return p.known.item(k)
    if p.now is not None and p.now() != p.count:
        raise iteration.changing()
    return p.item(k)


def _of_list(frame: Frame, name: str, found: AbstractValue, ahead: bool) -> Stream:
    items = iteration.sequence(frame, found)
    assert items is not None
    return Stream(name, items, ahead)


def _from_iterable(frame: Frame, x: AbstractValue) -> AbstractValue:
    known = iteration.need(frame, x, "itertools.chain.from_iterable").all()
    if known is None:
        message = f"itertools.chain.from_iterable() of {describe_type(x)} is not supported"
        raise refuse(current_loc(), message, "use x.ravel() on an array, and nested loops", kind=kinds.NOT_ITERABLE)
    return _chain(frame, known, {})


def _islice(frame: Frame, x: AbstractValue, *bounds: AbstractValue) -> AbstractValue:
    items = iteration.need(frame, x, "itertools.islice")
    given = (Static(0), *bounds) if len(bounds) == 1 else bounds
    start, stop, step = (*given, Static(1))[:3]
    start, step = (Static(d) if is_none(v) else v for v, d in ((start, 0), (step, 1)))
    numbers = [known_int(v) for v in (start, stop, step)]
    all_known = all(is_none(v) or n is not None for v, n in zip((start, stop, step), numbers, strict=True))
    if all_known and any(n is not None and n < (k == 2) for k, n in enumerate(numbers)):
        raise refuse(current_loc(), "islice() takes no negative numbers", kind=kinds.INVALID_VALUE)
    count = _known_count(items)
    if count is not None and all_known:
        places = range(count)[slice(*numbers)]
        found = Known(len(places), lambda k: _item(items, places[k]))
        return Stream("itertools.islice", found, iteration.is_ahead([x]))
    if isinstance(items, Known):
        message = f"itertools.islice() of {describe_type(x)} takes numbers that are known when the function is compiled"
        raise refuse(current_loc(), message, kind=kinds.NOT_CONSTANT)
    first, by = (_counting(v) for v in (start, step))
    length = dim_value(items.length)
    last = length if is_none(stop) else ops.minsi(_counting(stop), length)
    for v, least in ((first, 0), (last, 0), (by, 1)):
        fits = ops.cmpi(v, const_index(least), predicate="sge")
        trap_unless(fits, "ValueError", "the numbers of islice() must be None or not negative, {}", v)
    left = ops.maxsi(ops.divsi(last - first + (by - 1), by), const_index(0))
    return Stream("itertools.islice", Indexed(left, lambda k: items.item(first + k * by)), iteration.is_ahead([x]))


def _counting(v: AbstractValue) -> Value:
    v = unboxed(v)
    if kind(as_scalar(v).dtype) == 2:
        raise refuse(current_loc(), f"islice() counts in integers, not {describe_type(v)}", kind=kinds.WRONG_TYPE)
    return convert(as_scalar(v), i64)


def _starmap(frame: Frame, function: AbstractValue, x: AbstractValue) -> AbstractValue:
    rows = iteration.need(frame, x, "itertools.starmap")
    return called_for(frame, "itertools.starmap", function, rows, iteration.is_ahead([x]))


def _repeat(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    given = kwargs if len(args) > 1 else {"times": Static(ENDLESS), **kwargs}
    x, times = take("itertools.repeat", ("object", "times"), args, given)
    assert x is not None and times is not None
    count = known_int(times)
    length = max(count, 0) if count is not None else ops.maxsi(_counting(times), const_index(0))
    return Stream("itertools.repeat", Indexed(length, lambda k: x))


def _count(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    given: dict[str, AbstractValue] = {"start": Static(0), "step": Static(1)}
    for name, v in zip(tuple(given)[: len(args)], args, strict=False):
        given[name] = v
    start, step = take("itertools.count", ("start", "step"), (), {**given, **kwargs})
    assert start is not None and step is not None
    if any(kind(as_scalar(unboxed(v)).dtype) == 2 for v in (start, step)):
        message = "itertools.count() of floats is not supported: it adds up the steps"
        raise refuse(current_loc(), message, "count in integers, and multiply: x0 + k * h", kind=kinds.WRONG_TYPE)
    return Stream(
        "itertools.count",
        Indexed(ENDLESS, lambda k: binary("+", start, binary("*", Scalar(k, i64), step))),
    )


def _cycle(frame: Frame, x: AbstractValue) -> AbstractValue:
    items = iteration.need(frame, x, "itertools.cycle")
    known = items.all()
    found: Items = items
    if known and all(map(is_numeric, known)):
        array = frame.tracer.call(frame, Static(np.array), [Tuple(tuple(known))], {})
        whole = iteration.sequence(frame, array)
        assert whole is not None
        found = whole
    if isinstance(found, Known):
        found = _by_number(frame, x, known)
    length = dim_value(found.length)
    some = ops.cmpi(length, const_index(0), predicate="sgt")
    count = ops.select(some, const_index(ENDLESS), const_index(0))
    each = found
    turns = Indexed(count, lambda k: each.item(ops.remsi(k, length)))
    return Stream("itertools.cycle", turns, iteration.is_ahead([x]) or _may_change(frame, x))


def _by_number(frame: Frame, x: AbstractValue, known: list[AbstractValue] | None) -> Indexed:
    """Items that are known, one of which is taken by a number that the run computes."""
    if known is None or (known and indexing.item_at(frame, known, const_index(0)) is None):
        message = f"itertools.cycle() of {describe_type(x)} is not supported"
        raise refuse(current_loc(), message, "make an array of it: np.array([...])", kind=kinds.NOT_ITERABLE)

    def item(k: Value) -> AbstractValue:
        found = indexing.item_at(frame, known, k) if known else NONE
        assert found is not None
        return found

    return Indexed(len(known), item)


def _may_change(frame: Frame, x: AbstractValue) -> bool:
    """Whether an iterable may be changed meanwhile: an array, or a list that a variable refers to."""
    return is_array(x) or any(x is ref for v in frame.env.values() for ref in heap.refs_of(v))


def _listed(name: str, program: Callable[..., Any]) -> Rule:
    """The items of a list that a program makes, to be iterated over once."""
    rule = by_program(program)

    def call(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
        return _of_list(frame, name, rule(frame, args, kwargs), True)

    return call


def _itemgetter(frame: Frame, *keys: AbstractValue) -> AbstractValue:
    """``operator.itemgetter(key, ...)``."""
    program = python_streams.item_of if len(keys) == 1 else python_streams.items_of
    return partial([Static(program), keys[0] if len(keys) == 1 else Tuple(keys)], {})


def _attrgetter(frame: Frame, *names: AbstractValue) -> AbstractValue:
    """``operator.attrgetter(name, ...)``."""
    parts = [str(static_of(name, "the name of an attribute")).split(".") for name in names]
    each = [Tuple(tuple(map(Static, part))) for part in parts]
    if len(each) == 1:
        return partial([Static(python_streams.attribute_of), each[0]], {})
    return partial([Static(python_streams.attributes_of), Tuple(tuple(each))], {})


def _methodcaller(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    """``operator.methodcaller(name, *args, **kwargs)``."""
    name = Static(str(static_of(args[0], "the name of a method")))
    every: dict[object, AbstractValue] = {}
    every.update(kwargs.items())
    named = sequences.plain_dict(frame, every)
    return partial([Static(python_streams.method_of), name, Tuple(tuple(args[1:])), named], {})


TABLE: dict[Any, Rule] = {
    operator.attrgetter: positional("operator.attrgetter", range(1, 64), _attrgetter),
    operator.methodcaller: _methodcaller,
    operator.itemgetter: positional("operator.itemgetter", range(1, 64), _itemgetter),
    itertools.chain: _chain,
    itertools.chain.from_iterable: positional("itertools.chain.from_iterable", 1, _from_iterable),
    itertools.islice: positional("itertools.islice", range(2, 5), _islice),
    itertools.starmap: positional("itertools.starmap", 2, _starmap),
    itertools.repeat: _repeat,
    itertools.count: _count,
    itertools.cycle: positional("itertools.cycle", 1, _cycle),
    itertools.accumulate: _listed("itertools.accumulate", python_streams.accumulated),
    itertools.takewhile: _listed("itertools.takewhile", python_streams.taken_while),
    itertools.dropwhile: _listed("itertools.dropwhile", python_streams.dropped_while),
    itertools.filterfalse: _listed("itertools.filterfalse", python_streams.left_out),
    itertools.zip_longest: _listed("itertools.zip_longest", python_streams.zipped_to_longest),
    itertools.compress: _listed("itertools.compress", python_streams.compressed),
}
BY_IDENTITY = frozenset(TABLE)
