"""Tracing a statement again, in another way, after the first way was given up."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from adc.frontend.data.values import AbstractValue
from adc.frontend.frame import Frame


def saved(frame: Frame) -> Callable[[], None]:
    """What takes the frame back to what it is now."""
    return partial(_restore, frame, dict(frame.env), dict(frame.hints), list(frame.loops), list(frame.parallel))


def _restore(
    frame: Frame, env: dict[str, AbstractValue], hints: dict[Any, Any], loops: list[Any], parallel: list[Any]
) -> None:
    frame.env, frame.hints, frame.abandoned = env, hints, True
    frame.loops[:], frame.parallel[:] = loops, parallel
