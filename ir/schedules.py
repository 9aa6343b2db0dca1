"""What is run again in the reverse sweep: the steps of loops, by schedules, and calls."""

from __future__ import annotations

from dataclasses import dataclass

SCHEDULE = "adc.schedule"
"""Attribute of loops: the schedule that was asked for this one, as a tuple of its fields."""

FILE = "adc.file"
"""Attribute of allocations that are to lie in a file: the directory, or nothing for that of temporary files."""

TAPE = "adc.tape"
"""Attribute of allocations of what the reverse sweep needs of the forward sweep: a schedule takes less."""

MEMORY = "adc.memory"
"""Attribute of functions: how many bytes the arena is to hold while it runs, what is free for another use included."""

REMATERIALISED = "adc.rematerialised"
"""Attribute of functions: where a call is differentiated the function runs again in the reverse sweep, and nothing of
its inside is kept until then."""


ALL_STEPS = 1 << 62
"""Pieces of so many steps: one tape for all."""


@dataclass(frozen=True)
class Schedule:
    """``snapshots`` of the state, at most, are in memory at a time (0: as many as there are pieces); the loop is cut
    into pieces of ``steps`` (0: the root of their number), each of which is reversed with a tape of its own.

    ``memory``: both are chosen when the function runs, so that it takes at most so many bytes (0: they are as given).
    ``disk``: so many further snapshots, at most, are in a file in ``directory`` (if that is nothing, in that for
    temporary files); with 0 ``snapshots`` all of them, whatever their number.
    """

    snapshots: int
    steps: int = 1
    memory: int = 0
    disk: int = 0
    directory: str = ""

    def attr(self) -> tuple[int | str, ...]:
        return self.snapshots, self.steps, self.memory, self.disk, self.directory
