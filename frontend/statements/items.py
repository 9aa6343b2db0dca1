"""``for`` loops over items that are known one by one, which are unrolled, and over others; first iterations apart."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial

from adc.frontend.control.branches import trace
from adc.frontend.control.first_types import FirstDiffers
from adc.frontend.control.jumps import left
from adc.frontend.control.loops import Counted, for_counted
from adc.frontend.control.retracing import saved
from adc.frontend.data.dims import dim_value
from adc.frontend.data.values import NONE, AbstractValue
from adc.frontend.expressions.conditions import condition
from adc.frontend.frame import Frame, discard
from adc.frontend.iteration import Items, Known
from adc.frontend.statements.flow import Place, guarded, two_paths
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import current_block
from adc.ir.core import Value

_MOST_FIRSTS = 3  # first iterations in each other: each loop around is traced several times


def for_items(
    frame: Frame,
    loop: ast.For,
    items: Items,
    bind: Callable[[AbstractValue], None],
    body: Callable[[], None],
) -> None:
    """A loop over items: unrolled if they are known one by one, otherwise a loop over their positions."""
    if isinstance(items, Known):
        _unrolled(frame, loop, items, bind, body)
        return
    length = dim_value(items.length)

    def start(counter: Value) -> None:
        with frame.at(loop.target):
            bind(items.item(counter))

    def numbers(first: int) -> Counted:
        return Counted(const_index(first), length, const_index(1), lambda k: k, lambda: length)

    def others(first: int) -> None:
        for_counted(frame, loop, numbers(first), start, body, "k")

    attempt = frame.tracer.attempt
    with attempt.peelable(at := frame.loc(loop)):
        if at in attempt.peeled and constant_of(length):
            peeled(frame, loop, lambda: start(const_index(0)), body, lambda: others(1))
        else:
            whole, after_first = partial(others, 0), partial(others, 1)
            set_first = partial(start, const_index(0))
            first_apart_if_seen(frame, loop, whole, lambda: numbers(0).ran(), set_first, body, after_first)


def peeled(
    frame: Frame,
    loop: ast.For | ast.While,
    start: Callable[[], None],
    body: Callable[[], None],
    others: Callable[[], None],
) -> None:
    """A loop whose first iteration, which there is, gives variables other types: it stands before the ``others``."""
    start()
    frame.hints.clear()
    body()
    frame.hints.clear()
    has_left = left(frame.env)
    if has_left is False:
        others()
    elif has_left is not True:
        guarded(frame, has_left, others, _rest_of(frame, loop))


def first_apart_if_seen(
    frame: Frame,
    loop: ast.For | ast.While,
    whole: Callable[[], None],
    runs: Callable[[], bool | Value],
    start: Callable[[], None],
    body: Callable[[], None],
    others: Callable[[], None],
) -> None:
    """A loop, traced by ``whole``. If it makes ints floats, which can be seen in its first iteration, that one stands
    before the ``others``. ``runs``: whether there is one."""
    attempt, at = frame.tracer.attempt, frame.loc(loop)
    if at in attempt.whole or at in attempt.divisible or attempt.firsts == _MOST_FIRSTS:
        whole()
        return
    restore = saved(frame)
    attempt.divisible.add(at)
    try:
        whole()
        return
    except FirstDiffers as found:
        if found.loop is not loop:
            raise
    finally:
        attempt.divisible.discard(at)
    restore()
    attempt.apart.add(at)

    def first() -> None:
        attempt.firsts += 1
        try:
            body()
        finally:
            attempt.firsts -= 1

    known, path = runs(), partial(peeled, frame, loop, start, first, others)
    if known is True:
        path()
    elif known is not False:
        two_paths(frame, known, path, lambda: None, _rest_of(frame, loop).live)


def repeated(
    frame: Frame, loop: ast.While, body: Callable[[], None], whole: Callable[[], None], others: Callable[[], None]
) -> None:
    """A ``while`` loop, traced by ``whole``. Its first iteration may have to stand before the ``others``; or all of
    them one after another, if the extents of arrays in lists follow from them, and if it is known how many there are.
    """
    attempt, at = frame.tracer.attempt, frame.loc(loop)
    attempt.repeated.add(at)
    unrolled = not attempt.sizable and (at in attempt.decided or _runs_first(frame, loop) is not None)
    if unrolled:
        attempt.decidable[at] = None
    most = _MOST_ITERATIONS if unrolled and at in attempt.decided else int(at in attempt.peeled)

    def go_on(more: int, rest: Callable[[], None]) -> None:
        runs = _runs_first(frame, loop) if more else None
        if runs is not None:
            condition(frame, loop.test)  # for what it may raise
        after = [more - 1]

        def first() -> None:
            body()
            if not isinstance(left(frame.env), bool):
                after[0] = 0  # whether there are more depends on the run

        if runs:
            peeled(frame, loop, lambda: None, first, lambda: go_on(after[0], others))
        elif runs is None:
            rest()

    go_on(most, whole)


_MOST_ITERATIONS = 64  # of a loop whose iterations stand one after another


def _runs_first(frame: Frame, loop: ast.While) -> bool | None:
    """Whether a loop has a first iteration, if that is known, or decided by integers that can be made constants."""
    known: list[bool | Value] = []

    def look() -> AbstractValue:
        known.append(condition(frame, loop.test))
        return NONE

    looked = trace(frame, look)
    runs = frame.tracer.attempt.decide(frame.loc(loop), known[0]) if known else None
    discard(looked.block)
    return runs if isinstance(runs, bool) and not looked.mutates else None


def _unrolled(
    frame: Frame,
    loop: ast.For,
    items: Known,
    bind: Callable[[AbstractValue], None],
    body: Callable[[], None],
) -> None:
    place = _rest_of(frame, loop)

    def iterations(first: int) -> None:
        k = first - 1
        while (k := k + 1) < (items.count if items.now is None else items.now()):
            if items.limits:
                two_paths(frame, items.has(k), partial(_iterations_of, k), lambda: None, place.live)
                return
            if not iteration(k):
                return

    def iteration(k: int) -> bool:
        """One iteration. Whether the next must still be traced here."""
        around = frame.statement_block
        if not frame.catching:  # what certainly raises here then ends the path
            frame.statement_block = current_block()
        bind(items.item(k))
        frame.statement_block = around
        body()
        has_left = left(frame.env)
        if isinstance(has_left, bool):
            return not has_left
        if k + 1 < (items.count if items.now is None else items.now()):
            guarded(frame, has_left, lambda: iterations(k + 1), place)
        return False

    def _iterations_of(k: int) -> None:
        if iteration(k):
            iterations(k + 1)

    iterations(0)


def _rest_of(frame: Frame, loop: ast.For | ast.While) -> Place:
    """What the iterations that follow need."""
    live = frame.liveness
    return Place(live.after[loop] | live.reads[loop] | frame.captured, True, _no_statement)


def _no_statement(frame: Frame, statement: ast.stmt) -> None:
    raise AssertionError("the body executes its statements itself")
