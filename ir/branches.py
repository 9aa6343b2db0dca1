"""Which side of a branch is the usual one."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.core import Block, Op


def usual_side(branch: Op) -> Block | None:
    """The region of an ``scf.if`` that its marks say is the usual one; None if they do not say."""
    if ops.COLD in branch.attrs:
        return branch.regions[1] if branch.attrs[ops.COLD] == "then" else branch.regions[0]
    return branch.regions[0] if ops.LIKELY in branch.attrs else None
