"""Elements that are never the same because their subscripts differ by something else than a multiple of a number: those
of slices in steps of two, or of red and black points, which a condition on the counters tells apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd
from typing import NamedTuple

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op, Value
from adc.ir.nesting import inside
from adc.passes.analysis.affine import Form
from adc.passes.ranks.accesses import Access, Accesses, Moved


class Class(NamedTuple):
    """``form`` is ``rest`` more than a multiple of ``by`` where an access is."""

    form: Form
    by: int
    rest: Form


def are_apart(nest: Accesses, a: Access, b: Access) -> bool:
    """Whether two accesses of an array never are to one element, whatever the counters of their loops are."""
    if a.at is None or b.at is None:
        return False
    if any(_step_over(nest.moved(x), nest.moved(y)) for x, y in zip(a.at, b.at, strict=True)):
        return True
    others = list(_classes(nest, b.op))
    return any(_differ(nest, one, a.at, other, b.at) for one in _classes(nest, a.op) for other in others)


def _step_over(a: Moved | Form | None, b: Moved | Form | None) -> bool:
    if not isinstance(a, Moved) or not isinstance(b, Moved):
        return False
    rest = a.rest - b.rest
    return rest.is_constant and rest.constant % gcd(a.factor, b.factor) != 0


def _differ(nest: Accesses, one: Class, a: Sequence[Form], other: Class, b: Sequence[Form]) -> bool:
    """Whether the classes of two subscripts show that these are not the same. The form of each class is a sum of
    multiples of the subscripts, and a number; if the subscripts were the same, the forms would differ by these
    numbers."""
    if one.by != other.by:
        return False
    mine, theirs = one.form, other.form
    for x, y in zip(a, b, strict=True):
        moved = nest.moved(x)
        if not isinstance(moved, Moved):
            continue
        factor = one.form.coefficient(nest.forms.symbol(moved.loop.regions[0].args[0]))
        if not factor.is_constant or factor.constant % moved.factor:
            return False
        times = factor.constant // moved.factor
        mine, theirs = mine - x * times, theirs - y * times
    if not nest.is_visible(mine) or not nest.is_visible(theirs):
        return False  # counters of two iterations
    apart = (mine - theirs) - (one.rest - other.rest)
    return apart.is_constant and apart.constant % one.by != 0


def _classes(nest: Accesses, op: Op) -> Iterator[Class]:
    """What the conditions around an operation of the nest say about remainders."""
    block = op.parent
    while block is not None and block.parent_op is not None and block.parent_op is not nest.op:
        around = block.parent_op
        if around.opdef is ops.if_ and block is around.regions[0]:
            yield from _said(nest, around.operands[0])
        block = around.parent


def _said(nest: Accesses, condition: Value) -> Iterator[Class]:
    op = condition.op
    if op is None:
        return
    if op.opdef is ops.andi:
        for v in op.operands:
            yield from _said(nest, v)
    elif op.opdef is ops.cmpi and op.attrs["predicate"] == "eq":
        for x, y in (op.operands, op.operands[::-1]):
            by = constant_of(x.op.operands[1]) if x.op is not None and x.op.opdef is ops.remsi else None
            if x.op is not None and isinstance(by, int) and by > 1 and not inside(y, nest.op):
                yield Class(nest.forms.of(x.op.operands[0]), by, nest.forms.of(y))
