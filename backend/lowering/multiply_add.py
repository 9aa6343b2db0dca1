"""Fused multiply-add: which operations are fused is decided here, not by LLVM.

LLVM contracts ``a * b + c`` or not depending on other uses of the product and on inlining. The same step of a
simulation would round differently in one function than in another, and a gradient would depend on how it is
checkpointed. Here the decision depends on the two operations alone: a sum is fused with a product of the same block if
both are marked ``contract``. The user's arithmetic is not marked (unless ``contract=True`` was asked for): each of its
operations is rounded, as in Python. Derivatives are marked, and so are the products in ``@`` and similar operations.
"""

from __future__ import annotations

from adc.backend.lowering import half_precision
from adc.backend.lowering.lower_emitter import FunctionEmitter
from adc.backend.lowering.lower_types import register_type
from adc.ir.arith import fusible
from adc.ir.core import Op, Value


def is_fused(e: FunctionEmitter, op: Op, addend: Value) -> bool:
    """Whether ``op``, an addition of ``addend``, is fused with the product that computes ``addend``."""
    product = addend.op
    return e.module.target.fused and fusible(op, addend) and product is not None and product.parent is op.parent


def multiply_add(e: FunctionEmitter, product: Value, addend: str, *, negated: bool = False) -> str:
    """``addend`` plus the product, or minus it, rounded once."""
    assert product.op is not None
    a, b = e.scalars(product.op.operands)
    kind = register_type(product.type)
    if negated:
        a = e.let(f"fneg {kind} {a}")
    if kind == "half" and not half_precision.computes(e):
        return half_precision.multiply_add(e, a, b, addend)
    name = e.module.declare(*_intrinsic(kind))
    return e.let(f"call {kind} @{name}({kind} {a}, {kind} {b}, {kind} {addend})")


FUSED = {"half": "f16", "float": "f32", "double": "f64"}


def _intrinsic(kind: str) -> tuple[str, str]:
    name = f"llvm.fma.{FUSED[kind]}"
    return name, f"declare {kind} @{name}({kind}, {kind}, {kind})"
