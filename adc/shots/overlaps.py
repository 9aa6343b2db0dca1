"""Arguments that cannot be sent separately: they share memory that is written, or an object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from adc.border import aliasing
from adc.border.containers import lower
from adc.functions.dispatch import sharing
from adc.ir import kinds


def refuse_overlaps(function: Any, args: tuple[Any, ...]) -> None:
    """Raises ``ArgumentError`` if a call with copies of the arguments could differ from a call with the arguments
    themselves."""
    derivative, first = getattr(function, "func", function), getattr(function, "args", ())
    keywords = getattr(function, "keywords", {})
    parameters = derivative._subject.parameters
    if any(map(_stands_for_another, args)):
        return
    lowered = lower(parameters.names, parameters.bind((*first, *args), keywords))
    arrays = dict(enumerate(_arrays(lowered.values)))
    if aliasing.groups(arrays) and sharing(derivative, (*first, *args), keywords):
        raise kinds.OVERLAPPING_ARGUMENTS(
            f"{derivative._subject.name} writes to an argument that shares memory with another one, and other "
            "processes get copies of both",
            help="pass a copy of one of them",
        )
    # An object that occurs twice has one gradient, whether it is changed or not.
    apart = [(*first, *keywords.values()), *((value,) for value in args)]  # in the groups in which they are sent
    if sum(len(lower(["argument"] * len(values), values).objects) for values in apart) > len(lowered.objects):
        raise kinds.OVERLAPPING_ARGUMENTS(
            f"two arguments of {derivative._subject.name} have an object in common, which would be sent twice",
            help="pass a copy of it",
        )


def _stands_for_another(value: Any) -> bool:
    """Whether a value is, or contains, a Dask future, for which the worker has the value."""
    if isinstance(value, tuple | list):
        return any(map(_stands_for_another, value))
    if isinstance(value, dict):
        return any(map(_stands_for_another, value.values()))
    return type(value).__module__.partition(".")[0] in ("dask", "distributed")


def _arrays(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    if isinstance(value, np.ndarray):
        yield value
    elif type(value) is tuple:
        for item in value:
            yield from _arrays(item)
