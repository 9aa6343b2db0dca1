"""Comprehensions that go through what a generator function gives."""

from __future__ import annotations

import ast
import inspect

from adc.frontend.data.callables import Bound, Closure
from adc.frontend.data.values import Static
from adc.frontend.expressions.evaluation import evaluate
from adc.frontend.frame import Frame
from adc.frontend.syntax.generators import is_generator


def over_generator(frame: Frame, node: ast.ListComp | ast.GeneratorExp) -> bool:
    """Whether a comprehension goes through what a generator function gives, which is called there."""
    source = node.generators[0].iter
    if not isinstance(source, ast.Call) or not isinstance(source.func, ast.Name | ast.Attribute):
        return False
    function = evaluate(frame, source.func)
    while isinstance(function, Bound):
        function = function.function
    if isinstance(function, Closure):
        return is_generator(function.source.node)
    return isinstance(function, Static) and inspect.isgeneratorfunction(function.value)
