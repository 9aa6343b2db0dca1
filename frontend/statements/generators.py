"""Loops over generators."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from dataclasses import replace

from adc.frontend.closures import SELF, captured
from adc.frontend.containers import sequences
from adc.frontend.data.callables import Closure
from adc.frontend.data.values import AbstractValue, Generator
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.names import lookup
from adc.frontend.syntax import generators
from adc.frontend.syntax.bindings import free_names
from adc.frontend.syntax.liveness import analyse_block
from adc.ir import kinds
from adc.ir.builder import current_loc

DEEPEST = 20  # depth of a generator that iterates over itself


def for_generator(
    frame: Frame, loop: ast.For, found: Generator, run: Callable[[list[ast.stmt]], None], live: frozenset[str]
) -> None:
    """``for`` over a generator. ``run`` executes statements; ``live``: variables that are read after them."""
    function = found.target.source.node
    assert isinstance(function, ast.FunctionDef)
    try:
        generators.check(function)
    except generators.Unsupported as error:
        at = found.target.source.loc(error.node)
        raise refuse(at, error.message, error.help, kind=kinds.UNSUPPORTED_EXPRESSION) from None
    depth = sum(name.startswith("<") and name.endswith(">depth") for name in frame.env)
    if depth >= DEEPEST:
        message = f"{function.name}() goes through itself more than {DEEPEST} times"
        raise refuse(current_loc(), message, "return a list", kind=kinds.ENDLESS_RECURSION)
    if found.target.function is not None:
        frame.tracer.looks.function(found.target.function)
    frame.generators += 1
    prefix = f"<{function.name} {frame.generators}>"
    names, values, place = _renamed(frame, found, prefix)
    statements = generators.spliced(loop, function, prefix, names, place)
    frame.env.update({names[n]: v for n, v in values.items()})
    frame.env[prefix + ">depth"] = values[next(iter(values))] if values else sequences.new_list(frame, [])
    frame.liveness = analyse_block(frame.liveness, statements, frame.source.body, live, frozenset(names.values()))
    run(statements)
    for name in [n for n in frame.env if n.startswith(prefix)]:
        del frame.env[name]


def yielded_from(
    frame: Frame, found: Generator, evaluate: Callable[[Frame, ast.expr], AbstractValue]
) -> AbstractValue | None:
    """What a generator goes through that does nothing but yield from it; None for others."""
    function = found.target.source.node
    assert isinstance(function, ast.FunctionDef)
    body = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    whole = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None
    if not isinstance(whole, ast.YieldFrom):
        return None
    if found.target.function is not None:
        frame.tracer.looks.function(found.target.function)
    frame.generators += 1
    names, values, place = _renamed(frame, found, f"<{function.name} {frame.generators}>")
    through = copy.deepcopy(whole.value)
    for old, new in zip(ast.walk(whole.value), ast.walk(through), strict=True):
        place(old, new)
    generators.Renaming(names).visit(through)
    frame.env.update({names[n]: v for n, v in values.items()})
    value = evaluate(frame, through)
    for name in names.values():
        frame.env.pop(name, None)
    return value


def _renamed(
    frame: Frame, found: Generator, prefix: str
) -> tuple[dict[str, str], dict[str, AbstractValue], generators.Place]:
    """New names for the variables of a generator function, the values of those that are known, and what notes where
    copies of its nodes come from."""
    function, source = found.target.source.node, found.target.source
    local, values = source.liveness.local, dict(found.bound)
    names = {n: prefix + n for n in local}
    for name in free_names(function) - local:
        value = _free(frame, found, name)
        if value is not None:
            names[name] = prefix + name
            values[name] = value
    locs = frame.source.locs

    def place(old: ast.AST, new: ast.AST) -> None:
        if "lineno" in old._attributes:
            locs[new] = source.loc(old)

    return names, values, place


def _free(frame: Frame, found: Generator, name: str) -> AbstractValue | None:
    """The value of a variable that is not the generator's own; None if it is the same one here."""
    target = found.target
    if found.inner and (name in frame.env or name in frame.liveness.local):
        return None
    own = target.free.get(SELF)
    if isinstance(own, Closure) and name in own.captured:
        return captured(own, name)
    there = replace(frame, env={}, liveness=target.source.liveness, cells=target.cells, source=target.source)
    there.module_globals = target.module_globals
    found_there = lookup(there, name)
    frame.order = max(frame.order, there.order)
    return found_there
