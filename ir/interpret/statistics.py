"""What the interpreter counts: operations, and memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import field

from adc.ir.core import Block, Op
from adc.ir.lazy_dataclass import dataclass
from adc.ir.opdef import OpDef


@dataclass
class Statistics:
    """Statistics of a run: operations executed, by kind; allocated bytes, at most and at the end; allocations."""

    executed: Counter[OpDef] = field(default_factory=Counter)
    peak_bytes: int = 0
    live_bytes: int = 0
    allocations: int = 0

    @property
    def total(self) -> int:
        return self.executed.total()


class Executed:
    """Operations executed: runs of blocks are counted, which takes less time than to count operations."""

    def __init__(self) -> None:
        self.runs: dict[Block, int] = {}  # to their ends
        self._begun: Counter[OpDef] = Counter()

    def ends_at(self, block: Block, last: Op) -> None:
        """A run of a block ends in an error of the operation ``last``."""
        self._begun.update(op.opdef for op in block.ops[: block.ops.index(last) + 1])

    def counted(self) -> Counter[OpDef]:
        """How many operations of each kind there were so far, those that raised an error included."""
        found = self._begun.copy()
        for block, runs in self.runs.items():
            for op in block.ops[:-1]:
                found[op.opdef] += runs
        return found
