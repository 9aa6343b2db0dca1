"""Adds up gradients: arrays and numbers in tuples, lists, dicts and objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.forms import build, form_of, items_of

_NUMBERS = (np.generic, int, float, complex)


def started(first: Any) -> Any:
    """A total with one term: a copy, whose arrays can be added to in place."""
    if isinstance(first, np.ndarray):
        return first.copy()
    if first is None or isinstance(first, _NUMBERS):
        return first
    form = form_of(first)
    return first if form is None else build(form, [started(item) for item in items_of(first, form)])


def added(total: Any, term: Any) -> Any:
    """The total with one more term. Arrays of the total are added to in place."""
    if isinstance(total, np.ndarray):
        if total.shape != np.shape(term):
            raise ValueError(f"arrays of shapes {total.shape} and {np.shape(term)} cannot be added")
        _add(total, term)
        return total
    if total is None:
        return None
    if isinstance(total, _NUMBERS):
        return total + term
    form, other = form_of(total), form_of(term)
    if form is None or form != other:
        raise ValueError(f"{type(total).__name__} and {type(term).__name__} of other parts cannot be added")
    pairs = zip(items_of(total, form), items_of(term, form), strict=True)
    return build(form, [added(one, more) for one, more in pairs])


def _add(total: np.ndarray[Any, Any], term: np.ndarray[Any, Any]) -> None:
    """Structured arrays are added field by field."""
    if total.dtype.names is None:
        total += term
    for name in total.dtype.names or ():
        _add(total[name], term[name])
