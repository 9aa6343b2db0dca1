"""Runs a traced function in the interpreter and compares it with Python: results, effects on arrays, errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adc.frontend.abstract import Abstract, Array, abstract_of, map_abstract, with_alias
from adc.frontend.entrance import trace
from adc.frontend.traced import Leaf, Result, ResultLeaf, ResultStatic, ResultTuple, Traced
from adc.ir.interpret import interpreter
from adc.ir.types import f32, i1, i32, i64
from adc.ir.verifier import verify


def abstracts(args: Sequence[Any]) -> tuple[Abstract, ...]:
    """Abstract types of the arguments; arrays that share memory get one alias number."""
    arrays = [a for a in _leaves(tuple(args)) if isinstance(a, np.ndarray)]
    groups: list[list[np.ndarray]] = []
    for a in arrays:
        overlapping = [g for g in groups if any(np.shares_memory(a, b) for b in g)]
        groups = [g for g in groups if not any(g is o for o in overlapping)]
        groups.append([a, *(b for g in overlapping for b in g)])
    shared = {id(a): n for n, g in enumerate(groups) if len(g) > 1 for a in g}

    def of(value: Any) -> Abstract:
        found = abstract_of(value)
        if isinstance(value, tuple):
            return type(found)(tuple(of(item) for item in value))  # type: ignore[call-arg]
        return with_alias(found, shared.get(id(value))) if isinstance(value, np.ndarray) else found

    return tuple(of(a) for a in args)


def _leaves(value: Any) -> list[Any]:
    return [x for item in value for x in _leaves(item)] if isinstance(value, tuple) else [value]


def inputs(traced: Traced, args: Sequence[Any]) -> list[Any]:
    """The arguments of the entry function."""
    bound = dict(zip(traced.parameters.parameters, args, strict=False))
    return [_input(leaf, bound) for leaf in traced.leaves]


def _input(leaf: Leaf, bound: dict[str, Any]) -> Any:
    if leaf.kind == "capture":
        assert leaf.fetch is not None
        return leaf.fetch()
    value = bound[str(leaf.path[0])]
    for k in leaf.path[1:]:
        value = value[k]
    return value


def output(result: Result, values: Sequence[Any]) -> Any:
    """The Python result from the entry function's."""
    if isinstance(result, ResultTuple):
        return tuple(output(item, values) for item in result.items)
    if isinstance(result, ResultStatic):
        return result.value
    return values[result.position]


def run(fn: Callable[..., Any], args: Sequence[Any], seed: int | None = None) -> tuple[Traced, Any]:
    """Trace, verify, interpret (parallel loops in a random order)."""
    traced = trace(fn, abstracts(args))
    verify(traced.module)
    before = [a.copy() if isinstance(a, np.ndarray) else a for a in inputs(traced, args)]
    order = interpreter.forward if seed is None else interpreter.shuffled(seed)
    values = interpreter.run(traced.module, traced.entry, inputs(traced, args), order=order)
    for position, (old, new) in enumerate(zip(before, inputs(traced, args), strict=True)):
        if isinstance(old, np.ndarray) and not np.array_equal(old, new, equal_nan=True):
            assert position in traced.mutated, f"argument {position} was changed but is not among the mutated"
    return traced, output(traced.result, values)


def check(fn: Callable[..., Any], make: Callable[[], Sequence[Any]], rtol: float = 1e-13, types: bool = True) -> Traced:
    """Python and the traced code agree, on results and on what becomes of array arguments, or raise the same error.

    ``types``: the result is of the very number types; a variable that is an int on one path and a float on another is a
    float in traced code.
    """
    plain, ours = make(), make()
    error: Exception | None = None
    expected: Any = None
    with np.errstate(all="ignore"):
        try:
            expected = fn(*plain)
        except (ArithmeticError, ValueError, IndexError, UnboundLocalError) as e:
            error = e
    if error is not None:
        try:
            run(fn, ours, seed=1)
        except type(error) as e:
            if not isinstance(e, IndexError) and not isinstance(error, ValueError):
                assert str(e).startswith(str(error).split(" (")[0][:12]) or isinstance(error, ArithmeticError)
        else:
            raise AssertionError(f"Python raised {error!r}, the traced code did not")
        assert_same(tuple(ours), tuple(plain), rtol)
        return trace(fn, abstracts(make()))
    traced, got = run(fn, ours, seed=1)
    assert_same(got, expected, rtol)
    assert_same(tuple(ours), tuple(plain), rtol)
    if types:
        _assert_types(traced.result, expected)
    return traced


def assert_same(got: Any, expected: Any, rtol: float) -> None:
    """Equal structure, and equal numbers up to rounding."""
    if isinstance(expected, tuple):
        assert isinstance(got, tuple) and len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            assert_same(g, e, rtol)
    elif isinstance(expected, np.ndarray):
        if expected.ndim == 0 and not isinstance(got, np.ndarray):  # np.where of numbers
            return assert_same(got, expected[()], rtol)
        assert isinstance(got, np.ndarray)
        assert got.dtype == expected.dtype, f"dtype {got.dtype} for {expected.dtype}"
        assert got.shape == expected.shape, f"shape {got.shape} for {expected.shape}"
        np.testing.assert_allclose(got, expected, rtol=_tolerance(expected.dtype, rtol), atol=1e-300, equal_nan=True)
    elif isinstance(expected, float | np.floating):
        tolerance = _tolerance(getattr(expected, "dtype", np.dtype(float)), rtol)
        same = math.isclose(got, expected, rel_tol=tolerance) or (math.isnan(got) and math.isnan(expected))
        assert same, f"{got!r} for {expected!r}"
        if expected == 0:
            assert math.copysign(1, got) == math.copysign(1, expected), f"{got!r} for {expected!r}"
    else:
        assert got == expected, f"{got!r} for {expected!r}"


def _tolerance(dtype: np.dtype, rtol: float) -> float:
    return max(rtol, 4e-6) if dtype == np.float32 else rtol


def _assert_types(result: Result, expected: Any) -> None:
    """Python's or NumPy's number types, as the result says they are."""
    if isinstance(result, ResultTuple):
        for r, e in zip(result.items, expected, strict=True):
            _assert_types(r, e)
    elif isinstance(result, ResultLeaf):
        a = result.abstract
        if isinstance(a, Array):
            assert isinstance(expected, np.ndarray)
            return
        names = {f32: "float32", i64: "int64", i32: "int32", i1: "bool"}
        name = names.get(a.type, "float64")  # type: ignore[attr-defined]
        assert np.result_type(expected).name == name, f"{type(expected).__name__} is said to be {a}"
    else:
        assert isinstance(result, ResultStatic)


__all__ = ["abstracts", "check", "map_abstract", "run"]
