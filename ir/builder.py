"""Building IR: an insertion point, ``build``, and helpers for constants and structured control flow.

The insertion point is the end of a block, held in a context variable, so that ``ops.sin(x)`` and ``x * y`` in a
derivative rule or a lowering need not be handed a builder, and several threads can build at once::

    with insert_at(block, loc):
        y = ops.mulf(x, const(2.0, f64))
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from adc.ir.core import UNKNOWN, Attr, Block, Loc, Op, Value
from adc.ir.types import Type

if TYPE_CHECKING:
    from adc.ir.opdef import OpDef

_Point = tuple[Block, Loc, Any]  # and the enclosing insertion point, or None
_point: contextvars.ContextVar[_Point] = contextvars.ContextVar("adc_insertion_point")
_fastmath: contextvars.ContextVar[str | None] = contextvars.ContextVar("adc_fastmath", default=None)


@contextlib.contextmanager
def contractible() -> Iterator[None]:
    """Let sums and products that are built inside be fused, unless their ``fastmath`` is given.

    For adc's own arithmetic, such as that of derivatives. Code that copies the user's operations keeps their
    attributes.
    """
    token = _fastmath.set("contract")
    try:
        yield
    finally:
        _fastmath.reset(token)


class insert_at:
    """Append what is built inside to ``block``, marked with ``loc`` (default: the location in force outside)."""

    __slots__ = ("_block", "_loc", "_token")  # entered for each region that is built: faster than a generator

    def __init__(self, block: Block, loc: Loc | None = None) -> None:
        self._block = block
        self._loc = loc

    def __enter__(self) -> Block:
        outer = _point.get(None)
        loc = self._loc
        if loc is None:
            loc = outer[1] if outer is not None else UNKNOWN
        self._token = _point.set((self._block, loc, outer))
        return self._block

    def __exit__(self, *_: object) -> None:
        _point.reset(self._token)


@contextlib.contextmanager
def at_loc(loc: Loc) -> Iterator[None]:
    """Mark what is built inside with ``loc``. An exception gets the innermost such range as ``adc_loc``."""
    block, _, outer = _point.get()
    token = _point.set((block, loc, outer))
    try:
        yield
    except Exception as error:
        if not hasattr(error, "adc_loc"):
            error.adc_loc = loc  # type: ignore[attr-defined]
        raise
    finally:
        _point.reset(token)


def current_block() -> Block:
    return _point.get()[0]


def current_loc() -> Loc:
    return _point.get()[1]


def building_in(block: Block) -> bool:
    """Whether operations built now go into ``block``, or into a block that is being built for one of its operations."""
    point: _Point | None = _point.get(None)
    while point is not None:
        if point[0] is block:
            return True
        point = point[2]
    return False


def build(
    opdef: OpDef,
    operands: Sequence[Value],
    attrs: dict[str, Attr] | None = None,
    result_types: Sequence[Type] | None = None,
    regions: Sequence[Block] = (),
    loc: Loc | None = None,
) -> Op:
    """Append an operation at the insertion point. ``result_types`` are inferred unless the operation has regions."""
    block, here, _ = _point.get()
    given = attrs or {}
    full = {name: default for name, default in opdef.defaults if name not in given}
    if "fastmath" in full and (chosen := _fastmath.get()) is not None:
        full["fastmath"] = chosen
    full.update(given)
    if result_types is None:
        if opdef.infer is None:
            raise TypeError(f"{opdef.name}: result types must be given")
        result_types = opdef.infer([v.type for v in operands], full)
    return block.append(Op(opdef, operands, result_types, full, regions, loc or here))
