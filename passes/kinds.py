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
REVERSE = "adc.reverse"
"""Attribute of loops that the reverse sweep makes: products with a cotangent of zero in them count as zero."""
BY_LANES = "adc.lanes"
"""Attribute of loops over the lanes of a block: LLVM is not to unroll them before it has made them SIMD."""
ONE_BY_ONE = "adc.one_by_one"
"""Attribute of loops over what is left over from blocks, and over what lanes do in turn."""
CHUNKS = "adc.chunks"
"""Attribute of loops over chunks of iterations, each of which has copies of shadows of its own."""
PRIVATE = "adc.private"
"""Attribute of the loop over the iterations of one chunk: what accumulates in it adds to the chunk's own copies."""
PEELED = "adc.peeled"
"""Attribute of loops of the few iterations up to where another loop is aligned: LLVM is to leave them as they are."""
TILES = "adc.tiles"
"""Attribute of loops over blocks of iterations of the loops inside: the length of blocks is a multiple of it."""
TRIPS = "adc.trips"
"""Attribute of loops whose limits are found just before them: how many iterations they have, most of the time."""
SILENT = frozenset(kind for kind in ops.TABLE.values() if not kind.regions) - READS - WRITES - TRAPS
"""Without regions, and neither reading nor writing memory nor ending the run."""
