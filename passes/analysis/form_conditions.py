"""Forms that must be at least zero, combined by "and" and "or", and the code that tests them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.core import Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.opdef import OpDef
from adc.ir.rewrite import Mapping
from adc.ir.types import i1, index
from adc.passes.analysis.affine import Form, Forms, Symbol


@dataclass(frozen=True)
class Condition:
    """A Boolean combination: "true", "false", "form" (form >= 0), "value" (an i1), "and", "or"."""

    kind: str
    parts: tuple[Condition, ...] = ()
    form: Form | None = None
    value: Value | None = None

    def __str__(self) -> str:
        if self.kind == "form":
            return f"{self.form} >= 0"
        if self.kind == "value":
            return repr(self.value)
        if self.kind in ("and", "or"):
            return "(" + f" {self.kind} ".join(map(str, self.parts)) + ")"
        return self.kind


TRUE, FALSE = Condition("true"), Condition("false")


def both(conditions: Iterable[Condition]) -> Condition:
    """The conjunction of conditions. Of forms that differ by a constant only the least is kept."""
    parts: dict[Condition, None] = {}
    least: dict[Form, int] = {}
    for c in conditions:
        for part in c.parts if c.kind == "and" else (c,):
            if part.kind == "false":
                return FALSE
            if part.kind == "form" and part.form is not None:
                rest = part.form - part.form.constant
                least[rest] = min(least.get(rest, part.form.constant), part.form.constant)
            elif part.kind != "true":
                parts[part] = None
    for rest, constant in least.items():
        parts[Condition("form", form=rest + constant)] = None
    if not parts:
        return TRUE
    return next(iter(parts)) if len(parts) == 1 else Condition("and", tuple(parts))


def either(a: Condition, b: Condition) -> Condition:
    if "true" in (a.kind, b.kind):
        return TRUE
    if a.kind == "false" or a == b:
        return b
    return a if b.kind == "false" else Condition("or", (a, b))


def leaves(condition: Condition) -> Iterator[Form]:
    """The forms that a condition compares with zero."""
    if condition.form is not None:
        yield condition.form
    for part in condition.parts:
        yield from leaves(part)


@dataclass
class Emitter:
    """Appends the test of a condition at the insertion point."""

    forms: Forms
    limit: int | None = None
    _values: dict[Form, Value] = field(default_factory=dict)

    def emit(self, condition: Condition, small: Iterable[Symbol] = ()) -> Value:
        """The condition, and that each symbol of ``small`` lies within the limit, as an i1."""
        tests = []
        for symbol in sorted(small, key=lambda s: s.number):
            tests += self._within_limit(symbol)
        if condition.kind != "true" or not tests:
            tests.append(self._emit(condition))
        return _join(ops.andi, tests)

    def _within_limit(self, symbol: Symbol) -> list[Value]:
        assert self.limit is not None
        low, high = self.forms.interval_of(symbol)
        value = self.value(Form.symbol(symbol))
        tests = []
        if low < -self.limit:
            tests.append(ops.cmpi(const_index(-self.limit), value, predicate="sle"))
        if high > self.limit:
            tests.append(ops.cmpi(value, const_index(self.limit), predicate="sle"))
        return tests

    def _emit(self, condition: Condition) -> Value:
        if condition.kind in ("true", "false"):
            return const(condition.kind == "true", i1)
        if condition.kind == "value":
            assert condition.value is not None
            return condition.value
        if condition.kind == "form":
            assert condition.form is not None
            left, right, strict = sides(self.forms, condition.form)
            return ops.cmpi(self.value(left), self.value(right), predicate="slt" if strict else "sle")
        return _join(ops.andi if condition.kind == "and" else ops.ori, [self._emit(p) for p in condition.parts])

    def value(self, form: Form) -> Value:
        """A form as a value, modulo 2**64."""
        known = self._values.get(form)
        if known is not None:
            return known
        total: Value | None = None
        negative = []
        for monomial, c in sorted(form.terms.items(), key=lambda t: (-len(t[0]), [s.number for s in t[0]])):
            if not monomial or abs(c) != 1:
                part = const_index(abs(c) if monomial or c < 0 else c)
            else:
                part = None
            for symbol in monomial:
                factor = self._symbol(symbol)
                part = factor if part is None else ops.muli(factor, part)
            assert part is not None
            if c < 0:
                negative.append(part)
            else:
                total = part if total is None else ops.addi(total, part)
        total = const_index(0) if total is None else total
        for part in negative:
            total = ops.subi(total, part)
        self._values[form] = total
        return total

    def _symbol(self, symbol: Symbol) -> Value:
        value = symbol.value
        return as_index(value) if symbol.dim is None else ops.dim(value, dim=symbol.dim)


def as_index(value: Value) -> Value:
    return value if value.type == index else ops.index_cast(value, type=index)


class EmitterAt(Emitter):
    """Emits forms at a place where copies stand for values."""

    def __init__(self, forms: Forms, mapping: Mapping) -> None:
        super().__init__(forms)
        self._mapping = mapping

    def _symbol(self, symbol: Symbol) -> Value:
        value = self._mapping.get(symbol.value)
        return super()._symbol(symbol) if value is None else as_index(value)


def sides(forms: Forms, form: Form) -> tuple[Form, Form, bool]:
    """``(left, right, strict)`` without negative terms: ``left <= right``, or ``left < right``, means ``form >= 0``.

    The constant goes to the side that it does not cause to wrap around.
    """
    right = Form({m: c for m, c in form.terms.items() if m and c > 0})
    left = Form({m: -c for m, c in form.terms.items() if m and c < 0})
    constant = form.constant
    if constant == -1 and left.terms:
        return left, right, True
    if left.terms and (not right.terms or not forms.is_exact(right + constant)) and forms.is_exact(left - constant):
        return (left - constant, right, False) if right.terms else (left, Form.number(constant), False)
    return (left, right + constant, False) if left.terms else (Form.number(-constant), right, False)


def _join(opdef: OpDef, tests: list[Value]) -> Value:
    result = tests[0]
    for test in tests[1:]:
        result = opdef(result, test)
    return result
