"""Python's ``%`` and ``//`` as they appear in the IR, and what is known about their results."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op, Value
from adc.ir.opdef import OpDef


def remainder(value: Value) -> tuple[Value, Value, bool] | None:
    """``(x, n, floored)`` of a value that is ``x % n`` in Python's way (``floored``) or in C's.

    Python's is written as ``r = remsi x, n; select((r != 0) and (r xor n) < 0, r + n, r)``.
    """
    op = value.op
    if op is None:
        return None
    if op.opdef is ops.remsi:
        return op.operands[0], op.operands[1], False
    if op.opdef is not ops.select:
        return None
    condition, shifted, plain = op.operands
    rest = _made_by(plain, ops.remsi)
    total = _made_by(shifted, ops.addi)
    if rest is None or total is None:
        return None
    x, n = rest.operands
    if set(total.operands) != {plain, n} or not _has_wrong_sign(condition, plain, n):
        return None
    return x, n, True


def _has_wrong_sign(condition: Value, plain: Value, n: Value) -> bool:
    """Whether ``condition`` says that ``plain`` is not zero and its sign differs from that of ``n``."""
    both = _made_by(condition, ops.andi)
    found = {"ne": False, "slt": False}
    for part in both.operands if both is not None else ():
        test = _made_by(part, ops.cmpi)
        if test is None or constant_of(test.operands[1]) != 0:
            return False
        predicate, left = test.attrs["predicate"], test.operands[0]
        signs = _made_by(left, ops.xori)
        if (predicate == "ne" and left is plain) or (
            predicate == "slt" and signs is not None and set(signs.operands) == {plain, n}
        ):
            found[predicate] = True
    return all(found.values())


def quotient(value: Value) -> tuple[Value, int] | None:
    """``(x, n)`` of a value that is ``x // n`` for a positive constant n."""
    op = _made_by(value, ops.floordivsi)
    divisor = constant_of(op.operands[1]) if op is not None else None
    if op is None or divisor is None or divisor <= 0:
        return None
    return op.operands[0], int(divisor)


def _made_by(value: Value, opdef: OpDef) -> Op | None:
    return value.op if value.op is not None and value.op.opdef is opdef else None
