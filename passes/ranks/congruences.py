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
    """``form``, plus the subscript of the access along ``axis``, if one is said, is ``rest`` more than a multiple of
    ``by`` where the access is."""

    form: Form
    by: int
    rest: Form
    axis: int | None = None


def are_apart(nest: Accesses, a: Access, b: Access) -> bool:
    """Whether two accesses of an array never are to one element, whatever the counters of their loops are."""
    if a.at is None or b.at is None:
        return False
    if any(_step_over(nest.moved(x), nest.moved(y)) for x, y in zip(a.at, b.at, strict=True)):
        return True
    others = [*_classes(nest, b.op), *_steps(nest, b.at)]
    classes = [*_classes(nest, a.op), *_steps(nest, a.at)]
    return any(_differ(nest, one, a.at, other, b.at) for one in classes for other in others)


def _step_over(a: Moved | Form | None, b: Moved | Form | None) -> bool:
    if not isinstance(a, Moved) or not isinstance(b, Moved):
        return False
    rest = a.rest - b.rest
    return rest.is_constant and rest.constant % gcd(a.factor, b.factor) != 0


def _differ(nest: Accesses, one: Class, a: Sequence[Form], other: Class, b: Sequence[Form]) -> bool:
    """Whether the classes of two subscripts show that these are not the same. The form of each class is a sum of
    multiples of the subscripts, and a number; if the subscripts were the same, the forms would differ by these
    numbers."""
    if one.by != other.by or one.axis != other.axis:
        return False
    mine, theirs = one.form, other.form
    for d, (x, y) in enumerate(zip(a, b, strict=True)):
        if d == one.axis:
            continue
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
        if around.opdef is ops.if_:
            yield from _said(nest, around.operands[0], holds=block is around.regions[0])
        block = around.parent


def _steps(nest: Accesses, at: Sequence[Form]) -> Iterator[Class]:
    """What subscripts that go in steps say: those of red points of a row begin at a remainder."""
    for d, form in enumerate(at):
        if any(symbol.later is not None for symbol in form.symbols()):
            continue  # where a loop begins may have changed since
        for symbol in form.symbols():
            factor, rest = form.split(symbol)
            if symbol.loop is None or not factor.is_constant or not inside(symbol.value, nest.op):
                continue
            step = constant_of(symbol.loop.operands[2])
            by = abs(factor.constant * step) if isinstance(step, int) else 1
            if by > 1:
                first = rest if step == 1 else rest + nest.forms.of(symbol.loop.operands[0]) * factor
                yield Class(Form.ZERO - _congruent(nest, first, by), by, Form.ZERO, d)


def _congruent(nest: Accesses, form: Form, by: int) -> Form:
    """A form that differs from another by a multiple of a number: remainders are replaced by what they are of."""
    for symbol in form.symbols():
        found = None if symbol.dim is not None else _remainder(symbol.value)
        if found is not None and found[1] == by:
            form = form.substitute(symbol, nest.forms.of(found[0]))
    return form


def _remainder(value: Value) -> tuple[Value, int] | None:
    """A number and what divides it, if a value is congruent to it: the remainder by C's rule, or by Python's, which
    adds the divisor to a negative remainder."""
    op, added = value.op, None
    if op is not None and op.opdef is ops.select:
        added, op = op.operands[1].op, op.operands[2].op
    if op is None or op.opdef is not ops.remsi:
        return None
    if op is not value.op and (
        added is None or added.opdef is not ops.addi or set(added.operands) != {op.result, op.operands[1]}
    ):
        return None
    by = constant_of(op.operands[1])
    return (op.operands[0], by) if isinstance(by, int) and by > 1 else None


def _said(nest: Accesses, condition: Value, *, holds: bool) -> Iterator[Class]:
    """What a condition says about remainders where it holds, or does not."""
    op = condition.op
    if op is None:
        return
    if op.opdef is ops.andi and holds:
        for v in op.operands:
            yield from _said(nest, v, holds=True)
    elif op.opdef is ops.cmpi and op.attrs["predicate"] in ("eq", "ne"):
        equal = (op.attrs["predicate"] == "eq") is holds
        for x, y in (op.operands, op.operands[::-1]):
            found = _remainder(x)
            if found is None or inside(y, nest.op):
                continue
            form = nest.forms.of(found[0])
            if equal:
                yield Class(form, found[1], nest.forms.of(y))
            elif found[1] == 2 and constant_of(y) == 0:
                yield Class(form, 2, Form.number(1))
