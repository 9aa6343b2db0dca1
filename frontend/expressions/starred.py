"""``*x`` in calls and displays; and ``f(*x)`` with a run-time length, where ``f`` determines the number of
arguments."""

from __future__ import annotations

import ast
import inspect

import numpy as np

from adc.frontend import iteration
from adc.frontend.arrays import arrays
from adc.frontend.containers import records
from adc.frontend.data.callables import Bound, Closure, unbound
from adc.frontend.data.dims import dim_value
from adc.frontend.data.values import AbstractValue, Array, Generator, Scalar, Static, Stream, Tuple, is_list
from adc.frontend.expressions.evaluation import evaluate
from adc.frontend.expressions.generators import iterator_of
from adc.frontend.frame import Frame, discard
from adc.frontend.numeric.convert import as_scalar, convert
from adc.frontend.objects import list_pools
from adc.frontend.prelude import python_collections
from adc.frontend.traps import trap_unless
from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import insert_at
from adc.ir.core import Block
from adc.ir.types import i64


def given(frame: Frame, node: ast.Starred) -> AbstractValue:
    """The value that is unpacked. A stream with a known number of items becomes the tuple of them, a generator and an
    object that is gone through the list of what it gives."""
    value = iterator_of(frame, evaluate(frame, node.value))
    if isinstance(value, Generator):
        return frame.tracer.collected(frame, value, node.value)
    if isinstance(value, Stream):
        items = iteration.all_of(frame, value)
        return value if items is None else Tuple(tuple(items))
    return arrays.settled(frame, value)


def spread(
    frame: Frame, callee: AbstractValue, node: ast.Call, given: AbstractValue, before: int
) -> list[AbstractValue] | None:
    """The arguments in ``*given``, after ``before`` others; None if their number cannot be inferred."""
    wanted = _taken(frame, callee, {k.arg for k in node.keywords})
    stars = sum(isinstance(a, ast.Starred) for a in node.args)
    if wanted is None or stars > 1 or any(k.arg is None for k in node.keywords):
        return None
    last = next(n for n, a in enumerate(node.args) if isinstance(a, ast.Starred))
    count = wanted - before - (len(node.args) - last - 1)
    items = iteration.sequence(frame, given)
    if not isinstance(items, iteration.Indexed) or count < 0:
        return None
    if (
        isinstance(given, Array)
        and given.rank > 1
        and isinstance(callee, Static)
        and isinstance(callee.value, np.ufunc)
    ):
        return None  # one more row would be the array for the results
    length = dim_value(items.length)
    takes = f"{_name(callee)}() takes {wanted} positional arguments but {{}} were given"
    fits = ops.cmpi(length, const_index(count), predicate="eq")
    trap_unless(fits, "TypeError", takes, ops.addi(length, const_index(wanted - count)))
    return [items.item(const_index(k)) for k in range(count)]


def unzipped(frame: Frame, rows: AbstractValue) -> Stream | None:
    """``zip(*rows)`` of rows whose number depends on the run: their columns, which are tuples. None if the rows are not
    tuples of one length, lists, or those of an array."""
    items = iteration.sequence(frame, rows)
    if not isinstance(items, iteration.Indexed):
        return None
    scratch, env = Block(), dict(frame.env)
    with insert_at(scratch):
        row = items.item(const_index(0))
    frame.env = env
    discard(scratch)

    if isinstance(row, Tuple):
        program = Static(python_collections.column)
        columns = [frame.tracer.call(frame, program, [rows, Static(k)], {}) for k in range(len(row.items))]
        there = ops.select(items.has(0), const_index(len(columns)), const_index(0))
        text = f"not enough values to unpack (expected {len(columns)}, got {{}})"
        return Stream("zip", iteration.Known(len(columns), lambda k: columns[k], (there,), text))
    if list_pools.is_row(row) or is_list(row):
        count = convert(as_scalar(frame.tracer.call(frame, Static(python_collections.shortest), [rows], {})), i64)
        program = Static(python_collections.column_of_lists)
        items = iteration.Indexed(count, lambda k: frame.tracer.call(frame, program, [rows, Scalar(k, i64)], {}))
        return Stream("zip", items, ahead=True)  # the lists may change their lengths
    if isinstance(rows, Array) and rows.rank == 2:
        count = ops.select(items.has(0), dim_value(rows.dims[1]), const_index(0))
        program = Static(python_collections.column_of_array)
        return Stream(
            "zip", iteration.Indexed(count, lambda k: frame.tracer.call(frame, program, [rows, Scalar(k, i64)], {}))
        )
    return None


def _name(callee: AbstractValue) -> str:
    function = unbound(callee)
    return function.source.name if isinstance(function, Closure) else str(getattr(function.value, "__name__", ""))  # type: ignore[union-attr]


def _taken(frame: Frame, callee: AbstractValue, named: set[str | None]) -> int | None:
    """The required number of positional arguments beside those in ``named``; None if it may vary."""
    if isinstance(callee, Bound):
        inner = _taken(frame, callee.function, named)
        return None if inner is None else inner - 1
    if isinstance(callee, Closure):
        a = callee.source.node.args
        names = [p.arg for p in (*a.posonlyargs, *a.args)]
        optional = set(names[len(names) - callee.code.defaults :]) if callee.code.defaults else set()
        return None if a.vararg else _number(names, optional, named)
    own = records.method(frame, callee, "__call__")
    if own is not None:
        return _taken(frame, own, named)
    if not isinstance(callee, Static) or not callable(callee.value):
        return None
    if isinstance(callee.value, np.ufunc):
        return callee.value.nin
    try:
        parameters = inspect.signature(callee.value).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return _number([p.name for p in positional], {p.name for p in positional if p.default is not p.empty}, named)


def _number(names: list[str], optional: set[str], named: set[str | None]) -> int | None:
    wanted = [n for n in names if n not in named]
    return None if optional.intersection(wanted) else len(wanted)
