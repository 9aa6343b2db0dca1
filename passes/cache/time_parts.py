"""Statements that touch several rows far from each other, such as a loop over both borders of a field, in parts.

Each part keeps what a statement stores near one row, and runs all iterations of its own before the next part begins.
"""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.core import Block, Op, Value
from adc.ir.nesting import enclosing
from adc.passes.analysis.affine import Form
from adc.passes.analysis.dependence import Access
from adc.passes.analysis.kinds import STRUCTURED


def parts(op: Op, accesses: Sequence[Access], rows: dict[Access, Form]) -> list[tuple[Form, frozenset[Op]]] | None:
    """A row and the stores of each part of ``op``, in order; None if it cannot be cut. The row may be that of a load.

    ``rows``: the rows of accesses to fields. Those of one part are at constant distances.
    """
    if op.opdef is not ops.parallel or any(o.opdef not in STRUCTURED or o.results for o in _with_regions(op)):
        return None
    position = {inner: n for n, inner in enumerate(op.regions[0].walk())}
    stores = sorted({a.op for a in accesses if a.changes and a.op in position}, key=position.__getitem__)
    by_op: dict[Op, list[Access]] = {}
    for access in accesses:
        by_op.setdefault(access.op, []).append(access)
    found: list[tuple[Form, list[Op], set[Op]]] = []
    for store in stores:
        needed = _needed(store, op)
        touching = [store, *(o for o in position if o in needed)]
        forms = [rows[a] for o in touching for a in by_op.get(o, ()) if a in rows]
        if not forms or any(not (form - forms[0]).is_constant for form in forms):
            return None
        for base, members, reads in found:
            if (forms[0] - base).is_constant:
                members.append(store)
                reads |= needed
                break
        else:
            found.append((forms[0], [store], needed))
    if len(found) < 2:
        return None
    for n, (_, members, reads) in enumerate(found):
        for _, others, other_reads in found[n + 1 :]:
            # What the first part does must not have come after operations of the second one that share an element with
            # it.
            if _inverted(members, {*others, *other_reads}, position, by_op, op):
                return None
            if _inverted(reads, set(others), position, by_op, op):
                return None
    return [(row, frozenset(members)) for row, members, _ in found]


def _inverted(
    first: Sequence[Op] | set[Op], second: set[Op], position: dict[Op, int], by_op: dict[Op, list[Access]], loop: Op
) -> bool:
    for a in first:
        for b in second:
            pairs = [(x, y) for x in by_op.get(a, ()) for y in by_op.get(b, ())]
            if not any(x.base is y.base and (x.changes or y.changes) for x, y in pairs):
                continue
            if position[a] > position[b] or _in_sequence(a, loop) or _in_sequence(b, loop):
                return True
    return False


def _in_sequence(op: Op, loop: Op) -> bool:
    """Whether the iterations of a loop inside ``loop`` may reach ``op`` more than once in one iteration of ``loop``."""
    for outer in enclosing(op.parent):
        if outer is loop:
            return False
        if outer.opdef is not ops.if_:
            return True
    return False


def _with_regions(op: Op) -> list[Op]:
    return [op, *(inner for region in op.regions for inner in region.walk() if inner.regions)]


def _needed(store: Op, loop: Op) -> set[Op]:
    """What is computed and loaded in ``loop`` for a store, and to decide whether and where it runs."""
    work: list[Value] = list(store.operands)
    for outer in enclosing(store.parent):
        if outer is loop:
            break
        work += outer.operands
    found: set[Op] = set()
    while work:
        op = work.pop().op
        if op is not None and op not in found and any(o is loop for o in enclosing(op.parent)):
            found.add(op)
            work += op.operands
    return found


def without(copy: Op, original: Op, keep: frozenset[Op]) -> None:
    """Remove from a copy of ``original`` the counterparts of operations that change memory and are not in ``keep``."""
    for region, old in zip(copy.regions, original.regions, strict=True):
        _without(region, old, keep)


def _without(block: Block, original: Block, keep: frozenset[Op]) -> None:
    kept = []
    for op, old in zip(block.ops, original.ops, strict=True):
        if old.opdef in (ops.store, ops.accumulate, ops.fill, ops.copy) and old not in keep:
            op.drop()
            continue
        for region, old_region in zip(op.regions, old.regions, strict=True):
            _without(region, old_region, keep)
        kept.append(op)
    block.set_ops(kept)
