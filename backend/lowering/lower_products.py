"""Products of matrices: calls of the run-time support."""

from __future__ import annotations

from adc.backend.lowering.lower_emitter import FunctionEmitter
from adc.backend.support_products import DECLARATIONS
from adc.ir.core import Op
from adc.ir.types import MemRefType


def matmul(e: FunctionEmitter, op: Op) -> None:
    """``%c += %a @ %b``."""
    left, right, target = map(e.memref, op.operands)
    t = op.operands[0].type
    assert isinstance(t, MemRefType)
    name = f"adc_product_{t.element}"
    e.module.declare(name, DECLARATIONS[name])
    sizes = f"i64 {target.extents[0]}, i64 {target.extents[1]}, i64 {left.extents[1]}"
    matrices = ", ".join(f"ptr {m.ptr}, i64 {m.strides[0]}, i64 {m.strides[1]}" for m in (left, right, target))
    e.do(f"call void @{name}(ptr %ctx, {sizes}, {matrices})")
