"""``raise`` and ``assert``: exceptions whose class is known while tracing, and whose arguments may contain run-time
numbers (``adc.ir.raising``)."""

from __future__ import annotations

import ast

from adc.frontend.containers.shown import converted
from adc.frontend.containers.texts import template_of
from adc.frontend.control.branches import either, end_with, trace
from adc.frontend.control.jumps import NEVER, RAISED
from adc.frontend.control.thrown import Thrown, again, handled
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import NONE, AbstractValue, Error, Scalar, Static, Tuple, is_list
from adc.frontend.errors import refuse
from adc.frontend.expressions.choosing import for_each, narrow
from adc.frontend.expressions.conditions import condition
from adc.frontend.expressions.evaluation import evaluate
from adc.frontend.frame import Frame
from adc.ir import kinds, ops
from adc.ir.arith import const
from adc.ir.builder import build, current_loc
from adc.ir.raising import MOST, class_name
from adc.ir.types import i1


def raise_(frame: Frame, statement: ast.Raise) -> None:
    """``raise E``, ``raise E(...)``, ``raise E(...) from None``."""
    if statement.exc is None:
        handling = frame.env.get(HANDLED)
        if handling is None:
            raise refuse(
                frame.loc(statement),
                "there is no exception to raise again",
                "name it: raise ValueError(...), for instance",
                kind=kinds.UNSUPPORTED_STATEMENT,
            )
        again(frame, handling)
        return
    for_each(frame, [statement.exc], lambda: _raised(frame, statement))


def _raised(frame: Frame, statement: ast.Raise) -> None:
    assert statement.exc is not None
    value = evaluate(frame, statement.exc)
    if statement.cause is not None and not _is_none(statement.cause) and not _is_handled(frame, statement.cause):
        message = "an exception with a cause is not supported"
        kind = kinds.UNSUPPORTED_STATEMENT
        raise refuse(frame.loc(statement.cause), message, "leave 'from ...' out", kind=kind)
    error = as_error(value)
    if error is None:
        raise refuse(
            frame.loc(statement.exc),
            f"exceptions must derive from BaseException, not {describe_type(value)}",
            "raise a built-in exception such as ValueError",
            kind=kinds.WRONG_TYPE,
        )
    emit(frame, error)


HANDLED = "<handled>"  # the variable with the exception that is being handled
NAME = "<name of handled>"


def _is_handled(frame: Frame, cause: ast.expr) -> bool:
    """Whether ``cause`` names the exception that is being handled, which is the context in any case."""
    name = frame.env.get(NAME)
    return isinstance(cause, ast.Name) and isinstance(name, Static) and name.value == cause.id


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def assert_(frame: Frame, statement: ast.Assert) -> None:
    """``assert test, message``: the message is computed only if the test fails. None under ``python -O``."""
    if not __debug__:
        return
    known = condition(frame, statement.test)
    if known is True:
        return

    def fail() -> None:
        args = () if statement.msg is None else (evaluate(frame, statement.msg),)
        emit(frame, Error(AssertionError, args))

    if known is False:
        fail()
    else:
        path = trace(frame, fail)
        if path.never:
            end_with(known, False, path.block)
        else:
            either(frame, known, trace(frame, lambda: None), path, ())
        narrow(frame, statement.test, True, evaluate)


def is_exception(value: object) -> bool:
    """Whether ``value`` is a class of exceptions."""
    return isinstance(value, type) and issubclass(value, BaseException)


def as_error(value: AbstractValue) -> Error | None:
    """The exception that ``raise`` raises for a value."""
    if isinstance(value, Error):
        return value
    if isinstance(value, Static) and is_exception(value.value):
        return make_error(value.value, ())
    return None


def make_error(
    cls: type[BaseException],
    args: tuple[AbstractValue, ...],
    keywords: tuple[tuple[str, AbstractValue], ...] = (),
) -> Error:
    """``cls(*args, **keywords)``."""
    if not issubclass(cls, Exception):
        raise refuse(
            current_loc(),
            f"exceptions of class {cls.__name__} cannot be raised in compiled code",
            "derive it from Exception, or raise a built-in exception such as ValueError or RuntimeError",
            kind=kinds.UNSUPPORTED_VALUE,
        )
    if issubclass(cls, BaseExceptionGroup):
        raise refuse(current_loc(), "groups of exceptions are not supported", "raise one", kind=kinds.UNSUPPORTED_VALUE)
    return Error(cls, args, keywords)


def emit(frame: Frame, error: Error) -> None:
    """Raise an exception at the insertion point, where control ends."""
    values: list[Scalar] = []
    arguments = tuple(_argument(frame, a, values) for a in error.args)
    arguments += tuple(f"{{{name}!=}}{_argument(frame, a, values)}" for name, a in error.keywords)
    if len(values) > MOST:
        message = f"a message with more than {MOST} run-time values is not supported"
        raise refuse(current_loc(), message, "show fewer", kind=kinds.UNSUPPORTED_OPTION)
    if handled(frame, error.cls):
        frame.env[RAISED] = Static(Thrown(error.cls, arguments, bool(values)))
        return
    attrs = {"error": class_name(error.cls), "message": arguments}
    build(ops.assert_, [const(False, i1), *(v.value for v in values)], attrs)
    frame.env[NEVER] = NONE


def _argument(frame: Frame, v: AbstractValue, values: list[Scalar]) -> str:
    """The template of an argument: a text, a number, or a container of constants."""
    if isinstance(v, Tuple) or is_list(v):
        numbers: list[Scalar] = []
        shown = converted(frame, v, "r", numbers)
        if not numbers:
            return f"{{None!l}}{shown}"
    return template_of(v, values)
