"""Division and shifts of integers in LLVM IR.

In LLVM, division by zero, and of the least number by -1, is undefined, even where it was hoisted out of a branch that
guards it. So the divisors -1 and 0 are replaced before a division.
"""

from __future__ import annotations

from collections.abc import Callable

from adc.backend.lowering.lower_emitter import FunctionEmitter
from adc.backend.lowering.lower_types import register_type
from adc.ir.core import Op
from adc.ir.types import IntType, Type

Lowering = Callable[..., str]


def known_number(y: str) -> int | None:
    return int(y) if y.lstrip("-").isdigit() else None


def _divide(e: FunctionEmitter, op: Op, x: str, y: str) -> tuple[str, str]:
    """The quotient, rounded towards zero, and the remainder."""
    kind, divisor = register_type(op.result.type), known_number(y)
    if divisor is not None and divisor not in (0, -1):
        return e.let(f"sdiv {kind} {x}, {y}"), e.let(f"srem {kind} {x}, {y}")
    shifted = e.let(f"add {kind} {y}, 1")
    special = e.let(f"icmp ult {kind} {shifted}, 2")
    safe = e.let(f"select i1 {special}, {kind} 1, {kind} {y}")
    negated = e.let(f"sub {kind} 0, {x}")
    quotient, remainder = e.let(f"sdiv {kind} {x}, {safe}"), e.let(f"srem {kind} {x}, {safe}")
    return e.let(f"select i1 {special}, {kind} {negated}, {kind} {quotient}"), remainder


def divsi(e: FunctionEmitter, op: Op, x: str, y: str) -> str:
    return _divide(e, op, x, y)[0]


def remsi(e: FunctionEmitter, op: Op, x: str, y: str) -> str:
    return _divide(e, op, x, y)[1]


def unsigned_division(instruction: str) -> Lowering:
    def lower(e: FunctionEmitter, op: Op, x: str, y: str) -> str:
        kind, divisor = register_type(op.result.type), known_number(y)
        if not divisor:
            zero = e.let(f"icmp eq {kind} {y}, 0")
            y = e.let(f"select i1 {zero}, {kind} 1, {kind} {y}")
        return e.let(f"{instruction} {kind} {x}, {y}")

    return lower


def rounded_division(step: str, sign: str) -> Lowering:
    """Division rounded down or up: the quotient rounded towards zero, corrected by ``step`` where the remainder has
    that sign."""

    def lower(e: FunctionEmitter, op: Op, x: str, y: str) -> str:
        kind, divisor = register_type(op.result.type), known_number(y)
        if step == "-1" and divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
            return e.let(f"ashr {kind} {x}, {divisor.bit_length() - 1}")
        quotient, remainder = _divide(e, op, x, y)
        inexact = e.let(f"icmp ne {kind} {remainder}, 0")
        signs = e.let(f"xor {kind} {remainder}, {y}")
        wrong = e.let(f"icmp {sign} {kind} {signs}, {'0' if sign == 'slt' else '-1'}")
        correct = e.let(f"and i1 {inexact}, {wrong}")
        corrected = e.let(f"add {kind} {quotient}, {step}")
        return e.let(f"select i1 {correct}, {kind} {corrected}, {kind} {quotient}")

    return lower


def shl(e: FunctionEmitter, op: Op, x: str, y: str) -> str:
    t = op.operands[0].type
    kind, width = register_type(t), width_of(t)
    amount = known_number(y)
    if amount is not None:
        return e.let(f"shl {kind} {x}, {y}") if 0 <= amount < width else "0"
    inside = e.let(f"icmp ult {kind} {y}, {width}")
    safe = e.let(f"select i1 {inside}, {kind} {y}, {kind} 0")
    shifted = e.let(f"shl {kind} {x}, {safe}")
    return e.let(f"select i1 {inside}, {kind} {shifted}, {kind} 0")


def shift_right(instruction: str) -> Lowering:
    def lower(e: FunctionEmitter, op: Op, x: str, y: str) -> str:
        kind, width = register_type(op.result.type), width_of(op.result.type)
        inside = e.let(f"icmp ult {kind} {y}, {width}")
        safe = e.let(f"select i1 {inside}, {kind} {y}, {kind} {width - 1}")
        return e.let(f"{instruction} {kind} {x}, {safe}")

    return lower


def width_of(t: Type) -> int:
    return t.width if isinstance(t, IntType) else 64
