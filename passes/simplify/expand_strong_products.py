"""Products and quotients of derivatives in which zero is stronger than infinity, as ordinary operations."""

from __future__ import annotations

from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const, constant_of
from adc.ir.core import Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import having
from adc.passes.rewrite import replace_each


@dataclass(frozen=True)
class ExpandStrongProducts:
    """Replace strong products and quotients by ordinary ones and selects."""

    name: ClassVar[str] = "expand-strong-products"
    needs = frozenset(kind for kind in ops.TABLE.values() if kind.plain is not None)

    def run(self, module: Module) -> Module:
        for func in having(module, self.needs):
            replace_each(func.body, _plain)
        return module


def _plain(op: Op) -> Value | None:
    """A marked operand is zero, so it is enough to replace its partner: products can still be fused with sums."""
    if (plain := op.opdef.plain) is None:
        return None
    a, b, *marks = op.operands
    zero, one = const(0.0, a.type), const(1.0, a.type)
    if op.opdef is ops.strong_mulf and constant_of(b) == 1.0 and constant_of(marks[1]) == 0:
        return ops.select(marks[0], zero, a)
    if constant_of(marks[0]) != 0:
        b = ops.select(marks[0], zero if op.opdef is ops.strong_mulf else one, b)
    if len(marks) == 2 and constant_of(marks[1]) != 0:
        a = ops.select(marks[1], zero, a)
    return plain(a, b, **op.attrs)
