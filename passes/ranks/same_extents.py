"""Arguments that are distributed have the extents of the grid, so the extents of one are those of the others.

Then nothing has to be tested where they meet, and there are no versions of loops for arrays that do not fit. This is
known when the function is called (``adc.mpi.distributed``). The parameters are marked so that later passes know it.
"""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Value
from adc.ir.partitions import NONE
from adc.passes.ranks.layouts import AXES, Shared


def unite_extents(module: Module, shared: Shared) -> Module:
    """Express the extents of the shared arguments by those of the first one."""
    for func in module.funcs.values():
        if func.attrs.get("adc.entry"):
            _unite(func, shared)
    return module


def _unite(func: Func, shared: Shared) -> None:
    known = dict(shared.parameters)
    first: dict[int, Value] = {}
    front, views = Block(), []
    with insert_at(front, func.loc):
        for arg, attrs in zip(func.args, func.arg_attrs, strict=True):
            axes = known.get(str(attrs.get("adc.name")))
            if axes is None or AXES in attrs:
                continue
            attrs[AXES] = axes
            extents = []
            for d, (axis, more) in enumerate(axes):
                extent = ops.dim(arg, dim=d)
                if axis != NONE:
                    base = first.setdefault(axis, ops.subi(extent, const_index(more)) if more else extent)
                    extent = ops.addi(base, const_index(more)) if more else base
                extents.append(extent)
            groups = ((1, 1),) * len(axes)
            views.append((arg, build(ops.reshape, [arg, *extents], {"groups": groups}).result))
    own = {view.op for _, view in views}
    made = set(front.ops)
    for arg, view in views:
        for user, position in list(arg.uses):
            if user not in own and user not in made:
                user.set_operand(position, view)
    func.body.set_ops([*front.ops, *func.body.ops])
