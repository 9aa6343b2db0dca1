"""What operations on integers compute, and casts: see ``adc.ir.evaluate.evaluate``."""

from __future__ import annotations

import functools
import math
import operator
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from adc.ir.evaluate.evaluate import Attrs, Evaluate, Undefined, bits, integer, normal, round_fraction, signed, unsigned
from adc.ir.types import Type


def on_integers(compute: Callable[..., int]) -> Evaluate:
    """Evaluation by a function of unbounded signed ints; the result wraps around."""

    @functools.wraps(compute)
    def evaluate(attrs: Attrs, t: Type, *values: int) -> Any:
        return integer(compute(*map(signed, values)), t)

    return evaluate


INTEGER_PREDICATES: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "slt": operator.lt,
    "sle": operator.le,
    "sgt": operator.gt,
    "sge": operator.ge,
}


def cmpi(attrs: Attrs, t: Type, x: int, y: int) -> bool:
    return INTEGER_PREDICATES[attrs["predicate"]](signed(x), signed(y))


def _quotient(compute: Callable[[int, int], int]) -> Evaluate:
    """Division: undefined by zero. The least integer by -1 is itself."""

    def evaluate(attrs: Attrs, t: Type, x: int, y: int) -> Any:
        x, y = signed(x), signed(y)
        if y == 0:
            raise Undefined("integer division by zero")
        return integer(compute(x, y), t)

    return evaluate


def _truncated(x: int, y: int) -> int:
    size = abs(x) // abs(y)
    return size if (x < 0) == (y < 0) else -size


def shift(compute: Callable[[int, int], int]) -> Evaluate:
    def evaluate(attrs: Attrs, t: Type, x: int, y: int) -> Any:
        amount = unsigned(y, bits(t))
        if amount >= bits(t):
            raise Undefined("shift by the width or more")
        return integer(compute(signed(x), amount), t)

    return evaluate


def _on_unsigned(compute: Callable[[int, int], int]) -> Evaluate:
    """Evaluation by a shift or a division of unsigned ints."""

    def evaluate(attrs: Attrs, t: Type, x: int, y: int) -> Any:
        x, y = unsigned(x, bits(t)), unsigned(y, bits(t))
        if y >= bits(t) if compute is operator.rshift else y == 0:
            raise Undefined("shift by the width or more, or division by zero")
        return integer(compute(x, y), t)

    return evaluate


def ipowi(attrs: Attrs, t: Type, x: int, n: int) -> Any:
    x, n = signed(x), signed(n)
    if n < 0:
        raise Undefined("negative exponent of an integer")
    return integer(pow(x, n, 1 << bits(t)), t)


addi = on_integers(operator.add)
subi = on_integers(operator.sub)
muli = on_integers(operator.mul)
divsi = _quotient(_truncated)
remsi = _quotient(lambda x, y: x - y * _truncated(x, y))
floordivsi = _quotient(operator.floordiv)
ceildivsi = _quotient(lambda x, y: -(-x // y))
divui = _on_unsigned(operator.floordiv)
remui = _on_unsigned(operator.mod)
andi = on_integers(operator.and_)
ori = on_integers(operator.or_)
xori = on_integers(operator.xor)
shli = shift(operator.lshift)
shrsi = shift(operator.rshift)
shrui = _on_unsigned(operator.rshift)
maxsi = on_integers(max)
minsi = on_integers(min)
absi = on_integers(abs)
EXACT_RESULTS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "shl": operator.lshift,
    "pow": operator.pow,
}


def fits(attrs: Attrs, t: Type, x: int, y: int) -> bool:
    """Whether the exact result is an integer of the operands' type, which are of 64 bits."""
    kind, (x, y) = attrs["kind"], (signed(x), signed(y))
    if kind in ("shl", "pow"):
        if y < 0:
            raise Undefined("a negative shift or exponent")
        if x == 0 or (kind == "pow" and abs(x) == 1):
            return True
        y = min(y, 64)  # too large at 64 is too large beyond
    return -1 << 63 <= EXACT_RESULTS[kind](x, y) < 1 << 63


def sitofp(attrs: Attrs, t: Type, x: int) -> Any:
    return _from_int(signed(x), t)


def uitofp(attrs: Attrs, t: Type, x: int) -> Any:
    return _from_int(_not_negative(x), t)


def extui(attrs: Attrs, t: Type, x: int) -> Any:
    return integer(int(x) if isinstance(x, bool) else unsigned(x, 32), t)


def index_castui(attrs: Attrs, t: Type, x: int) -> Any:
    return integer(_not_negative(x), t)


def _not_negative(x: int) -> int:
    """An unsigned operand. It must not have its sign bit set, since its width is not known here."""
    if x < 0:
        raise Undefined("an unsigned operand is negative")
    return int(x)


def _from_int(x: int, t: Type) -> Any:
    """The nearest float; an f32 is not rounded twice."""
    return round_fraction(Fraction(x), t) if x else normal(0.0, t)


def fptosi(attrs: Attrs, t: Type, x: float) -> Any:
    x = float(x)
    limit = 2.0 ** (bits(t) - 1)
    if not (math.isfinite(x) and -limit <= math.trunc(x) < limit):
        raise Undefined("the float does not fit the integer")
    return integer(math.trunc(x), t)


_FORMATS: dict[int, tuple[str, str]] = {16: ("<h", "<e"), 32: ("<i", "<f"), 64: ("<q", "<d")}


def bitcast(attrs: Attrs, t: Type, x: Any) -> Any:
    integer_format, float_format = _FORMATS[bits(t) if t.is_integer else t.width]  # type: ignore[attr-defined]
    if t.is_integer:
        return struct.unpack(integer_format, struct.pack(float_format, x))[0]
    return normal(struct.unpack(float_format, struct.pack(integer_format, x))[0], t)


def signed_cast(attrs: Attrs, t: Type, x: int) -> Any:
    return integer(signed(x), t)
