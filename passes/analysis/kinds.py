"""Sets of operations by trait, for passes that ask of every operation (looking up an enum member is slow)."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.opdef import OpDef, Trait


def _with(*traits: Trait) -> frozenset[OpDef]:
    return frozenset(kind for kind in ops.TABLE.values() if not kind.traits.isdisjoint(traits))


PURE = _with(Trait.PURE)
TERMINATORS = _with(Trait.TERMINATOR)
READS = _with(Trait.READS)
WRITES = _with(Trait.WRITES)
TRAPS = _with(Trait.TRAPS)
COMMUTATIVE = _with(Trait.COMMUTATIVE)
COUNTED = frozenset({ops.for_, ops.parallel})
LOOPS = COUNTED | {ops.while_}
ELEMENT = {ops.load: 0, ops.store: 1, ops.accumulate: 1}
"""What reads or changes one element of an array, and which operand the array is; subscripts follow it."""
SILENT = frozenset(kind for kind in ops.TABLE.values() if not kind.regions) - READS - WRITES - TRAPS
"""Without regions, and neither reading nor writing memory nor ending the run."""
