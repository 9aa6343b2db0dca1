"""What the snapshots of a loop have in common, wherever the arrays in them are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from adc.ir import ops
from adc.ir.builder import build
from adc.ir.core import Value


class Snapshots(ABC):
    """Snapshots of the arrays that a loop writes to, and of the numbers that it carries, which have a row each."""

    numbers: Sequence[Value]

    @abstractmethod
    def values(self) -> list[Value]:
        """The values that go into a record."""

    @abstractmethod
    def save_arrays(self, number: Value, arrays: Sequence[Value]) -> None:
        """Append copies of the arrays to snapshot ``number``."""

    @abstractmethod
    def restore_arrays(self, number: Value, arrays: Sequence[Value]) -> None:
        """Append copies of snapshot ``number`` to the arrays."""

    def save(self, number: Value, arrays: Sequence[Value], carried: Sequence[Value]) -> None:
        """Append the code that makes snapshot ``number``."""
        self.save_arrays(number, arrays)
        self.save_numbers(number, carried)

    def save_numbers(self, number: Value, carried: Sequence[Value]) -> None:
        for value, row in zip(carried, self.numbers, strict=True):
            build(ops.store, [value, row, number])

    def restore(self, number: Value, arrays: Sequence[Value]) -> Sequence[Value]:
        """Append copies of snapshot ``number`` to the arrays, and return its numbers."""
        self.restore_arrays(number, arrays)
        return self.carried(number)

    def carried(self, number: Value) -> Sequence[Value]:
        """Append the loads of the numbers in a snapshot."""
        return [ops.load(row, number) for row in self.numbers]
