"""The end of accumulation: a load, an addition, a store, in loops whose iterations run one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from adc.ir import ops
from adc.ir.builder import build, contractible, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.loop_attrs import PRIVATE


@dataclass(frozen=True)
class SettleAccumulates:
    """Run the loops that add to private copies in order, and replace what ``lower-accumulate`` left for later."""

    name: ClassVar[str] = "settle-accumulates"

    @contractible()
    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            if any(op.opdef is ops.accumulate or op.attrs.get(PRIVATE) for op in func.walk()):
                _block(func.body)
        return module


def _block(block: Block) -> None:
    new = block.in_place_of()
    for op in block.ops:
        if op.opdef is ops.accumulate and not op.attrs.get("atomic"):
            value, memref, *at = op.operands
            with insert_at(new, op.loc):
                add_in_place(value, memref, at)
            op.drop()
            continue
        if op.attrs.get(PRIVATE):
            op = to_sequential(op)
        for region in op.regions:
            _block(region)
        new.append(op)
    block.set_ops(new.ops)


def add_in_place(value: Value, memref: Value, at: Sequence[Value]) -> None:
    """Append ``memref[at] += value``."""
    build(ops.store, [ops.addf(ops.load(memref, *at), value), memref, *at])


def to_sequential(loop: Op) -> Op:
    """A ``scf.for`` with the body of the parallel ``loop``, which is dropped. Reductions become carried values."""
    body = loop.regions[0]
    end = body.ops.pop()
    carried = [body.add_arg(v.type) for v in end.operands]
    with insert_at(body, end.loc):
        totals = []
        for kind, so_far, value in zip(end.attrs["kinds"], carried, end.operands, strict=True):
            opdef = ops.COMBINE[kind][0 if value.type.is_float else 1]
            totals.append(opdef(so_far, value))
        build(ops.yield_, totals)
    end.drop()
    loop.regions = ()
    attrs = {name: value for name, value in loop.attrs.items() if name not in ("threads", PRIVATE)}
    new = Op(ops.for_, loop.operands, [r.type for r in loop.results], attrs, [body], loop.loc)
    for old, result in zip(loop.results, new.results, strict=True):
        old.replace_uses(result)
        result.hint = old.hint
    loop.drop()
    return new
