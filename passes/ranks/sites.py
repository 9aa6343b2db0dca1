"""The places in a program where elements of other ranks are fetched, for the report."""

from __future__ import annotations

from collections.abc import Collection

from adc.ir import ops
from adc.ir.core import Op, Value
from adc.ir.loop_attrs import REVERSE
from adc.ir.nesting import enclosing, with_inner
from adc.passes.plans import FetchPlan


def fetched_at(op: Op, array: Value, terms: Collection[Value]) -> FetchPlan:
    """The place in front of ``op``, where an array is fetched. ``terms``: the arrays that hold terms of sums."""
    around = [outer for outer in enclosing(op.parent) if outer.opdef in (ops.for_, ops.while_)]
    reverse = any(each.attrs.get(REVERSE) for each in (*around, *with_inner(op)))
    return FetchPlan(op.loc, array.hint, reverse, around[0].loc.line if around else 0, array in terms)
