"""The program's text on 80-bit floats, with a record of each decision.

``math`` and ``numpy`` are replaced by functions for such floats, and the syntax tree is rewritten so that each
comparison, ``abs``, ``min``, ``max`` and rounding records its outcome.
"""

from __future__ import annotations

import ast
import builtins
import collections
import dataclasses
import enum
import functools
import itertools
import math
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

LONG = np.longdouble


@dataclass
class Trail:
    """The decisions of one run; ``margin`` is how close a decision on floats was to going the other way."""

    decisions: list[Any] = field(default_factory=list)
    margin: float = math.inf

    def note(self, decision: Any, distance: Any = math.inf, *, kink: bool = False) -> None:
        """A ``kink`` is continuous: a tie that lasts along a direction is no obstacle to the derivative along it."""
        if kink and distance == 0:
            self.decisions.append((decision, "a tie"))
            return
        self.decisions.append(decision)
        self.margin = min(self.margin, float(distance))


class Instrument(ast.NodeTransformer):
    """``a < b < c`` becomes ``_compare(["Lt", "Lt"], lambda: a, lambda: b, lambda: c)``; likewise ``//`` and ``%``."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        names = ast.List([ast.Constant(type(op).__name__) for op in node.ops], ast.Load())
        if any(name.value not in _OPERATORS for name in names.elts if isinstance(name, ast.Constant)):
            return node
        operands = [_thunk(v) for v in (node.left, *node.comparators)]
        call = ast.Call(ast.Name("_compare", ast.Load()), [names, *operands], [])
        return ast.copy_location(call, node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.FloorDiv | ast.Mod):
            return node
        symbol = ast.Constant("//" if isinstance(node.op, ast.FloorDiv) else "%")
        call = ast.Call(ast.Name("_floored", ast.Load()), [symbol, node.left, node.right], [])
        return ast.copy_location(call, node)


def _thunk(value: ast.expr) -> ast.expr:
    arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(arguments, value)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Lt": lambda a, b: a < b,
    "LtE": lambda a, b: a <= b,
    "Gt": lambda a, b: a > b,
    "GtE": lambda a, b: a >= b,
    "Eq": lambda a, b: a == b,
    "NotEq": lambda a, b: a != b,
}


def _is_float(x: Any) -> bool:
    return isinstance(x, np.floating | float)


def _varies(x: Any) -> bool:
    """What depends on the arguments is of extended precision."""
    return isinstance(x, LONG)


def namespace(trail: Trail) -> dict[str, Any]:
    """The names that a rewritten program needs, which note decisions in ``trail``."""

    def compare(names: Sequence[str], *thunks: Callable[[], Any]) -> bool:
        left = thunks[0]()
        for name, thunk in zip(names, thunks[1:], strict=True):
            right = thunk()
            if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
                return compare_arrays(_OPERATORS[name], left, right)
            held = bool(_OPERATORS[name](left, right))
            trail.note(held, abs(left - right) if _varies(left) or _varies(right) else math.inf)
            if not held:
                return False
            left = right
        return True

    def compare_arrays(operator: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
        held = operator(left, right)
        for each, distance in zip(np.ravel(held), np.ravel(np.abs(left - right)), strict=True):
            trail.note(bool(each), distance if _varies(distance) else math.inf)
        return held

    def elementwise(sign: int) -> Callable[[Any, Any], Any]:
        """``np.maximum``, ``np.minimum``."""

        def choose(left: Any, right: Any) -> Any:
            for difference in np.ravel(left - right):
                trail.note(bool(sign * difference > 0), abs(difference) if _varies(difference) else math.inf, kink=True)
            return np.where(sign * (left - right) > 0, left, right)

        return choose

    def absolute(x: Any) -> Any:
        if isinstance(x, int | np.integer):
            return builtins.abs(x)
        for value in np.ravel(x):
            trail.note(bool(value < 0), abs(value), kink=True)
        return np.abs(x)

    def extreme(sign: int) -> Callable[..., Any]:
        def choose(*given: Any) -> Any:
            values = given if len(given) > 1 else list(given[0])
            best = 0
            for k in range(1, len(values)):
                if sign * (values[k] - values[best]) > 0:
                    best = k
            for k, value in enumerate(values):
                if k != best:
                    distance = abs(value - values[best])
                    trail.note(best, distance if _varies(distance) else math.inf, kink=True)
            return values[best]

        return choose

    def array_extreme(sign: int) -> Callable[[Any], Any]:
        def choose(a: Any) -> Any:
            flat = np.ravel(a)
            at = int(np.argmax(sign * flat))
            rest = np.delete(flat, at)
            distance = np.min(np.abs(rest - flat[at])) if rest.size and flat.dtype.kind == "f" else math.inf
            trail.note(at, distance, kink=True)
            return flat[at]

        return choose

    def whole(rounded: int, x: Any, offset: float = 0.0) -> int:
        """``x`` was rounded; what is rounded the other way lies beyond an integer, plus the offset."""
        shifted = x - offset
        trail.note(rounded, abs(shifted - np.rint(shifted)) if _varies(x) else math.inf)
        return rounded

    def floored(symbol: str, a: Any, b: Any) -> Any:
        if isinstance(a, str):
            return a % b
        if _is_float(a) or _is_float(b):
            whole(int(np.floor(a / b)), a / b)
        return a // b if symbol == "//" else a % b

    class Integer(int):
        """``int``, for conversions."""

        def __new__(cls, x: Any = 0) -> Any:
            return whole(int(x), x) if _is_float(x) else int(x)

    long_math = types.SimpleNamespace(
        **{name: getattr(np, name) for name in ("sin", "cos", "tanh", "exp", "sqrt", "log")},
        atan=np.arctan,
        fabs=absolute,
        erf=long_erf,
        floor=lambda x: whole(math.floor(x), x) if _is_float(x) else x,
        ceil=lambda x: whole(math.ceil(x), x) if _is_float(x) else x,
    )
    def sort(a: Any) -> Any:
        order = np.argsort(a, kind="stable")
        trail.note(tuple(order), np.min(np.diff(a[order]), initial=math.inf))
        return a[order]

    largest = elementwise(1)
    largest.accumulate = lambda a: np.array(list(itertools.accumulate(a, largest)), LONG)  # type: ignore[attr-defined]
    long_numpy = LongNumpy(
        float32=LONG,
        sort=sort,
        abs=absolute,
        max=array_extreme(1),
        min=array_extreme(-1),
        maximum=largest,
        minimum=elementwise(-1),
        zeros=lambda shape, dtype=LONG: np.zeros(shape, _long_dtype(dtype)),
        ones=lambda shape: np.ones(shape, LONG),
        full=lambda shape, value: np.full(shape, value, LONG),
        array=_long_array,
    )
    modules = {
        "math": long_math,
        "numpy": long_numpy,
        "adc": types.SimpleNamespace(prange=range),
        **{m.__name__: m for m in (collections, dataclasses, enum, functools, typing)},
    }

    def load(name: str, *rest: Any) -> Any:
        return modules[name]

    names = dict(vars(builtins))
    names.update(
        __import__=load,
        abs=absolute,
        max=extreme(1),
        min=extreme(-1),
        int=Integer,
        float=lambda x=0.0: LONG(x) if _varies(x) or isinstance(x, np.ndarray) else builtins.float(x),
        round=lambda x: whole(round(x), x, 0.5) if _is_float(x) else round(x),
    )
    return {"__name__": "fuzz", "__builtins__": names, "_compare": compare, "_floored": floored}


class LongNumpy(types.SimpleNamespace):
    """NumPy, with some functions in place of its own."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def _long_dtype(dtype: Any) -> Any:
    """The dtype with long floats in place of others."""
    if isinstance(dtype, list):
        return [(name, LONG if kind == "f8" else kind, *shape) for name, kind, *shape in dtype]
    return np.int64 if isinstance(dtype, type) and issubclass(dtype, int | np.integer) else LONG


def _long_array(values: Any) -> Any:
    made = np.array(values)
    return made if made.dtype.kind in "ic" else made.astype(LONG)


def long_erf(x: Any) -> Any:
    """erf by the series 2/sqrt(pi) exp(-x²) sum of 2^n x^(2n+1) / (2n+1)!!, which converges everywhere."""
    x = LONG(x)
    term = total = x
    n = 0
    while abs(term) > abs(total) * LONG(1e-21):
        n += 1
        term = term * 2 * x * x / (2 * n + 1)
        total = total + term
    return 2 / np.sqrt(LONG(np.pi) + LONG(1.2246467991473532e-16)) * np.exp(-x * x) * total
