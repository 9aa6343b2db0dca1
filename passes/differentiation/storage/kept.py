"""What the forward sweep keeps for the reverse sweep, as data for reports."""

from __future__ import annotations

from adc.ir.core import Op
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType, Type, scalar_bytes

ITS_ELEMENTS = "its elements"


@dataclass(frozen=True)
class Kept:
    """``count`` values alike. ``name``: the variable, or empty for an intermediate value; then ``made_by`` is its
    operation. ``extents``: what the bytes are multiplied by. ``checked``: this is kept only in code that checks
    subscripts one by one."""

    line: int
    name: str
    made_by: str
    type: Type
    extents: tuple[int | str, ...]
    count: int = 1
    checked: bool = False

    @property
    def bytes(self) -> int:
        return self.count * scalar_bytes(self.type)

    @property
    def refers(self) -> bool:
        """Whether it is an array elsewhere: ``bytes`` counts only its address and shape."""
        return isinstance(self.type, MemRefType)

    @property
    def looped(self) -> bool:
        """Whether it is kept more than once."""
        return bool(self.extents)

    def times(self) -> str:
        """What the bytes are multiplied by, in words; empty for once."""
        return " x ".join(map(str, self.extents)) + (" (and the memory it refers to)" if self.refers else "")

    def __str__(self) -> str:
        type = f"{self.count} x {self.type}" if self.count > 1 else str(self.type)
        times = f"{' x ' if self.extents else ''}{self.times()}"
        note = " (where subscripts are checked one by one)" if self.checked else ""
        return f"line {self.line}: {self.name or self.made_by}: {type}, {self.bytes} bytes{times}{note}"


def trips_of(loop: Op) -> str:
    """How often a loop runs, in words, where the number is not known in advance."""
    return f"trips of the loop at line {loop.loc.line}"
