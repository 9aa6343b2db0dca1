"""``for`` loops over ranges, and over what is counted: as loops, unrolled, or with their first iterations apart."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from adc.frontend.arrays import arrays
from adc.frontend.containers import sequences
from adc.frontend.control import loops
from adc.frontend.control.retracing import saved
from adc.frontend.data.values import Range
from adc.frontend.frame import Frame
from adc.frontend.iteration import Known, known
from adc.frontend.objects.heap import Unroll
from adc.frontend.statements.assignments import bind
from adc.frontend.statements.items import first_apart_if_seen, for_items, peeled
from adc.ir import kinds
from adc.ir.diagnostics import AdcError

_UNROLLED_AT_MOST = 1000  # iterations at most


def for_range(frame: Frame, statement: ast.For, value: Range, body: Callable[[], None]) -> None:
    """A loop over a range. Its bounds may have to be known, and its first iteration to stand apart (``Attempt``)."""
    place = frame.loc(statement)
    value = loops.decided(frame, place, value)
    attempt = frame.tracer.attempt
    with attempt.undecided(place), attempt.peelable(place):
        numbers = sequences.known_items(frame, value) if place in attempt.peeled else None
        if not numbers:
            whole = partial(_for_decided, frame, statement, value, body)
            set_first = partial(bind, frame, statement.target, value.start)
            after_first = partial(_from_second, frame, statement, value, body)
            first_apart_if_seen(
                frame, statement, whole, lambda: loops.counted(value).ran(), set_first, body, after_first
            )
            return
        start = partial(bind, frame, statement.target, numbers[0])
        later = replace(value, start=numbers[1] if len(numbers) > 1 else value.stop)
        peeled(frame, statement, start, body, partial(_for_decided, frame, statement, later, body))


def _from_second(frame: Frame, statement: ast.For, value: Range, body: Callable[[], None]) -> None:
    """The iterations of a loop over a range after the first."""
    later = replace(value, start=arrays.operate(frame, "+", value.start, value.step))
    _for_decided(frame, statement, later, body)


def _for_decided(frame: Frame, statement: ast.For, value: Range, body: Callable[[], None]) -> None:
    numbers = sequences.known_items(frame, value)
    items = None if numbers is None else known(numbers)
    unrolled_if_needed(frame, statement, items, lambda: loops.for_range(frame, statement, value, body), body)


def unrolled_if_needed(
    frame: Frame, statement: ast.For, items: Known | None, loop: Callable[[], None], body: Callable[[], None]
) -> None:
    """A loop over a counter. It is unrolled if its ``items`` are known and it changes, say, the structure of a list."""
    if items is None or items.limits or items.count > _UNROLLED_AT_MOST or statement in frame.unrollable:
        loop()
        return
    restore = saved(frame)
    frame.unrollable.add(statement)
    try:
        loop()
        return
    except Unroll as need:
        if need.stmt is not statement:
            raise
    except AdcError as error:  # it may be the counter that must be known
        if error.kind != kinds.NOT_CONSTANT.name:
            raise
    finally:
        frame.unrollable.discard(statement)
    restore()
    for_items(frame, statement, items, lambda item: bind(frame, statement.target, item), body)
