"""Array expansion: for iterations side by side, of arrays that each iteration of a parallel loop makes for itself.

The array gets one more dimension, the innermost, along which the lanes are. This is done only for arrays of few
elements, and tapes, which are written and read once, in order: otherwise the arrays of all lanes would leave the cache,
in which the array of one iteration at a time stays.

Reference: Feautrier, Array expansion, Proceedings of the International Conference on Supercomputing 1988.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op, Value
from adc.ir.loop_attrs import SMALL_ARRAYS
from adc.ir.nesting import inside
from adc.ir.rewrite import Mapping
from adc.ir.schedules import TAPE
from adc.ir.types import MemRefType
from adc.passes.analysis.kinds import ELEMENT, accessed, is_elementwise

MOST_ELEMENTS = 512
"""The most elements of an array that exists for each lane."""


def is_expandable(alloc: Op, loop: Op) -> bool:
    """Whether an array that each iteration of ``loop`` makes is used by it alone, and small."""
    t = alloc.result.type
    assert isinstance(t, MemRefType)
    if t.strides is not None or isinstance(t.element, MemRefType) or not t.rank:
        return False
    uses = alloc.result.uses
    if any(inside(v, loop) for v in alloc.operands) or not all(is_elementwise(op, k) for op, k in uses):
        return False
    if alloc.attrs.get(TAPE):
        return True
    size = known_size(alloc)
    return bool(loop.attrs.get(SMALL_ARRAYS)) if size is None else size <= MOST_ELEMENTS


def known_size(alloc: Op) -> int | None:
    """The number of elements of an allocation, if it is known."""
    t = alloc.result.type
    assert isinstance(t, MemRefType)
    extents = [n for n in t.shape if n is not None] + [constant_of(v) for v in alloc.operands]
    return None if None in extents else math.prod(int(n) for n in extents if n is not None)


def expanded(alloc: Op, uniform: Mapping, width: int) -> Value:
    """Append the array for ``width`` lanes."""
    t = alloc.result.type
    assert isinstance(t, MemRefType)
    made: Value = ops.alloc(*(uniform.get(v, v) for v in alloc.operands), type=MemRefType((*t.shape, width), t.element))
    made.hint = alloc.result.hint
    return made


def accesses_of(arrays: Container[Value] | Sequence[Value], op: Op) -> Iterator[Op]:
    """The accesses to elements of ``arrays`` in ``op``, including nested ones."""
    for inner in (op, *(o for region in op.regions for o in region.walk())):
        if inner.opdef in ELEMENT and accessed(inner)[0] in arrays:
            yield inner
