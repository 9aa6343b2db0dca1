"""What a program of the benchmark is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Input = Any  # what the evaluation sends: names and arrays, or lists; a number for hello
Call = Callable[[], Any]


@dataclass(frozen=True)
class Program:
    """A program, in Python for adc, in C and in JAX. ``by_...`` prepare an input: they return, for each function that
    the evaluation asks for, a call that computes it."""

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
    answer: Callable[[Input, str, Any], Any] | None = None  # (input, function, result): what is sent, if not the result


def flat(result: Any) -> Array:
    """The numbers of a result, one after the other; of a sparse matrix also where they are."""
    if hasattr(result, "tocoo"):
        entries = result.tocoo()
        order = np.lexsort((entries.col, entries.row))
        return np.concatenate([entries.row[order], entries.col[order], entries.data[order]]).astype(float)
    if isinstance(result, tuple | list):
        return np.concatenate([flat(part) for part in result])
    return np.asarray(result, float).ravel()
