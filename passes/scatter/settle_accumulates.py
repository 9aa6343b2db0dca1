"""The end of accumulation: a load, an addition, a store, in loops whose iterations run one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.builder import build, contractible, insert_at
from adc.ir.core import Block, Module, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import PRIVATE
from adc.ir.nesting import having
from adc.passes.rewrite import to_sequential


@dataclass(frozen=True)
class SettleAccumulates:
    """Run the loops that add to private copies in order, and replace what ``lower-accumulate`` left for later."""

    name: ClassVar[str] = "settle-accumulates"
    needs = frozenset({ops.accumulate, ops.parallel})

    @contractible()
    def run(self, module: Module) -> Module:
        for func in having(module, self.needs):
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
