"""Generators that nothing has gone through yet, as values: arguments of other generator functions, and of functions
that go through them once.

Where it is passed to a function, a generator is the function that makes it, together with its arguments.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Mapping

from adc.frontend.arrays.arrays import settled
from adc.frontend.callee import Callee
from adc.frontend.closures import capture, make_closure
from adc.frontend.data.callables import Closure, Started
from adc.frontend.data.values import AbstractValue, Generator, Static
from adc.frontend.forms import Form
from adc.frontend.frame import Frame
from adc.frontend.syntax.generators import arguments_of, function_of
from adc.ir.builder import current_loc

Evaluate = Callable[[Frame, ast.expr], AbstractValue]


def made(
    frame: Frame, target: Callee, bound: Mapping[str, AbstractValue], function: AbstractValue | None, inner: bool
) -> Generator:
    """The generator that the call of a generator function gives. Its arguments are evaluated now."""
    once = target.source.parameters_once
    values = {n: v if isinstance(v, Generator) and n in once else settled(frame, v) for n, v in bound.items()}
    return Generator(target, values, inner, function)


def of_expression(frame: Frame, node: ast.GeneratorExp, evaluate: Evaluate, stream: bool) -> Generator:
    """The generator that a generator expression gives. What its first ``for`` goes through is evaluated now; of a
    ``stream``, what that goes through."""
    function = frame.source.expressions.get(node)
    if function is None:
        function = frame.source.expressions[node] = function_of(node, stream)
    own = make_closure(frame, function, evaluate)
    given = [evaluate(frame, a) for a in arguments_of(node, stream)]
    bound = {a.arg: v for a, v in zip(function.args.args, given, strict=True)}
    return made(frame, Callee.of_closure(own), bound, own, True)


def passed(frame: Frame, callee: Callee, name: str, v: AbstractValue) -> AbstractValue:
    """An argument of a call, evaluated. A generator is passed to a function that goes through it once."""
    if isinstance(v, Generator) and v.function is not None and name in callee.source.parameters_once:
        return _started(v)
    return settled(frame, v)


def _started(generator: Generator) -> AbstractValue:
    function = generator.function
    if not isinstance(function, Closure | Static):
        return generator
    values = [_started(v) if isinstance(v, Generator) else v for v in generator.bound.values()]
    form = Form("function", types.GeneratorType, ("generator", *generator.bound))
    return Started((capture(function) if isinstance(function, Closure) else function, *values), form)


def received(v: AbstractValue) -> AbstractValue:
    """A parameter's value in the function that is called."""
    if not isinstance(v, Started):
        return v
    function = v.function
    target = Callee.of_closure(function) if isinstance(function, Closure) else Callee.of(function.value, current_loc())
    return Generator(target, {n: received(item) for n, item in v.arguments.items()}, False, function)
