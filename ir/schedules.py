"""What is run again in the reverse sweep: the steps of loops, by schedules, and calls."""

from __future__ import annotations

from adc.ir.lazy_dataclass import dataclass

SCHEDULE = "adc.schedule"
"""Attribute of loops: the schedule that was asked for this one, as a tuple of its fields."""

FILE = "adc.file"
"""Attribute of allocations that must be in a file: the directory, or empty for that of temporary files."""

TAPE = "adc.tape"
"""Attribute of allocations of values of the forward sweep that the reverse sweep needs: a schedule reduces them."""

MEMORY = "adc.memory"
"""Attribute of functions: how many bytes the arena holds at most while it runs, including memory that is free for
reuse."""

REMATERIALISED = "adc.rematerialised"
"""Attribute of functions: where a call is differentiated the function runs again in the reverse sweep, and no value
inside it is kept until then."""


ALL_STEPS = 1 << 62
"""The length of pieces that means one tape for all steps."""


@dataclass(frozen=True)
class Schedule:
    """``snapshots`` of the state, at most, are in memory at a time (0: as many as there are pieces); the loop is cut
    into pieces of ``steps`` (0: the root of their number), each of which is reversed with a tape of its own.

    ``memory``: both are chosen when the function runs, so that it takes at most this many bytes (0: they are as given).
    ``disk``: at most this many further snapshots are in a file in ``directory`` (by default that for temporary files);
    with 0 ``snapshots``, all of them are.
    """

    snapshots: int
    steps: int = 1
    memory: int = 0
    disk: int = 0
    directory: str = ""

    def attr(self) -> tuple[int | str, ...]:
        return self.snapshots, self.steps, self.memory, self.disk, self.directory
