"""What is done around an operation that runs for a rank's own elements."""

from __future__ import annotations

from dataclasses import field

from adc.ir.core import Op, Value
from adc.ir.diagnostics import CompileTypeError
from adc.ir.lazy_dataclass import dataclass
from adc.passes.ranks.accesses import Apart
from adc.passes.ranks.regions import Box, Cut


@dataclass
class Step:
    """What is fetched before an operation, how its loops are cut, which arrays it is said to write to afterwards; and
    what has to hold for that."""

    fetches: dict[Value, list[Box]] = field(default_factory=dict)
    cuts: list[tuple[Op, list[Cut]]] = field(default_factory=list)
    written: list[Value] = field(default_factory=list)
    apart: list[list[Apart]] = field(default_factory=list)
    around: list[list[Apart]] = field(default_factory=list)
    small: list[list[Apart]] = field(default_factory=list)
    distinct: dict[tuple[Value, Value], Op] = field(default_factory=dict)
    refused: CompileTypeError | None = None
