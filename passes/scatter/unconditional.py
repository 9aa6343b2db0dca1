"""Moving accumulations out of branches: ``if c: abar[i - 1] += t`` becomes ``abar[i - 1] += t if c else -0.0``.

Stencils that choose a side at each point (upwinding, limiters, obstacles) scatter to neighbours under a condition.
Terms that every iteration has can be gathered or kept in row buffers; a term of minus zero changes nothing, not even a
sign. The term itself is still computed only in its branch, so an infinity on the other side stays there. The element
must exist in every iteration: subscripts are shown to be in range without the condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adc.ir import ops
from adc.ir.arith import const
from adc.ir.builder import insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.nesting import enclosing
from adc.ir.types import MemRefType
from adc.passes.analysis.dependence import Access, Analysis
from adc.passes.analysis.extents import Extents
from adc.passes.analysis.form_conditions import TRUE
from adc.passes.analysis.kinds import COUNTED
from adc.passes.analysis.ranges import Ranges
from adc.passes.analysis.running import running

_MOVABLE = frozenset({ops.constant, ops.addi, ops.subi, ops.muli, ops.minsi, ops.maxsi, ops.index_cast, ops.dim})


def make_unconditional(analysis: Analysis, loop: Op, group: Sequence[Op]) -> bool:
    """Move the accumulations of ``group`` out of the branches around them, all or none; whether any was moved."""
    branches = {op: _branches(op, loop) for op in group}
    if not any(branches.values()) or any(b is None for b in branches.values()):
        return False
    accesses = {a.op: a for a in analysis.accesses(loop).found}
    for op in group:
        around = branches[op] or []
        if around and not (_in_range(analysis, op) and _can_move(analysis, op, around, loop, accesses, set(group))):
            return False
    for depth in range(max(len(b or ()) for b in branches.values()), 0, -1):
        moved: dict[object, Op] = {}
        for op in group:
            around = branches[op] or []
            if len(around) == depth and not _hoist(analysis, op, around.pop(0), moved):
                around.clear()
    return True


def _branches(op: Op, loop: Op) -> list[Op] | None:
    """The branches around ``op``, the innermost first, up to its parallel loop; None if another loop is in between."""
    found: list[Op] = []
    for outer in enclosing(op.parent):
        if outer.opdef is ops.parallel:
            return found
        if outer.opdef is not ops.if_:
            return None
        found.append(outer)
    return None


def _in_range(analysis: Analysis, op: Op) -> bool:
    """Whether the element exists whenever the loops around run, regardless of branches."""
    forms = analysis.forms
    loops = [o for o in enclosing(op.parent) if o.opdef in COUNTED]
    ranges = Ranges(forms, facts=[*analysis.facts, *running(forms, loops)])
    extents = Extents(analysis.conditions)
    for d, subscript in enumerate(op.operands[2:]):
        at = forms.of(subscript)
        if not forms.is_exact(at):
            return False
        inner = forms.in_extents(extents, op.operands[1], d) - 1 - at
        if ranges.nonnegative(at) != TRUE or ranges.nonnegative(inner) != TRUE:
            return False
    return True


def _can_move(
    analysis: Analysis, op: Op, around: Sequence[Op], loop: Op, accesses: Mapping[Op, Access], group: set[Op]
) -> bool:
    """Whether subscripts can be computed outside, and nothing that follows in the branches touches the array."""
    inside = {block for branch in around for block in branch.regions}
    work = list(op.operands[1:])
    while work:
        value = work.pop()
        if value.block in inside:
            if value.op is None or value.op.opdef not in _MOVABLE:
                return False
            work += value.op.operands
    mine = accesses.get(op)
    if mine is None:
        return False
    for branch in around:
        later = False
        for region in branch.regions:
            for other in region.walk():
                later = later or other is op
                if not later or other is op or other in group:
                    continue
                found = accesses.get(other)
                if found is not None and not analysis.apart(found, mine, loop):
                    return False
                if other.opdef is ops.call and any(isinstance(v.type, MemRefType) for v in other.operands):
                    return False
    return True


def _hoist(analysis: Analysis, op: Op, branch: Op, moved: dict[object, Op]) -> bool:
    """Move ``op`` from a region of ``branch`` to after it; False if it was merged with a like one of the other
    region."""
    region, block = op.parent, branch.parent
    assert region is not None and block is not None
    value, memref, *at = op.operands
    position = region.ops.index(op)
    region.set_ops([*region.ops[:position], *region.ops[position + 1 :]])
    key = (branch, memref, tuple(analysis.forms.of(v) for v in at))
    twin = moved.get(key)
    if twin is not None and _fill_in(branch, region, twin.operands[0], value):
        op.drop()
        return False
    for other in branch.regions:
        other.terminator.add_operand(value if other is region else _minus_zero(other, value))
    result = branch.add_result(value.type, value.hint)
    before: list[Op] = []
    for subscript in (memref, *at):
        _bring_out(subscript, branch, before)
    place = block.ops.index(branch)
    op.set_operand(0, result)
    rest = block.ops[place + 1 :]
    block.set_ops([*block.ops[:place], *before, branch, op, *rest])
    moved[key] = op
    return True


def _fill_in(branch: Op, region: Block, result: Value, value: Value) -> bool:
    """Yield ``value`` from ``region`` instead of minus zero as ``result``."""
    old = region.terminator.operands[result.index]
    if old.op is None or old.op.opdef is not ops.constant or old.op.attrs["value"] != 0.0:
        return False
    region.terminator.set_operand(result.index, value)
    return True


def _minus_zero(region: Block, like: Value) -> Value:
    end = region.terminator
    region.set_ops(region.ops[:-1])
    with insert_at(region, end.loc):
        zero = const(-0.0, like.type)
    region.append(end)
    return zero


def _bring_out(value: Value, branch: Op, before: list[Op]) -> None:
    """Move the operations that compute a subscript from the regions of ``branch`` to the list ``before``."""
    op = value.op
    if op is None or op.parent not in branch.regions:
        return
    for operand in op.operands:
        _bring_out(operand, branch, before)
    region = op.parent
    assert region is not None
    region.set_ops([o for o in region.ops if o is not op])
    before.append(op)


