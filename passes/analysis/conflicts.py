"""Which of the terms that a parallel loop adds to memory may meet."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.core import Op, Value
from adc.passes.analysis.dependence import Access, Analysis
from adc.passes.plans import lines_of

Group = tuple[list[Op], str]
"""Terms that are added to one shadow, and why they may meet."""


def has_accumulate(op: Op) -> bool:
    return any(o.opdef is ops.accumulate for region in op.regions for o in region.walk())


def conflicting(analysis: Analysis, loop: Op) -> list[Group]:
    """Accumulations that may touch the same element in another iteration of ``loop``, grouped by memref, and why."""
    accesses, questions = analysis.accesses(loop).found, analysis.questions(loop)
    involved = [a for a in accesses if a.kind == "accumulate" and not a.op.attrs.get("atomic")]
    groups: dict[Value, dict[Op, None]] = {}
    reasons: dict[Value, str] = {}
    for a in involved:
        for b in accesses:
            if a.base in groups and b.base in groups:
                continue  # nothing more is to be known
            if analysis.apart(a, b, loop) or analysis.independent(a, b, loop, questions):
                continue
            for access in (a, b):
                if access in involved:
                    groups.setdefault(access.base, {})[access.op] = None
                    reasons.setdefault(access.base, _reason(a, b))
    # The other terms of a group are included: terms of one memref are best added together.
    for a in involved:
        if a.base in groups:
            groups[a.base][a.op] = None
    return [(list(group), reasons[base]) for base, group in groups.items()]


def _reason(a: Access, b: Access) -> str:
    return f"iterations may meet in one element ({lines_of((a.op, b.op))})"
