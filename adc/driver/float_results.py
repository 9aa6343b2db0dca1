"""Prepares a function for its gradient: its first result in the IR must be one float, perhaps followed by others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from adc.border import containers
from adc.frontend.abstract import Scalar, Static, spelled, with_article
from adc.frontend.traced import ResultLeaf, ResultStatic, ResultTuple, Traced
from adc.ir import kinds, ops
from adc.ir.arith import const
from adc.ir.builder import build, insert_at
from adc.ir.types import MemRefType, Type, f64, i1


def result_type(traced: Traced, position: int) -> Type:
    return traced.module.funcs[traced.entry].result_types[position]


def with_float_result(name: str, traced: Traced) -> Traced:
    """The function with one float as its result in the IR. Raises ``DifferentiationError`` if it returns anything else.

    A float that is known when the function is traced becomes a constant of the IR, with gradient zero. So does the
    result of a function that never returns, because all paths end with an error. Where a function returns something
    else on some paths, such as None, its gradient raises TypeError there.
    """
    traced = _float_alone(name, traced)
    result = traced.result
    if traced.never and isinstance(result, ResultStatic):
        result = ResultStatic(0.0)
    if isinstance(result, ResultStatic) and isinstance(result.value, float):
        func = traced.module.funcs[traced.entry]
        end = func.body.terminator
        func.body.set_ops(func.body.ops[:-1])
        with insert_at(func.body, end.loc):
            build(ops.return_, [*end.operands, const(result.value, f64)])
        end.drop()
        func.result_types = (*func.result_types, f64)
        leaf = ResultLeaf(len(func.result_types) - 1, Scalar(f64, weak=not isinstance(result.value, np.float64)))
        return _result_alone(replace(traced, result=leaf), leaf)
    _check_float_result(name, traced)
    assert isinstance(result, ResultLeaf)
    return _result_alone(traced, result)


def with_aux(name: str, traced: Traced) -> Traced:
    """A function that returns a pair, as one that returns its first item; the second item becomes ``aux``."""
    result = traced.result
    if not isinstance(result, ResultTuple) or result.form.kind != "tuple" or len(result.items) != 2:
        raise kinds.NOT_SCALAR(
            f"{name} returns {_described(traced)}; with has_aux it is to return a pair (value, aux)",
            traced.module.funcs[traced.entry].loc,
            help="return a float and what is to be handed on, as a tuple of two",
        )
    if containers.mentions(result.items[1], traced.changed):
        raise kinds.NO_DERIVATIVE(
            f"{name} hands on an argument that it changes, and a gradient leaves arguments as they were",
            traced.module.funcs[traced.entry].loc,
            help="hand on a copy, or what the argument holds",
        )
    return replace(traced, result=result.items[0], aux=result.items[1])


def _float_alone(name: str, traced: Traced) -> Traced:
    """A function that returns a float or something else, as one that raises TypeError instead of the latter."""
    result = traced.result
    if not isinstance(result, ResultTuple) or result.form.kind != "choice":
        return traced
    number, *options = result.items
    floats = {
        k: option
        for k, option in enumerate(options)
        if isinstance(option, ResultLeaf) and result_type(traced, option.position).is_float
    }
    if len(floats) != 1 or not isinstance(number, ResultLeaf):
        return traced
    ((k, leaf),) = floats.items()
    others = " or ".join(_spelled(a) for n, a in enumerate(result.form.names) if n != k)
    func = traced.module.funcs[traced.entry]
    end = func.body.terminator
    func.body.set_ops(func.body.ops[:-1])
    with insert_at(func.body, end.loc):
        chosen = end.operands[number.position]
        here = ops.cmpi(chosen, const(k, chosen.type), predicate="eq")
        message = (f"{name} returned {others}; a gradient needs a float",)
        build(ops.assert_, [here], {"error": "TypeError", "message": message})
        build(ops.return_, end.operands)
    end.drop()
    return _result_alone(replace(traced, result=leaf), leaf, always=True)


def _result_alone(traced: Traced, result: ResultLeaf, always: bool = False) -> Traced:
    """The function with its value as first result, then the leaves of ``aux``, and without the contents of changed
    objects, which no gradient needs."""
    func = traced.module.funcs[traced.entry]
    if not traced.changed and traced.aux is None and not always:
        return traced
    aux = containers.positions(traced.aux) if traced.aux is not None else []
    positions = [result.position, *aux]
    end = func.body.terminator
    func.body.set_ops(func.body.ops[:-1])
    with insert_at(func.body, end.loc):
        build(ops.return_, [end.operands[k] for k in positions])
    end.drop()
    func.result_types = tuple(func.result_types[k] for k in positions)
    moved = containers.moved(traced.aux, {k: 1 + n for n, k in enumerate(aux)}) if traced.aux is not None else None
    return replace(traced, result=replace(result, position=0), aux=moved, changed={})


def _check_float_result(name: str, traced: Traced) -> None:
    result = traced.result
    if isinstance(result, ResultLeaf) and result_type(traced, result.position).is_float:
        return
    if traced.aux is not None:
        raise kinds.NOT_SCALAR(
            f"{name} returns a pair of {_described(traced)} and another value; the first is to be a float",
            traced.module.funcs[traced.entry].loc,
            help="return the float first",
        )
    raise kinds.NOT_SCALAR(
        f"{name} returns {_described(traced)}; a gradient needs a function that returns one float",
        traced.module.funcs[traced.entry].loc,
        help=_way_out(traced),
    )


def _way_out(traced: Traced) -> str:
    result = traced.result
    if isinstance(result, ResultStatic) and result.value is None:
        return "return the value, with a return statement at the end"
    if isinstance(result, ResultTuple) and result.form.kind == "choice":
        return "return a float on all paths"
    if isinstance(result, ResultTuple) and result.form.kind == "complex":
        return "return a real number, for instance abs(z) ** 2; or use pullback with a cotangent"
    if isinstance(result, ResultTuple):
        return "return one float; or a float and other results, with has_aux=True; or use pullback"
    if isinstance(result, ResultLeaf) and isinstance(result_type(traced, result.position), MemRefType):
        return "return one float, for instance np.sum(...); or use adc.jacobian, or pullback with a cotangent"
    return "return one float; or use pullback, which takes a cotangent for each result"


def _spelled(abstract: Any) -> str:
    if isinstance(abstract, Static):
        return "None" if abstract.value is None else with_article(type(abstract.value).__name__)
    return with_article(spelled(abstract).removeprefix("a "))


def _described(traced: Traced) -> str:
    """A description of what the function returns."""
    result = traced.result
    if isinstance(result, ResultTuple) and result.form.kind == "choice":
        *others, last = (_spelled(abstract) for abstract in result.form.names)
        return f"{', '.join(others)} or {last}"
    if isinstance(result, ResultTuple):
        return "a complex number" if result.form.kind == "complex" else with_article(str(result.form))
    if isinstance(result, ResultStatic):
        return "None" if result.value is None else with_article(type(result.value).__name__)
    t = result_type(traced, result.position)
    if isinstance(t, MemRefType):
        return "an array"
    return "a float" if t.is_float else "a bool" if t == i1 else "an integer" if t.is_integer else str(t)
