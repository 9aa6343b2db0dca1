"""Functions from generated texts, and their compile times."""

from __future__ import annotations

import linecache
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import adc
from adc import jit_grad


def load(text: str, name: str, function: str) -> Callable[..., Any]:
    """A function from a text, which tracing finds under ``name``."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {}
    exec(compile(text, name, "exec"), namespace)
    found: Callable[..., Any] = namespace[function]
    return found


def first_calls(
    function: Callable[..., Any], arguments: tuple[Any, ...], argnums: int | tuple[int, ...] = 0
) -> tuple[float, float]:
    """CPU seconds until the first value, for which the function may change its arguments, and then until the first
    gradient."""
    compiled = jit_grad(function)
    mine = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in arguments)
    start = time.process_time()
    value = compiled(*mine)
    middle = time.process_time()
    gradient = adc.grad(compiled, argnums=argnums)(*arguments)
    end = time.process_time()
    assert np.isfinite(value) and all(map(_is_finite, gradient if isinstance(gradient, tuple) else [gradient]))
    return middle - start, end - middle


def _is_finite(gradient: Any) -> bool:
    return bool(np.all(np.isfinite(gradient)))
