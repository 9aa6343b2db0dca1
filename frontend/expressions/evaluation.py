"""Evaluation of expressions, by the rule for the kind of syntax; and when a pending array expression is computed."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from adc.frontend.arrays import arrays
from adc.frontend.containers import keys
from adc.frontend.data.values import AbstractValue, Lazy
from adc.frontend.frame import Frame
from adc.frontend.libraries.table import is_library
from adc.frontend.numeric.nests import materialise
from adc.frontend.objects import pools
from adc.frontend.unsupported import refuse_expression

RULES: dict[type[ast.expr], Callable[[Frame, Any], AbstractValue]] = {}


def evaluate(frame: Frame, node: ast.expr) -> AbstractValue:
    """The value of an expression."""
    rule = RULES.get(type(node))
    if rule is None:
        raise refuse_expression(frame.loc(node), node)
    with frame.at(node):
        return keys.keyed(frame, pools.pooled(frame, rule(frame, node)))


def evaluate_kept(frame: Frame, node: ast.expr) -> AbstractValue:
    """Like ``evaluate``, for a value that is kept: an array expression is computed now."""
    value = evaluate(frame, node)
    with frame.at(node):
        return arrays.settled(frame, value)


def before_calls(frame: Frame, value: AbstractValue, *rest: ast.expr) -> AbstractValue:
    """Compute a pending array expression if evaluating ``rest`` may change what it reads."""
    if isinstance(value, Lazy) and any(may_write(frame, node) for node in rest):
        return materialise(frame, value)
    return value


def may_write(frame: Frame, node: ast.expr) -> bool:
    """Whether evaluating an expression may change what other expressions read."""
    return any(isinstance(n, ast.Call) and _may_change(n, of_library(frame, n.func)) for n in ast.walk(node))


def only_makes(frame: Frame, node: ast.expr) -> bool:
    """Whether evaluating an expression calls nothing but functions of libraries, and classes for new objects."""
    calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
    return not any(_may_change(n, of_library(frame, n.func)) and not _is_class(frame, n.func) for n in calls)


def _is_class(frame: Frame, callee: ast.expr) -> bool:
    if not isinstance(callee, ast.Name):
        return False
    own = frame.env.get(callee.id)
    return isinstance(getattr(own, "value", None) if own is not None else _outer(frame, callee.id), type)


def _may_change(call: ast.Call, function: Any) -> bool:
    """Whether a call may change arrays: a function of a library only those that it gets for its results. None stands
    for other functions."""
    if function is None or any(keyword.arg == "out" for keyword in call.keywords):
        return True
    return isinstance(function, np.ufunc) and len(call.args) > function.nin


def of_library(frame: Frame, callee: ast.expr) -> Any:
    """The function of a library that an expression names; None for others."""
    found = None
    if isinstance(callee, ast.Attribute):
        owner = callee.value
        if isinstance(owner, ast.Name) and owner.id not in frame.liveness.local:
            found = getattr(_outer(frame, owner.id), callee.attr, None)
    elif isinstance(callee, ast.Name) and callee.id not in frame.env:
        found = _outer(frame, callee.id)
    return found if is_library(found) else None


def _outer(frame: Frame, name: str) -> Any:
    found = frame.module_globals.get(name)
    return found if found is not None else getattr(builtins, name, None)
