"""Where a loop comes to an element that its other iterations read: ``d[i, k]`` in a loop that sets each ``d[i, j]``.

Iteration ``j = k`` alone stands between those before, which read the element as it was, and those after, which read
what that iteration made of it: the loops on either side are independent. So it is in shortest paths, in elimination
without pivots, and where all elements are divided by one of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from adc.ir import ops
from adc.ir.core import Op, Value
from adc.ir.moments import strip_views
from adc.ir.nesting import inside
from adc.passes.analysis.integers import Integers
from adc.passes.analysis.kinds import accessed, unchecked
from adc.passes.analysis.linear import Linear

_UNKNOWN = frozenset({ops.call, ops.foreign, ops.accumulate, ops.fill, ops.copy, ops.matmul, ops.while_})


def meetings(loop: Op, integers: Integers) -> Iterator[tuple[Op, Linear]]:
    """Stores of an innermost loop, each with the value of the counter at which it reaches an element that is the same
    one in all iterations; none if iterations are not independent even without these."""
    if loop.results or any(op.opdef in _UNKNOWN for op in loop.regions[0].walk()):
        return
    accesses = [op for op in loop.regions[0].walk() if op.opdef in (ops.load, ops.store)]
    found: list[tuple[Op, Linear]] = []
    for store in accesses:
        if store.opdef is not ops.store or inside(strip_views(store.operands[1]), loop):
            continue
        for other in accesses:
            memref = accessed(other)[0]
            if other is store or strip_views(memref) is not strip_views(store.operands[1]):
                continue
            if memref is not store.operands[1]:
                return
            meeting = _meeting(_subscripts(store, integers), _subscripts(other, integers), loop)
            if meeting is None:
                return
            if meeting is not _NEVER:
                found.append((store, meeting))
    yield from found


_NEVER = Linear({}, 0)


def _meeting(stored: list[Linear], other: list[Linear], loop: Op) -> Linear | None:
    """The value of the counter at which two accesses may touch the same element, if other iterations touch it too: in
    one of the two, it is the same in all; ``_NEVER`` if each iteration has its own; None if neither is known."""
    counter = loop.regions[0].args[0]
    found: Linear | None = None
    for a, b in zip(stored, other, strict=True):
        difference = a.plus(b, -1)
        if _varies(a, counter, loop) and not difference.terms:
            return _NEVER if difference.constant == 0 else None
        if not difference.terms and difference.constant != 0:
            return _NEVER
        sign = a.terms.get(counter)
        if sign in (1, -1) and not any(counter in form.terms for form in other):
            rest = Linear({v: c for v, c in difference.terms.items() if v is not counter}, difference.constant)
            if not any(inside(v, loop) for v in rest.terms):
                found = rest.times(-sign)
    return found


def _varies(form: Linear, counter: Value, loop: Op) -> bool:
    return counter in form.terms and not any(v is not counter and inside(v, loop) for v in form.terms)


def _subscripts(op: Op, integers: Integers) -> list[Linear]:
    return [integers.linear(unchecked(v), exact=True) for v in accessed(op)[1:]]
