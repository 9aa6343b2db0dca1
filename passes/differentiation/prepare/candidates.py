"""What an iteration of a loop chooses among: the operations that compute a candidate, and computing one again."""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.core import Block, Op, Value
from adc.ir.rewrite import Mapping, clone_op


def needed_ops(body: Block, values: Sequence[Value]) -> set[Op]:
    """The operations of the body that compute ``values``; none if they depend on what the loop carries."""
    inside = set(body.walk())
    needed: set[Op] = set()
    work = list(values)
    while work:
        value = work.pop()
        if value in body.args[1:]:
            return set()
        op = value.op
        if op is None and isinstance(value.owner, Block) and value.owner is not body:
            op = value.owner.parent_op
        if op is None or op not in inside or op in needed:
            continue
        needed.add(op)
        work += op.operands
        for inner in (o for region in op.regions for o in region.walk()):
            work += inner.operands
    return needed


def again(body: Block, needed: set[Op], counter: Value) -> Mapping:
    """Append the operations ``needed`` of a loop's body, as they are at ``counter``; returns the copies."""
    mapping: Mapping = {body.args[0]: counter}
    for op in _in_order(body, needed):
        copy = clone_op(op, mapping)
        if copy.opdef is ops.bound:
            copy.set_attr("check", False)  # the loop has made the check
    return mapping


def _in_order(block: Block, needed: set[Op]) -> list[Op]:
    """The outermost of the operations ``needed``, in order, taken out of the branches around them."""
    found = []
    for op in block.ops:
        if op in needed:
            found.append(op)
        else:
            for region in op.regions:
                found += _in_order(region, needed)
    return found
