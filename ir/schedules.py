"""Schedules: how the steps of a loop are run again in the reverse sweep."""

from __future__ import annotations

from dataclasses import dataclass

SCHEDULE = "adc.schedule"
"""Attribute of loops: the schedule that was asked for this one, as a tuple of its fields."""


@dataclass(frozen=True)
class Schedule:
    """``snapshots`` of the state, at most, are there at a time (0: as many as there are pieces); the loop is cut into
    pieces of ``steps`` (0: the root of their number), each of which is reversed with a tape of its own.

    ``memory``: both are chosen when the function runs, so that it takes at most so many bytes (0: they are as given).
    """

    snapshots: int
    steps: int = 1
    memory: int = 0

    def attr(self) -> tuple[int, int, int]:
        return self.snapshots, self.steps, self.memory
