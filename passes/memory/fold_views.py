"""Views folded into the accesses through them.

A load from ``subview(m)[i]`` becomes a load from ``m[offset + i * step]``; transposes permute subscripts, casts vanish,
and a view of a view becomes a view of the memref underneath. What only served accesses is dead afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.passes.analysis.kinds import ELEMENT, adds_ones
from adc.passes.due import due

# Position of the memref among the operands; the subscripts follow it.


@dataclass(frozen=True)
class FoldViews:
    """Address the memory underneath a view directly."""

    name: ClassVar[str] = "fold-views"
    needs = frozenset({ops.subview, ops.transpose, ops.reshape, ops.cast})

    def run(self, module: Module) -> Module:
        for func in due(self, module):
            _fold(func.body)
        return module


def _fold(block: Block) -> None:
    new = block.in_place_of()
    for op in block.ops:
        position = ELEMENT.get(op.opdef)
        if position is not None:
            memref = op.operands[position]
            if memref.op is not None and memref.op.opdef in _FOLDERS and _folds(memref.op):
                with insert_at(new, op.loc):
                    op = _redirect(op, position)
        elif op.opdef is ops.subview:
            with insert_at(new, op.loc):
                op = _compose(op)
        new.append(op)
        for region in op.regions:
            _fold(region)
    block.set_ops(new.ops)


def _redirect(op: Op, position: int) -> Op:
    """``op`` on the memref underneath all views, not put into a block yet."""
    memref, subscripts = op.operands[position], op.operands[position + 1 :]
    while (view := memref.op) is not None and (folder := _FOLDERS.get(view.opdef)) is not None and _folds(view):
        memref, subscripts = view.operands[0], folder(view, subscripts)
    operands = [*op.operands[:position], memref, *subscripts]
    new = Op(op.opdef, operands, [r.type for r in op.results], dict(op.attrs), loc=op.loc)
    for before, after in zip(op.results, new.results, strict=True):
        before.replace_uses(after)
        after.hint = before.hint
    op.drop()
    return new


def _through_subview(view: Op, subscripts: Sequence[Value]) -> tuple[Value, ...]:
    rank, dropped = len(view.attrs["static_steps"]), view.attrs["dropped"]
    offsets, steps = view.operands[1 : 1 + rank], view.operands[1 + 2 * rank :]
    given = iter(subscripts)
    return tuple(
        offset if d in dropped else _plus(offset, _times(next(given), step))
        for d, (offset, step) in enumerate(zip(offsets, steps, strict=True))
    )


def _through_transpose(view: Op, subscripts: Sequence[Value]) -> tuple[Value, ...]:
    source = [subscripts[0]] * len(subscripts)
    for subscript, p in zip(subscripts, view.attrs["permutation"], strict=True):
        source[p] = subscript
    return tuple(source)


def _through_cast(view: Op, subscripts: Sequence[Value]) -> tuple[Value, ...]:
    return tuple(subscripts)


def _through_reshape(view: Op, subscripts: Sequence[Value]) -> tuple[Value, ...]:
    given = iter(subscripts)
    found: list[Value] = []
    for m, n in view.attrs["groups"]:
        taken = [next(given) for _ in range(n)]
        found += taken if m and n else [const_index(0)] * m
    return tuple(found)


_FOLDERS = {
    ops.subview: _through_subview,
    ops.transpose: _through_transpose,
    ops.reshape: _through_reshape,
    ops.cast: _through_cast,
}


def _folds(view: Op) -> bool:
    """Whether the view can be folded into subscripts. Those of a reshape that does more than add and drop dimensions of
    extent one would not be linear forms."""
    return view.opdef is not ops.reshape or adds_ones(view)


def _compose(op: Op) -> Op:
    """A subview of a subview as one subview of the memref underneath, where the types agree."""
    inner = op.operands[0].op
    if inner is None or inner.opdef is not ops.subview:
        return op
    rank, dropped = len(inner.attrs["static_steps"]), inner.attrs["dropped"]
    source = inner.operands[0]
    offsets, sizes, steps = (inner.operands[1 + k * rank : 1 + (k + 1) * rank] for k in range(3))
    static = inner.attrs["static_steps"]
    shown = [d for d in range(rank) if d not in dropped]
    outer_rank = len(shown)
    outer = [op.operands[1 + k * outer_rank : 1 + (k + 1) * outer_rank] for k in range(3)]
    new_offsets, new_sizes, new_steps = list(offsets), list(sizes), list(steps)
    new_static, new_dropped = list(static), list(dropped)
    for k, d in enumerate(shown):
        step = op.attrs["static_steps"][k]
        new_offsets[d] = _plus(offsets[d], _times(outer[0][k], steps[d]))
        new_sizes[d] = outer[1][k]
        new_steps[d] = _times(steps[d], outer[2][k])
        new_static[d] = None if static[d] is None or step is None else static[d] * step
        if k in op.attrs["dropped"]:
            new_dropped.append(d)
    operands = [source, *new_offsets, *new_sizes, *new_steps]
    attrs = {"static_steps": tuple(new_static), "dropped": tuple(sorted(new_dropped))}
    assert ops.subview.infer is not None
    (result_type,) = ops.subview.infer([v.type for v in operands], attrs)
    if result_type != op.result.type:
        return op
    new = Op(ops.subview, operands, [result_type], attrs, loc=op.loc)
    op.result.replace_uses(new.result)
    new.result.hint = op.result.hint
    op.drop()
    return new


def _plus(a: Value, b: Value) -> Value:
    if constant_of(a) == 0:
        return b
    return a if constant_of(b) == 0 else build(ops.addi, (a, b)).result


def _times(a: Value, b: Value) -> Value:
    if constant_of(a) == 1:
        return b
    return a if constant_of(b) == 1 else build(ops.muli, (a, b)).result
