"""Derivative rules for functions: their declaration, and hooks that are called for new rules."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from adc.border.boundary import public, user_call, user_variables
from adc.frontend.libraries.table import is_library
from adc.frontend.rules.registry import MODES, RULES, Hook, Kind, Rule, name_of, subject_of
from adc.frontend.rules.selection import as_type, types_of
from adc.ir import kinds

F = TypeVar("F", bound=Callable[..., Any])


@public
def rrule(function: Callable[..., Any], /) -> Callable[[F], F]:
    """Declare a reverse rule of ``function``: a decorator for ``rule(*args, **kwargs) -> (value, pullback)``.

    ``pullback(cotangent)`` returns one cotangent for each positional parameter of ``function``: a float for a float, an
    array of the same shape for an array, a tuple for a tuple, the same fields for an object, and None where there is
    none. Variables of the rule that ``pullback`` uses are stored for the reverse sweep, or recomputed. Annotations of
    the rule's parameters say which argument types it is for (``x: float``, ``a: "f64[:, :]"``, a class; no annotation
    means any type). Of several rules the most specific one is used. Raises ``ArgumentError`` if ``function`` is not a
    function, or if the rule does not fit it.
    """
    subject = _subject(function)

    @public
    def declare(rule: F) -> F:
        _declare("rrule", subject, rule, skipped=0)
        return rule

    return declare


@public
def frule(function: Callable[..., Any], /) -> Callable[[F], F]:
    """Declare a forward rule of ``function``: a decorator for ``rule(tangents, *args, **kwargs) -> (value, tangent)``.

    ``tangents`` is a tuple with one tangent for each positional parameter of ``function``, and None where there is
    none. For a function of floats that returns one float, reverse mode follows. Everything else is as for ``rrule``.
    """
    subject = _subject(function)

    @public
    def declare(rule: F) -> F:
        _declare("frule", subject, rule, skipped=1)
        return rule

    return declare


@public
def scalar_rule(function: Callable[..., Any], /, *partials: Any) -> Any:
    """Declare the partial derivatives of a function of numbers that returns one float; both modes follow.

    For ``f(x, y) = x * y`` write ``adc.scalar_rule(f, lambda x, y: y, lambda x, y: x)``, with one partial derivative
    for each positional parameter: a function, a number if it is constant, or None for a parameter that is not a float
    or must not vary. A partial derivative takes the arguments of the function and, if it has a parameter ``result``,
    also the value. Without partial derivatives ``scalar_rule`` is a decorator for a function that returns all of them:
    one, or a tuple.
    """
    subject = _subject(function)
    if partials:
        for partial in partials:
            if partial is not None and not callable(partial) and not isinstance(partial, int | float | np.generic):
                raise kinds.INVALID_RULE(f"a partial derivative is a number, None or a function, not {partial!r}")
        _check_count(subject, len(partials), "partial derivatives")
        types = tuple(object if p is None else float for p in partials)
        call = user_call()
        RULES.add(Rule("scalar", subject, types, None, None, partials, "scalar_rule", call.file, call.line))
        return None

    @public
    def declare(rule: F) -> F:
        _declare("scalar", subject, rule, skipped=0)
        return rule

    return declare


@public
def no_rule(function: Callable[..., Any], /, *types: Any) -> None:
    """Declare that calls with arguments of these types (or all calls, without types) are differentiated without a rule.

    This removes a rule for the same types, and overrides one for more general types.
    """
    subject = _subject(function)
    try:
        wanted = tuple(as_type(t, "no_rule") for t in types)
    except ValueError as error:
        raise kinds.INVALID_RULE(str(error)) from None
    call = user_call()
    rest = None if types else object
    RULES.add(Rule("none", subject, wanted, rest, None, (), "no_rule", call.file, call.line))


@public
def on_new_rule(hook: Hook, kind: str) -> None:
    """Call ``hook(rule)`` for each rule of ``kind``, ``"frule"`` or ``"rrule"``: first for existing ones, then for new
    ones.

    ``rule.function`` and ``rule.signature`` say what the rule is for. ``rule.frule(tangents, *args, **kwargs)`` and
    ``rule.rrule(*args, **kwargs)`` run it in plain Python. A scalar rule is of both kinds.
    """
    if kind not in MODES or not callable(hook):
        raise kinds.INVALID_RULE(
            f"on_new_rule takes a function and a kind of rule, not {hook!r} and {kind!r}",
            help='the kinds are "frule" and "rrule"',
        )
    RULES.hook(hook, kind)


@public
def refresh_rules() -> None:
    """Call all hooks for the rules that they have not seen: new ones, changed ones, and those for which a hook
    failed."""
    RULES.refresh()


@public
def clear_new_rule_hooks() -> None:
    """Remove all hooks."""
    RULES.clear_hooks()


def _subject(function: Any) -> Any:
    """The function that a rule is for. Raises for objects that no call could refer to."""
    subject = subject_of(function)
    if isinstance(subject, types.MethodType):
        help = f"give the rule for {type(subject.__self__).__name__}.{subject.__name__}"
        raise kinds.INVALID_RULE(f"rules are for the functions of classes, not for {subject!r}", help=help)
    if not callable(subject):
        raise kinds.INVALID_RULE(f"rules are for functions, not for {subject!r}", help="pass the function itself")
    own = vars(type(subject)).get("__call__")
    if isinstance(own, types.FunctionType) and not is_library(subject):
        name = type(subject).__name__
        help = f"give the rule for {name}.__call__; its first argument is the object"
        raise kinds.INVALID_RULE(f"{name} objects are called by a method, which rules are for", help=help)
    return subject


def _declare(kind: Kind, subject: Any, rule: Any, skipped: int) -> None:
    """Register a rule that is a Python function; its first ``skipped`` parameters are not arguments of the subject."""
    name = name_of(subject)
    if not isinstance(rule, types.FunctionType):
        raise kinds.INVALID_RULE(f"the {kind} of {name} is a Python function, not {rule!r}")
    if rule is subject:
        raise kinds.INVALID_RULE(f"{name} cannot be its own rule", help="write a function of its own")
    try:
        wanted, rest = types_of(rule, skipped, user_variables())
    except ValueError as error:
        raise kinds.INVALID_RULE(f"the {kind} of {name}: {error}") from None
    positional = [p for p in inspect.signature(rule).parameters.values() if p.kind <= p.POSITIONAL_OR_KEYWORD]
    if len(positional) < skipped and rest is None:
        raise kinds.INVALID_RULE(f"the frule of {name} takes the tangents first", help="add a parameter for them")
    if kind == "scalar" and positional and positional[-1].name == "result":
        wanted = wanted[:-1]
    if rest is None:
        _check_count(subject, len(wanted), "arguments")
    code = rule.__code__
    RULES.add(Rule(kind, subject, wanted, rest, rule, (), rule.__name__, code.co_filename, code.co_firstlineno))


def _check_count(subject: Any, count: int, what: str) -> None:
    """Refuse a rule for a number of arguments that the function never takes, if its signature is known."""
    try:
        parameters = list(inspect.signature(subject).parameters.values())
    except (TypeError, ValueError):
        return
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return
    positional = [p for p in parameters if p.kind <= p.POSITIONAL_OR_KEYWORD]
    # Where the source is available, a rule gets all positional parameters, including those with defaults.
    least = len(positional) if isinstance(subject, types.FunctionType) else 0
    if not least <= count <= len(positional):
        names = ", ".join(p.name for p in positional)
        what = what.removesuffix("s") if count == 1 else what
        raise kinds.INVALID_RULE(
            f"a rule of {name_of(subject)} for {count} {what}: its positional parameters are ({names})",
            help="give one for each, with None where there is no partial derivative",
        )
