"""Calls of functions with derivative rules: which rule a call takes, and what is traced instead of the function."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from adc.frontend import abstract, kernels, prelude
from adc.frontend.arrays import arrays as numeric_arrays
from adc.frontend.callee import Callee
from adc.frontend.data.values import AbstractValue, Compound, Static
from adc.frontend.frame import Frame
from adc.frontend.functions.signature import bind
from adc.frontend.libraries.table import is_library
from adc.frontend.rules.cotangents import refuse_complex
from adc.frontend.rules.layout import CallFunction, CallPlain, Layout, Values
from adc.frontend.rules.registry import Rule, name_of
from adc.frontend.rules.selection import choose
from adc.frontend.rules.tracing import Ruled
from adc.frontend.syntax.source import FunctionSource, SourceFile, function_source
from adc.frontend.syntax.texts import NoSource
from adc.ir.builder import current_loc
from adc.ir.core import Func, Loc
from adc.ir.lazy_dataclass import dataclass


def call(
    frame: Frame,
    function: Any,
    args: Sequence[AbstractValue],
    kwargs: Values,
    call_plain: CallPlain,
    call_function: CallFunction,
) -> AbstractValue | None:
    """Call a function that has rules; None if none of them fits these arguments."""
    source = _source(function)
    place: Loc | None = None
    if source is not None:
        if prelude.is_helper(function):
            place = current_loc()
        target = Callee.of(function, current_loc()) if place is None else Callee.of_library(function, place)
        source = target.source
        defaults = {name: _default(target, frame, name) for name in target.defaults}
        bound = bind(frame, source.node, source.name, args, kwargs, defaults)
        layout = Layout.of(source)
        plain: Callee | None = target
    else:
        names = _parameter_names(function, len(args))
        bound = {**dict(zip(names, args, strict=True)), **kwargs}
        layout = Layout(names, None, tuple(kwargs), None)
        plain = None
    positional = [bound[name] for name in layout.positional]
    if layout.star is not None:
        rest = bound[layout.star]
        assert isinstance(rest, Compound)
        positional += rest.items
    chosen = choose(function, positional)
    if chosen is None:
        return None
    if function not in kernels.REVERSE:
        refuse_complex(*positional)
    if source is None and is_library(function):
        plain = _library(function, chosen.main, layout, call_plain, call_function)
    if chosen.main.kind == "scalar" and plain is None:
        return None  # the caller reports that it cannot be computed
    ruled = Ruled(chosen, layout, plain, call_function, place)
    callee = Callee(
        ("ruled", id(function), chosen.reverse, chosen.forward, layout, place),
        source or _stand_in(chosen.main),
        {},
        {},
        {},
        {},
        ruled,
    )
    return call_function(frame, callee, bound)


def _source(function: Any) -> FunctionSource | None:
    if not isinstance(function, types.FunctionType) or (function.__module__ or "").split(".")[0] == "numpy":
        return None
    try:
        source = function_source(function)
    except NoSource:
        return None
    return source if isinstance(source.node, ast.FunctionDef | ast.Lambda) else None


def _parameter_names(function: Any, count: int) -> tuple[str, ...]:
    """Names for the positional arguments of a function without source."""
    try:
        known = [p.name for p in inspect.signature(function).parameters.values() if p.kind <= p.POSITIONAL_OR_KEYWORD]
    except (TypeError, ValueError):
        known = []
    return tuple(known[k] if k < len(known) else f"argument{k}" for k in range(count))


def _default(target: Callee, frame: Frame, name: str) -> Callable[[], AbstractValue]:
    return lambda: target.default(frame, name)


def _stand_in(rule: Rule) -> FunctionSource:
    """The source of a function without one: its name, at the line of its rule."""
    node = ast.parse("def f(): pass").body[0]
    assert isinstance(node, ast.FunctionDef)
    ast.increment_lineno(node, rule.line - 1)
    return FunctionSource(SourceFile(rule.file, (), {}), node, name_of(rule.function).rpartition(".")[2])


def _library(
    function: Any, rule: Rule, layout: Layout, call_plain: CallPlain, call_function: CallFunction
) -> Callee:
    """A library function that adc knows, as a function to trace."""
    without = _Plain(function, layout, call_plain, call_function)
    return Callee(("plain", id(function), layout), _stand_in(rule), {}, {}, {}, {}, without)


@dataclass(frozen=True, eq=False)
class _Plain:
    """A library function without the rules that a user gave."""

    function: Any
    layout: Layout
    call_plain: CallPlain
    call_function: CallFunction
    plain: Callee | None = None
    suffix: ClassVar[str] = ""
    chosen: ClassVar[None] = None

    def elsewhere(self, call_function: CallFunction, kept: str | None) -> _Plain:
        return replace(self, call_function=call_function)

    def run(self, frame: Frame) -> AbstractValue:
        positional, keywords = self.layout.spread(frame)
        given = [v for _, v in positional]
        return numeric_arrays.settled(
            frame, self.call_plain(frame, Static(self.function), given, keywords, self.call_function)
        )

    def complete(self, frame: Frame, left: abstract.Abstract) -> list[Func]:
        return []
