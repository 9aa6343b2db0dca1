"""Comprehensions over the items of a generator function."""

from __future__ import annotations

import ast
import inspect
import types

from adc.frontend.callee import Callee
from adc.frontend.containers import making, records
from adc.frontend.data.callables import Closure, unbound
from adc.frontend.data.values import AbstractValue, Generator, Static
from adc.frontend.expressions.evaluation import evaluate
from adc.frontend.frame import Frame, PathEnds, discard
from adc.frontend.prelude.python_collections import Held
from adc.frontend.syntax.generators import is_generator
from adc.ir.builder import current_block, current_loc, insert_at
from adc.ir.core import Block


def over_generator(frame: Frame, node: ast.ListComp | ast.GeneratorExp | ast.DictComp) -> bool:
    """Whether a comprehension iterates over a call of a generator function, or an object that has one for it."""
    source = node.generators[0].iter
    if isinstance(source, ast.Name) and isinstance(frame.env.get(source.id), Generator):
        return True
    return names_object(frame, source) or gives_generator(frame, source)


def names_object(frame: Frame, node: ast.expr) -> bool:
    """Whether this is a variable or an attribute with an object that has a generator for its items."""
    if isinstance(node, ast.Name):
        return _goes_through(frame, frame.env.get(node.id)) is not None
    return isinstance(node, ast.Attribute) and _goes_through(frame, _attribute(frame, node)) is not None


def gives_generator(frame: Frame, source: ast.expr) -> bool:
    """Whether this is a call that makes a generator, or an object that has one for its items."""
    if not isinstance(source, ast.Call) or not isinstance(source.func, ast.Name | ast.Attribute):
        return False
    called = evaluate(frame, source.func) if isinstance(source.func, ast.Name) else _attribute(frame, source.func)
    function = unbound(called)
    if isinstance(function, Static) and making.is_class(function.value) and not issubclass(function.value, Held):
        return _generates(frame.tracer.looks.member(function.value, "__iter__")[0])
    if isinstance(function, Closure):
        return is_generator(function.source.node)
    return isinstance(function, Static) and inspect.isgeneratorfunction(function.value)


def iterator_of(frame: Frame, value: AbstractValue) -> AbstractValue:
    """What the ``__iter__`` of an object gives, if it is a generator function; other values as they are."""
    own = _goes_through(frame, value)
    return value if own is None else frame.tracer.call(frame, own, [], {})


def _goes_through(frame: Frame, value: AbstractValue | None) -> AbstractValue | None:
    """The ``__iter__`` of an object, if it is a generator function."""
    if value is None or not records.is_instance(value):
        return None
    if issubclass(records.class_of(value), Held):
        return None
    own = records.method(frame, value, "__iter__")
    function = unbound(own)
    return own if isinstance(function, Static) and _generates(function.value) else None


def _generates(function: object) -> bool:
    """Whether an ``__iter__`` of a class is a generator function."""
    if not isinstance(function, types.FunctionType):
        return False
    return is_generator(Callee.of(function, current_loc()).source.node)


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
