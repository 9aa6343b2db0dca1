"""What a record holds, and which memory that refers to: the attributes of ``adc.unpack``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.core import Func, Module, Op, Value
from adc.ir.types import MemRefType
from adc.passes.differentiation.need.demand import Augmented


def aliasing_of(func: Func, module: Module) -> Aliasing:
    """The aliasing of a function whose return has been removed."""
    func.body.append(Op(ops.return_, (), ()))
    aliasing = Aliasing(func, module)
    func.body.pop()
    return aliasing


def residual_memory(
    aliasing: Aliasing,
    residuals: Sequence[Value],
    originals: Sequence[Value],
    kept: Sequence[int],
    positions: Sequence[int],
    augmented: Augmented,
) -> dict[str, tuple[tuple[int, ...], ...]]:
    """For each residual, which memory it may refer to: that of an argument of the reverse function, or another object.

    That function takes the arguments ``kept``, then the shadows of the arguments ``positions``. These are the
    attributes ``roots``, ``contents`` and ``apart`` of ``adc.unpack``; the last are pairs that share roots and yet
    never overlap.
    """
    place: dict[Value, int] = {}
    for new, k in enumerate(kept):
        for root in aliasing.roots(originals[k]):
            place.setdefault(root, new)
    for new, k in enumerate(positions, len(kept)):
        for root in aliasing.roots(augmented.companion[originals[k]]):
            place.setdefault(root, new)

    def numbers(roots: Iterable[Value]) -> tuple[int, ...]:
        return tuple(sorted(place.setdefault(root, -1 - len(place)) for root in aliasing.in_order(roots)))

    memrefs = [v if isinstance(v.type, MemRefType) else None for v in residuals]
    held = [aliasing.reach(v) - aliasing.roots(v) if v is not None else () for v in memrefs]
    return {
        "roots": tuple(numbers(aliasing.roots(v)) if v is not None else () for v in memrefs),
        "contents": tuple(numbers(roots) for roots in held),
        "apart": aliasing.apart_pairs(residuals),
    }


def fresh_memory(types: Sequence[object]) -> dict[str, tuple[tuple[int, ...], ...]]:
    """The same for residuals that are memory of their own."""
    roots = tuple((-1 - n,) if isinstance(t, MemRefType) else () for n, t in enumerate(types))
    return {"roots": roots, "contents": ((),) * len(roots)}


def reached(aliasing: Aliasing, values: Iterable[Value]) -> set[Value]:
    """The roots of what can be reached through the memrefs among ``values``."""
    return {root for v in values if isinstance(v.type, MemRefType) for root in aliasing.reach(v)}
