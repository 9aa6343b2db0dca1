"""Names with a meaning to the compiler: ``prange``, ``stop_gradient`` and ``Same``."""

from __future__ import annotations

import types
from typing import Any

import numpy as np


def prange(*args: int) -> range:
    """Like ``range``; in compiled code the iterations of the loop run on several threads.

    Iterations must not depend on each other, except for sums, products, minima and maxima of numbers, and
    sums of arrays.
    """
    return range(*args)


def stop_gradient(x: Any) -> Any:
    """``x`` as a constant: no derivative goes through it. Arrays are copied; for a tuple, each item."""
    if isinstance(x, tuple):
        return type(x)(*map(stop_gradient, x)) if hasattr(x, "_fields") else tuple(map(stop_gradient, x))
    return x.copy() if isinstance(x, np.ndarray) else x


class Same:
    """The annotation of a parameter that has one value on all ranks (``adc.mpi``).

    Its gradient is that with respect to the one value, and the same on all ranks too. Arrays annotated so are only
    read.
    """


def same_parameters(fn: types.FunctionType) -> tuple[str, ...]:
    """The parameters of a function that are annotated ``Same``, or ``Annotated`` with it; annotations may be text."""
    return tuple(n for n, a in fn.__annotations__.items() if n != "return" and _is_same(a, fn.__globals__))


def _is_same(annotation: Any, names: dict[str, Any]) -> bool:
    if isinstance(annotation, str) and "Same" in annotation:
        try:
            annotation = eval(annotation, names)
        except Exception:
            return False
    return annotation is Same or Same in getattr(annotation, "__metadata__", ())
