"""The ways in which control leaves a block other than by its end: break, continue, return, and not at all.

Each is a variable of its own in the frame. It is set where control leaves that way, and merged where paths meet like
any other variable: what all paths have set is set, what only some have set is an ``Unbound`` with a flag. ``<return>``
holds the value returned, ``<break>`` and ``<continue>`` hold None. ``<never>`` marks code that control does not reach,
after a raise or a loop without an end. An exception taken by a handler around the code is such a way too: ``<raised>``
says which one (``thrown.py``). ``<trying>`` is set inside a ``try`` statement, whose handlers read variables, and
``<finally>`` inside one with a ``finally``: the variables that this reads, after a return too.
"""

from __future__ import annotations

from collections.abc import Mapping

from adc.frontend.data.values import NONE, AbstractValue, Static, Unbound
from adc.ir import ops
from adc.ir.core import Value

BREAK, CONTINUE, RETURN, NEVER = "<break>", "<continue>", "<return>", "<never>"
RAISED, TRYING, FINALLY = "<raised>", "<trying>", "<finally>"
JUMPS = (BREAK, CONTINUE, RETURN, RAISED)
OUT = (BREAK, RETURN, RAISED)  # those that end a loop
_HINTS = {BREAK: "broke", CONTINUE: "skipped", RETURN: "returned", RAISED: "raised"}

Environment = Mapping[str, AbstractValue]


def hint(name: str) -> str:
    """The name of an IR value that holds the variable ``name``."""
    return "held" if name.startswith("#") else _HINTS.get(name, name)


def pending(env: Environment) -> list[str]:
    """The ways by which control may have left."""
    return [name for name in JUMPS if name in env]


def left(env: Environment) -> bool | Value:
    """Whether control has left the block: known, or an i1."""
    if NEVER in env:
        return True
    found: Value | None = None
    for name in pending(env):
        value = env[name]
        if not isinstance(value, Unbound):
            return True
        found = value.flag if found is None else ops.ori(found, value.flag)
    return found if found is not None else False


def gone(env: Environment, name: str) -> bool:
    """Whether a variable is never read again: the function has certainly ended, and no ``finally`` reads it."""
    ends = (RETURN,) if TRYING in env else (RETURN, RAISED)
    last = env.get(FINALLY)
    if NEVER in env or (isinstance(last, Static) and name in last.value):
        return NEVER in env
    return any(way in env and not isinstance(env[way], Unbound) for way in ends)


def unending(env: dict[str, AbstractValue]) -> None:
    """After a loop that only a jump ends: one of the pending ways was taken."""
    ways = pending(env)
    if not ways:
        env[NEVER] = NONE
    elif len(ways) == 1:
        value = env[ways[0]]
        env[ways[0]] = value.value if isinstance(value, Unbound) else value
