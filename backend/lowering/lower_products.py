"""Products of matrices: calls of the run-time support."""

from __future__ import annotations

from adc.backend.lowering.lower_emitter import FunctionEmitter
from adc.backend.support.products import DECLARATIONS
from adc.ir.core import Op
from adc.ir.types import MemRefType


def matmul(e: FunctionEmitter, op: Op) -> None:
    """``%c += %a @ %b``."""
    left, right, target = map(e.memref, op.operands)
    t = op.operands[0].type
    assert isinstance(t, MemRefType)
    strong = op.attrs["strong"]
    name = f"adc_product_{'strong_' if strong else ''}{t.element}"
    e.module.declare(name, DECLARATIONS[name])
    sizes, matrices = [target.extents[0], target.extents[1], left.extents[1]], [left, right, target]
    strides = [(m.strides[0], m.strides[1]) for m in matrices]
    if strong == "right":  # computed as the transpose, (B^T A^T)^T
        sizes[0], sizes[1] = sizes[1], sizes[0]
        matrices[0], matrices[1] = matrices[1], matrices[0]
        strides = [strides[k][::-1] for k in (1, 0, 2)]
    given = [f"ptr {m.ptr}, i64 {row}, i64 {column}" for m, (row, column) in zip(matrices, strides, strict=True)]
    e.do(f"call void @{name}(ptr %ctx, {', '.join([*(f'i64 {size}' for size in sizes), *given])})")
