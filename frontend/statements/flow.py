"""Blocks of statements, and the control that leaves them early.

Nothing is traced twice, and code that cannot be left early is traced as if there were no jumps. If one branch of an
``if`` always leaves, the statements after it are traced in the other branch; otherwise the code after a statement that
may have left runs under its flag (``adc.frontend.control.jumps``). A branch that raises needs neither: later code runs
only if it was not taken. Where the branches of an ``if`` give a variable values that have no common type, the program
is traced once more, with all that comes after it in the block traced in each of them (``Attempt.divided``).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

from adc.frontend.closures import released
from adc.frontend.control import thrown
from adc.frontend.control.branches import Path, Traced, either, end_with, trace
from adc.frontend.control.jumps import BREAK, CONTINUE, NEVER, RAISED, RETURN, left, pending
from adc.frontend.data.values import NONE, AbstractValue, Unbound
from adc.frontend.expressions.choosing import narrow, narrowed
from adc.frontend.expressions.conditions import condition
from adc.frontend.expressions.evaluation import evaluate, evaluate_kept
from adc.frontend.frame import Frame, PathEnds
from adc.frontend.syntax.liveness import analyse_block
from adc.ir.builder import current_block
from adc.ir.core import Loc, Value
from adc.ir.lazy_dataclass import dataclass

Execute = Callable[[Frame, ast.stmt], None]
Step = ast.stmt | Callable[[], None]


@dataclass(frozen=True)
class Place:
    """The context of a block. ``live``: variables that are read after it, however control leaves it; ``tail``:
    ``continue`` goes to its end; ``execute``: executes statements without a rule here."""

    live: frozenset[str]
    tail: bool
    execute: Execute


def function_body(frame: Frame, statements: Sequence[ast.stmt], execute: Execute) -> AbstractValue:
    """Execute a function's body; returns its value."""

    def end() -> None:
        frame.env[RETURN] = NONE

    run(frame, [*statements, end], Place(frozenset(), False, execute))
    result = frame.env.pop(RETURN, NONE)  # nothing if it never returns
    if isinstance(result, Unbound):  # without meaning if an exception leaves the function
        assert RAISED in frame.env
        result = result.value
    return result


def loop_body(frame: Frame, loop: ast.For | ast.While, execute: Execute) -> None:
    """One iteration; a jump that is pending afterwards ends the loop."""
    live = frame.liveness
    run(frame, loop.body, Place(live.after[loop] | live.reads[loop] | frame.captured, True, execute))
    frame.env.pop(CONTINUE, None)


def run(frame: Frame, steps: Sequence[Step], place: Place) -> None:
    """Execute statements in order, as far as control gets. How it leaves them is pending in the frame afterwards."""
    todo = list(reversed(steps))
    while todo:
        step = todo.pop()
        frame.statement_block = block = current_block()
        before, start = (dict(frame.env), len(block.ops)) if frame.catching else ({}, 0)
        done = _step(frame, step, todo, place)
        if frame.catching and thrown.may_raise(frame, code := block.ops[start:]):
            block.set_ops(block.ops[:start])
            after = partial(_rest, frame, step, () if done else todo[::-1], place)
            live = place.live
            with frame.at(step) if isinstance(step, ast.stmt) else nullcontext():
                thrown.divide(frame, code, before, after, live)
            return
        has_left = left(frame.env)
        if done or has_left is True:
            return
        if not isinstance(has_left, bool) and todo:
            with frame.at(step) if isinstance(step, ast.stmt) else nullcontext():
                guarded(frame, has_left, lambda: run(frame, todo[::-1], place), place)
            return


def _step(frame: Frame, step: Step, todo: list[Step], place: Place) -> bool:
    """One statement. Whether it has also executed all that was ``todo`` after it."""
    try:
        if isinstance(step, ast.Break | ast.Continue | ast.Return):
            _jump(frame, step, place)
            return True
        if isinstance(step, ast.If):
            return _if(frame, step, todo, place)
        if isinstance(step, ast.Assign) and isinstance(step.value, ast.IfExp):
            return _assign_chosen(frame, step, step.value, todo, place)
        if isinstance(step, ast.stmt):
            place.execute(frame, step)
        else:
            step()
    except PathEnds:
        frame.env[NEVER] = NONE
    return False


def _rest(frame: Frame, step: Step, todo: Sequence[Step], place: Place) -> None:
    """Execute the statements after one that may have left."""
    has_left = left(frame.env)
    if has_left is True or not todo:
        return
    if isinstance(has_left, bool):
        run(frame, todo, place)
    else:
        with frame.at(step) if isinstance(step, ast.stmt) else nullcontext():
            guarded(frame, has_left, lambda: run(frame, todo, place), place)


def _jump(frame: Frame, statement: ast.Break | ast.Continue | ast.Return, place: Place) -> None:
    if isinstance(statement, ast.Return):
        name = RETURN
        frame.env[name] = NONE if statement.value is None else released(evaluate_kept(frame, statement.value))
    else:
        name = BREAK if isinstance(statement, ast.Break) else CONTINUE
        if not (name == CONTINUE and place.tail):
            frame.env[name] = NONE
    frame.assigned_at[name] = frame.loc(statement)


def guarded(frame: Frame, has_left: Value, rest: Callable[[], None], place: Place) -> None:
    """Execute ``rest`` where control has not left."""
    ways = pending(frame.env)

    def stay() -> None:
        value = frame.env[ways[0]]
        if len(ways) == 1 and isinstance(value, Unbound):
            frame.env[ways[0]] = value.value
        if place.tail:
            frame.env.pop(CONTINUE, None)

    def go_on() -> None:
        for name in ways:
            del frame.env[name]
        rest()

    two_paths(frame, has_left, stay, go_on, place.live)


def two_paths(
    frame: Frame, known: Value, then: Path, other: Path, live: Iterable[str], joins: Loc | None = None
) -> None:
    """Two paths. Those live variables are merged that either of them changes. ``joins``: the ``if`` that this is."""
    paths = trace(frame, partial(_to_its_end, frame, then)), trace(frame, partial(_to_its_end, frame, other))
    frame.joins = joins
    either(frame, known, *paths, [n for n in live if any(_changed(frame, t, n) for t in paths)])
    frame.joins = None


def _to_its_end(frame: Frame, path: Path) -> AbstractValue | None:
    """What certainly raises on a path, such as the test of a loop whose first iterations are traced apart, ends that
    path alone."""
    try:
        return path()
    except PathEnds:
        frame.env[NEVER] = NONE
        return None


def _changed(frame: Frame, path: Traced, name: str) -> bool:
    return path.env.get(name) is not frame.env.get(name)


def _if(frame: Frame, statement: ast.If, todo: list[Step], place: Place) -> bool:
    """An ``if``. Whether it has also executed all that was ``todo`` after it."""
    at = frame.loc(statement)
    with frame.at(statement):
        known = frame.tracer.attempt.decide(at, condition(frame, statement.test))
    with frame.tracer.attempt.undecided(at):
        return _sides(frame, statement, known, todo, place)


def _sides(frame: Frame, statement: ast.If, known: bool | Value, todo: list[Step], place: Place) -> bool:
    branches = statement.body, statement.orelse
    if isinstance(known, bool):
        todo += reversed(branches[not known])
        return False
    for holds, branch, other in ((True, *branches), (False, *branches[::-1])):
        if not frame.catching and _raises(branch):
            path = trace(frame, partial(_branch, frame, statement, holds, branch, place))
            assert path.never
            with frame.at(statement):
                end_with(known, holds, path.block)
                narrow(frame, statement.test, not holds, evaluate)
            todo += reversed(other)
            return False
    live = frame.liveness
    after = live.after[statement] | frame.captured
    at = frame.loc(statement)
    divided = at in frame.tracer.attempt.divided
    with frame.at(statement):
        if not _may_leave(statement) and not divided:
            inner = replace(place, live=after)
            ways = zip((True, False), branches, strict=True)
            then, other_ = (trace(frame, partial(_branch, frame, statement, holds, b, inner)) for holds, b in ways)
            frame.joins = at
            either(frame, known, then, other_, live.assigns[statement] & after)
            frame.joins = None
            return False
        falls = [falls_through(branch) for branch in branches]
        apart = divided or not all(falls)
        if not apart:
            inner = replace(place, live=after, tail=place.tail and not todo)
            paths: list[list[Step]] = [list(branch) for branch in branches]
        else:
            inner, rest = place, todo[::-1]
            paths = [[*branch, *(rest if goes_on else ())] for branch, goes_on in zip(branches, falls, strict=True)]
        take = _apart if divided else _branch
        first, second = (partial(take, frame, statement, holds, p, inner) for holds, p in zip((True, False), paths))
        two_paths(frame, known, first, second, inner.live, at)
        return apart


def _assign_chosen(frame: Frame, statement: ast.Assign, value: ast.IfExp, todo: list[Step], place: Place) -> bool:
    """``x = a if test else b``. If the two have no common type, it is divided like an ``if``."""
    at = frame.loc(statement)
    if at not in frame.tracer.attempt.divided:
        frame.joins = at
        place.execute(frame, statement)
        frame.joins = None
        return False
    first, second = (
        ast.copy_location(ast.Assign(statement.targets, part), statement) for part in (value.body, value.orelse)
    )
    made = ast.copy_location(ast.If(value.test, [first], [second]), statement)
    live = frozenset(frame.env) | frame.liveness.local
    frame.liveness = analyse_block(frame.liveness, [made], frame.source.body, live, frozenset())
    return _if(frame, made, todo, place)


def _branch(frame: Frame, statement: ast.If, holds: bool, steps: Sequence[Step], place: Place) -> None:
    """The steps of one side of an ``if``, where the condition narrows the values of variables."""
    with narrowed(frame, statement.test, holds, evaluate):
        run(frame, steps, place)


def _apart(frame: Frame, statement: ast.If, holds: bool, steps: Sequence[Step], place: Place) -> None:
    """The same for a divided ``if``: what loops found out about types in the other branch does not hold here."""
    frame.hints.clear()
    _branch(frame, statement, holds, steps, place)
    frame.hints.clear()


def _raises(statements: Sequence[ast.stmt]) -> bool:
    """Whether a branch always ends with a raise."""
    return bool(statements) and isinstance(statements[-1], ast.Raise) and not any(map(_may_leave, statements[:-1]))


def _may_leave(statement: ast.stmt) -> bool:
    """Whether control may leave a statement other than by its end."""
    if isinstance(statement, ast.Break | ast.Continue | ast.Return | ast.Raise):
        return True
    if isinstance(statement, ast.If):
        return any(map(_may_leave, [*statement.body, *statement.orelse]))
    if isinstance(statement, ast.For | ast.While):
        return any(map(_may_leave, statement.orelse)) or any(map(_may_return, statement.body))
    return isinstance(statement, ast.Try) and any(map(_may_leave, _parts(statement)))


def _parts(statement: ast.Try) -> list[ast.stmt]:
    """All statements directly in a ``try``."""
    handlers = [s for handler in statement.handlers for s in handler.body]
    return [*statement.body, *handlers, *statement.orelse, *statement.finalbody]


def _may_return(statement: ast.stmt) -> bool:
    """Whether a statement in a loop may leave more than that loop."""
    if isinstance(statement, ast.If | ast.For | ast.While):
        return any(map(_may_return, [*statement.body, *statement.orelse]))
    if isinstance(statement, ast.Try):
        return any(map(_may_return, _parts(statement)))
    return isinstance(statement, ast.Return | ast.Raise)


def falls_through(statements: Sequence[ast.stmt]) -> bool:
    """Whether control may reach the end, judging by the syntax."""
    for s in statements:
        if isinstance(s, ast.Break | ast.Continue | ast.Return | ast.Raise):
            return False
        if isinstance(s, ast.If) and not falls_through(s.body) and not falls_through(s.orelse):
            return False
        if isinstance(s, ast.Try):
            handlers = any(falls_through(handler.body) for handler in s.handlers)
            if not (handlers or falls_through([*s.body, *s.orelse])):
                return False
    return True


def after_loop(frame: Frame, loop: ast.For | ast.While, execute: Execute) -> None:
    """The code after the iterations: the ``else`` if none has left the loop. A break ends here."""
    if loop.orelse:
        has_left = left(frame.env)
        place = Place(frame.liveness.after[loop] | frame.captured, False, execute)
        if has_left is False:
            run(frame, loop.orelse, place)
            return
        if has_left is not True:
            with frame.at(loop.orelse[0]):
                _else(frame, has_left, loop.orelse, place)
            return
    frame.env.pop(BREAK, None)


def _else(frame: Frame, has_left: Value, statements: Sequence[ast.stmt], place: Place) -> None:
    """The ``else`` of a loop; a break in it belongs to the enclosing loop."""

    def stay() -> None:
        value = frame.env.get(RETURN)
        if frame.env.pop(BREAK, None) is None and isinstance(value, Unbound):
            frame.env[RETURN] = value.value

    def go_on() -> None:
        for name in pending(frame.env):
            del frame.env[name]
        run(frame, statements, place)

    two_paths(frame, has_left, stay, go_on, place.live)
