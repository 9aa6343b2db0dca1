"""128-bit integers in MLIR that is read: they check whether a result fits into 64 bits, as ``adc.fits`` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from adc.backend.mlir.generic import Operation
from adc.ir import ops
from adc.ir.builder import build
from adc.ir.core import Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import IntType

if TYPE_CHECKING:
    from adc.backend.mlir.reading import Reader

_KINDS = {"arith.addi": "add", "arith.subi": "sub", "arith.muli": "mul"}
_PLAIN = {"add": ops.addi, "sub": ops.subi, "mul": ops.muli}


@dataclass(eq=False)
class Wide:
    """A 128-bit integer: the operation on 64-bit values that computes it, or (``whole``) the value that was
    extended."""

    kind: str
    values: tuple[Value, ...]
    whole: Value | None = None


@dataclass
class WideIntegers:
    """The 128-bit integers of a function."""

    reader: Reader
    known: dict[str, Wide] = field(default_factory=dict)
    lows: dict[Value, Wide] = field(default_factory=dict)  # their truncations to 64 bits

    def read(self, op: Operation) -> Sequence[Value]:
        """Read an operation of an overflow check in 128 bits; the final comparison becomes ``adc.fits``."""
        given = [self.known.get(name) for name in op.operands]
        if op.name == "arith.extsi":
            value = self.reader[op.operands[0]]
            self.known[op.results[0]] = Wide("value", (self.reader.as_index(value),), value)
        elif op.name in _KINDS and all(w is not None and w.kind == "value" for w in given):
            self.known[op.results[0]] = Wide(_KINDS[op.name], tuple(w.values[0] for w in given if w))
        elif op.name == "arith.trunci" and given[0] is not None and given[0].kind in _KINDS.values():
            low = build(_PLAIN[given[0].kind], given[0].values).results[0]
            low = build(ops.index_cast, [low], {"type": IntType(64)}).results[0]
            self.lows[low] = given[0]
            return [low]
        elif op.name == "arith.cmpi" and op.attrs.get("predicate", "").split()[0] == "0":
            exact, short = given
            same = short is not None and short.whole is not None and self.lows.get(short.whole) is exact
            if exact is None or not same:
                raise op.rejected("integers of 128 bits are read only where they tell whether a result fits")
            return build(ops.fits, exact.values, {"kind": exact.kind}).results
        else:
            raise op.rejected("integers of 128 bits are read only where they tell whether a result fits")
        op.results = []
        return []
