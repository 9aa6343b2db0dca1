"""Operands that broadcasting repeats: what costs much is computed once, before the loop nest that repeats it.

``X / np.sqrt(v)`` takes as many roots as ``v`` has elements, as it does in NumPy and as ``s = np.sqrt(v)`` before it
would, not one for each element of ``X``; and the reverse sweep sums what the rows contribute before it differentiates
the root. What is repeated along the last dimensions only is the same in all iterations of the inner loops, out of which
it is moved anyway.
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
"""What an element that is computed again for each row may cost, loads included; less than a division."""


def computed_once(frame: Frame, operands: Sequence[AbstractValue]) -> list[AbstractValue]:
    """Operands of one operation, with those that it would compute again and again in memory of their own."""
    arrays = [v for v in operands if isinstance(v, Array | Lazy)]
    dims = [a.dims for a in arrays]
    return [settled(frame, v, dims) if isinstance(v, Array | Lazy) else v for v in operands]


def settled(frame: Frame, v: Array | Lazy, others: Sequence[tuple[Dim, ...]]) -> Array | Lazy:
    """``v``, computed if it costs much and is repeated beside arrays of ``others``' extents."""
    if isinstance(v, Lazy) and any(_is_repeated(v.dims, dims) for dims in others) and _cost(v) > MOST:
        return materialise(frame, v)
    return v


def _is_repeated(own: tuple[Dim, ...], dims: tuple[Dim, ...]) -> bool:
    """Whether rows are known to be repeated: along a dimension with one of its own behind it."""
    row = False
    for mine, other in zip_longest(reversed(own), reversed(dims), fillvalue=1):
        if static_dim(mine) != 1:
            row = True
        elif row and static_dim(other) != 1:
            return True
    return False


def _cost(v: Lazy) -> float:
    """What an element costs."""
    scratch = Block()
    with insert_at(scratch):
        v.element([ops.undef(type=index) for _ in v.dims], False)
    cost = sum(op.opdef.cost or 0.0 for op in scratch.walk())
    discard(scratch)
    return cost
