"""When is a form at least zero, wherever a piece of code runs? As a proof, or as a condition to test beforehand.

Loop counters, and other values that are not to be had where the question is asked, are eliminated one by one, the
innermost first: a counter by the bound of its loop at which the form is least, a maximum by one of its operands, a
minimum by both. What is left is a combination by "and" and "or" of forms that must be at least zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of
from adc.ir.core import Op, Value
from adc.ir.nesting import enclosing, inside
from adc.ir.opdef import OpDef
from adc.ir.types import i1, index
from adc.passes.analysis.affine import Form, Forms, Symbol
from adc.passes.analysis.carried import carried_from, picked_from
from adc.passes.analysis.division import quotient, remainder
from adc.passes.analysis.extremes import Extremes, limits_of

MAX_STEPS = 64  # symbols eliminated for one question
LIMITS = (1 << 40, 1 << 30)  # of the size of symbols, tried in turn where sums and products might wrap around


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
    """All of them hold. Of forms that differ by a constant only the least is kept."""
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


class Ranges:
    """Questions about forms. ``available`` says of which values the answer may speak: none of them for a proof.

    ``facts``: forms that are known not to be negative. ``extremes`` gives bounds of values that are loaded.
    """

    def __init__(
        self,
        forms: Forms,
        available: Callable[[Value], bool] | None = None,
        facts: Iterable[Form] = (),
        extremes: Extremes | None = None,
    ) -> None:
        self.forms = forms
        self.available = available
        self.facts = tuple(facts)
        self.extremes = extremes
        self.inexact: dict[Form, None] = {}  # forms of loop bounds that might wrap around, unless symbols are small

    def nonnegative(self, form: Form) -> Condition | None:
        """A condition under which ``form >= 0`` holds in every iteration of the loops around; None if none is found.

        Without ``available``: "true" if it always holds. "false" if there is an iteration (should the loops run at
        all) in which it does not.
        """
        self._steps = MAX_STEPS
        return self._nonnegative(form)

    def _nonnegative(self, form: Form) -> Condition | None:
        low, high = self.forms.interval(form)
        if low >= 0:
            return TRUE
        if high < 0:
            return FALSE
        symbols = form.symbols()
        if self._follows(form, symbols):
            return TRUE
        self._steps -= 1
        if self._steps < 0 or not symbols:
            return None
        if self.available is None:
            candidates = [s for s in symbols if self._can_be_eliminated(s)]
        else:
            candidates = [s for s in symbols if not self.available(s.value)]
            if not candidates:
                return Condition("form", form=form)
        if not candidates:
            return None
        return self._eliminate(form, max(candidates, key=_innermost))

    def _follows(self, form: Form, symbols: Set[Symbol]) -> bool:
        for fact in self.facts:
            if not symbols.isdisjoint(fact.symbols()) and self.forms.interval(form - fact)[0] >= 0:
                return True
        return False

    def _can_be_eliminated(self, symbol: Symbol) -> bool:
        op = symbol.value.op
        return symbol.loop is not None or (symbol.dim is None and op is not None and op.opdef in _ELIMINATED)

    def _eliminate(self, form: Form, symbol: Symbol) -> Condition | None:
        factor, rest = form.split(symbol)
        if symbol in factor.symbols():
            return None
        if symbol.dim is not None:
            candidates = carried_from(symbol.value)
            if candidates is None:
                return None
            return self._all(self._of(symbol, self.forms.extent(m, symbol.dim)) * factor + rest for m in candidates)
        loop, op = symbol.loop, symbol.value.op
        if loop is None:
            divided = self._of_division(symbol, factor, rest)
            if divided is not None:
                return divided
            if (sign := self._sign(factor)) is not None:
                limits = limits_of(symbol.value, self.extremes, least=sign > 0)
                if limits:
                    return self._all(self.forms.of(v) * factor + rest for v in limits)
        if loop is None and (op is None or op.opdef not in _CHOICES):
            picked = self._picked(symbol, factor)
            return None if picked is None else self._all(form * factor + rest for form in picked)
        sign = self._sign(factor)
        if sign is None:
            if self.available is None or loop is None:
                return None
            # Of a subscript like i * width + j, with width known only at run time: demand that it is not negative.
            sign = 1 if sum(factor.terms.values()) >= 0 else -1
            demanded = self._nonnegative(factor * sign)
            found = self._nonnegative(self._at_bound(symbol, loop, lower=sign > 0) * factor + rest)
            return None if demanded is None or found is None else both((demanded, found))
        if loop is not None:
            return self._nonnegative(self._at_bound(symbol, loop, lower=sign > 0) * factor + rest)
        assert op is not None
        a, b = (self._of(symbol, self.forms.of(v)) * factor + rest for v in op.operands[-2:])
        if op.opdef is ops.select or (op.opdef is ops.minsi) == (sign > 0):
            return self._all((a, b))
        first, second = self._nonnegative(a), self._nonnegative(b)
        if first is None or second is None:
            return first or second if self.available is not None else TRUE if TRUE in (first, second) else None
        return either(first, second)

    def _picked(self, symbol: Symbol, factor: Form) -> list[Form] | None:
        """Bounds of what ``symbol`` is one of, if it is picked by a loop: each is known after the loop."""
        loop, values, sign = symbol.value.op, picked_from(symbol.value), self._sign(factor)
        if loop is None or values is None or sign is None:
            return None
        found = []
        counter = self.forms.symbol(loop.regions[0].args[0])
        for value in values:
            times, rest = self.forms.of(value).split(counter)
            if not times.is_constant or any(inside(s.value, loop) for s in rest.symbols()):
                return None
            bound = self._bound(loop, lower=sign * times.constant > 0) if times.constant else times
            found.append(self._of(symbol, bound * times + rest))
        return found

    def _of_division(self, symbol: Symbol, factor: Form, rest: Form) -> Condition | None:
        """Where ``symbol`` is a remainder by a positive number or a quotient by a positive constant."""
        sign = self._sign(factor)
        found = remainder(symbol.value)
        if found is not None and sign is not None:
            x, n, floored = found
            divisor = self._of(symbol, self.forms.of(n))
            positive = TRUE if self._sign(divisor) == 1 else None
            if positive is None and self.available is not None:
                positive = self._nonnegative(divisor)
            if positive is not None and (floored or self.forms.is_nonnegative(self.forms.of(x))):
                at_bound = self._nonnegative(rest if sign > 0 else (divisor - 1) * factor + rest)
                return None if at_bound is None else both((positive, at_bound))
        divided = quotient(symbol.value)
        if divided is None or not factor.is_constant:
            return None
        # With x // n between (x - n + 1) / n and x / n: the form is not negative if n times the form is above -n.
        x, size = divided
        numerator = self._of(symbol, self.forms.of(x))
        if not self.forms.is_exact(numerator):
            if self.available is None:
                return None
            self.note_inexact(numerator)
        if factor.constant > 0:
            numerator -= size - 1
        return self._nonnegative(numerator * factor.constant + rest * size + (size - 1))

    def _all(self, forms: Iterable[Form]) -> Condition | None:
        conditions = []
        for form in forms:
            condition = self._nonnegative(form)
            if condition is None:
                return None
            conditions.append(condition)
        return both(conditions)

    def _sign(self, factor: Form) -> int | None:
        """1 if the form is never negative, -1 if it is never positive."""
        low, high = self.forms.interval(factor)
        if low >= 0 or self._follows(factor, factor.symbols()):
            return 1
        return -1 if high <= 0 or self._follows(-factor, factor.symbols()) else None

    def _of(self, symbol: Symbol, form: Form) -> Form:
        """``form`` in the iteration that ``symbol`` is of."""
        return form if symbol.later is None else self.forms.later(form, symbol.later)

    def _at_bound(self, symbol: Symbol, loop: Op, *, lower: bool) -> Form:
        """The least value, or one that is not below the greatest, of a loop's counter, if the loop runs at all."""
        if loop is symbol.later and lower:
            step = self.forms.of(loop.operands[2])
            least = step if self.forms.interval(step)[0] > 0 else Form.number(1)
            return Form.symbol(self.forms.symbol(symbol.value)) + least
        return self._of(symbol, self._bound(loop, lower=lower))

    def _bound(self, loop: Op, *, lower: bool) -> Form:
        value = loop.operands[0 if lower else 1]
        form = self.forms.of(value)
        if not self.forms.is_exact(form):
            if self.available is None:
                form = Form.symbol(self.forms.symbol(value))
            else:
                self.note_inexact(form)
        if lower:
            return form
        step = constant_of(loop.operands[2])
        if step is not None and step > 1:
            last = form - 1 - self.forms.of(loop.operands[0])
            if last.is_constant:
                return self.forms.of(loop.operands[0]) + last.constant // int(step) * int(step)
        return form - 1

    def note_inexact(self, form: Form) -> None:
        """Answers rest on ``form`` not wrapping around."""
        if form in self.inexact:
            return
        self.inexact[form] = None
        for symbol in form.symbols():
            if symbol.loop is not None:
                for bound in symbol.loop.operands[:2]:
                    self.note_inexact(self.forms.of(bound))


_CHOICES = frozenset({ops.maxsi, ops.minsi, ops.select})
_ELIMINATED = _CHOICES | {ops.remsi, ops.floordivsi}


def _innermost(symbol: Symbol) -> tuple[int, bool, int]:
    depth = sum(1 for _ in enclosing(symbol.value.block))
    return depth, symbol.later is not None, symbol.number


# Conditions as code ---------------------------------------------------------------------------------------------------


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
        if symbol.dim is not None:
            return ops.dim(value, dim=symbol.dim)
        return value if value.type == index else ops.index_cast(value, type=index)


def sides(forms: Forms, form: Form) -> tuple[Form, Form, bool]:
    """``(left, right, strict)``, no negative terms: ``left <= right``, or ``left < right``, means ``form >= 0``.

    The constant goes to the side that it does not make wrap around.
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
