"""Checkpointing as users ask for it; what is done is in ``adc.frontend.checkpoints``."""

from __future__ import annotations

from adc.boundary import public
from adc.frontend import checkpoints
from adc.frontend.checkpoints import Checkpoint, combined
from adc.frontend.libraries.table import known_as

__all__ = ["Checkpoint", "checkpoint", "combined", "every", "revolve", "steps"]

revolve = public(checkpoints.revolve)
every = public(checkpoints.every)
steps = public(checkpoints.steps)
checkpoint = public(checkpoints.checkpoint)

for _function in (revolve, every, steps, checkpoint):
    known_as(_function, getattr(checkpoints, _function.__name__))
