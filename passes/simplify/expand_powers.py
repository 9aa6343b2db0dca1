"""Powers with known exponents as multiplications and roots (strength reduction).

``x**n`` by repeated squaring takes at most six multiplications up to ``x**16`` (Knuth, TAOCP 2, 4.6.3), each of which
adds half a unit in the last place for the powers that it is made of. With more of them, ``pow`` is more accurate. The
squares are shared with those of other powers of the same number: ``(s / r)**12 - (s / r)**6`` takes four.

``x**(n + 0.5)`` is ``x**n`` times a root, and a fourth root is a root twice.

The pass runs after differentiation: the derivative of a power is that of the power, not of its factors, so that it has
no factors ``0 * inf`` at zero.
"""

from __future__ import annotations

import math
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const, constant_of
from adc.ir.core import Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import having
from adc.passes.rewrite import replace_each

MOST = 16
_POWERS = frozenset({ops.powf, ops.fpowi})


@dataclass(frozen=True)
class ExpandPowers:
    """Replace powers with known small exponents, in quarters, by multiplications, a root and a quotient."""

    name: ClassVar[str] = "expand-powers"
    needs = _POWERS

    def run(self, module: Module) -> Module:
        for func in having(module, self.needs):
            replace_each(func.body, _expanded)
        return module


def _expanded(op: Op) -> Value | None:
    exponent = constant_of(op.operands[1]) if op.opdef in _POWERS else None
    if exponent is None or not abs(exponent) < MOST + 1 or not float(4 * exponent).is_integer():
        return None
    x = op.operands[0]
    whole = math.floor(abs(exponent))
    part = abs(exponent) - whole
    power = _whole(ops.absf(x) if part else x, whole)
    if part:
        # As in C: +0.0 for -0.0, and infinity for -infinity, of which the root is NaN.
        infinite = ops.cmpf(x, const(-math.inf, x.type), predicate="oeq")
        root = ops.select(infinite, const(math.inf, x.type), ops.sqrt(ops.addf(x, const(0.0, x.type))))
        fourth = ops.sqrt(root) if part != 0.5 else root
        for factor in {0.25: [fourth], 0.5: [root], 0.75: [root, fourth]}[part]:
            power = ops.mulf(power, factor)
    return power if exponent >= 0 else ops.divf(const(1.0, x.type), power)


def _whole(x: Value, n: int) -> Value:
    if n == 0:
        return const(1.0, x.type)
    if n == 1:
        return x
    half = _whole(x, n // 2)
    square = ops.mulf(half, half)
    return ops.mulf(square, x) if n % 2 else square
