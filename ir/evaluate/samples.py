"""Operands at which tests try the operations of the table, and every way an operation can be typed.

``OpDef.samples`` are regular points: finite, inside the domain, away from kinks, jumps and poles, so that derivatives
can be checked there. ``special_values`` are the points where arithmetic goes wrong; any tuple of them is an operand.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from adc.ir.core import Attr
from adc.ir.evaluate.evaluate import FLOAT_PREDICATES, bits, normal
from adc.ir.evaluate.evaluate_integers import EXACT_RESULTS, INTEGER_PREDICATES
from adc.ir.lazy_dataclass import dataclass
from adc.ir.opdef import OpDef
from adc.ir.types import FloatType, Type, f32, f64, i1, i32, i64, index

Samples = tuple[tuple[Any, ...], ...]


def _each(*values: Any) -> Samples:
    return tuple((v,) for v in values)


REAL = _each(-3.7, -1.2, -0.31, 0.27, 0.84, 1.6, 5.9)
POSITIVE = _each(0.02, 0.4, 1.3, 7.7, 250.0)
UNIT = _each(-0.93, -0.4, 0.12, 0.55, 0.97)  # inside -1 .. 1
ABOVE_ONE = _each(1.05, 1.7, 4.2, 30.0)
ABOVE_MINUS_ONE = _each(-0.9, -0.2, 1e-5, 0.7, 30.0)
GAMMA = _each(-2.4, -0.6, 0.3, 1.4, 2.6, 4.5, 12.25)  # between poles
PAIRS: Samples = ((1.3, -0.7), (-2.1, 0.4), (0.6, 3.3), (5.2, 5.9), (-0.8, -1.9))
QUOTIENTS: Samples = ((5.3, 2.0), (-7.1, 3.0), (0.4, 1.5), (9.7, -4.0), (-1.3, -0.7))  # away from halves
POWERS: Samples = ((1.3, 2.1), (0.4, -1.7), (7.2, 0.3), (2.0, 3.0), (0.9, 12.5))
STRONG_PRODUCTS: Samples = tuple(
    (*pair, *marks) for pair in PAIRS for marks in itertools.product((False, True), repeat=2)
)
STRONG_QUOTIENTS: Samples = tuple((*pair, mark) for pair in PAIRS for mark in (False, True))
TRIPLES: Samples = ((1.3, -0.7, 0.2), (-2.1, 0.4, 3.0), (0.6, 3.3, -1.9))
COMPARED: Samples = (*PAIRS, (0.5, 0.5))
FLOAT_INT: Samples = ((1.3, 3), (-0.7, 2), (2.1, -4), (0.6, 0), (-1.9, 5), (0.8, 1))
CHOICES: Samples = ((True, 1.5, -2.5), (False, 1.5, -2.5))
INTS = _each(-7, -1, 0, 1, 5, 12)
BITS = _each(0, 1)
INT_PAIRS: Samples = ((7, 3), (-7, 3), (7, -3), (-7, -3), (0, 5), (12, 12), (1, 2))
FITTING: Samples = (
    *((x, y) for x in (1, -1, 3) for y in (0, 2, 62, 63, 64, (1 << 63) - 1)),
    *((x, y) for x in (-(1 << 63), 1 << 62, 3037000500) for y in (0, 1, 2, 3037000500)),
)
SHIFTS: Samples = ((5, 0), (-9, 3), (1, 30), (77, 1))
INT_POWERS: Samples = ((3, 4), (-2, 5), (7, 0), (0, 3), (1, 2), (3, 50))

TYPES: tuple[Type, ...] = (f32, f64, i1, i32, i64, index)


def special_values(t: Type) -> list[Any]:
    """Zeros, infinities, NaN and the ends of the range of a scalar type."""
    if isinstance(t, FloatType):
        least, most = (5e-324, 1.7976931348623157e308) if t.width == 64 else (1e-45, 3.4028234663852886e38)
        values = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, math.inf, -math.inf, math.nan, least, -least, most, -most]
    else:
        values = [0, 1] if bits(t) == 1 else [0, 1, -1, 2, -(1 << (bits(t) - 1)), (1 << (bits(t) - 1)) - 1]
    return [normal(v, t) for v in values]


@dataclass(frozen=True)
class Typing:
    """One way of typing a scalar operation: operand types, attributes, and the result type that follows."""

    opdef: OpDef
    operands: tuple[Type, ...]
    attrs: dict[str, Attr]
    result: Type

    def __str__(self) -> str:
        shown = [f"{k}={v}" for k, v in self.attrs.items() if k in ("predicate", "order", "kind")]
        return "-".join([self.opdef.name, *shown, *map(str, self.operands), "to", str(self.result)])

    def samples(self) -> list[tuple[Any, ...]]:
        """The regular points as operands of these types; for i1 operands, every combination."""
        if self.operands and all(t == i1 for t in self.operands):
            return list(itertools.product((False, True), repeat=len(self.operands)))
        return [tuple(normal(v, t) for v, t in zip(s, self.operands, strict=True)) for s in self.opdef.samples]

    def specials(self) -> list[tuple[Any, ...]]:
        """Every combination of special values."""
        return list(itertools.product(*map(special_values, self.operands)))


def typings(opdef: OpDef) -> Iterator[Typing]:
    """Every way of typing a scalar operation that its type rule accepts."""
    if not opdef.samples or opdef.infer is None:
        return
    names = [name for name, default in opdef.attrs.items() if default is ...]
    for operands in itertools.product(TYPES, repeat=len(opdef.samples[0])):
        choices: dict[str, Sequence[Attr]] = {
            "predicate": list(FLOAT_PREDICATES if operands[0].is_float else INTEGER_PREDICATES),
            "type": TYPES,
            "kind": list(EXACT_RESULTS),
            "order": (0, 1, 2, 3),
        }
        for given in itertools.product(*(choices[name] for name in names)):
            attrs = {**opdef.attrs, **dict(zip(names, given, strict=True))}
            try:
                (result,) = opdef.infer(operands, attrs)
            except TypeError:
                continue
            yield Typing(opdef, operands, attrs, result)
