"""Checkpointing as users ask for it: schedules, loops with one of their own, and calls that are run again."""

from __future__ import annotations

import functools
import operator
import os
import re
import types
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

from adc.ir import kinds
from adc.ir.schedules import ALL_STEPS, Schedule

Checkpoint = Schedule | str | None
P = ParamSpec("P")
R = TypeVar("R")


def revolve(snapshots: int, *, disk: int = 0, directory: str | os.PathLike[str] = "") -> Schedule:
    """At most ``snapshots`` copies of the state of a loop, placed so that as few steps as possible run again.

    ``disk``: this many more are in files in ``directory`` (by default that for temporary files). These are the ones
    that are read least often. The files have no names, so nothing remains however the process ends. A directory that
    cannot be written, or a full disk, is a ``FileError`` (an ``OSError``) when the gradient begins.

    References: Griewank and Walther, Algorithm 799: revolve, ACM Trans. Math. Softw. 26, 2000; Stumm and Walther,
    MultiStage approaches for optimal offline checkpointing, SIAM J. Sci. Comput. 31, 2009.
    """
    number = _number("disk", disk)
    return Schedule(_positive("snapshots", snapshots), disk=number, directory=_directory(directory, number > 0))


def every(steps: int, *, disk: bool = False, directory: str | os.PathLike[str] = "") -> Schedule:
    """A snapshot before every ``steps`` steps, which are run again with a tape: each step runs twice.

    ``disk``: the snapshots are in files in ``directory``, as with ``revolve``.
    """
    if not isinstance(disk, bool):
        raise kinds.INVALID_OPTION(f"disk must be True or False here, not {disk!r}", help="all snapshots are, or none")
    return Schedule(0, _positive("steps", steps), disk=int(disk), directory=_directory(directory, disk))


_UNITS = {"": 1, "b": 1} | {
    f"{prefix}{infix}b": base**power
    for power, prefix in enumerate("kmgt", 1)
    for infix, base in (("", 1000), ("i", 1024))
}


_MOST = (1 << 63) - 1  # the largest number that compiled code can count to


def read_memory(given: int | str | None) -> int | None:
    """A number of bytes, or its text: ``"2GB"``, ``"512 MiB"``; units count in thousands, or, with an i, in 1024s."""
    if given is None:
        return None
    if isinstance(given, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", given)
        unit = _UNITS.get(found[2].lower()) if found else None
        if found is None or unit is None:
            raise kinds.INVALID_OPTION(f"memory cannot be {given!r}", help="for instance '2GB', '500 MiB', or bytes")
        given = int(float(found[1]) * unit)
    return min(_positive("memory", given), _MOST)


def steps(*args: int, checkpoint: Checkpoint = None) -> range:
    """Like ``range``, with a schedule of its own for the gradient of the loop.

    ``checkpoint`` is as in ``jit_grad``, and must be known when the function is compiled. Loops inside other loops, and
    loops in called functions, can have a schedule too. For a loop that cannot have one it is an error.
    """
    read(checkpoint)
    return range(*args)


def checkpoint(fn: Callable[P, R]) -> Callable[P, R]:
    """``fn``, except that a gradient stores only the arguments of its calls, and runs the calls again.

    Arrays that a call changes, or that change after it, are copied. It is also a decorator. Outside of compiled code it
    is a plain call of ``fn``. Raises ``TypeError`` for something that cannot be called.
    """
    if not callable(fn):
        raise kinds.WRONG_TYPE(f"checkpoint() takes a function, not {type(fn).__name__}")

    return Checkpointed(fn)


class Checkpointed(Generic[P, R]):
    """The result of ``checkpoint``: called by Python, it is the function; in a class, it is a method."""

    def __init__(self, fn: Callable[P, R]) -> None:
        functools.update_wrapper(self, fn, updated=())
        self.function = fn

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<checkpointed {self.function!r}>"

    def __copy__(self) -> Checkpointed[P, R]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Checkpointed[P, R]:
        return self


def checkpointed_function(obj: Any) -> Any:
    """The function that ``checkpoint`` was applied to; None if ``obj`` is not of its making."""
    return obj.function if isinstance(obj, Checkpointed) else None


def not_checkpointed(fn: Any) -> Any:
    """The function behind any number of ``checkpoint``: for an outermost call there is nothing to recompute."""
    while (inner := checkpointed_function(fn)) is not None:
        fn = inner
    return fn


def combined(checkpoint: Checkpoint, memory: int | str | None) -> Schedule | None:
    """The schedule that a user asked for, directly or by a number of bytes."""
    allowed = read_memory(memory)
    if allowed is None:
        return Schedule(0, 0, _half_of_all()) if checkpoint == "auto" else read(checkpoint)
    if checkpoint is not None:
        raise kinds.INVALID_OPTION(
            "memory= chooses the schedule itself, so that checkpoint= has nothing to say", help="give one of the two"
        )
    return Schedule(0, 0, allowed)


def _half_of_all() -> int:
    """Half the memory of this machine, in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def read(given: Checkpoint) -> Schedule | None:
    """A schedule, or its text: ``"revolve:N"``, ``"every:K"``, ``"sqrt"`` (``every`` with the square root of the number
    of steps), ``"recompute-all"`` (only the first state is stored), ``"store-all"`` (one tape). After ``revolve:N`` may
    follow ``,disk:M``, after ``every:K`` ``,disk``; then, ``,directory:PATH``."""
    if given is None or isinstance(given, Schedule):
        return given
    if isinstance(given, str):
        if given in _NAMED:
            return _NAMED[given]
        if found := re.fullmatch(r"revolve:(\d+)(?:,disk:(\d+)(?:,directory:(.+))?)?", given):
            return revolve(int(found[1]), disk=int(found[2] or 0), directory=found[3] or "")
        if found := re.fullmatch(r"every:(\d+)(,disk(?:,directory:(.+))?)?", given):
            return every(int(found[1]), disk=bool(found[2]), directory=found[3] or "")
    raise kinds.INVALID_OPTION(
        f"checkpoint cannot be {given!r}",
        help="for instance 'revolve:32' or adc.revolve(snapshots=32), 'every:10' or adc.every(10), 'sqrt', "
        "'recompute-all' or 'store-all'; for functions and calls, 'auto' too",
    )


_NAMED = {"sqrt": Schedule(0, 0), "recompute-all": Schedule(1), "store-all": Schedule(1, ALL_STEPS)}


def _positive(name: str, value: int) -> int:
    return _number(name, value, 1)


def _number(name: str, value: int, least: int = 0) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise kinds.INVALID_OPTION(f"{name} must be an int, not {value!r}") from None
    if number < least:
        raise kinds.INVALID_OPTION(f"{name} must be at least {least}, not {number}")
    return number


def _directory(given: str | os.PathLike[str], used: bool) -> str:
    """The absolute path: compiled code may run in another directory."""
    path = os.fspath(given)
    if path and not used:
        raise kinds.INVALID_OPTION("directory= says where snapshots on disk are, and there are none", help="give disk=")
    return os.path.abspath(path) if path else ""
