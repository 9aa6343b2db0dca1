"""Functions and lambdas defined inside a traced function."""

from __future__ import annotations

import ast
from collections.abc import Callable

from adc.frontend.frame import Frame
from adc.frontend.liveness import free_names
from adc.frontend.source import FunctionSource
from adc.frontend.values import AbstractValue, Closure


def make_closure(
    frame: Frame, node: ast.FunctionDef | ast.Lambda, evaluate: Callable[[Frame, ast.expr], AbstractValue]
) -> Closure:
    """The value of a nested function: its code, its defaults now, and where its free variables will be read."""
    known = frame.nested.get(node)
    if known is None:
        name = node.name if isinstance(node, ast.FunctionDef) else "<lambda>"
        known = frame.nested[node] = FunctionSource(frame.source.file, node, name)
    free = sorted(n for n in free_names(node) if n in frame.liveness.local or n in frame.env)
    keyword_defaults = tuple(
        (a.arg, evaluate(frame, d)) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d
    )
    return Closure(
        known,
        tuple(free),
        tuple(evaluate(frame, d) for d in node.args.defaults),
        keyword_defaults,
        frame,
        frame.module_globals,
        frame.cells,
    )
