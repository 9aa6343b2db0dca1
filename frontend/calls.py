"""Calls: what is called, and how its arguments are bound."""

from __future__ import annotations

import copy
import enum
import functools
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend import prelude, rematerialised
from adc.frontend.arrays import arrays
from adc.frontend.callee import Callee, python_function, refuse_dispatching
from adc.frontend.checkpoints import checkpointed_function
from adc.frontend.containers import blocks, keys, making, records, sequences
from adc.frontend.containers.texts import format_, is_format
from adc.frontend.control import options
from adc.frontend.data.callables import Bound, Closure, Partial, received
from adc.frontend.data.compounds import OneOf
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Generator, Lazy, Method, Static, Stream, Tuple, is_array
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.functions import (
    contexts,
    decorators,
    derivatives,
    generators,
    local_classes,
    mapped,
    patterns,
    vectorised,
)
from adc.frontend.functions.signature import bind
from adc.frontend.libraries import special_methods, ufuncs
from adc.frontend.libraries.array_likes import with_arrays
from adc.frontend.libraries.methods import call_method
from adc.frontend.libraries.table import BY_IDENTITY, LIBRARY, is_library
from adc.frontend.objects import counts, pools
from adc.frontend.objects.list_pools import is_row
from adc.frontend.rules import application, gradients
from adc.frontend.rules.registry import RULES, subject_of
from adc.frontend.statements.exceptions import is_exception, make_error
from adc.frontend.suggestions import for_function, full_name
from adc.frontend.syntax.generators import is_generator
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.diagnostics import AdcError

CallFunction = Callable[[Frame, Callee, Mapping[str, AbstractValue]], AbstractValue]


def call_value(
    frame: Frame,
    callee: AbstractValue,
    args: Sequence[AbstractValue],
    kwargs: Mapping[str, AbstractValue],
    call_function: CallFunction,
) -> AbstractValue:
    """Call a library function, a method, a Python function or a closure.

    ``call_function`` calls a Python function, when its arguments are bound.
    """
    callee = received(callee)
    if isinstance(callee, Static) and _numbers_only(callee.value):
        args = [options.there(a, f"{callee.value.__name__}() takes no None") for a in args]
    values = [callee, *args, *kwargs.values()]
    if any(isinstance(v, OneOf) for v in values):

        def call(each: list[AbstractValue]) -> AbstractValue:
            named = dict(zip(kwargs, each[1 + len(args) :], strict=True))
            found = arrays.settled(frame, call_value(frame, each[0], each[1 : 1 + len(args)], named, call_function))
            return keys.keyed(frame, pools.pooled(frame, found))

        return options.split_all(frame, values, call)
    if _keeps(callee):
        begins = isinstance(callee, Static) and making.has_own_init(callee.value)
        kept = Generator if begins else Stream if _goes_through(callee) else ()
        args = [a if isinstance(a, kept) else arrays.settled(frame, a) for a in args]
        kwargs = {name: arrays.settled(frame, a) for name, a in kwargs.items()}
    if isinstance(callee, Method):
        return call_method(frame, callee, args, kwargs)
    if isinstance(callee, Closure):
        return _call_closure(frame, callee, args, kwargs, call_function)
    if isinstance(callee, Bound):
        return call_value(frame, callee.function, [callee.owner, *args], kwargs, call_function)
    vmap = mapped.as_vmap(callee)
    if vmap is not None:
        return mapped.call(frame, vmap[0], [vmap[1], *args], kwargs, call_function)
    if isinstance(callee, Partial):
        function, *first = callee.positional
        return call_value(frame, function, [*first, *args], {**callee.keywords, **kwargs}, call_function)
    if isinstance(callee, Static) and decorators.is_bound(callee.value):
        return call_value(frame, decorators.taken_apart(frame, callee.value), args, kwargs, call_function)
    if isinstance(callee, Static) and callee.value is rematerialised.CALL:
        return call_value(frame, mapped.apart(args[0]), args[1:], kwargs, rematerialised.calling(call_function))
    over = vectorised.taken_apart(frame, callee)
    if over is not None:
        return call_value(frame, over, args, kwargs, call_function)
    decorated = decorators.call(frame, callee, args, kwargs)
    if decorated is not None:
        return decorated
    if isinstance(callee, Static) and callee.value is np.vectorize:
        return vectorised.made(frame, [sequences.snapshot(frame, a) for a in args], _snapshots(frame, kwargs))
    own = records.method(frame, callee, "__call__")
    if own is not None:
        return call_value(frame, own, args, kwargs, call_function)
    if isinstance(callee, Static) and gradients.is_gradient(callee.value):
        return gradients.call_gradient(frame, callee.value, args, kwargs)
    inside = getattr(callee.value, "__adc_traced__", None) if isinstance(callee, Static) else None
    if inside is not None:
        return call_value(frame, Static(inside), args, kwargs, call_function)
    made = gradients.as_gradient(callee.value) if isinstance(callee, Static) else None
    if made is not None:
        return gradients.call_gradient(frame, made[0], [made[1], *args], kwargs)
    if isinstance(callee, Static) and callable(callee.value):
        subject = subject_of(callee.value)
        frame.tracer.consult(subject)
        if RULES.has(subject):
            ruled = application.call(frame, subject, args, kwargs, call_plain, call_function)
            if ruled is not None:
                return ruled
        inner = checkpointed_function(callee.value)
        if inner is not None:
            return call_value(frame, mapped.apart(Static(inner)), args, kwargs, rematerialised.calling(call_function))
    with counts.may_help(frame, values):
        return call_plain(frame, callee, args, kwargs, call_function)


def call_plain(
    frame: Frame,
    callee: AbstractValue,
    args: Sequence[AbstractValue],
    kwargs: Mapping[str, AbstractValue],
    call_function: CallFunction,
) -> AbstractValue:
    """Call something other than a method, closure or partial, ignoring any derivative rules it may have."""
    if not isinstance(callee, Static) or not callable(callee.value):
        refuse_dispatching(callee.value if isinstance(callee, Static) else None, current_loc())
        raise refuse(current_loc(), f"{describe_type(callee)} cannot be called", kind=kinds.NOT_CALLABLE)
    of_syntax = _OF_SYNTAX.get(callee.value) if isinstance(callee.value, types.FunctionType) else None
    if of_syntax is not None:
        return of_syntax(frame, args, kwargs)
    if is_exception(callee.value):
        return make_error(callee.value, tuple(args), tuple(kwargs.items()))
    if is_format(callee.value):
        return format_(frame, callee.value.__self__, args, kwargs)
    program = _of_items(callee.value, args)
    if program is not None:
        return _call_program(frame, callee.value, program, args, kwargs, call_function)
    if is_library(callee.value):
        if callee.value not in _OF_OBJECTS:
            args = [a if is_row(a) and callee.value in BY_IDENTITY else sequences.inside(frame, a) for a in args]
        if callee.value not in BY_IDENTITY:  # the others only look at what lists hold
            args = [sequences.snapshot(frame, a) for a in args]
            kwargs = _snapshots(frame, kwargs)
        args, kwargs = with_arrays(frame, callee.value, args, kwargs)
        return _call_library(frame, callee.value, args, kwargs)
    if isinstance(callee.value, records.GeneratedInit):
        return making.generated(frame, callee.value.cls, args, kwargs)
    if making.is_class(callee.value):
        return making.construct(frame, callee.value, args, kwargs)
    folded = constant_call(frame, callee.value, args, kwargs)
    if folded is not None:
        return folded
    if derivatives.is_jvp(callee.value):
        return derivatives.jvp(frame, args, kwargs, frame.tracer.call)
    made = _made_now(callee.value, args, kwargs)
    if made is not None:
        return made
    program = prelude.stand_in(callee.value)
    if program is not None:
        args = [blocks.joined(frame, a) for a in args] if callee.value is np.block else args
        return _call_program(frame, callee.value, program, args, kwargs, call_function)
    _refuse_own(callee.value)
    function = python_function(callee.value)
    frame.tracer.looks.unwrapped(callee.value)
    foreign = not isinstance(function, types.FunctionType) or _root_package(function) == "numpy"
    if not foreign and function is not callee.value and not decorators.means_the_same(callee.value):
        raise refuse(
            current_loc(),
            f"what {type(callee.value).__name__} makes of {full_name(function)}() is not known",
            f"call {full_name(function)} without the decorator",
            kind=kinds.UNKNOWN_FUNCTION,
        )
    if foreign:
        raise _not_supported(callee.value)
    if prelude.is_helper(function):
        target, own = Callee.of_library(function, current_loc()), None
    else:
        target, own = Callee.of(function, current_loc()), Static(function)
    return _call_bound(frame, target, target.source.name, args, kwargs, call_function, own)


_OF_SYNTAX = contexts.RULES | local_classes.RULES | patterns.RULES


def _snapshots(frame: Frame, kwargs: Mapping[str, AbstractValue]) -> dict[str, AbstractValue]:
    return {name: sequences.snapshot(frame, a) for name, a in kwargs.items()}


def _of_items(function: Any, args: Sequence[AbstractValue]) -> types.FunctionType | None:
    """The stand-in for a built-in function that iterates over an array, if it has one; sums of numbers are loops
    already."""
    if not isinstance(function, types.BuiltinFunctionType) or len(args) == 0 or not isinstance(args[0], Array | Lazy):
        return None
    if len(args) > 1 + (function is sum) or (function is sum and args[0].rank == 1):
        return None
    return prelude.stand_in(function) if function in (max, min, any, all, sum) else None


def _call_program(
    frame: Frame,
    function: Any,
    program: types.FunctionType,
    args: Sequence[AbstractValue],
    kwargs: Mapping[str, AbstractValue],
    call_function: CallFunction,
) -> AbstractValue:
    """Call the Python function that stands in for a library's function."""
    target = Callee.of_library(program, current_loc())
    given = [sequences.as_tuples(sequences.snapshot(frame, a)) for a in args]
    named = {name: sequences.as_tuples(sequences.snapshot(frame, a)) for name, a in kwargs.items()}
    given, named = with_arrays(frame, function, given, named)
    return _call_bound(frame, target, full_name(function), given, named, call_function)


def _call_bound(
    frame: Frame,
    target: Callee,
    shown: str,
    args: Sequence[AbstractValue],
    kwargs: Mapping[str, AbstractValue],
    call_function: CallFunction,
    function: AbstractValue | None = None,
    inner: bool = False,
) -> AbstractValue:
    """Bind the arguments, and call. ``shown`` is what messages call the function; ``function`` is the function as a
    value, if it is a user's; ``inner``: it was defined in the frame."""
    defaults = {name: _default_of(target, frame, name) for name in target.defaults}
    bound = bind(frame, target.source.node, shown, args, kwargs, defaults)
    if is_generator(target.source.node):
        return generators.made(frame, target, bound, function, inner)
    return call_function(frame, target, bound)


def _call_library(
    frame: Frame, function: Any, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]
) -> AbstractValue:
    rule = LIBRARY[function]
    if isinstance(function, np.ufunc) and (kwargs or len(args) > function.nin or any(type(a) is Tuple for a in args)):
        return ufuncs.call(frame, function, rule, args, kwargs)
    if not kwargs:
        found = special_methods.call(frame, function, args, lambda number: rule(frame, [number], {}))
        if found is not None:
            return found
        if _root_package(function) == "math":
            args = special_methods.as_numbers(frame, args)
    return rule(frame, args, kwargs)


_OF_OBJECTS = (dict, isinstance, type, hasattr, getattr, setattr, callable, copy.copy, copy.deepcopy)


def _numbers_only(function: Any) -> bool:
    """Whether a library function raises TypeError where an argument is None."""
    if isinstance(function, np.ufunc):
        return function not in _OF_ANY_OBJECT
    return function in (abs, float, int, round) or getattr(function, "__module__", "") in ("math", "cmath")


_OF_ANY_OBJECT = (np.equal, np.not_equal, np.logical_and, np.logical_or, np.logical_xor, np.logical_not)


def _keeps(callee: AbstractValue) -> bool:
    """Whether the callee may keep its arguments in an object, so that array expressions must be evaluated first."""
    if isinstance(callee, Method):
        return not is_array(callee.owner)
    if not isinstance(callee, Static):
        return False
    if isinstance(callee.value, records.GeneratedInit):
        return True
    return (is_library(callee.value) and callee.value in BY_IDENTITY) or making.is_class(callee.value)


def _goes_through(callee: AbstractValue) -> bool:
    """Whether the callee consumes the items of an iterator at once, and does not keep it."""
    if isinstance(callee, Method):
        return callee.name in ("extend", "update")
    return isinstance(callee, Static) and (is_library(callee.value) or callee.value in making.STAND_INS)


_OF_KNOWN = ("jacobian", "hessian")


def _made_now(
    obj: Any, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]
) -> AbstractValue | None:
    """``adc.jacobian(f)`` or ``adc.hessian(f)`` of a known function: made while tracing, as if outside."""
    name = getattr(obj, "__name__", None)
    if name not in _OF_KNOWN or obj is not getattr(sys.modules.get("adc"), name, None):
        return None
    given, named = [_known(a) for a in args], {n: _known(a) for n, a in kwargs.items()}
    if not all((*given, *named.values())):
        return None
    options = tuple((n, v.value) for n, v in named.items() if v)
    try:
        return Static(_made(obj, tuple(v.value for v in given if v), options))
    except AdcError as error:
        raise error.placed(current_loc()) from None
    except TypeError:  # an argument is not hashable
        return None


@functools.lru_cache(maxsize=256)
def _made(obj: Any, args: tuple[Any, ...], kwargs: tuple[tuple[str, Any], ...]) -> Any:
    """Cached, so that the same function gives the same object: code that calls it is compiled for that object."""
    return obj(*args, **dict(kwargs))


def _refuse_own(obj: Any) -> None:
    """Refuse adc's public functions: they work on functions, outside compiled code."""
    name = getattr(obj, "__name__", None)
    if name is not None and obj is vars(sys.modules["adc"]).get(name):
        help = f"call adc.{name}() of a function that is defined outside, or " if name in _OF_KNOWN else ""
        raise _outside_only(f"adc.{name}()", help)
    if isinstance(obj, types.FunctionType) and obj.__code__.co_name == "adc_call":
        raise _outside_only(f"the method {name}()", "call adc.jvp() here, or " if name == "jvp" else "")


def _outside_only(shown: str, instead: str = "") -> Exception:
    message = f"{shown} cannot be called in a compiled function"
    help = f"{instead}call it outside, and pass in what it gives"
    return refuse(current_loc(), message, help, kind=kinds.OUTSIDE_ONLY)


def constant_call(
    frame: Frame, function: Any, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]
) -> AbstractValue | None:
    """A method of a string, a call of an enum class, and the like, with known arguments: computed while tracing."""
    owner = getattr(function, "__self__", None)
    simple = isinstance(owner, str) and isinstance(function, types.BuiltinMethodType)
    if simple and function.__name__ == "join" and len(args) == 1:
        items = sequences.known_items(frame, args[0])
        args = args if items is None else [Tuple(tuple(items))]
    simple = simple or function is ord or function is chr
    if not simple and not (isinstance(function, type) and issubclass(function, enum.Enum | str)):
        return None
    values = [_known(a) for a in args]
    named = {name: _known(a) for name, a in kwargs.items()}
    if any(v is None for v in (*values, *named.values())):
        return None
    try:
        result = function(*(v.value for v in values if v), **{n: v.value for n, v in named.items() if v})
    except Exception as error:
        raise refuse(current_loc(), f"{type(error).__name__}: {error}", kind=kinds.INVALID_VALUE) from None
    return _static(result)


def _known(v: AbstractValue) -> Static | None:
    if isinstance(v, Tuple):
        items = [_known(item) for item in v.items]
        return None if None in items else Static(tuple(i.value for i in items if i))
    return v if isinstance(v, Static) else None


def _static(value: Any) -> AbstractValue:
    return Tuple(tuple(map(_static, value))) if isinstance(value, tuple | list) else Static(value)


def _root_package(obj: Any) -> str:
    return str(getattr(obj, "__module__", None) or "").split(".")[0]


def _default_of(target: Callee, frame: Frame, name: str) -> Callable[[], AbstractValue]:
    return lambda: target.default(frame, name)


def _call_closure(
    frame: Frame,
    closure: Closure,
    args: Sequence[AbstractValue],
    kwargs: Mapping[str, AbstractValue],
    call_function: CallFunction,
) -> AbstractValue:
    target = Callee.of_closure(closure)
    inside = closure.code.frame is frame
    return _call_bound(frame, target, target.source.name, args, kwargs, call_function, closure, inside)


def _not_supported(obj: Any) -> Exception:
    if _root_package(type(obj)) == "adc":
        return _outside_only(f"{obj.__name__}()" if hasattr(obj, "__name__") else f"a {type(obj).__name__.lower()}")
    shown = full_name(obj)
    message = f"{shown} is not supported"
    return refuse(current_loc(), message, for_function(obj, shown), kind=kinds.UNKNOWN_FUNCTION)
