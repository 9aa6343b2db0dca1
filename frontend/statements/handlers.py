"""``try`` statements. Code that is known not to raise costs nothing; see ``control.thrown`` for code that may."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

from adc.frontend import traps
from adc.frontend.control import thrown
from adc.frontend.control.jumps import FINALLY, JUMPS, NEVER, RAISED, TRYING, left, unending
from adc.frontend.control.thrown import Thrown
from adc.frontend.data.compounds import OneOf
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import NONE, AbstractValue, Error, Poison, Static, Tuple, Unbound
from adc.frontend.errors import refuse
from adc.frontend.expressions.evaluation import evaluate
from adc.frontend.frame import Frame
from adc.frontend.statements.exceptions import HANDLED, NAME, is_exception
from adc.frontend.statements.flow import Execute, Place, falls_through, guarded, run, two_paths
from adc.ir import kinds, ops
from adc.ir.arith import const, const_index
from adc.ir.raising import beginning, pieces
from adc.ir.types import i1

Classes = tuple[type[Exception], ...]


def try_(frame: Frame, statement: ast.Try, execute: Execute) -> None:
    _whole(frame, statement, execute)
    if not falls_through([statement]) and left(frame.env) is not True:
        unending(frame.env)


def _whole(frame: Frame, statement: ast.Try, execute: Execute) -> None:
    live = frame.liveness.after[statement] | frame.captured
    if not statement.finalbody:
        _handled(frame, statement, Place(live, False, execute))
        return
    inside = live | frame.liveness.reads[statement]
    place = Place(inside, False, execute)
    outer = frame.env.get(FINALLY)
    last = frame.liveness.reads[statement] | frame.captured
    if isinstance(outer, Static):
        last |= outer.value
    classes = (Exception,) if any(map(_seen, statement.finalbody)) else None
    with _marked(frame, FINALLY, Static(last)), _catching(frame, classes):
        _handled(frame, statement, place)
    if NEVER in frame.env:
        return
    pending = {name: frame.env.pop(name) for name in JUMPS if name in frame.env}
    run(frame, statement.finalbody, Place(live, False, execute))
    if NEVER in frame.env:
        return
    if left(frame.env) is not False:
        message = "a finally that is left early is not supported: it would hide an exception"
        help = "set a variable there, and test it after the try"
        raise refuse(frame.loc(statement.finalbody[0]), message, help, kind=kinds.UNSUPPORTED_STATEMENT)
    raised = pending.pop(RAISED, None)
    frame.env.update(pending)
    if isinstance(raised, Unbound):
        value = raised.value
        two_paths(frame, raised.flag, partial(thrown.again, frame, value), lambda: None, live)
    elif raised is not None:
        thrown.again(frame, raised)


@contextmanager
def _catching(frame: Frame, classes: Classes | None) -> Iterator[None]:
    """Let exceptions of these classes, and no others, leave what is traced inside; None: the classes that do
    outside."""
    around = frame.catching
    if classes is not None:
        frame.catching = classes
    with _marked(frame, TRYING) if classes is not None else nullcontext(), traps.watched(thrown.watch(frame)):
        yield
    frame.catching = around


@contextmanager
def _marked(frame: Frame, name: str, value: AbstractValue = NONE) -> Iterator[None]:
    outer = frame.env.get(name)
    frame.env[name] = value
    yield
    frame.env.pop(name, None)
    if outer is not None:
        frame.env[name] = outer


def _seen(statement: ast.stmt) -> bool:
    """Whether the effect of a statement may be visible although an exception left the function."""
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AugAssign | ast.AnnAssign):
        targets = [statement.target]
    else:
        return not isinstance(statement, ast.Pass)
    named = all(isinstance(t, ast.Name | ast.Attribute) for t in targets)
    return not named or any(isinstance(n, ast.Call) for n in ast.walk(statement))


def _handled(frame: Frame, statement: ast.Try, place: Place) -> None:
    """A ``try`` without its ``finally``."""
    if not statement.handlers:
        run(frame, statement.body, place)
        return
    handlers = [_classes(frame, handler) for handler in statement.handlers]
    inside = place.live | frame.liveness.reads[statement]
    with _catching(frame, thrown.together(frame.catching, *handlers)):
        run(frame, statement.body, Place(inside, False, place.execute))

    def rest() -> None:
        has_left = left(frame.env)
        if has_left is True or not statement.orelse:
            return
        if isinstance(has_left, bool):
            run(frame, statement.orelse, place)
        else:
            guarded(frame, has_left, partial(run, frame, statement.orelse, place), place)

    raised = None if NEVER in frame.env else frame.env.pop(RAISED, None)
    if raised is None:
        rest()
        return
    value = raised.value if isinstance(raised, Unbound) else raised

    def handle() -> None:
        for name in JUMPS:
            frame.env.pop(name, None)
        _choose(frame, statement, handlers, value, place)

    if isinstance(raised, Unbound):
        two_paths(frame, raised.flag, handle, rest, place.live)
    else:
        handle()


def _classes(frame: Frame, handler: ast.ExceptHandler) -> Classes:
    """The classes that a handler takes."""
    if handler.type is None:
        return (Exception,)
    value = evaluate(frame, handler.type)
    found: list[type[Exception]] = []
    for v in value.items if isinstance(value, Tuple) else [value]:
        if isinstance(v, Static) and is_exception(v.value):
            # Handlers in compiled code do not take KeyboardInterrupt and the like.
            found += [cls for cls in [Exception if v.value is BaseException else v.value] if issubclass(cls, Exception)]
            continue
        message = f"what except names must be classes of exceptions, not {describe_type(value)}"
        help = "name classes: except (ValueError, ZeroDivisionError):"
        raise refuse(frame.loc(handler.type), message, help, kind=kinds.WRONG_TYPE)
    return tuple(found)


def _choose(
    frame: Frame, statement: ast.Try, handlers: list[Classes], raised: AbstractValue, place: Place, first: int = 0
) -> None:
    """Run the handler for the exception, of those from the ``first`` on."""
    possible = (*frame.catching, *(cls for classes in handlers for cls in classes))
    left_ = [(n, one) for n, one in thrown.options(raised) if issubclass(one.cls, possible)]
    for k in range(first, len(handlers)):
        taken = [n for n, one in left_ if issubclass(one.cls, handlers[k])]
        earlier = [n for n, one in left_ if any(issubclass(one.cls, h) for h in handlers[:k])]
        taken = [n for n in taken if n not in earlier]
        if not taken:
            continue
        if len(taken) + len(earlier) == len(left_) or not isinstance(raised, OneOf):
            _run(frame, statement.handlers[k], raised, place)
            return
        position, here = raised.position, const(False, i1)
        for n in taken:
            here = ops.ori(here, ops.cmpi(position, const_index(n), predicate="eq"))
        two_paths(
            frame,
            here,
            partial(_run, frame, statement.handlers[k], raised, place),
            partial(_choose, frame, statement, handlers, raised, place, k + 1),
            place.live,
        )
        return
    frame.env[RAISED] = raised  # for a handler around this one


def _run(frame: Frame, handler: ast.ExceptHandler, raised: AbstractValue, place: Place) -> None:
    outer = {name: frame.env.get(name) for name in (HANDLED, NAME)}
    frame.env[HANDLED] = raised
    if handler.name is not None:
        frame.env[NAME] = Static(handler.name)
        frame.env[handler.name] = _error(raised)
    run(frame, handler.body, place)
    for name, value in outer.items():
        frame.env.pop(name, None)
        if value is not None:
            frame.env[name] = value
    if handler.name is not None:
        frame.env.pop(handler.name, None)


def _error(raised: AbstractValue) -> AbstractValue:
    """The exception as a value, if it is known which one it is."""
    found = thrown.options(raised)
    if len(found) == 1 and not found[0][1].shows:
        one: Thrown = found[0][1]
        texts = [_plain(template) for template in one.message]
        if all(t is not None for t in texts):
            return Error(one.cls, tuple(map(Static, texts)))
    reason = "what the exception says is known only when the code runs, and is not kept"
    return Poison(reason, help="handle it by its class, and raise or print what is known here", kind=kinds.NOT_CONSTANT)


def _plain(template: str) -> str | None:
    if any(beginning(template)[:2]):
        return None
    parts = list(pieces(template))
    return "".join(text for text, *_ in parts) if all(field is None for _, field, *_ in parts) else None
