"""Functions and lambdas defined inside a traced function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from adc.frontend.data.callables import Closure, Code, closure
from adc.frontend.data.compounds import Contents
from adc.frontend.data.values import AbstractValue, Compound, Ref
from adc.frontend.frame import Frame
from adc.frontend.names import lookup
from adc.frontend.objects.cells import cell_of
from adc.frontend.syntax.bindings import free_names
from adc.frontend.syntax.source import FunctionSource

SELF = "<function>"  # the argument by which a function defined in a traced function gets what it captured


def make_closure(
    frame: Frame, node: ast.FunctionDef | ast.Lambda, evaluate: Callable[[Frame, ast.expr], AbstractValue]
) -> Closure:
    """The value of a nested function: its code, its present defaults, and where its free variables will be read."""
    known = frame.nested.get(node)
    if known is None:
        name = node.name if isinstance(node, ast.FunctionDef) else "<lambda>"
        known = frame.nested[node] = FunctionSource(frame.source.file, node, name, frame.source.placed)
    free = sorted(n for n in free_names(node) if n in frame.liveness.local or n in frame.env)
    defaults = [evaluate(frame, d) for d in node.args.defaults]
    keywords = {
        a.arg: evaluate(frame, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d
    }
    code = Code(
        known,
        node,
        tuple(free),
        len(defaults),
        tuple(keywords),
        frame,
        (),
        tuple(id(cell) for cell in frame.cells.values()),
        frame.module_globals,
        frame.cells,
    )
    return closure(code, [*defaults, *keywords.values()])


def _is_member(v: AbstractValue | None, frame: Frame | None) -> bool:
    """Whether ``v`` is a function whose variables live in the same place as those of the function that refers to it: in
    ``frame``, or, if that is None, among what the other one captured."""
    if not isinstance(v, Closure) or v.code.frame is not frame:
        return False
    return frame is not None or bool(v.code.free and not v.code.captured)


def _reached(
    free: Iterable[str], value: Callable[[str], AbstractValue | None], frame: Frame | None
) -> tuple[str, ...]:
    """The variables that a function uses, and those of its sibling functions that it may call."""
    found: set[str] = set()
    work = list(free)
    while work:
        name = work.pop()
        if name not in found:
            found.add(name)
            other = value(name)
            if isinstance(other, Closure) and _is_member(other, frame):
                work += other.code.free
    return tuple(sorted(found))


def capture(c: Closure) -> Closure:
    """A function with the present values of its free variables."""
    frame = c.code.frame
    if frame is None:
        return c
    assert isinstance(frame, Frame)
    frame.lent.add(c.code.node)
    names = _reached(c.code.free, frame.env.get, frame)
    return _with_captured(c, {name: _present(frame, name) for name in names})


def _present(frame: Frame, name: str) -> AbstractValue:
    value = lookup(frame, name)
    held = cell_of(frame, name)
    if held is not None:
        return held
    return _detached(value) if _is_member(value, frame) else released(value)


def _detached(member: AbstractValue) -> Closure:
    assert isinstance(member, Closure)
    items = [released(item) for item in member.items[: member.code.defaults + len(member.code.keywords)]]
    return closure(replace(member.code, frame=None, captured=()), items)


def _with_captured(c: Closure, captured: Mapping[str, AbstractValue]) -> Closure:
    items = [released(item) for item in c.items[: c.code.defaults + len(c.code.keywords)]]
    return closure(replace(c.code, frame=None, captured=tuple(captured)), [*items, *captured.values()])


def released(v: AbstractValue) -> AbstractValue:
    """``v`` with captured values in each function inside: it may leave the frame where they were defined."""
    if isinstance(v, Closure):
        return capture(v)
    if isinstance(v, Compound):
        return v.of(released(item) for item in v.items)
    return v


def bind_captured(frame: Frame) -> None:
    """Give the function that is being traced the variables that it captured."""
    own = frame.env.pop(SELF, None)
    if own is None:
        return
    assert isinstance(own, Closure)
    for name in own.code.free:
        frame.env[name] = captured(own, name)


def captured(own: Closure, name: str) -> AbstractValue:
    """A variable that a function captured. A function of the same place as ``own`` gets, of what that captured, what it
    uses itself."""
    held = own.captured
    value = held[name]
    if not isinstance(value, Closure) or not _is_member(value, None):
        return value
    return _with_captured(value, {n: held[n] for n in _reached(value.code.free, held.get, None)})


def brought_home(frame: Frame, v: AbstractValue) -> AbstractValue:
    """The result of a call, in which functions of this frame that were passed to it read this frame's variables
    again."""
    if isinstance(v, Closure) and v.code.frame is None and v.code.node in frame.lent:
        code = replace(v.code, frame=frame, captured=())
        return closure(code, v.items[: code.defaults + len(code.keywords)])
    if isinstance(v, Compound):
        return v.of(brought_home(frame, item) for item in v.items)
    return v


def keep_variables(frame: Frame, v: AbstractValue) -> None:
    """Keep the variables that functions in ``v`` read alive: from now on ``v`` may be called anywhere."""
    work, seen = [v], set()
    while work:
        value = work.pop()
        if isinstance(value, Closure) and value.code.frame is frame:
            frame.around.update(_reached(value.code.free, frame.env.get, frame))
        if isinstance(value, Compound):
            work += value.items
        elif isinstance(value, Ref) and value.key not in seen:
            seen.add(value.key)
            held = frame.env.get(value.key)
            work += held.items if isinstance(held, Contents) else ()
