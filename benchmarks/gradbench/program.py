"""The definition of a program of the benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Input = Any  # the evaluation's message: names and arrays, or lists; a number for hello
Call = Callable[[], Any]


@dataclass(frozen=True)
class Program:
    """A program, in Python for adc, in C and in JAX. The ``by_...`` functions prepare an input: they return a call for
    each function that the evaluation requests."""

    name: str
    derivative: str  # the function that is timed
    value: str
    given: Callable[..., Input]  # (rng, **sizes)
    sizes: Mapping[str, int]
    small: Mapping[str, int]
    by_adc: Callable[[Input], dict[str, Call]]
    by_c: Callable[[Input], dict[str, Call]]
    by_jax: Callable[[Any, Input], dict[str, Call]] | None = None
    note: str = ""
    answer: Callable[[Input, str, Any], Any] | None = None  # (input, function, result): the answer, if not the result


def flat(result: Any) -> Array:
    """The numbers of a result in one array; for a sparse matrix with their places."""
    if hasattr(result, "tocoo"):
        entries = result.tocoo()
        order = np.lexsort((entries.col, entries.row))
        return np.concatenate([entries.row[order], entries.col[order], entries.data[order]]).astype(float)
    if isinstance(result, tuple | list):
        return np.concatenate([flat(part) for part in result])
    return np.asarray(result, float).ravel()
