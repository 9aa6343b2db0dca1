"""Operands that broadcasting repeats: expensive ones are computed once, before the loop nest that repeats them.

``X / np.sqrt(v)`` takes as many roots as ``v`` has elements, as in NumPy and as with ``s = np.sqrt(v)`` before it, not
one for each element of ``X``; and the reverse sweep sums the contributions of the rows before it differentiates the
root. An operand that is repeated along the last dimensions only is invariant in the inner loops, and is hoisted out of
them anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from adc.frontend.data.dims import Dim, static_dim
from adc.frontend.data.values import AbstractValue, Array, Lazy
from adc.frontend.frame import Frame, discard
from adc.frontend.numeric.nests import materialise
from adc.ir import ops
from adc.ir.builder import insert_at
from adc.ir.core import Block
from adc.ir.types import index

MOST = 6.0
"""The highest cost of an element that is recomputed for each row, loads included; less than a division."""


def computed_once(frame: Frame, operands: Sequence[AbstractValue]) -> list[AbstractValue]:
    """The operands of one operation, with those that it would otherwise recompute in new memory."""
    arrays = [v for v in operands if isinstance(v, Array | Lazy)]
    dims = [a.dims for a in arrays]
    return [settled(frame, v, dims) if isinstance(v, Array | Lazy) else v for v in operands]


def settled(frame: Frame, v: Array | Lazy, others: Sequence[tuple[Dim, ...]]) -> Array | Lazy:
    """``v``, computed if it is expensive and is repeated beside arrays of ``others``' extents."""
    if isinstance(v, Lazy) and any(_is_repeated(v.dims, dims) for dims in others) and _cost(v) > MOST:
        return materialise(frame, v)
    return v


def _is_repeated(own: tuple[Dim, ...], dims: tuple[Dim, ...]) -> bool:
    """Whether rows are known to be repeated: along a dimension that precedes one of the operand's own."""
    row = False
    for mine, other in zip_longest(reversed(own), reversed(dims), fillvalue=1):
        if static_dim(mine) != 1:
            row = True
        elif row and static_dim(other) != 1:
            return True
    return False


def _cost(v: Lazy) -> float:
    """The cost of an element."""
    scratch = Block()
    with insert_at(scratch):
        v.element([ops.undef(type=index) for _ in v.dims], False)
    cost = sum(op.opdef.cost or 0.0 for op in scratch.walk())
    discard(scratch)
    return cost
