"""Where errors leave adc: they name the user's call, and show no frames of adc.

Frames inside adc are of no use to a user, so tracebacks end at the user's own line (or, where a Python function of adc
was called, at that function). With ``ADC_FULL_TRACEBACK=1`` in the environment they show everything, including chained
exceptions.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from adc.errors import AdcError, CompileError, DifferentiationError, InternalError
from adc.ir import kinds
from adc.ir.core import UNKNOWN, Loc
from adc.ir.diagnostics import Note, is_own
from adc.ir.excerpts import source_line
from adc.ir.notices import AdcWarning

P = ParamSpec("P")
R = TypeVar("R")
SWITCH = "ADC_FULL_TRACEBACK"
_BARE = "_adc_bare"  # an attribute that tells the slots of NativeCallable to drop the traceback


def full_traceback() -> bool:
    """Whether the user wants to see adc's own frames."""
    return os.environ.get(SWITCH, "0") not in ("", "0")


def leaving(error: BaseException, what: str = "") -> BaseException:
    """``error`` as users see it, after a call of ``what``. Exceptions that are not adc's are returned unchanged."""
    if not is_own(error):
        return error
    if isinstance(error, AdcError) and not hasattr(error, _BARE) and not _calls.are_unnamed:
        error = _with_call(error, what)
    if full_traceback():
        setattr(error, _BARE, False)
        return error
    setattr(error, _BARE, True)
    error.__cause__, error.__suppress_context__ = None, True
    return error.with_traceback(None)


class _Calls(threading.local):
    are_unnamed = False


_calls = _Calls()


@contextmanager
def unnamed_calls() -> Iterator[None]:
    """A context in which errors do not name the call: an executor makes the call, and the user's call is added
    later."""
    before, _calls.are_unnamed = _calls.are_unnamed, True
    try:
        yield
    finally:
        _calls.are_unnamed = before


def public(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function of adc that users call: errors leave through it."""

    @functools.wraps(function)
    def adc_call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            left = leaving(_of_call(function, args, kwargs, error))
        raise left

    return adc_call


def _of_call(function: Callable[..., Any], args: Any, kwargs: Any, error: Exception) -> Exception:
    """``error``, or a better error if Python's says that the arguments do not fit ``function``."""
    if type(error) is not TypeError:
        return error
    from adc.border.misuse import wrong_call

    return wrong_call(function, args, kwargs) or error


@contextmanager
def compiling(name: str) -> Iterator[None]:
    """A context in which ``name`` is compiled: exceptions that show a defect of adc are turned into errors that say so.
    What a handler of signals raised meanwhile is the user's."""
    try:
        yield
    except (AdcError, AdcWarning, MemoryError):
        raise
    except Exception as error:
        if _is_of_handler(error):
            raise
        raise internal(error, name) from error


def _is_of_handler(error: Exception) -> bool:
    """Whether a handler of signals raised an exception: one that is installed now is among its frames."""
    codes = {getattr(signal.getsignal(number), "__code__", None) for number in signal.valid_signals()}
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))


def internal(error: Exception, name: str) -> AdcError:
    """The error to raise for an exception that shows a defect of adc or a limit of Python."""
    loc = getattr(error, "adc_loc", UNKNOWN)
    if isinstance(error, RecursionError):
        help = "split the expression or the function, or raise sys.setrecursionlimit()"
        return kinds.TOO_DEEP(f"{name} is nested too deeply to be compiled", loc, help=help)
    return kinds.INTERNAL_ERROR(
        f"adc failed to compile {name}: {type(error).__name__}: {error}",
        loc,
        help=f"this is a defect of adc; with {SWITCH}=1 the traceback shows where, please report it",
    )


def _with_call(error: AdcError, what: str) -> AdcError:
    """``error`` with the user's call: as a note, or as its place if it has none."""
    call = user_call()
    if call == UNKNOWN or call == error.loc:
        return error
    frames, cause = error.__traceback__, error.__cause__
    if error.loc == UNKNOWN:
        error = error.placed(call)
    else:
        verb = "compiled for" if isinstance(error, CompileError | DifferentiationError | InternalError) else "in"
        error = error.noted(Note(f"{verb} this call{f' of {what}()' if what else ''}", call))
    error.__cause__, error.__suppress_context__ = cause, True
    return error.with_traceback(frames)


def user_call() -> Loc:
    """The source range of the call in the innermost frame outside adc; none in a command."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_own(frame):
        if frame.f_globals.get("__name__") == "adc.cli":
            return UNKNOWN
        frame = frame.f_back
    if frame is None:
        return UNKNOWN
    code = frame.f_code
    for k, (line, end_line, column, end_column) in enumerate(code.co_positions()):
        if k == frame.f_lasti // 2 and line is not None:
            if end_line is None or column is None or end_column is None:
                break
            return Loc(
                code.co_filename,
                line,
                _characters(code.co_filename, line, column),
                end_line,
                _characters(code.co_filename, end_line, end_column),
            )
    return Loc(code.co_filename, frame.f_lineno)


def user_variables() -> dict[str, object]:
    """The local variables where the innermost call from outside adc was made."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_own(frame):
        frame = frame.f_back
    return dict(frame.f_locals) if frame is not None else {}


def _is_own(frame: FrameType) -> bool:
    name = str(frame.f_globals.get("__name__", ""))
    return name == "adc" or name.startswith("adc.")


def _characters(file: str, line: int, offset: int) -> int:
    """The column in characters; code objects count bytes."""
    text = source_line(file, line)
    return offset if text.isascii() else len(text.encode()[:offset].decode(errors="replace"))
