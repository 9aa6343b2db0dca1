"""What is known inside loops because they run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from adc.ir import ops
from adc.ir.core import Op, Value
from adc.ir.opdef import OpDef
from adc.passes.analysis.affine import Form, Forms


def running(forms: Forms, loops: Iterable[Op]) -> Iterator[Form]:
    """Forms that are not negative inside ``loops``, because they run: upper - 1 - lower, whichever of several these
    are."""
    for loop in loops:
        lower, upper = loop.operands[:2]
        for low, high in product(_each(lower, ops.maxsi), _each(upper, ops.minsi)):
            first, last = forms.of(low), forms.of(high)
            if forms.is_exact(first) and forms.is_exact(last):
                yield last - 1 - first


def _each(bound: Value, extreme: OpDef) -> tuple[Value, ...]:
    """A bound, and the operands if it is an ``extreme`` of some."""
    return (bound, *bound.op.operands) if bound.op is not None and bound.op.opdef is extreme else (bound,)
