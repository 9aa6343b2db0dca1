"""Minima and maxima in sums of integers: the lengths of parts, ``min(n, 1)`` and ``max(n - 1, 0)``, add up to ``n``."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Value
from adc.ir.types import index
from adc.passes.analysis.integers import EXTREMES
from adc.passes.analysis.linear import Linear
from adc.passes.canonicalize.rewriter import Rewriter


def without_extremes(rw: Rewriter, form: Linear) -> Linear:
    """The same number with fewer pairs of a minimum and a maximum: ``min(a, b) + max(a, b) = a + b``."""
    extremes = [v for v in form.terms if v.op is not None and v.op.opdef in EXTREMES]
    for n, v in enumerate(extremes):
        assert v.op is not None
        a, b = (rw.integers.linear(x, exact=True) for x in v.op.operands)
        for w in extremes[n + 1 :]:
            assert w.op is not None
            if v.op.opdef is w.op.opdef or form.terms[v] != form.terms[w]:
                continue
            p, q = (rw.integers.linear(x, exact=True) for x in w.op.operands)
            for x, y in ((p, q), (q, p)):
                apart, also = x.plus(a, -1), y.plus(b, -1)
                if not apart.terms and not also.terms and apart.constant == also.constant:
                    both = a.plus(y)  # min(a, b) + max(a + d, b + d) = a + b + d
                    return without_extremes(rw, form.without(v).without(w).plus(both, form.terms[v]))
    return form


def rest_of(rw: Rewriter, form: Linear) -> Value | None:
    """The lengths of parts of an array: ``n - max(n - k, 0)`` as ``min(n, k)``, and ``n - min(n, k)`` as
    ``max(n - k, 0)``."""
    if len(form.terms) != 2 or form.constant or sorted(form.terms.values()) != [-1, 1]:
        return None
    whole, taken = sorted(form.terms, key=lambda v: -form.terms[v])
    if taken.op is None or taken.op.opdef not in EXTREMES or any(v.type != index for v in form.terms):
        return None
    first, limit = taken.op.operands
    if taken.op.opdef is ops.minsi:
        k = constant_of(limit)
        if first is not whole or not isinstance(k, int) or not rw.integers.difference_fits(whole, limit):
            return None
        return rw.emit(ops.maxsi, rw.emit(ops.addi, rw.resolve(whole), rw.index(-k)), rw.index(0))
    left = rw.integers.linear(first, exact=True)
    if constant_of(limit) != 0 or left.terms != {whole: 1}:
        return None
    return rw.emit(ops.minsi, rw.resolve(whole), rw.index(-left.constant))
