"""The contexts that ``with`` may enter: those that control warnings, which compiled code does not give; results of
``contextlib.contextmanager``; and objects whose ``__exit__`` does the same with and without an exception."""

from __future__ import annotations

import ast
import inspect
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import numpy as np

from adc.frontend.callee import Callee
from adc.frontend.containers import making, records
from adc.frontend.data.callables import Bound, Closure
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import NONE, AbstractValue, Static
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.rules import Rule
from adc.frontend.syntax import contexts
from adc.frontend.syntax.bindings import own_nodes
from adc.ir import kinds
from adc.ir.builder import current_loc

_QUIET = ("ignore", "warn")
_MADE_BY = contextmanager(lambda: iter(())).__code__  # of the functions that the decorator returns


def enter(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    """``with args[0](*args[1:], **kwargs)``, whose body follows."""
    context = args[0].value if isinstance(args[0], Static) else None
    if context is np.errstate:
        for name, v in kwargs.items():
            if not isinstance(v, Static) or v.value not in _QUIET:
                shown = repr(v.value) if isinstance(v, Static) else describe_type(v)
                message = f"np.errstate({name}={shown}) is not supported: compiled code does not report such values"
                help = "test for it: if not np.all(np.isfinite(y)): raise FloatingPointError()"
                raise refuse(current_loc(), message, help, kind=kinds.UNSUPPORTED_OPTION)
    elif context not in (warnings.catch_warnings, nullcontext):
        raise _refused()
    if context is warnings.catch_warnings:
        frame.tracer.quiet = True
        if frame.tracer.warns:
            raise _refused("warnings.catch_warnings() in a program that calls warnings.warn() is not supported")
    return NONE


def _refused(message: str = "with is not supported", help: str = "open resources outside the compiled function") -> Any:
    return refuse(current_loc(), message, help, kind=kinds.UNSUPPORTED_STATEMENT)


def _decorated(context: AbstractValue) -> Any:
    """The generator function that ``contextmanager`` was applied to; None if it was not."""
    function = context.function if isinstance(context, Bound) else context
    found = function.value if isinstance(function, Static) else None
    made = isinstance(found, types.FunctionType) and found.__code__ is _MADE_BY
    return found.__wrapped__ if made else None  # type: ignore[union-attr]


def _is_manager(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    context, jumps = args
    function = _decorated(context)
    if function is None:
        value = context.value if isinstance(context, Static) else None
        python = isinstance(context, Bound | Closure) or isinstance(value, types.FunctionType)
        if not python and not (isinstance(value, type) and value.__module__ != "contextlib" and making.is_class(value)):
            raise _refused()
        return Static(False)
    node = Callee.of(function, current_loc()).source.node
    assert isinstance(node, ast.FunctionDef)
    if sum(isinstance(n, ast.Yield | ast.YieldFrom) for n in own_nodes(node.body)) != 1 or _is_conditional(node.body):
        raise _refused(f"{node.name}() does not yield just once, outside loops and conditions", "write one yield")
    if isinstance(jumps, Static) and jumps.value:
        message = f"return, break and continue out of a with are not supported where {node.name}() is a generator"
        raise _refused(message, "set a variable in the with, and leave after it")
    return Static(True)


def _is_conditional(body: Sequence[ast.stmt]) -> bool:
    """Whether the ``yield`` among statements may not be reached exactly once."""
    for s in body:
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.Yield):
            return False
        if isinstance(s, ast.Try) and any(isinstance(n, ast.Yield) for n in own_nodes(s.body)):
            return _is_conditional(s.body)
        if any(isinstance(n, ast.Return) for n in own_nodes([s])):
            return True
    return True


def _is_suppress(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    return Static(isinstance(args[0], Static) and args[0].value is suppress)


def _generator(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    (context,) = args
    function = Static(_decorated(context))
    return Bound((context.owner, function), context.form) if isinstance(context, Bound) else function


def _method(frame: Frame, context: AbstractValue, name: str) -> AbstractValue:
    found = records.method(frame, context, name)
    if found is None:
        raise _refused()
    return found


def _entered(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    (context,) = args
    leave = _method(frame, context, "__exit__")
    function = leave.function if isinstance(leave, Bound) else leave
    assert isinstance(function, Static)
    _check_exit(function.value)
    return frame.tracer.call(frame, _method(frame, context, "__enter__"), [], {})


def _check_exit(function: Callable[..., Any]) -> None:
    """Refuse an ``__exit__`` whose effect depends on whether there is an exception, or that may suppress it."""
    node = Callee.of(inspect.unwrap(function), current_loc()).source.node
    a = node.args
    own = [p.arg for p in (*a.posonlyargs, *a.args)][1:] + [p.arg for p in (a.vararg, a.kwarg) if p is not None]
    body = node.body if isinstance(node.body, list) else [ast.Return(node.body)]
    for n in (n for s in body for n in ast.walk(s)):
        if isinstance(n, ast.Name) and n.id in own:
            message = f"an __exit__ that looks at the exception ('{n.id}') is not supported"
            raise _refused(message, "write try, except and finally instead of with")
        if isinstance(n, ast.Return) and not _is_nothing(n.value):
            message = "an __exit__ that may suppress the exception is not supported"
            raise _refused(message, "write try and except instead of with")


def _is_nothing(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and not value.value)


def _left(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    frame.tracer.call(frame, _method(frame, args[0], "__exit__"), [NONE] * 3, {})
    return NONE


RULES: dict[Any, Rule] = {
    contexts.enters: enter,
    contexts.is_manager: _is_manager,
    contexts.is_suppress: _is_suppress,
    contexts.generator: _generator,
    contexts.entered: _entered,
    contexts.left: _left,
}
