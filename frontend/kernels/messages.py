"""Messages to other ranks, for traced code and for plain Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adc.ir import messages


@dataclass(frozen=True)
class Routine:
    """A function that compiled code calls (``adc.ir.messages``). ``parameters`` has a letter for each parameter: ``i``
    for an integer, ``a`` for an array with one axis, ``A`` if it is written to, ``p`` for the source location of the
    call, which callers do not pass. ``number``: it returns a number."""

    name: str
    parameters: str = ""
    number: bool = False

    def __call__(self, *args: Any) -> Any:
        value = messages.answer(self.name, args)
        return value if self.number else None

    @property
    def has_place(self) -> bool:
        return self.parameters.endswith("p")

    @property
    def passed(self) -> str:
        """The letters of the parameters that callers pass."""
        return self.parameters.removesuffix("p")

    @property
    def written(self) -> tuple[int, ...]:
        """The positions of the arrays that it writes to."""
        return tuple(k for k, letter in enumerate(self.parameters) if letter.isupper())


rank = Routine("rank", number=True)
size = Routine("size", number=True)
exchange = Routine("exchange", "aAiii")  # sent received dest source tag
shift = Routine("shift", "aAiii")  # the same, by all ranks at once
allreduce = Routine("allreduce", "aAip")  # given total role place
allgather = Routine("allgather", "aAip")  # given all role place
bcast = Routine("bcast", "aAiip")  # given found root role place
reduce = Routine("reduce", "aAiip")  # given total root role place
gather = Routine("gather", "aAiip")  # given all root role place
scatter = Routine("scatter", "aAiip")  # given found root role place
agree = Routine("agree", "aip")  # given left place

ROUTINES = (rank, size, exchange, shift, allreduce, allgather, bcast, reduce, gather, scatter, agree)
