"""Identities of integers and Booleans, and of ``arith.select``.

Integers wrap, and every identity of arithmetic modulo a power of two holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op, Value
from adc.ir.opdef import OpDef
from adc.ir.types import IntType, Type, i1, index
from adc.passes.analysis.attributes import MIRRORED, OPPOSITE_FLOAT, OPPOSITE_INTEGER
from adc.passes.analysis.conditions import decide_order
from adc.passes.analysis.division import remainder
from adc.passes.analysis.integers import width
from adc.passes.analysis.linear import Linear
from adc.passes.canonicalize.extremes import rest_of, without_extremes
from adc.passes.canonicalize.patterns import (
    is_number,
    made_by,
    put_constant_last,
    register,
)
from adc.passes.canonicalize.rewriter import Rewriter, Rule

Result = Sequence[Value] | None
INTEGERS: dict[OpDef, Rule] = {}


@register(INTEGERS, ops.addi, ops.subi, ops.muli)
def _linear(rw: Rewriter, op: Op) -> Result:
    """``x + c``, ``x * c`` and ``x * c + d`` in one spelling, and whatever cancels."""
    kind, t = op.opdef, op.result.type
    if width(t) == 1:
        return None
    a, b = op.operands if kind is ops.subi else put_constant_last(op)
    if (span := _span(rw, op, a, b)) is not None:
        return (span,)
    form = rw.integers.linear(op.result)
    if form.terms.get(op.result) is not None:
        return None  # a product of two unknowns
    shorter = without_extremes(rw, form)
    if shorter is not form and all(value.type == t for value in shorter.terms):
        return (_build(rw, shorter, op),)
    if (rest := rest_of(rw, form)) is not None:
        return (rest,)
    terms = len(form.terms)
    if any(value.type != t for value in form.terms):
        return None
    if terms > 1:
        first, second = rw.integers.linear(a), rw.integers.linear(b)
        cancels = terms < len(first.terms) + len(second.terms)
        gathers = kind is not ops.muli and first.constant and not second.terms  # (x + c + y) + d
        negates = kind is not ops.muli and (_is_negation(a) or _is_negation(b))
        if terms > 3 or not (cancels or gathers or negates):
            return None
    elif terms == 1 and _is_canonical(op, form):
        return None
    return (_build(rw, form, op),)


def _span(rw: Rewriter, op: Op, a: Value, b: Value) -> Value | None:
    """``max(x, y) - y`` as ``max(x - y, 0)``, if ``x - y`` does not wrap: analyses know what follows from that."""
    extreme = made_by(a, ops.maxsi)
    if extreme is None or constant_of(b) == 0:
        return None
    for x, y in (extreme.operands, extreme.operands[::-1]):
        if op.opdef is ops.subi:
            subtracts = y is b
        else:
            number, offset = constant_of(y), constant_of(b)
            subtracts = op.opdef is ops.addi and number is not None and offset is not None and number + offset == 0
        if subtracts and rw.integers.difference_fits(x, y):
            return rw.emit(ops.maxsi, rw.emit(ops.subi, x, y), rw.constant(0, op.result.type))
    return None


def _is_negation(value: Value) -> bool:
    op = made_by(value, ops.subi)
    return op is not None and constant_of(op.operands[0]) == 0


def _is_canonical(op: Op, form: Linear) -> bool:
    """Whether ``op`` is the last step of computing a form of one term the usual way."""
    ((term, coefficient),) = form.terms.items()
    if coefficient == -1:
        return op.opdef is ops.subi and constant_of(op.operands[0]) is not None and op.operands[1] is term
    if constant_of(op.operands[1]) is None or op.opdef is ops.subi:
        return False
    base = op.operands[0]
    if form.constant == 0:
        return coefficient != 1 and op.opdef is ops.muli and base is term
    if op.opdef is not ops.addi:
        return False
    if coefficient == 1:
        return base is term
    product = made_by(base, ops.muli)
    return product is not None and product.operands[0] is term and constant_of(product.operands[1]) is not None


def _build(rw: Rewriter, form: Linear, op: Op) -> Value:
    t = op.result.type
    if list(form.terms.values()) == [-1]:
        return rw.append(ops.subi, rw.constant(form.constant, t), rw.resolve(next(iter(form.terms))))
    total: Value | None = None
    # A term to subtract goes last, so that "a - b" is one operation.
    for value, coefficient in sorted(form.terms.items(), key=lambda item: item[1] < 0):
        value = rw.resolve(value)
        if total is not None and coefficient == -1:
            total = rw.append(ops.subi, total, value)
            continue
        term = value if coefficient == 1 else rw.append(ops.muli, value, rw.constant(coefficient, t))
        total = term if total is None else rw.append(ops.addi, total, term)
    if total is None:
        return rw.constant(form.constant, t)
    return rw.append(ops.addi, total, rw.constant(form.constant, t)) if form.constant else total


@register(INTEGERS, ops.divsi, ops.floordivsi, ops.ceildivsi)
def _divide(rw: Rewriter, op: Op) -> Result:
    a, b = op.operands
    if is_number(b, 1):
        return (a,)
    divisor = constant_of(b)
    if isinstance(divisor, int) and divisor < 0 and rw.integers.interval(a)[0] > -(1 << 63) and a.type == index:
        opposite = _build(rw, rw.integers.linear(a, exact=True).times(-1), op)  # as in trips of loops that count down
        return (opposite,) if divisor == -1 else (rw.emit(op.opdef, opposite, rw.constant(-divisor, b.type)),)
    if isinstance(divisor, int) and divisor > 1 and a.type == op.result.type:
        form = rw.integers.linear(a, exact=True)
        numbers = (*form.terms.values(), form.constant)
        if len(form.terms) == 1 and a.type in {v.type for v in form.terms} and not any(n % divisor for n in numbers):
            quotient = Linear({v: c // divisor for v, c in form.terms.items()}, form.constant // divisor)
            return (_build(rw, quotient, op),)
        low, high = rw.integers.interval(a)
        if op.opdef is not ops.ceildivsi and low >= 0 and high < divisor:
            return (rw.constant(0, a.type),)
    return None


@register(INTEGERS, ops.remsi)
def _remainder(rw: Rewriter, op: Op) -> Result:
    a, b = op.operands
    if is_number(b, 1) or is_number(b, -1):
        return (rw.constant(0, a.type),)
    divisor = constant_of(b)
    low, high = rw.integers.interval(a)
    if isinstance(divisor, int) and divisor > 0 and low >= 0 and high < divisor:
        return (a,)
    return None


@register(INTEGERS, ops.maxsi, ops.minsi)
def _extreme(rw: Rewriter, op: Op) -> Result:
    a, b = put_constant_last(op)
    if a is b:
        return (a,)
    if rw.proves_ge(a, b):
        return (a,) if op.opdef is ops.maxsi else (b,)
    if rw.proves_ge(b, a):
        return (b,) if op.opdef is ops.maxsi else (a,)
    inner = made_by(a, op.opdef)
    if inner and constant_of(b) is not None and constant_of(inner.operands[1]) is not None:
        return (rw.emit(op.opdef, inner.operands[0], rw.emit(op.opdef, inner.operands[1], b)),)
    if inner and b in inner.operands:
        return (a,)
    sum_ = made_by(a, ops.addi)
    moved = _moved(rw, op, sum_.operands[0], sum_.operands[1], b) if sum_ is not None else None
    return None if moved is None else (moved,)


def _moved(rw: Rewriter, op: Op, extreme: Value, offset: Value, bound: Value) -> Value | None:
    """``max(max(x, k) + c, b)`` as ``max(x + c, b)``, where ``k + c`` is not above ``b``: the rest of an array from
    which slices take one element after the other."""
    inner, added, limit = made_by(extreme, op.opdef), constant_of(offset), constant_of(bound)
    known = constant_of(inner.operands[1]) if inner is not None else None
    if inner is None or known is None or added is None or limit is None:
        return None
    beyond = known + added > limit if op.opdef is ops.maxsi else known + added < limit
    x = inner.operands[0]
    if beyond or not rw.integers.fits("add", x, offset):
        return None
    return rw.emit(op.opdef, rw.emit(ops.addi, x, offset), bound)


@register(INTEGERS, ops.andi)
def _and(rw: Rewriter, op: Op) -> Result:
    a, b = put_constant_last(op)
    if a is b:
        return (a,)
    if constant_of(b) == 0:
        return (b,)
    return (a,) if constant_of(b) == (1 if a.type == i1 else -1) else None


@register(INTEGERS, ops.ori)
def _or(rw: Rewriter, op: Op) -> Result:
    a, b = put_constant_last(op)
    if a is b or constant_of(b) == 0:
        return (a,)
    return (b,) if constant_of(b) == (1 if a.type == i1 else -1) else None


@register(INTEGERS, ops.xori)
def _xor(rw: Rewriter, op: Op) -> Result:
    a, b = put_constant_last(op)
    if a is b:
        return (rw.constant(0, a.type),)
    if constant_of(b) == 0:
        return (a,)
    if a.type == i1 and constant_of(b) == 1:
        if inner := made_by(a, ops.xori):
            if constant_of(inner.operands[1]) == 1:
                return (inner.operands[0],)
        elif inner := made_by(a, ops.cmpi):
            return (rw.emit(ops.cmpi, *inner.operands, predicate=OPPOSITE_INTEGER[inner.attrs["predicate"]]),)
        elif (inner := made_by(a, ops.cmpf)) and inner.attrs["predicate"] in OPPOSITE_FLOAT:
            return (rw.emit(ops.cmpf, *inner.operands, predicate=OPPOSITE_FLOAT[inner.attrs["predicate"]]),)
    return None


@register(INTEGERS, ops.shli, ops.shrsi)
def _shift(rw: Rewriter, op: Op) -> Result:
    return (op.operands[0],) if constant_of(op.operands[1]) == 0 else None


@register(INTEGERS, ops.index_cast)
def _index_cast(rw: Rewriter, op: Op) -> Result:
    (x,) = op.operands
    if x.type == op.result.type:
        return (x,)
    inner = made_by(x, ops.index_cast)
    if inner and _keeps(inner.operands[0].type, x.type, op.result.type):
        source = inner.operands[0]
        return (source,) if source.type == op.result.type else (rw.emit(ops.index_cast, source, type=op.result.type),)
    return None


def _keeps(source: Type, between: Type, target: Type) -> bool:
    """Whether a cast by way of ``between`` gives the same as one directly to ``target``."""
    if width(between) < width(source):
        return False
    signs = (isinstance(t, IntType) and t.unsigned for t in (source, between))
    return width(target) <= width(between) or len(set(signs)) == 1


@register(INTEGERS, ops.trunci)
def _trunci(rw: Rewriter, op: Op) -> Result:
    wide = made_by(op.operands[0], ops.extsi) or made_by(op.operands[0], ops.extui)
    return (wide.operands[0],) if wide and wide.operands[0].type == op.result.type else None


@register(INTEGERS, ops.fits)
def _fits(rw: Rewriter, op: Op) -> Result:
    return (rw.constant(1, i1),) if rw.integers.fits(op.attrs["kind"], *op.operands) else None


# Comparison and choice ------------------------------------------------------------------------------------------------


@register(INTEGERS, ops.cmpi)
def _cmpi(rw: Rewriter, op: Op) -> Result:
    a, b = op.operands
    predicate = op.attrs["predicate"]
    if constant_of(a) is not None and constant_of(b) is None:
        return (rw.emit(ops.cmpi, b, a, predicate=MIRRORED[predicate]),)
    answer = decide(rw, predicate, a, b)
    if answer is not None:
        return (rw.constant(answer, i1),)
    if predicate in ("eq", "ne") and constant_of(b) is not None:
        number = constant_of(b)
        boolean = a if a.type == i1 else None
        if cast := made_by(a, ops.index_castui) or made_by(a, ops.extui):
            boolean = cast.operands[0] if cast.operands[0].type == i1 else None
        if boolean is not None and number in (0, 1):
            if (predicate == "eq") == (number == 1):
                return (boolean,)
            return (rw.emit(ops.xori, boolean, rw.constant(1, i1)),)
    return _of_signs(rw, op) or _of_extreme(rw, op) or _of_choice(rw, op)


def _of_signs(rw: Rewriter, op: Op) -> Result:
    """Of ``x ^ n < 0``, by which ``x % n`` asks whether the signs differ: the answer, where none is negative."""
    pair = made_by(op.operands[0], ops.xori) if op.attrs["predicate"] == "slt" else None
    if pair is None or constant_of(op.operands[1]) != 0 or not all(map(rw.proves_ge_zero, pair.operands)):
        return None
    return (rw.constant(0, i1),)


def _of_extreme(rw: Rewriter, op: Op) -> Result:
    """Of ``min(x, 1) > 0``, where one of the two numbers is known to pass, what is asked of the other: ``x > 0``."""
    predicate, (a, b) = op.attrs["predicate"], op.operands
    if predicate not in ("slt", "sle", "sgt", "sge"):
        return None
    for extreme, other, less in ((a, b, predicate in ("slt", "sle")), (b, a, predicate in ("sgt", "sge"))):
        made = made_by(extreme, ops.minsi) or made_by(extreme, ops.maxsi)
        if made is None:
            continue
        every = (made.opdef is ops.minsi) != less  # both numbers have to pass
        for x, y in (made.operands, made.operands[::-1]):
            sides = [(v, other) if extreme is a else (other, v) for v in (x, y)]
            if decide(rw, predicate, *sides[0]) is every:
                return (rw.emit(ops.cmpi, *sides[1], predicate=predicate),)
    return None


def _of_choice(rw: Rewriter, op: Op) -> Result:
    """A comparison of a number with one of two numbers: a choice between its two results."""
    a, b = op.operands
    choice, number = made_by(a, ops.select), constant_of(b)
    if choice is None or number is None or a.type == i1:
        return None
    condition, *sides = choice.operands
    if any(constant_of(v) is None for v in sides):
        return None
    first, second = (rw.emit(ops.cmpi, v, b, predicate=op.attrs["predicate"]) for v in sides)
    return (rw.emit(ops.select, condition, first, second),)


def decide(rw: Rewriter, predicate: str, a: Value, b: Value) -> bool | None:
    """Whether a comparison of integers holds where the present operation is, if that is known."""
    if a is b:
        return predicate in ("eq", "sle", "sge")
    facts = rw.integers
    if a.type == i1:
        return None
    if predicate in ("eq", "ne"):
        difference = facts.difference(a, b)
        if difference is not None:
            return (difference == 0) == (predicate == "eq")
        if rw.proves_ge(a, b, 1) or rw.proves_ge(b, a, 1):
            return predicate == "ne"
        return predicate == "eq" if rw.proves_ge(a, b) and rw.proves_ge(b, a) else None
    return decide_order(predicate, a, b, rw.proves_ge)


@register(INTEGERS, ops.select)
def _select(rw: Rewriter, op: Op) -> Result:
    condition, a, b = op.operands
    known = constant_of(condition)
    if known is not None:
        return (a,) if known else (b,)
    if a is b:
        return (a,)
    if a.type == i1:
        x, y = constant_of(a), constant_of(b)
        if x == 1 and y == 0:
            return (condition,)
        if x == 0 and y == 1:
            return (rw.emit(ops.xori, condition, rw.constant(1, i1)),)
    negated = made_by(condition, ops.xori)
    if negated and constant_of(negated.operands[1]) == 1:
        return (rw.emit(ops.select, negated.operands[0], b, a),)
    if (inner := made_by(a, ops.select)) and inner.operands[0] is condition:
        return (rw.emit(ops.select, condition, inner.operands[1], b),)
    if (inner := made_by(b, ops.select)) and inner.operands[0] is condition:
        return (rw.emit(ops.select, condition, a, inner.operands[2]),)
    compared = made_by(condition, ops.cmpi)
    if compared and set(compared.operands) == {a, b}:
        predicate = compared.attrs["predicate"]
        if predicate in ("slt", "sle", "sgt", "sge"):
            smaller_first = (predicate in ("slt", "sle")) == (compared.operands[0] is a)
            return (rw.emit(ops.minsi if smaller_first else ops.maxsi, a, b),)
    return _floored(rw, op)


def _floored(rw: Rewriter, op: Op) -> Result:
    """``x % n`` without a division, where ``x`` is known to be less than ``n`` away from the range of the
    remainders."""
    found = remainder(op.result)
    if found is None:
        return None
    x, n, _ = found
    place, size = (rw.integers.linear(v, exact=True) for v in (x, n))
    if rw.holds(size.plus(place, -1).plus_number(-1)):  # x < n
        if rw.holds(place):
            return (x,)
        if rw.holds(place.times(-1).plus_number(-1)) and rw.holds(place.plus(size)):
            return (rw.emit(ops.addi, x, n),)
    elif rw.holds(place.plus(size, -1)) and rw.holds(size.times(2).plus(place, -1).plus_number(-1)):
        return (rw.emit(ops.subi, x, n),)
    return None
