"""How checks of subscripts can be removed, and what Python makes of the bounds of a slice: ``x[p:]`` begins at ``p``,
counted from the end if that is negative, and not beyond the array."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.rewrite import Mapping
from adc.passes.analysis.affine import Form, Forms
from adc.passes.analysis.kinds import PURE

_MOST_STEPS = 4  # from one value to those that it is computed from


@dataclass(frozen=True)
class Subscript:
    """How a check can be removed: conditions, and the kind of subscript: "plain", "negative", or "either"."""

    kind: str
    conditions: tuple[Form, ...]


def ways_of(forms: Forms, op: Op) -> list[Subscript]:
    """The ways to remove a check, the simplest result first."""
    subscript, extent = (forms.of(v) for v in op.operands)
    inner = extent - 1 - subscript
    return [
        Subscript("plain", (subscript, inner)),
        Subscript("negative", (-subscript - 1, subscript + extent)),
        Subscript("either", (subscript + extent, inner)),
    ]


def clamp(op: Op) -> tuple[Value, Value] | None:
    """The bound of a slice, and the extent, if ``op``, a select, clamps that bound. Clamping does not change bounds
    from 0 to the extent, which is where bounds are that are loaded from an array of offsets."""
    condition, negative, beyond = (v.op for v in op.operands)
    if condition is None or negative is None or beyond is None or beyond.opdef is not ops.minsi:
        return None
    bound, extent = beyond.operands
    below = condition.opdef is ops.cmpi and condition.attrs["predicate"] == "slt" and condition.operands[0] is bound
    from_end = negative.operands[0].op if negative.opdef is ops.maxsi else None
    if not below or from_end is None or from_end.opdef is not ops.addi or set(from_end.operands) != {bound, extent}:
        return None
    zeros = condition.operands[1], negative.operands[1]
    return (bound, extent) if all(constant_of(zero) == 0 for zero in zeros) else None


def computed_alike(a: Value, b: Value, clamps: Mapping, steps: int = _MOST_STEPS) -> bool:
    """Whether two values are equal, being computed in the same way from the same values, after replacement by
    ``clamps``: usually lengths of two slices."""
    a, b = clamps.get(a, a), clamps.get(b, b)
    first, second = a.op, b.op
    if a is b or first is None or second is None or not steps:
        return a is b
    return (
        first.opdef is second.opdef
        and first.opdef in PURE
        and not first.regions
        and (a.index, first.attrs) == (b.index, second.attrs)
        and all(computed_alike(x, y, clamps, steps - 1) for x, y in zip(first.operands, second.operands, strict=True))
    )
