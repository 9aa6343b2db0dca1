"""When is a form at least zero, wherever a piece of code runs? As a proof, or as a condition to test beforehand.

Loop counters, and other values that are not available where the question is asked, are eliminated one by one, the
innermost first: a counter by the bound of its loop at which the form is least, a maximum by one of its operands, a
minimum by both. The result is a combination by "and" and "or" of forms that must be at least zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op, Value
from adc.ir.nesting import enclosing, inside
from adc.passes.analysis.affine import Form, Forms, Symbol
from adc.passes.analysis.carried import carried_from, picked_from
from adc.passes.analysis.division import quotient, remainder
from adc.passes.analysis.extremes import Extremes, limits_of
from adc.passes.analysis.form_conditions import FALSE, TRUE, Condition, EmitterAt, both, either

MAX_STEPS = 64  # symbols eliminated for one question
LIMITS = (1 << 40, 1 << 30)  # of the size of symbols, tried in turn where sums and products might wrap around


class Ranges:
    """Questions about forms. ``available`` says which values the answer may use: none of them for a proof. ``facts``:
    forms that are known not to be negative. ``extremes`` gives bounds of values that are loaded or counted.
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

    Without ``available``: "true" if it always holds. "false" if it fails in some iteration (should the loops run at
    all).
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
        symbol = max(candidates, key=_innermost)
        if any(_carried(s) and s.value.block is symbol.value.block for s in candidates):
            counted = self._counted(form, symbol, candidates)
            return counted if counted is not None else self._eliminate(form, symbol)
        found = self._eliminate(form, symbol)
        return found if found is not None else self._counted(form, symbol, candidates)

    def _counted(self, form: Form, innermost: Symbol, candidates: list[Symbol]) -> Condition | None:
        """If ``form`` follows from counted integers: the condition that its least value is not negative. (If integers
        were eliminated one by one, they would be at bounds that cannot occur together.)"""
        point = innermost.value.block
        if self.extremes is None or point is None or all(s.loop is not None for s in candidates):
            return None
        if any(s.later is not None or (s.dim is not None and not self._known(s)) for s in form.symbols()):
            return None
        values = [s.value for s in candidates]
        key = values[0] if form == Form.symbol(candidates[0]) else form
        least = self.extremes.counted(key, values, point, lambda m: EmitterAt(self.forms, m).value(form), least=True)
        if least is None:
            return None
        if not self.forms.is_exact(form):
            self.note_inexact(form)
        return Condition("form", form=Form.symbol(self.forms.symbol(least)))

    def _known(self, symbol: Symbol) -> bool:
        return self.available is not None and self.available(symbol.value)

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
            # For a subscript like i * width + j, with width known only at run time: demand that it is not negative.
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
        """Forms for the values that ``symbol`` may be, if a loop picks it: each of them is known after the loop."""
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
        """The condition if ``symbol`` is a remainder by a positive number or a quotient by a positive constant."""
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
        """``form`` in the iteration that ``symbol`` belongs to."""
        return form if symbol.later is None else self.forms.later(form, symbol.later)

    def _at_bound(self, symbol: Symbol, loop: Op, *, lower: bool) -> Form:
        """The least value of a loop's counter, or one not below the greatest, if the loop runs at all."""
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
        """Note that answers rest on ``form`` not wrapping around."""
        if form in self.inexact:
            return
        self.inexact[form] = None
        for symbol in form.symbols():
            if symbol.loop is not None:
                for bound in symbol.loop.operands[:2]:
                    self.note_inexact(self.forms.of(bound))


_CHOICES = frozenset({ops.maxsi, ops.minsi, ops.select})
_ELIMINATED = _CHOICES | {ops.remsi, ops.floordivsi}


def _innermost(symbol: Symbol) -> tuple[int, bool, bool, int]:
    """The order of elimination: what is computed from a counter comes before it."""
    depth = sum(1 for _ in enclosing(symbol.value.block))
    return depth, symbol.later is not None, symbol.loop is None, symbol.number


def _carried(symbol: Symbol) -> bool:
    """Whether a symbol is a value that a loop carries beside its counter."""
    return symbol.dim is None and symbol.value.op is None and symbol.loop is None
