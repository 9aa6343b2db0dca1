"""Run-time checks, and the exception handlers around the code that are notified of them (``control.thrown``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.builder import build
from adc.ir.core import Op, Value
from adc.ir.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Watch:
    """The classes of exceptions that are handled, and the function that is notified of each check."""

    classes: tuple[type[Exception], ...]
    note: Callable[[Op], None]


_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watched(watch: Watch | None) -> Iterator[None]:
    before = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(before)


def handled(cls: type[Exception]) -> bool:
    """Whether exceptions of a class are handled by the program, so that Python's exceptions must be raised. Elsewhere,
    floats divided by zero and the like are infinite or NaN."""
    watch = _watch.get()
    return watch is not None and issubclass(cls, watch.classes)


def handling() -> bool:
    """Whether the program may handle what is raised here."""
    return _watch.get() is not None


def trap_unless(condition: Value, error: str, message: str | tuple[str, ...], *values: Value) -> None:
    """Raise ``error`` at run time unless ``condition`` holds; builds nothing if it is known to hold."""
    if not constant_of(condition):
        _noted(build(ops.assert_, [condition, *values], {"error": error, "message": message}))


def within(index: Value, extent: Value) -> Value:
    """A subscript counted from the start; IndexError if it is out of range."""
    result = ops.bound(index, extent)
    if isinstance(result.owner, Op):
        _noted(result.owner)
    return result


def _noted(op: Op) -> None:
    watch = _watch.get()
    if watch is not None:
        watch.note(op)
