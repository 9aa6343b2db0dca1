"""Errors for calls of adc's functions with unsuitable arguments."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any

from adc.frontend.suggestions import nearest
from adc.ir import kinds
from adc.ir.diagnostics import AdcError

_ELSEWHERE = {"wrt": "argnums", "argnum": "argnums", "arg": "argnums", "argname": "argnames", "in_dims": "in_axes"}
"""Keywords of other tools, and singular forms."""
OF_JIT_GRAD = frozenset(
    {
        *("argnums", "argnames", "has_aux", "threads", "parallel", "accumulate", "deterministic"),
        *("tile", "time_block", "contract", "debug"),
    }
)
"""Keywords for making a function, not for its calls."""


def wrong_call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> AdcError | None:
    """An error that says why arguments do not fit the parameters of a function of adc; None if they do."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
        return None
    except TypeError as error:
        message = str(error)
    name = function.__name__
    public = [p for p in signature.parameters.values() if not p.name.startswith("_") and p.name != "self"]
    known = [p.name for p in public if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    help = f"the parameters are {signature.replace(parameters=[_plain(p) for p in public], return_annotation=_EMPTY)}"
    unknown = [keyword for keyword in kwargs if keyword not in known]
    if unknown:
        message = f"got an unexpected keyword argument {unknown[0]!r}"
        close = _ELSEWHERE.get(unknown[0])
        close = close if close in known else nearest(unknown[0], known)
        if close is not None:
            help = f"did you mean '{close}'?"
    elif message.startswith("too many"):
        message = f"got {message}"
    return kinds.WRONG_ARGUMENTS(f"{name}() {message}", help=help)


_EMPTY = inspect.Signature.empty


def _plain(parameter: inspect.Parameter) -> inspect.Parameter:
    return parameter.replace(annotation=_EMPTY)


def no_function(verb: str, given: Any) -> AdcError:
    """The error for an argument that should be a function and is not."""
    if isinstance(given, type):
        help = "decorate its methods, or give an instance that can be called"
    elif callable(given):
        help = f"wrap it in a function, for instance lambda x: {_called(given)}(x)"
    elif verb == "compiles":
        help = "options have names: jit_grad(argnums=0)"
    else:
        help = "give the function, not what it returns: adc.grad(f)(x)"
    return kinds.NOT_A_FUNCTION(f"adc {verb} Python functions, not {given!r}", help=help)


def _called(function: Any) -> str:
    """The name of a library function as users write it."""
    module = getattr(function, "__module__", None) or ("numpy" if type(function).__module__ == "numpy" else "")
    name = getattr(function, "__name__", "f")
    if module in ("", "builtins") or isinstance(function, types.MethodType):
        return str(name)
    return f"{'np' if module == 'numpy' else module}.{name}"
