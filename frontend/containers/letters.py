"""Characters of texts that are known, at places that the run computes: sequences that a program aligns, strings of
symbols."""

from __future__ import annotations

from adc.frontend.containers.sequences import as_value
from adc.frontend.data.compounds import OneOf, one_of
from adc.frontend.data.values import AbstractValue, Scalar, Static
from adc.frontend.traps import trap_unless
from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.core import Value
from adc.ir.types import i1, i64

_WORD = 63  # bits of a number that are used: none is negative


def letter(text: str, at: Value) -> AbstractValue:
    """``text[at]``: one of the characters that are in the text, by their numbers, many of which are in one integer. So
    a long text takes few instructions."""
    n = len(text)
    inside = ops.andi(
        ops.cmpi(at, const_index(-n), predicate="sge"), ops.cmpi(at, const_index(n), predicate="slt")
    )
    trap_unless(inside, "IndexError", "string index out of range")
    letters = sorted(set(text))
    if len(letters) < 2:
        return Static(text[:1])
    place = ops.select(ops.cmpi(at, const_index(0), predicate="slt"), ops.addi(at, const_index(n)), at)
    bits = (len(letters) - 1).bit_length()
    per = _WORD // bits
    numbers = [letters.index(c) for c in text]
    words = [
        sum(number << (bits * k) for k, number in enumerate(numbers[first : first + per])) for first in range(0, n, per)
    ]
    size = const_index(per)

    def word(low: int, high: int) -> Value:
        if high - low == 1:
            return const_index(words[low])
        middle = (low + high) // 2
        first = ops.cmpi(place, const_index(middle * per), predicate="slt")
        return ops.select(first, word(low, middle), word(middle, high))

    shift = ops.muli(ops.remsi(place, size), const_index(bits))
    number = ops.andi(ops.shrsi(word(0, len(words)), shift), const_index((1 << bits) - 1))
    return one_of(Scalar(number, i64), [as_value(c) for c in letters])


def texts_of(v: AbstractValue) -> list[object] | None:
    """The texts that a value may be; None if it may be something else."""
    found = [getattr(one, "value", None) for one in (v.options if isinstance(v, OneOf) else [v])]
    return list(found) if all(isinstance(one, str) for one in found) else None


def equal(a: AbstractValue, b: AbstractValue) -> AbstractValue | None:
    """``a == b`` of two texts that are chosen at run time, without branches. None for other values."""
    first, second = texts_of(a), texts_of(b)
    if first is None or second is None or not (isinstance(a, OneOf) or isinstance(b, OneOf)):
        return None
    if not isinstance(a, OneOf):
        a, b, first, second = b, a, second, first
    assert isinstance(a, OneOf)
    common = {one: k for k, one in enumerate(first) if one in second}
    if not isinstance(b, OneOf):
        at = common.get(second[0])
        return Static(False) if at is None else Scalar(ops.cmpi(a.position, const_index(at), predicate="eq"), i1)
    if not common:
        return Static(False)
    if len(set(first)) < len(first):
        return None
    if first == second:
        return Scalar(ops.cmpi(a.position, b.position, predicate="eq"), i1)
    same = const_index(-1)  # the number in ``first`` of what b is
    for k, one in enumerate(second):
        if one in common:
            here = ops.cmpi(b.position, const_index(k), predicate="eq")
            same = ops.select(here, const_index(common[one]), same)
    return Scalar(ops.cmpi(a.position, same, predicate="eq"), i1)
