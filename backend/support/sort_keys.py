"""Shared by the functions that sort: keys, and masks of vectors. See ``sorts.py``."""

from __future__ import annotations

from adc.ir.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Key:
    """The type of the compared elements. ``lanes``: those of the vectors in partitions; 0 without instructions to
    compress vectors."""

    kind: str
    lanes: int

    @property
    def bits(self) -> int:
        return int(self.kind.lstrip("fui"))

    @property
    def wide(self) -> int:
        """How many keys make 64 bytes: short ranges are sorted in units of that size, one or more vectors."""
        return 512 // self.bits

    @property
    def is_float(self) -> bool:
        return self.kind.startswith("f")

    @property
    def scalar(self) -> str:
        return {"f32": "float", "f64": "double"}.get(self.kind, f"i{self.bits}")

    @property
    def greatest(self) -> str:
        """A value that no key exceeds."""
        if self.is_float:
            return "0x7FF0000000000000"
        return "-1" if self.kind.startswith("u") else str(2 ** (self.bits - 1) - 1)

    @property
    def suffix(self) -> str:
        """The suffix in the names of intrinsics on the vectors."""
        return f"v{self.lanes}{self.kind.lstrip('u')}"

    def compare(self, relation: str) -> str:
        """LLVM's comparison for ``lt``, ``le`` or ``gt``."""
        if self.is_float:
            return f"fcmp o{relation}"
        return f"icmp {'u' if self.kind.startswith('u') else 's'}{relation}"


def suffix_of(key: Key, t: str) -> str:
    """The suffix for vectors of keys or of subscripts, by the text of the type."""
    return f"v{key.lanes}i64" if t == "i64" else key.suffix


def first_lanes(name: str, count: str, lanes: int) -> list[str]:
    """A mask of the first ``count`` of ``lanes`` lanes."""
    return [
        f"  %{name}.short = trunc i64 {count} to i32",
        f"  %{name}.bit = shl i32 1, %{name}.short",
        f"  %{name}.ones = sub i32 %{name}.bit, 1",
        f"  %{name}.word = trunc i32 %{name}.ones to i{lanes}",
        f"  %{name} = bitcast i{lanes} %{name}.word to <{lanes} x i1>",
    ]
