"""Whether numbers are the same bit by bit, and which programs promise that."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

_EXACT_NAMES = {"abs", "min", "max", "float", "int", "bool", "range", "len", "enumerate", "zip", "reversed"}
_EXACT_MATH = {"sqrt", "fabs", "floor", "ceil", "trunc", "copysign", "pi", "e", "inf", "nan"}
_EXACT_NUMPY = {
    *("sqrt", "abs", "absolute", "fabs", "minimum", "maximum", "where", "clip", "floor", "ceil", "trunc", "sign"),
    *("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like", "array", "asarray"),
    *("add", "subtract", "multiply", "divide", "square", "copy", "float32", "float64", "int32", "int64", "stack"),
    *("concatenate", "arange", "pi", "inf", "nan", "ndarray", "max", "min", "any", "all"),
}
_OF_ARRAYS = {"copy", "append", "shape", "T", "size", "ndim", "reshape", "ravel", "astype"}
_INEXACT = (ast.Pow, ast.MatMult)


def is_exact(text: str) -> bool:
    """Whether a program is made of operations alone whose results have Python's bits: arithmetic that is rounded
    correctly, in an order that the program says. What is not known is taken to be none."""
    return all(_is_exact(node) for node in ast.walk(ast.parse(text)))


def _is_exact(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp | ast.AugAssign):
        return not isinstance(node.op, _INEXACT)
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Try | ast.With):
        return isinstance(node, ast.Import | ast.ImportFrom)
    if isinstance(node, ast.Attribute):
        owner = node.value.id if isinstance(node.value, ast.Name) else ""
        known = {"math": _EXACT_MATH, "np": _EXACT_NUMPY}.get(owner)
        return node.attr in known if known is not None else True
    if isinstance(node, ast.Call):
        called = node.func
        if isinstance(called, ast.Attribute):
            owner = called.value.id if isinstance(called.value, ast.Name) else ""
            return owner in ("math", "np") or called.attr in _OF_ARRAYS
    return True


def is_exact_program(text: str) -> bool:
    """The same of a module whose functions call one another: names that are called are its own or known."""
    tree = ast.parse(text)
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    called = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    return is_exact(text) and called <= own | _EXACT_NAMES


def is_exact_function(function: Callable[..., Any]) -> bool:
    """The same of a function with all that is written inside of it; what it calls besides must be known to be exact."""
    try:
        return is_exact_program(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):
        return False


def same_bits(a: Any, b: Any) -> bool:
    """Whether values are of one type, shape, and of the same bits; the bits of a NaN do not matter."""
    if isinstance(a, tuple | list) or isinstance(b, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same_bits, a, b))
    x, y = np.asarray(a), np.asarray(b)
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.dtype.kind != "f":
        return bool(np.array_equal(x, y))
    return bool(np.array_equal(x, y, equal_nan=True) and np.array_equal(np.signbit(x[x == 0]), np.signbit(y[y == 0])))
