"""Calls: the callee and its arguments."""

from __future__ import annotations

import ast
import functools
import math
import types

import numpy as np

from adc.frontend import iteration, prelude
from adc.frontend.arrays import arrays
from adc.frontend.containers import making, records, sequences
from adc.frontend.control import options
from adc.frontend.control.branches import trace
from adc.frontend.data.callables import Closure, unbound
from adc.frontend.data.compounds import OneOf
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import (
    NONE,
    AbstractValue,
    Choice,
    Generator,
    Method,
    Ref,
    Static,
    Tuple,
    is_dict,
    is_list,
)
from adc.frontend.errors import refuse
from adc.frontend.expressions import combined, comprehensions, dicts, lists_for_arrays, starred, streams
from adc.frontend.expressions.access import evaluate_owner
from adc.frontend.expressions.evaluation import before_calls, evaluate, evaluate_kept, may_write
from adc.frontend.expressions.generators import iterator_of, over_generator
from adc.frontend.frame import Frame, discard
from adc.frontend.functions import generators
from adc.frontend.libraries.attributes import attribute
from adc.frontend.libraries.container_methods import pairs
from adc.frontend.libraries.table import is_library
from adc.frontend.objects import rows
from adc.frontend.syntax.walrus import assigns
from adc.ir import kinds
from adc.ir.diagnostics import AdcError


def _of_comprehension(
    frame: Frame, callee: Static, node: ast.Call, first: ast.ListComp | ast.GeneratorExp
) -> AbstractValue | None:
    """The call of a function that takes a comprehension over a run-time number of items; None if it does not."""
    if isinstance(first, ast.ListComp):
        joined = lists_for_arrays.joined_of(frame, callee.value, first)
        if joined is not first and len(node.args) == 1 and not node.keywords:
            return sequences.snapshot(frame, comprehensions.list_of(frame, joined))
    if callee.value is next and isinstance(first, ast.GeneratorExp):
        return _first(frame, node, first)
    if not is_library(callee.value) and not lists_for_arrays.takes_array(callee.value):
        return None
    if combined.reduces(callee.value) and len(node.args) <= 1 + (callee.value is sum) and not node.keywords:
        if isinstance(first, ast.ListComp) and not combined.may_be_generator(frame, callee.value, first):
            return None
        start = evaluate_kept(frame, node.args[1]) if len(node.args) > 1 else None
        return combined.reduced(frame, callee.value, first, start)
    array = lists_for_arrays.array_of(frame, callee.value, first) if isinstance(first, ast.ListComp) else None
    if array is None:
        return None
    rest = [evaluate_kept(frame, a) for a in node.args[1:]]
    kwargs = {str(k.arg): evaluate_kept(frame, k.value) for k in node.keywords}
    return frame.tracer.call(frame, callee, [array, *rest], kwargs)


def _first(frame: Frame, node: ast.Call, source: ast.GeneratorExp) -> AbstractValue:
    """``next(x for x in items if ...)``: computed while tracing if the items are known, else a loop."""
    rest = node.args[1:]
    first = source.generators[0].iter  # evaluated before the default
    plain = all(isinstance(getattr(a, "operand", a), ast.Constant) for a in rest) or not may_write(frame, first)
    alone = len(source.generators) == 1 and plain and len(rest) < 2
    if alone and (over_generator(frame, source) or not _is_known(frame, source)):
        return frame.tracer.first(frame, source, evaluate_kept(frame, rest[0]) if rest else None)
    found = comprehensions.generator(frame, source)
    known: list[AbstractValue] = found.items.whole() or [evaluate_kept(frame, a) for a in rest]
    if not known:
        message, help = "StopIteration: there is no such item", "give next() a default"
        raise refuse(frame.loc(node), message, help, kind=kinds.INVALID_VALUE)
    return known[0]


def _is_known(frame: Frame, source: ast.GeneratorExp) -> bool:
    """Whether the items of a generator expression are known one by one."""
    try:
        discard(trace(frame, lambda: Tuple(tuple(comprehensions.generator(frame, source).items.whole() or ()))).block)
    except AdcError as error:
        return error.kind != kinds.NOT_CONSTANT.name
    return True


def _as_loop(frame: Frame, v: AbstractValue) -> bool:
    """Whether iterating over the value is a loop in the code, so that ``sum`` and similar functions are one too."""
    return rows.grows(frame, v) or iteration.counts(v)


def _makes_list(callee: AbstractValue) -> bool:
    """Whether a function puts any number of items into a list."""
    if isinstance(callee, Static):
        known = any(callee.value is f for f in _OF_LISTS) or getattr(callee.value, "__module__", "") == "statistics"
        return known or making.takes_items(callee.value)
    return isinstance(callee, Method) and is_list(callee.owner) and callee.name == "extend"


def _may_go_through(callee: AbstractValue, item: ast.GeneratorExp) -> bool:
    """Whether a user's function may go through the items of an expression, one by one."""
    if assigns(item) or any(part.is_async for part in item.generators):
        return False  # what := assigns belongs to the function around
    return _is_users(callee)


def _is_users(callee: AbstractValue) -> bool:
    function = unbound(callee)
    if isinstance(function, Static):
        if making.has_own_init(function.value):
            return not is_library(function.value)
        if any(function.value is program for program in streams.GENERATORS.values()):
            return True
        own = isinstance(function.value, types.FunctionType) and not is_library(function.value)
        return own and not prelude.is_helper(function.value) and prelude.stand_in(function.value) is None
    return isinstance(function, Closure)


def _takes_all(callee: AbstractValue) -> bool:
    """Whether a function consumes all items of an iterator at once."""
    return isinstance(callee, Static) and any(callee.value is f for f in _ALL)


_OF_LISTS = (list, tuple, sorted, min, max, functools.reduce, np.fromiter, math.prod, math.fsum)
_WITHOUT_ORDER = (sorted, len, min, max, any, all)  # the result does not depend on the order
_ALL = (list, tuple, dict, sum, min, max, sorted, functools.reduce)


def _updates_fields(function: ast.expr) -> bool:
    """Whether it is ``self.__dict__.update``."""
    if not isinstance(function, ast.Attribute) or function.attr != "update":
        return False
    return isinstance(function.value, ast.Attribute) and function.value.attr == "__dict__"


def _update_fields(frame: Frame, node: ast.Call) -> bool:
    """``self.__dict__.update(a, **b, c=d)``, if it is that of an object."""
    assert isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Attribute)
    owner = evaluate_owner(frame, node.func.value.value)
    if not isinstance(owner, Ref) or owner.kind != "object":
        return False
    found: dict[object, AbstractValue] = {}
    for item in [*node.args, *(k.value for k in node.keywords if k.arg is None)]:
        found |= pairs(frame, evaluate_kept(frame, item))
    found |= {k.arg: evaluate_kept(frame, k.value) for k in node.keywords if k.arg is not None}
    for name, value in found.items():
        records.store_field(frame, owner, str(name), value)
    return True


def call_expression(frame: Frame, node: ast.Call) -> AbstractValue:
    """``f(a, *b, c=d, **e)``."""
    if _updates_fields(node.func) and _update_fields(frame, node):
        return NONE
    inputs: list[ast.expr] = [*node.args, *(k.value for k in node.keywords)]
    owner = None
    if isinstance(node.func, ast.Attribute):
        owner = before_calls(frame, evaluate_owner(frame, node.func.value), *inputs)
    several = isinstance(owner, Choice | OneOf)
    if owner is None:
        callee = evaluate(frame, node.func)
    elif not several:
        assert isinstance(node.func, ast.Attribute)
        with frame.at(node.func):
            callee = attribute(frame, owner, node.func.attr)
    first = node.args[0] if node.args and not several else None
    if not several and (source := streams.item_by_item(frame, node, callee)) is not None and not node.keywords:
        return _first(frame, node, source)
    if not several and (source := streams.decided_by(frame, node, callee)) is not None:
        return frame.tracer.first(frame, source, Static(not source.elt.value))  # type: ignore[attr-defined]
    comprehension = first if isinstance(first, ast.ListComp | ast.GeneratorExp) else None
    through = comprehension if comprehension is not None and over_generator(frame, comprehension) else None
    if comprehension is not None and through is None and isinstance(callee, Static):
        found = _of_comprehension(frame, callee, node, comprehension)
        if found is not None:
            return found
    args: list[AbstractValue] = []
    through_later: dict[int, ast.expr] = {}  # arguments that are generators, which run after the others are evaluated
    for k, item in enumerate(node.args):
        if not several and streams.is_stream(frame, item) and _is_users(callee):
            item = streams.in_expression(frame, item)
        if isinstance(item, ast.Starred):
            if isinstance(item.value, ast.GeneratorExp) and not over_generator(frame, item.value):
                given = comprehensions.list_of(frame, item.value)
            else:
                given = starred.given(frame, item)
            items = sequences.known_items(frame, given)
            if items is None and not several:
                with frame.at(item):
                    items = starred.spread(frame, callee, node, given, len(args))
            if items is None:
                with frame.at(item):
                    items = iteration.all_of(frame, given)
            if items is None and isinstance(callee, Static) and callee.value is zip and len(node.args) == 1:
                columns = starred.unzipped(frame, given)
                if columns is not None:
                    return columns
            if items is None:
                raise sequences.not_known(given, frame.loc(item), "write the arguments out, or pass a tuple")
            args += items
        elif through is not None and item is through and isinstance(item, ast.ListComp):
            args.append(frame.tracer.comprehended(frame, through))
        elif isinstance(item, ast.GeneratorExp) and _takes_all(callee) and over_generator(frame, item):
            through_later[len(args)] = item
            args.append(iterator_of(frame, evaluate(frame, item.generators[0].iter)))
        elif isinstance(item, ast.GeneratorExp) and isinstance(callee, Static) and callee.value is dict:
            args.append(dicts.pairs_of(frame, item))
        elif isinstance(item, ast.GeneratorExp) and not several and _may_go_through(callee, item):
            stream = streams.is_stream(frame, item.generators[0].iter)
            args.append(generators.of_expression(frame, item, evaluate, stream))
        elif isinstance(item, ast.GeneratorExp) and not several and _makes_list(callee):
            args.append(comprehensions.list_of(frame, item))
        else:
            value = evaluate(frame, item)
            if not several and _takes_all(callee):
                value = iterator_of(frame, value)
            elif not several and streams.takes_items_later(callee):
                value = streams.gathered(frame, value)
            if isinstance(value, Generator) and not several and _takes_all(callee):
                through_later[len(args)] = item
            args.append(before_calls(frame, value, *inputs[k + 1 :]))
    kwargs: dict[str, AbstractValue] = {}
    for k, keyword in enumerate(node.keywords, len(node.args)):
        if keyword.arg is None:
            given = evaluate_kept(frame, keyword.value)
            if not is_dict(given):
                message = f"{describe_type(given)} does not give keyword arguments"
                raise refuse(frame.loc(keyword.value), message, "** takes a dict", kind=kinds.WRONG_CALL)
            more = pairs(frame, given)
        else:
            more = {keyword.arg: before_calls(frame, evaluate(frame, keyword.value), *inputs[k + 1 :])}
        for name, value in more.items():
            if not isinstance(name, str) or name in kwargs:
                what = f"two values for '{name}'" if name in kwargs else f"the keyword {name!r}, which is no string"
                raise refuse(frame.loc(keyword), f"the call has {what}", kind=kinds.WRONG_CALL)
            kwargs[name] = value
    for at, item in through_later.items():
        found = frame.tracer.folded(frame, callee, args, kwargs, at, item)
        if found is not None:
            return found
        args[at] = frame.tracer.collected(frame, args[at], item)
    if not several:
        if isinstance(callee, Static) and args and any(callee.value is f for f in (sum, *_WITHOUT_ORDER)):
            ordered = callee.value is sum and not sequences.are_integers(frame, args[0])
            args[0] = sequences.inside(frame, args[0], ordered)
        if isinstance(callee, Static) and args and not kwargs and _as_loop(frame, args[0]):
            compared = callee.value in (min, max) and rows.of_objects(frame, args[0])
            found = None if compared else combined.reduced_list(frame, callee.value, node, args)
            if found is not None:
                return found
        return frame.tracer.call(frame, callee, args, kwargs)
    assert owner is not None and isinstance(node.func, ast.Attribute)
    name = node.func.attr

    def call(one: AbstractValue) -> AbstractValue:
        return arrays.settled(frame, frame.tracer.call(frame, attribute(frame, one, name), args, kwargs))

    return options.split(frame, owner, call)
