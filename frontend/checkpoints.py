"""Checkpointing as users ask for it: schedules, and loops with one of their own."""

from __future__ import annotations

import operator
import re

from adc.ir import kinds
from adc.ir.schedules import Schedule

Checkpoint = Schedule | str | None


def revolve(snapshots: int) -> Schedule:
    """At most so many snapshots of the state of a loop, where they make the repeated steps the fewest possible.

    Reference: Griewank and Walther, Algorithm 799: revolve, ACM Trans. Math. Softw. 26, 2000.
    """
    return Schedule(_positive("snapshots", snapshots))


def every(steps: int) -> Schedule:
    """A snapshot before each ``steps`` steps, which are run again with a tape: each step is run twice."""
    return Schedule(0, _positive("steps", steps))


_UNITS = {"": 1, "b": 1} | {
    f"{prefix}{infix}b": base**power
    for power, prefix in enumerate("kmgt", 1)
    for infix, base in (("", 1000), ("i", 1024))
}


def read_memory(given: int | str | None) -> int | None:
    """A number of bytes, or its text: ``"2GB"``, ``"512 MiB"``; units count in thousands, or, with an i, in 1024s."""
    if given is None:
        return None
    if isinstance(given, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", given)
        unit = _UNITS.get(found[2].lower()) if found else None
        if found is None or unit is None:
            raise kinds.INVALID_OPTION(f"memory cannot be {given!r}", help="for instance '2GB', '500 MiB', or bytes")
        return _positive("memory", int(float(found[1]) * unit))
    return _positive("memory", given)


def steps(*args: int, checkpoint: Checkpoint = None) -> range:
    """As ``range``; the gradient of a loop over it runs its steps again by a schedule of its own.

    ``checkpoint`` is what ``jit_grad`` takes; it has to be known when the function is compiled. Loops inside other
    loops, and in functions that are called, can have one too. A loop that cannot have one is an error.
    """
    read(checkpoint)
    return range(*args)


def combined(checkpoint: Checkpoint, memory: int | str | None) -> Schedule | None:
    """What a user asked for, by a schedule or by a number of bytes."""
    allowed = read_memory(memory)
    if allowed is None:
        return read(checkpoint)
    if checkpoint is not None:
        raise kinds.INVALID_OPTION(
            "memory= chooses the schedule itself, so that checkpoint= has nothing to say", help="give one of the two"
        )
    return Schedule(0, 0, allowed)


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
