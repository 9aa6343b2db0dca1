"""Calls of forward mode that go straight to compiled code, with the arguments in one tuple and their tangents in
another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from adc.backend.calls.abi import (
    Argument,
    ArrayParam,
    Out,
    Output,
    Param,
    ScalarParam,
    ShadowParam,
    Signature,
    StaticOut,
    StaticParam,
    Structure,
    TupleOut,
    Unchanged,
    Unseen,
)
from adc.border import binding
from adc.border.selecting import is_float
from adc.border.signature import structure
from adc.driver.specialise import Specialisation
from adc.frontend.abstract import Abstract, Array, Scalar, Tuple, layout_of, numpy_dtype
from adc.frontend.traced import Result, ResultLeaf, ResultStatic, Traced
from adc.ir.core import Module
from adc.ir.types import MemRefType

Path = tuple[int, ...]


class _Unknown(Exception):
    """The tangent of a result cannot be made from the results of compiled code alone."""


def signature_of(
    spec: Specialisation, traced: Traced, module: Module, name: str, extra: int, tangents: Output, *, value: bool
) -> Signature:
    """The signature of a function with tangents, which takes ``extra`` arguments after those of ``traced``."""
    func, own = module.funcs[name], len(traced.leaves)
    guards = binding.guard_params(spec.abstracts, spec.traced)
    leaves = binding.leaf_params(spec.names, traced, read_only=False)
    params = [_param(func.args[own + n].type, len(spec.names) + n) for n in range(extra)]
    return binding.signature(
        spec.names,
        spec.abstracts,
        module,
        name,
        [*guards, *leaves, *params],
        TupleOut((binding.effects_output(traced) if value else StaticOut(None), tangents)),
        disjoint=binding.disjoint_pairs(spec.names, spec.abstracts, traced, len(guards)),
        extra_arguments=extra,
        threads=spec.subject.options.threads or 0,
    )


def _param(t: Any, number: int) -> Param:
    source = Argument((number,))
    if isinstance(t, MemRefType):
        return ArrayParam(source, t.element, t.rank, layout_of(t), False)
    return ScalarParam(source, t, numpy_dtype(t) != np.float64)


def direct(
    signature: Signature,
    abstracts: Sequence[Abstract],
    tangents: Mapping[Path, Any],
    result: Result,
    results: Sequence[int],
    *,
    with_value: bool,
) -> Signature | None:
    """The signature with which Python calls a function with two tuples: arguments of types ``abstracts``, and tangents.

    The function takes the arguments and then one tangent for each path of ``tangents``, in that order; the given
    tangents are examples for their types, and all others must be None. It returns the parts of the value, ``result``,
    unless it omits them, and then the tangents of the results at positions ``results``. The call returns the value and
    its tangent, or the tangent alone. None where Python code is needed for arguments or results.
    """
    first = len(signature.results) - len(results)
    try:
        tangent = _tangent(result, {k: first + n for n, k in enumerate(results)})
    except _Unknown:
        return None
    params: list[Param] = [_moved(param, len(abstracts), tangents) for param in signature.params]
    absent: list[Param] = []
    arguments = (
        tuple(structure(a) for a in abstracts),
        tuple(_structure(a, (k,), tangents, absent) for k, a in enumerate(abstracts)),
    )
    places = {
        param.source.path: n
        for n, param in enumerate(params)
        if isinstance(param, ArrayParam) and isinstance(param.source, Argument)
    }
    return replace(
        signature,
        arguments=arguments,
        params=(*params, *absent),
        output=TupleOut((binding.primal_output(result), tangent)) if with_value else tangent,
        alike=tuple((places[0, *path], places[1, *path]) for path in tangents if (1, *path) in places),
    )


def _moved(param: Param, count: int, tangents: Mapping[Path, Any]) -> Param:
    """A parameter whose source is moved into one of the two tuples."""
    if isinstance(param, ShadowParam | Unseen | Unchanged) or not isinstance(param.source, Argument):
        return param
    path = param.source.path
    if path[0] < count:
        return replace(param, source=Argument((0, *path)))
    where, given = list(tangents.items())[path[0] - count]
    moved = replace(param, source=Argument((1, *where)))
    return replace(moved, strong=isinstance(given, np.generic)) if isinstance(moved, ScalarParam) else moved


def _structure(abstract: Abstract, path: Path, tangents: Mapping[Path, Any], absent: list[Param]) -> Structure:
    """The nesting of the tangent of an argument; parts that must be None are added to ``absent``."""
    if not any(where[: len(path)] == path for where in tangents):
        absent.append(StaticParam(Argument((1, *path)), None))
        return None
    if not isinstance(abstract, Tuple):
        return None
    return tuple(_structure(item, (*path, k), tangents, absent) for k, item in enumerate(abstract.items))


def _tangent(tree: Result, places: Mapping[int, int]) -> Output:
    """The tangent of a result, assembled by compiled code as in ``tangent_trees.py``. ``places`` maps IR results to the
    positions of their tangents."""
    if isinstance(tree, ResultStatic):
        return StaticOut(0.0 if isinstance(tree.value, float) else None)
    if isinstance(tree, ResultLeaf):
        if not is_float(tree.abstract):
            return StaticOut(None)
        if tree.position not in places:
            if isinstance(tree.abstract, Array):
                raise _Unknown
            assert isinstance(tree.abstract, Scalar)
            return StaticOut(binding.as_scalar(0.0, tree.abstract.type, strong=not tree.abstract.weak))
        return Out(places[tree.position], binding.is_strong(tree))
    parts = tuple(_tangent(item, places) for item in tree.items)
    none = all(isinstance(part, StaticOut) and part.value is None for part in parts)
    return StaticOut(None) if none else TupleOut(parts)
