"""Comprehensions over the items of a generator function."""

from __future__ import annotations

import ast
import inspect

from adc.frontend.data.callables import Bound, Closure
from adc.frontend.data.values import AbstractValue, Static
from adc.frontend.expressions.evaluation import evaluate
from adc.frontend.frame import Frame, PathEnds, discard
from adc.frontend.syntax.generators import is_generator
from adc.ir.builder import current_block, insert_at
from adc.ir.core import Block


def over_generator(frame: Frame, node: ast.ListComp | ast.GeneratorExp) -> bool:
    """Whether a comprehension iterates over a call of a generator function."""
    source = node.generators[0].iter
    if not isinstance(source, ast.Call) or not isinstance(source.func, ast.Name | ast.Attribute):
        return False
    function = evaluate(frame, source.func) if isinstance(source.func, ast.Name) else _attribute(frame, source.func)
    while isinstance(function, Bound):
        function = function.function
    if isinstance(function, Closure):
        return is_generator(function.source.node)
    return isinstance(function, Static) and inspect.isgeneratorfunction(function.value)


def _attribute(frame: Frame, node: ast.Attribute) -> AbstractValue | None:
    """The function that is called, without the effects of evaluating the expression, which the comprehension has. None
    if it certainly raises."""
    scratch, env, block = Block(), dict(frame.env), frame.statement_block
    try:
        if current_block() is block:
            frame.statement_block = scratch
        with insert_at(scratch):
            return evaluate(frame, node)
    except PathEnds:
        return None
    finally:
        frame.env, frame.statement_block = env, block
        discard(scratch)
