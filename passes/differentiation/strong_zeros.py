"""Strong zeros: what does not matter contributes nothing, even where its derivative is infinite or NaN.

In ``np.where(x > 0, np.sqrt(x), 0.0)`` both sides are computed, and where x is 0 the cotangent of the root is zero
while its partial is infinite. The product in the rule is then NaN. Likewise ``r = np.sqrt(x)`` of which only some
elements are used, or a root that only one branch uses. So a term that is NaN although the cotangent is zero counts as
zero, and nothing else is changed: where the partial is finite the derivative by the cotangent is as it was.

The guard costs two comparisons and a selection, and stands only where both can happen: the partial, at finite
arguments, is infinite or NaN, or uses a value that may be; and the cotangent may be zero because of what is not chosen,
not run, not read. A chain of sums and products has none.

In forward mode what is not chosen, run or read is dropped with its tangent. But tangents may be zero, of elements along
which no derivative is taken, so terms of operations whose own partials may be infinite have the guard.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.arith import const, constant_of
from adc.ir.core import Block, Func, Op, Value
from adc.passes.differentiation.activity import edges
from adc.passes.differentiation.rules import RULES

CHOICES = frozenset({ops.select, ops.maximumf, ops.minimumf, ops.maxnumf, ops.minnumf})

# At finite arguments the result or a partial may be infinite or NaN. (Overflow of sums and products does not count.)
SINGULAR = frozenset(
    {
        *(ops.divf, ops.remf, ops.remainder, ops.sqrt, ops.rsqrt, ops.cbrt, ops.powf, ops.fpowi),
        *(ops.log, ops.log2, ops.log10, ops.log1p, ops.exp, ops.exp2, ops.expm1, ops.sinh, ops.cosh),
        *(ops.asin, ops.acos, ops.acosh, ops.atanh, ops.atan2, ops.lgamma, ops.tgamma, ops.polygamma, ops.external),
    }
)

_STORED, _CHOSEN = 1, 2  # why a cotangent may vanish: memory or control flow, or a choice between values
_BOTH = _STORED | _CHOSEN


class StrongZeros:
    """Says of the terms of a function's scalar operations whether they need a guard.

    ``returned``: values whose cotangents are given from outside, and may be zero. ``tapes``: memory of the reverse
    sweep's own, which is given nothing back for what is stored there.
    """

    def __init__(self, func: Func, aliasing: Aliasing, returned: Iterable[Value], tapes: Iterable[Value]) -> None:
        self._tapes = set(tapes)
        self._vanishing: dict[Value, int] = {}
        self._wild: set[Value] = set()
        self._changed = True
        for value in returned:
            self._mark(value, _STORED)
        while self._changed:
            self._changed = False
            self._visit(func.body)
        for op in func.walk():
            if op.opdef is ops.cmpf and _expects_nan(op):
                self._wild.update(op.operands)
        for op in func.walk():
            if op.opdef in RULES and (_singular(op) or any(v in self._wild for v in op.operands)):
                self._wild.add(op.result)
            if op.opdef is ops.ruled:
                self._wild.update(op.results)
        self._suspect = self._through_memory(func, aliasing)

    def guarded(self, op: Op, needed: Iterable[Value]) -> bool:
        """Whether a term of ``op`` that uses the values ``needed`` may be zero times infinity."""
        why = self._vanishing.get(op.result, 0)
        if not why:
            return False
        if _singular(op):
            return why & _CHOSEN != 0 or may_blow_up(op)
        found = self._wild if not why & _CHOSEN else self._suspect
        return any(v in found for v in needed)

    def guarded_rule(self, op: Op, pullback: Func, needed: Iterable[Value]) -> bool:
        """The same of ``adc.ruled``, whose pullback uses the values ``needed`` of the primal."""
        whys = [self._vanishing.get(r, 0) for r in op.results if r.type.is_float]
        if not all(whys):
            return False
        if any(inner.opdef is ops.call or _singular(inner) for inner in pullback.walk()):
            return True
        found = self._suspect if any(why & _CHOSEN for why in whys) else self._wild
        return any(v in found for v in needed)

    def _through_memory(self, func: Func, aliasing: Aliasing) -> set[Value]:
        """Values that may be infinite or NaN because of what was stored, or returned by a call."""
        found = set(self._wild)
        if not any(why & _CHOSEN for why in self._vanishing.values()):
            return found
        memory: set[Value] = set()
        size = -1
        while size < len(found) + len(memory):
            size = len(found) + len(memory)
            for op in func.walk():
                if op.opdef in RULES:
                    suspect = any(v in found for v in op.operands)
                elif op.opdef is ops.load:
                    suspect = not memory.isdisjoint(aliasing.roots(op.operands[0]))
                elif op.opdef is ops.call:
                    suspect = True
                    memory.update(root for v in op.operands for root in aliasing.roots(v))
                elif op.opdef in (ops.store, ops.fill, ops.accumulate, ops.copy):
                    value, target = op.operands[:2]
                    if value in found or not memory.isdisjoint(aliasing.roots(value)):
                        memory |= aliasing.roots(target)
                    continue
                else:
                    flows = [pair for sources, targets in edges(op) for pair in zip(sources, targets, strict=True)]
                    found.update(target for source, target in flows if source in found)
                    continue
                if suspect:
                    found.update(r for r in op.results if r.type.is_float)
        return found

    def _visit(self, block: Block) -> None:
        for op in reversed(block.ops):
            if op.opdef in RULES:
                why = _BOTH if op.opdef in CHOICES else self._vanishing.get(op.result, 0)
                for operand in op.operands:
                    self._mark(operand, why if operand.block is block else why | _STORED)
            elif op.regions:
                for sources, targets in edges(op):
                    for source, target in zip(sources, targets, strict=True):
                        self._mark(source, self._vanishing.get(target, 0))
                for region in reversed(op.regions):
                    for value in region.terminator.operands:
                        self._mark(value, 0 if value.block is region else _STORED)
                    self._visit(region)
            elif op.opdef not in _PASSING and not (op.opdef is ops.store and op.operands[1] in self._tapes):
                for operand in op.operands:
                    self._mark(operand, _STORED)

    def _mark(self, value: Value, why: int) -> None:
        old = self._vanishing.get(value, 0)
        if value.type.is_float and why | old != old:
            self._vanishing[value] = why | old
            self._changed = True


_PASSING = frozenset({ops.yield_, ops.reduce, ops.condition})


def may_blow_up(op: Op) -> bool:
    """Whether a partial of a scalar operation may be infinite or NaN, though its arguments are finite.

    A divisor that is the same for all elements does not count: it is no trap set by one of them.
    """
    return _singular(op) and (op.opdef is not ops.divf or op.operands[1].block is op.parent)


def _singular(op: Op) -> bool:
    if op.opdef is ops.divf or op.opdef is ops.fpowi:
        by = constant_of(op.operands[1])
        return by is None or not (by >= 1 if op.opdef is ops.fpowi else by != 0)
    return op.opdef in SINGULAR


def _expects_nan(comparison: Op) -> bool:
    """Whether this is a test for NaN or for infinity."""
    numbers = [constant_of(v) for v in comparison.operands]
    return comparison.attrs["predicate"] in ("uno", "ord") or any(x is not None and math.isinf(x) for x in numbers)


def strong(cotangents: Sequence[Value], term: Value) -> Value:
    """``term``, a combination of multiples of ``cotangents``; zero where these are and ``term`` is NaN.

    Appended at the insertion point.
    """
    zero = const(0.0, term.type)
    vain = ops.cmpf(term, term, predicate="uno")
    for g in reversed(cotangents):
        vain = ops.andi(ops.cmpf(g, const(0.0, g.type), predicate="oeq"), vain)
    return ops.select(vain, zero, term)
