"""Checkpointing as users ask for it."""

from __future__ import annotations

import operator
import re

from adc.boundary import public
from adc.ir import kinds
from adc.passes.checkpointing.schedule import Schedule

Checkpoint = Schedule | str | None


@public
def revolve(snapshots: int) -> Schedule:
    """At most so many snapshots of the state of a loop, where they make the repeated steps the fewest possible.

    Reference: Griewank and Walther, Algorithm 799: revolve, ACM Trans. Math. Softw. 26, 2000.
    """
    return Schedule(_positive("snapshots", snapshots))


@public
def every(steps: int) -> Schedule:
    """A snapshot before each ``steps`` steps, which are run again with a tape: each step is run twice."""
    return Schedule(0, _positive("steps", steps))


def read(given: Checkpoint) -> Schedule | None:
    """A schedule, or its text: ``"revolve:N"``, ``"every:K"``, ``"sqrt"`` (every so many steps as is the root of their
    number), ``"recompute-all"`` (nothing but the first state), ``"store-all"`` (one tape)."""
    if given is None or isinstance(given, Schedule):
        return given
    if isinstance(given, str):
        if given in _NAMED:
            return _NAMED[given]
        found = re.fullmatch(r"(revolve|every):(\d+)", given)
        if found:
            return (revolve if found[1] == "revolve" else every)(int(found[2]))
    raise kinds.INVALID_OPTION(
        f"checkpoint cannot be {given!r}",
        help="for instance adc.revolve(snapshots=32), adc.every(10), 'sqrt', 'recompute-all' or 'store-all'",
    )


_NAMED = {"sqrt": Schedule(0, 0), "recompute-all": Schedule(1), "store-all": Schedule(1, 1 << 62)}


def _positive(name: str, value: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise kinds.INVALID_OPTION(f"{name} must be an int, not {value!r}") from None
    if number < 1:
        raise kinds.INVALID_OPTION(f"{name} must be at least 1, not {number}")
    return number
