"""Removing checks, whether or not they hold: the benchmarks measure the cost of checks against this."""

from __future__ import annotations

from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.builder import insert_at
from adc.ir.core import Block, Module
from adc.ir.lazy_dataclass import dataclass
from adc.ir.opdef import OpDef
from adc.passes.rewrite import replace_op


@dataclass(frozen=True)
class DropChecks:
    """Use subscripts as they are: only constants count from the end; others must be in range. Or, for operations ``of``
    integers, let results wrap around."""

    of: OpDef = ops.bound

    name: ClassVar[str] = "drop-checks"

    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            _drop(func.body, self.of)
        return module


def _drop(block: Block, of: OpDef) -> None:
    kept = Block()
    for op in block.ops:
        if op.opdef is ops.assert_ and of is ops.fits:
            made = op.operands[0].op
            if made is not None and made.opdef is ops.fits:
                op.drop()
                continue
        if op.opdef is of is ops.bound:
            subscript, extent = op.operands
            known = constant_of(subscript)
            if known is not None and known < 0:
                with insert_at(kept, op.loc):
                    subscript = ops.addi(subscript, extent)
            replace_op(op, [subscript])
            continue
        for region in op.regions:
            _drop(region, of)
        kept.append(op)
    block.set_ops(kept.ops)
