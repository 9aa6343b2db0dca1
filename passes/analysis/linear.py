"""Linear forms of integer values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from adc.ir.core import Value

T = TypeVar("T")


def sum_of_terms(terms: Mapping[T, int], others: Mapping[T, int], factor: int) -> dict[T, int]:
    """The coefficients of ``terms + factor * others``, none of which is zero."""
    found = dict(terms)
    for key, coefficient in others.items():
        total = found.get(key, 0) + factor * coefficient
        if total:
            found[key] = total
        else:
            del found[key]
    return found


@dataclass(slots=True)
class Linear:
    """``sum(coefficient * value for value, coefficient in terms) + constant``; immutable, without zero coefficients."""

    terms: dict[Value, int]
    constant: int

    def plus(self, other: Linear, factor: int = 1, number: int = 0) -> Linear:
        """``self + factor * other + number``"""
        constant = self.constant + factor * other.constant + number
        return Linear(sum_of_terms(self.terms, other.terms, factor) if other.terms else self.terms, constant)

    def plus_number(self, number: int) -> Linear:
        return Linear(self.terms, self.constant + number)

    def times(self, factor: int) -> Linear:
        if factor == 0:
            return Linear({}, 0)
        return Linear({v: c * factor for v, c in self.terms.items()}, self.constant * factor)

    def without(self, value: Value) -> Linear:
        return Linear({v: c for v, c in self.terms.items() if v is not value}, self.constant)
