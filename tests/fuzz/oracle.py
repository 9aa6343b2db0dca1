"""The truth about a random program: plain Python, and differences of it in extended precision.

The program's text is run unchanged for values. For derivatives it is run on 80-bit floats (``math`` is replaced by
NumPy's functions, which take them), and its syntax tree is rewritten so that each comparison, ``abs``, ``min`` and
``max`` notes which way it went: a difference counts only if both sides went the same way as the point between them.
"""

from __future__ import annotations

import ast
import builtins
import math
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

LONG = np.longdouble
Values = list[Any]


@dataclass
class Trail:
    """The decisions of one run; ``margin`` is how close a decision on floats was to going the other way."""

    decisions: list[Any] = field(default_factory=list)
    margin: float = math.inf

    def note(self, decision: Any, distance: Any) -> None:
        self.decisions.append(decision)
        self.margin = min(self.margin, float(distance))


class _Instrument(ast.NodeTransformer):
    """``a < b < c`` becomes ``_compare(["<", "<"], lambda: a, lambda: b, lambda: c)``."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        names = ast.List([ast.Constant(type(op).__name__) for op in node.ops], ast.Load())
        operands = [_thunk(v) for v in (node.left, *node.comparators)]
        call = ast.Call(ast.Name("_compare", ast.Load()), [names, *operands], [])
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


class LongOracle:
    """The program on 80-bit floats, with a trail of its decisions."""

    def __init__(self, text: str) -> None:
        tree = ast.fix_missing_locations(_Instrument().visit(ast.parse(text)))
        self.code = compile(tree, "<oracle>", "exec")

    def run(self, args: Values) -> tuple[Any, Values, Trail]:
        """The result, the arguments afterwards and the trail."""
        trail = Trail()
        module = self._module(trail)
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        given = rejoin(args, given)
        result = module["main"](*given)
        return result, given, trail

    def _module(self, trail: Trail) -> dict[str, Any]:
        namespace: dict[str, Any] = {"__builtins__": dict(vars(builtins))}

        def compare(names: Sequence[str], *thunks: Callable[[], Any]) -> bool:
            left = thunks[0]()
            for name, thunk in zip(names, thunks[1:], strict=True):
                right = thunk()
                held = bool(_OPERATORS[name](left, right))
                trail.note(held, abs(left - right) if isinstance(left - right, np.floating | float) else math.inf)
                if not held:
                    return False
                left = right
            return True

        def absolute(x: Any) -> Any:
            if isinstance(x, int):
                return builtins.abs(x)
            for value in np.ravel(x):
                trail.note(bool(value < 0), abs(value))
            return np.abs(x)

        def extreme(sign: int) -> Callable[..., Any]:
            def choose(*values: Any) -> Any:
                best = 0
                for k in range(1, len(values)):
                    if sign * (values[k] - values[best]) > 0:
                        best = k
                for k, value in enumerate(values):
                    if k != best:
                        trail.note(best, abs(value - values[best]))
                return values[best]

            return choose

        def array_extreme(sign: int) -> Callable[[Any], Any]:
            def choose(a: Any) -> Any:
                flat = np.ravel(a)
                at = int(np.argmax(sign * flat))
                rest = np.delete(flat, at)
                trail.note(at, np.min(np.abs(rest - flat[at])) if rest.size and flat.dtype.kind == "f" else math.inf)
                return flat[at]

            return choose

        long_math = types.SimpleNamespace(
            **{name: getattr(np, name) for name in ("sin", "cos", "tanh", "exp", "sqrt", "log")},
            atan=np.arctan,
            fabs=absolute,
            erf=_long_erf,
        )
        long_numpy = types.SimpleNamespace(
            **{
                name: getattr(np, name)
                for name in ("sin", "cos", "tanh", "exp", "arctan", "sum", "dot", "zeros_like")
            },
            abs=absolute,
            max=array_extreme(1),
            min=array_extreme(-1),
            zeros=lambda shape: np.zeros(shape, LONG),
            ones=lambda shape: np.ones(shape, LONG),
            full=lambda shape, value: np.full(shape, value, LONG),
        )
        modules = {"math": long_math, "numpy": long_numpy, "adc": types.SimpleNamespace(prange=range)}

        def load(name: str, *rest: Any) -> Any:
            return modules[name]

        namespace["__builtins__"].update(__import__=load, abs=absolute, max=extreme(1), min=extreme(-1))
        namespace["_compare"] = compare
        exec(self.code, namespace)
        return namespace


def rejoin(originals: Values, copies: Values) -> Values:
    """Copies of arguments that are windows on one base array become the same windows on one copy of it."""
    bases: dict[int, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = {}
    for k, value in enumerate(originals):
        if isinstance(value, np.ndarray) and isinstance(value.base, np.ndarray):
            base = value.base
            _, copy = bases.setdefault(id(base), (base, base.copy()))
            offset = value.__array_interface__["data"][0] - base.__array_interface__["data"][0]
            copies[k] = np.ndarray(value.shape, value.dtype, copy.data, offset, value.strides)
    return copies


def _long_erf(x: Any) -> Any:
    """erf by the series 2/sqrt(pi) exp(-x²) sum of 2^n x^(2n+1) / (2n+1)!!, which converges everywhere."""
    x = LONG(x)
    term = total = x
    n = 0
    while abs(term) > abs(total) * LONG(1e-21):
        n += 1
        term = term * 2 * x * x / (2 * n + 1)
        total = total + term
    return 2 / np.sqrt(LONG(np.pi) + LONG(1.2246467991473532e-16)) * np.exp(-x * x) * total


def run_python(text: str, args: Values) -> tuple[Any, Values]:
    """The program's result by plain Python, and the arguments afterwards."""
    namespace: dict[str, Any] = {}
    exec(compile(text, "<python>", "exec"), namespace)
    given = rejoin(args, [a.copy() if isinstance(a, np.ndarray) else a for a in args])
    return namespace["main"](*given), given


def lengthen(args: Values) -> Values:
    """Float arguments as 80-bit floats; windows on one base array stay windows on one."""
    bases: dict[int, np.ndarray[Any, Any]] = {}
    longer: Values = []
    for value in args:
        if isinstance(value, float):
            longer.append(LONG(value))
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
            base = value.base if isinstance(value.base, np.ndarray) else value
            copy = bases.setdefault(id(base), np.array(base, LONG))
            scale = copy.itemsize // base.itemsize
            offset = (value.__array_interface__["data"][0] - base.__array_interface__["data"][0]) * scale
            strides = tuple(s * scale for s in value.strides)
            longer.append(copy if value is base else np.ndarray(value.shape, LONG, copy.data, offset, strides))
        else:
            longer.append(value)
    return longer


def moved(args: Values, direction: Values, h: float) -> Values:
    """``args + h * direction``. For windows on one base the direction is that of the base, given at each of them."""
    result = lengthen([a.copy() if isinstance(a, np.ndarray) and a.base is None else a for a in args])
    done: set[int] = set()
    for k, (value, step) in enumerate(zip(args, direction, strict=True)):
        if step is None:
            continue
        if isinstance(value, np.ndarray):
            target = result[k].base if isinstance(value.base, np.ndarray) else result[k]
            if id(target) not in done:
                done.add(id(target))
                target += LONG(h) * step
        else:
            result[k] = result[k] + LONG(h) * LONG(step)
    return result


def directional(
    oracle: LongOracle, args: Values, direction: Values, value: Callable[[Any, Values], Any], h: float = 3e-5
) -> float | None:
    """The derivative of ``value(result, arguments afterwards)`` along ``direction``; None where it is not smooth.

    Fourth-order central differences: the truncation error is some 1e-18 times the fifth derivative, rounding 1e-14.
    """
    _, _, middle = oracle.run(lengthen(args))
    samples = {}
    for k in (-2, -1, 1, 2):
        result, after, trail = oracle.run(moved(args, direction, k * h))
        if trail.decisions != middle.decisions:
            return None
        samples[k] = LONG(value(result, after))
    difference = 8 * (samples[1] - samples[-1]) - (samples[2] - samples[-2])
    return float(difference / (12 * LONG(h)))
