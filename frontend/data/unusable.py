"""Attributes and fields that compiled code cannot use: an object or a structured array may hold them, but a use of one
is refused."""

from __future__ import annotations

import array
import functools
import sys
from collections import deque
from typing import Any

import numpy as np

from adc.frontend import abstract, forms
from adc.frontend.abstract import instead
from adc.ir.lazy_dataclass import dataclass

_PLAIN = frozenset({float, bool, str, type(None), np.float64, np.float32, np.float16, np.int64, np.int32, np.bool_})
_CHARS = "".join({c for c in np.typecodes["All"] if np.dtype(c) in abstract.DTYPES})
_OTHERS = (np.matrix, memoryview, array.array, deque)
WITH_UNUSABLE = ("object", "record", "structured")  # forms that may have such items
_HELP = "pass arrays and numbers in tuples, lists, dicts or dataclasses"


@dataclass(frozen=True)
class Unusable:
    """Stands for such an attribute: why it cannot be used, and what could be used instead."""

    reason: str
    help: str

    def __repr__(self) -> str:
        return f"<{self.reason}>"


_one = functools.lru_cache(maxsize=1024)(Unusable)  # one object for equal ones: compiled code compares identities


def is_masked(value: Any) -> bool:
    """Whether ``value`` is a masked array. NumPy loads their module only when it is asked for, which takes time."""
    masked = sys.modules.get("numpy.ma")
    return isinstance(value, getattr(masked, "MaskedArray", ()))


def unusable(value: Any, within: tuple[int, ...] = ()) -> Unusable | None:
    """The stand-in for an attribute that cannot be used, itself or because of an item in it; None for other values.
    Objects in it have attributes of their own. ``within``: the containers around the value."""
    kind = type(value)
    if kind in _PLAIN:
        return None
    if kind is int:
        fits = -(2**63) <= value < 2**63
        return None if fits else _one(f"{value} does not fit into 64 bits", "make it a float")
    if isinstance(value, _OTHERS) or is_masked(value):
        return _one(f"a {kind.__name__} is not supported", _HELP)
    if isinstance(value, np.ndarray | np.generic) and value.dtype.names is None:
        if value.dtype.char in _CHARS and value.dtype.isnative:
            return None
        what = "an array of dtype" if isinstance(value, np.ndarray) else "a NumPy scalar of type"
        return _one(f"{what} {value.dtype} is not supported", instead(value))
    try:
        form = forms.form_of(value)
    except forms.Unsuitable as error:
        return _one(str(error), error.help or _HELP)
    if form is None or form.kind in WITH_UNUSABLE or id(value) in within:
        return None
    items = (unusable(item, (*within, id(value))) for item in forms.items_of(value, form))
    return next((found for found in items if found is not None), None)
