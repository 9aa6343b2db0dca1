"""Functions that transform functions: ``functools.partial``, ``wraps``, ``lru_cache``, ``adc.jit_grad``."""

from __future__ import annotations

import functools
import operator
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from adc.frontend import forms
from adc.frontend.data.callables import Closure, partial
from adc.frontend.data.values import AbstractValue, Static, is_array
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.looks import Attribute, Item, Object
from adc.frontend.names import external
from adc.ir import kinds
from adc.ir.builder import current_loc

_CACHED = type(functools.lru_cache(lambda: None))


def unchanged(function: Any) -> Any:
    """Stands for a decorator that changes nothing relevant."""
    return function


def means_the_same(obj: Any) -> bool:
    """Whether a callable that wraps a Python function returns what that function returns."""
    return isinstance(obj, _CACHED) or type(obj).__module__.split(".")[0] == "adc"


def call(
    frame: Frame, callee: AbstractValue, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]
) -> AbstractValue | None:
    """A call of one of these; None if ``callee`` is none of them."""
    if not isinstance(callee, Static):
        return None
    function = callee.value
    if function is unchanged:
        return args[0]
    if function is functools.partial:
        if not args:
            raise refuse(current_loc(), "partial() is missing the function", kind=kinds.WRONG_CALL)
        return partial(args, kwargs)
    sized = function is functools.lru_cache and len(args) == 1 and not callable(_value(args[0]))
    if function is functools.wraps or (_is_known(function) and (not args or (sized and isinstance(args[0], Static)))):
        return Static(unchanged)
    if function is functools.update_wrapper:
        return args[0]
    if _is_known(function) and len(args) == 1 and (isinstance(args[0], Closure) or callable(_value(args[0]))):
        return args[0]
    if isinstance(function, _CACHED) and any(is_array(a) for a in (*args, *kwargs.values())):
        raise refuse(
            current_loc(),
            f"{function.__name__}() keeps its results by its arguments, which arrays cannot be",
            "call it without lru_cache",
            kind=kinds.WRONG_TYPE,
        )
    return None


def _is_known(function: Any) -> bool:
    own = getattr(sys.modules.get("adc"), "jit_grad", None)
    return function is not None and function in (functools.lru_cache, functools.cache, own)


def _value(v: AbstractValue) -> Any:
    return v.value if isinstance(v, Static) else None


_GETTERS: Any = operator.attrgetter | operator.itemgetter


def is_bound(obj: Any) -> bool:
    """Whether this is a partial, a bound method, or an object of a user's class with ``__call__``."""
    if isinstance(obj, functools.partial | types.MethodType | _GETTERS):
        return True
    if isinstance(obj, type | types.FunctionType) or not callable(obj) or hasattr(obj, "__wrapped__"):
        return False
    return forms.kind_of_class(type(obj)) in ("object", "record")


def taken_apart(frame: Frame, made: Any) -> AbstractValue:
    """One of these from outside: its parts are read at each call, like captured values."""
    this = Object(made)
    if isinstance(made, _GETTERS):  # they cannot be changed
        cls, names = cast(tuple[Any, tuple[Any, ...]], made.__reduce__())
        return frame.tracer.call(frame, Static(cls), [Static(name) for name in names], {})
    if not isinstance(made, functools.partial | types.MethodType):
        return external(frame, made, ("object", id(made)), type(made).__name__, this)
    function = made.__func__ if isinstance(made, types.MethodType) else made.func
    name = getattr(function, "__name__", "partial")

    def item(value: Any, key: object, fetch: Callable[[], Any]) -> AbstractValue:
        return external(frame, value, ("partial", id(made), key), f"{name}.{key}", fetch)

    if isinstance(made, types.MethodType):
        owner = item(made.__self__, "self", Attribute(this, "__self__"))
        return partial([item(function, "func", Attribute(this, "__func__")), owner], {})
    called = item(function, "func", Attribute(this, "func"))
    args = [item(a, k, Item(Attribute(this, "args"), k)) for k, a in enumerate(made.args)]
    keywords = {n: item(a, n, Item(Attribute(this, "keywords"), n)) for n, a in made.keywords.items()}
    return partial([called, *args], keywords)
