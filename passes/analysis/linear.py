"""Linear forms of integer values."""

from __future__ import annotations

from dataclasses import dataclass

from adc.ir.core import Value


@dataclass(slots=True)
class Linear:
    """``sum(coefficient * value for value, coefficient in terms) + constant``; immutable, without zero coefficients."""

    terms: dict[Value, int]
    constant: int

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        if not other.terms:
            return Linear(self.terms, self.constant + factor * other.constant)
        terms = dict(self.terms)
        for value, coefficient in other.terms.items():
            total = terms.get(value, 0) + factor * coefficient
            if total:
                terms[value] = total
            else:
                del terms[value]
        return Linear(terms, self.constant + factor * other.constant)

    def plus_number(self, number: int) -> Linear:
        return Linear(self.terms, self.constant + number)

    def times(self, factor: int) -> Linear:
        if factor == 0:
            return Linear({}, 0)
        return Linear({v: c * factor for v, c in self.terms.items()}, self.constant * factor)

    def without(self, value: Value) -> Linear:
        return Linear({v: c for v, c in self.terms.items() if v is not value}, self.constant)
