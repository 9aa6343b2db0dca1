"""Shadows of swapped buffers: what is zeroed in one step and added to in the next need not be zeroed.

The reverse sweep of a time loop over two buffers reads and zeroes the shadow of what the step wrote, and adds to the
shadow of what it read. The buffers are swapped, so the next step adds to what was just zeroed::

    scf.for ... iter_args(%abar = ..., %bbar = ...)
      %abar[i + o] += c * %bbar[i]            // for all i of a domain D, and offsets o
      %bbar[i] = 0                            // for all i of D
      scf.yield %bbar, %abar

Instead of zeroing, the next step takes what is in D as zero, and stores where it would add. This halves the traffic. A
carried i1 tells whether zeroing is pending: not in the first step. After the loop zeroing is done once.

A step that uses a buffer's old contents times a number, like one of second order in time, stores ``factor * %bbar[i]``
instead of zero. The next step then multiplies what is in D before it adds.
"""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import inside
from adc.passes.analysis.affine import Form
from adc.passes.analysis.dependence import Access
from adc.passes.distribution.fission import Fission
from adc.passes.stencil_adjoints.fills import touches
from adc.passes.stencil_adjoints.stencils import Stencil


@dataclass(frozen=True)
class Pending:
    """Zeroing, or multiplication by a loop-invariant ``factor``, that a step may leave to the next.

    ``loop`` is the time loop, ``store`` the zeroing in the parallel nest, ``position`` that of the carried memref that
    is added to. D, in steps of the loops of the stencil, is the loops' domain moved by ``shift``.
    """

    loop: Op
    store: Op
    position: int
    shift: tuple[int, ...]
    factor: Value | float


def find(fission: Fission, stencil: Stencil, group: Sequence[Op], before: Block) -> Pending | None:
    """The zeroing that the next step can make up for when it adds the terms ``group`` of ``stencil``.

    ``before``: what has been made of everything before the nest; of that, the body of the time loop still has what does
    not add.
    """
    body = fission.loop.parent
    loop = body.parent_op if body is not None else None
    target = stencil.base
    if before.parent is not loop:
        return None  # a branch whose other side does not leave out anything
    if loop is None or body is None or loop.opdef is not ops.for_ or target.owner is not body or target.index == 0:
        return None
    position = target.index - 1
    source = body.terminator.operands[position]
    if source.owner is not body or source.index == 0 or source is target:
        return None
    aliasing = fission.analysis.aliasing
    if aliasing.may_overlap(source, target) or not _only_permuted(body, target, source):
        return None
    found = _overwriting(fission, source, group, loop)
    if found is None:
        return None
    store, factor = found
    shift = _shift(fission, stencil, store.where, loop)
    if shift is None or any(not stencil.span(m)[0] <= e <= stencil.span(m)[1] for m, e in enumerate(shift)):
        return None
    if any(a.op not in group and not fission.analysis.apart_now(a.base, target) for a in fission.accesses.found):
        return None
    if any(touches(fission.analysis, op, target) for op in before.ops):
        return None
    here = body.ops.index(fission.loop)
    if any(touches(fission.analysis, op, source) for op in body.ops[here + 1 :]):
        return None
    return Pending(loop, store.op, position, shift, factor)


def _only_permuted(body: Block, target: Value, source: Value) -> bool:
    """Whether the next step knows the memory of ``source`` by the name ``target`` and no other."""
    yielded = body.terminator.operands
    return sum(v is source for v in yielded) == 1 and sum(v is target for v in yielded) <= 1


def _overwriting(
    fission: Fission, source: Value, group: Sequence[Op], loop: Op
) -> tuple[Access, Value | float] | None:
    """The only store to ``source``, if the nest does not read it afterwards, and what it multiplies elements by."""
    writes = [
        a
        for a in fission.accesses.found
        if a.changes and a.op not in group and not fission.analysis.apart_now(a.base, source)
    ]
    if len(writes) != 1 or writes[0].op.opdef is not ops.store or writes[0].base is not source:
        return None
    store = writes[0].op
    if store.parent is not group[0].parent:
        return None
    last = fission.position[store]
    others = (a for a in fission.accesses.found if a.op is not store and not fission.analysis.apart_now(a.base, source))
    if any(fission.position[a.op] > last for a in others):
        return None
    factor = _factor(store, loop)
    return None if factor is None else (writes[0], factor)


def _factor(store: Op, loop: Op) -> Value | float | None:
    """The factor by which ``store`` multiplies an element, if it is the same in all steps of ``loop``."""
    value = constant_of(store.operands[0])
    if value is not None:
        return 0.0 if str(float(value)) == "0.0" else None
    op = store.operands[0].op
    if op is None:
        return None
    if op.opdef is ops.negf and _is_element(op.operands[0], store):
        return -1.0
    if op.opdef is ops.mulf:
        for old, factor in (op.operands, op.operands[::-1]):
            if _is_element(old, store) and not inside(factor, loop):
                return factor
    return None


def _is_element(value: Value, store: Op) -> bool:
    """Whether a value is loaded, in the same block, from where ``store`` stores."""
    op = value.op
    same = op is not None and op.opdef is ops.load and op.parent is store.parent
    return same and op is not None and list(op.operands) == list(store.operands[1:])


def _shift(
    fission: Fission, stencil: Stencil, where: tuple[tuple[Form, Form], ...] | None, loop: Op
) -> tuple[int, ...] | None:
    """The distance of the elements that are zeroed from those that the stencil names for the same iteration."""
    if where is None:
        return None
    forms = fission.analysis.forms
    shift = [0] * len(stencil.loops)
    for bounds in stencil.loops:
        if any(inside(s.value, loop) for v in bounds.operands[:2] for s in forms.of(v).symbols()):
            return None
    for (form, _), axis, origin in zip(where, stencil.axes, stencil.origin, strict=True):
        if any(inside(s.value, loop) for s in origin.symbols()):
            return None
        counter = Form.symbol(forms.symbol(stencil.loops[axis].regions[0].args[0])) if axis is not None else Form.ZERO
        difference = form - counter - origin
        if not difference.is_constant:
            return None
        if axis is None:
            if difference.terms:
                return None
            continue
        step = constant_of(stencil.loops[axis].operands[2])
        assert step is not None
        if difference.constant % int(step):
            return None
        shift[axis] = difference.constant // int(step)
    return tuple(shift)
