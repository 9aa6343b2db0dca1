"""Strong zeros: what does not matter contributes nothing, even where its derivative is infinite or NaN.

In ``np.where(x > 0, np.sqrt(x), 0.0)`` both sides are computed, and where x is 0 the cotangent of the root is zero
while its partial is infinite. The same happens where only some elements of ``np.sqrt(x)`` are read, or where a branch
that is not taken reads it. A product of a cotangent with a partial is therefore a *strong* one (``adc.strong_mulf``,
``adc.strong_divf``): it is zero if nothing has read the value that the cotangent belongs to, whatever the partial is.
No analysis asks where the partial might be infinite: any argument may be NaN.

If nothing has read a value, its cotangent is zero, and that is how this is noticed. So the product is marked by a
comparison with zero: not of the cotangent at hand, but of the numbers that it is a multiple of (``Sources``), which
were loaded from a shadow or carried by a loop. For a value that is chosen the condition counts as well, and a branch
returns the mark of what it returns. A factor that happens to be zero does not count as a value that nothing has read:
``np.sqrt(x) ** 2`` at 0 is NaN in both modes. Strong
products have a derivative rule, so the zeros stay strong in derivatives of any order.

There is no mark where it is known that the value has been read (``reading.py``), nor where the partial is a number that
the code knows to be finite.

In forward mode what is not chosen, run or read is dropped together with its tangent. But tangents of elements along
which no derivative is taken are zero, so products with them are strong too: then a column of a Jacobian is the same in
both modes. Numbers that are in no array are all or nothing, so in loops products with them have marks only where an
operation may have made an infinity out of finite numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.arith import const, constant_of
from adc.ir.core import Func, Op, Value
from adc.ir.types import i1
from adc.passes.differentiation.activity.flow import edges
from adc.passes.differentiation.need.need import needs
from adc.passes.differentiation.rules import RULES
from adc.passes.differentiation.sources import Sources

_EXTREMA = frozenset({ops.maximumf, ops.minimumf, ops.maxnumf, ops.minnumf})


def leaves_out(op: Op) -> Sequence[int]:
    """The operands that a scalar operation may ignore, so that what computed them may not matter."""
    kind = op.opdef
    if kind is ops.select:
        return (1, 2)
    if kind in _EXTREMA:
        return (0, 1)
    if kind is ops.strong_mulf:
        return [k for k in (0, 1) if constant_of(op.operands[3 - k]) != 0]
    return (1,) if kind is ops.strong_divf else ()


def unless_nothing(mark: Value | None, term: Value) -> Value:
    """``term``, which a user's rule made; zero where ``mark`` holds, since what it was made of is nothing then.

    Even there it varies with ``term`` as it does elsewhere.
    """
    return term if mark is None else ops.strong_mulf(term, const(1.0, term.type), mark, const(False, i1))


def constant_where(mark: Value | None, value: Value) -> Value:
    """A factor of something that is nothing where ``mark`` holds. There the factor may vary, and be infinite."""
    return ops.select(mark, ops.stop_gradient(value), value) if mark is not None and value.type.is_float else value


# Forward mode ---------------------------------------------------------------------------------------------------------

def _is_singular(op: Op) -> bool:
    """Whether finite numbers may give an infinity. A quotient by a known number is a product."""
    return bool(op.opdef.singular) and not (op.opdef is ops.divf and constant_of(op.operands[1]))


class StrongTangents:
    """Which terms of a function's scalar operations are strong products in forward mode: all except those in loops
    whose partials are numbers that are in no array, and finite where the arguments are."""

    def __init__(self, func: Func) -> None:
        self.sources = Sources()
        self._top = set(func.body.ops)
        self._wild: set[Value] = set()
        size = -1
        while size < len(self._wild):
            size = len(self._wild)
            for op in func.walk():
                self._spread(op)

    def _spread(self, op: Op) -> None:
        if op.opdef in RULES:
            if _is_singular(op) or any(v in self._wild for v in op.operands):
                self._wild.add(op.result)
        elif op.opdef in (ops.load, ops.call, ops.ruled, ops.unpack):
            self._wild.update(op.results)
        else:
            for sources, targets in edges(op):
                self._wild.update(t for s, t in zip(sources, targets, strict=True) if s in self._wild)

    def mark(self, op: Op, k: int, tangent: Value) -> Value | None:
        """Whether the tangent of an operand is nothing; None if that does not matter."""
        return self.sources.mark(tangent) if self._is_strong(op, k) else None

    def _is_strong(self, op: Op, k: int) -> bool:
        if op in self._top or _is_singular(op):
            return True
        need = needs(op, (k,))
        return (need.result and op.result in self._wild) or any(op.operands[n] in self._wild for n in need.operands)
