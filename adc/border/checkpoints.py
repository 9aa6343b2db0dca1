"""The user interface of checkpointing; the implementation is in ``adc.frontend.checkpoints``."""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from typing import Any

from adc.border.boundary import public
from adc.border.pickling import made_of, reduced
from adc.frontend import checkpoints
from adc.frontend.checkpoints import Checkpoint, combined
from adc.frontend.libraries.table import known_as

__all__ = ["Checkpoint", "checkpoint", "combined", "every", "revolve", "steps"]

revolve = public(checkpoints.revolve)
every = public(checkpoints.every)
steps = public(checkpoints.steps)
checkpoint = public(checkpoints.checkpoint)


def _reduced(made: checkpoints.Checkpointed[..., Any]) -> tuple[Any, ...]:
    return reduced(made, lambda: (_complete, (made.function,)))


def _complete(blank: checkpoints.Checkpointed[..., Any], fn: Callable[..., Any]) -> checkpoints.Checkpointed[..., Any]:
    blank.__init__(fn)  # type: ignore[misc]
    return blank


copyreg.pickle(checkpoints.Checkpointed, _reduced)
made_of(checkpoints.Checkpointed, lambda made: (made.function,))

for _function in (revolve, every, steps, checkpoint):
    known_as(_function, getattr(checkpoints, _function.__name__))
