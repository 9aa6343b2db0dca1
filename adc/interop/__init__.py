"""Connections to other frameworks: compiled functions in PyTorch and JAX, derivatives for SciPy, arrays without copies.

PyTorch, JAX and SciPy are not loaded before a function that needs them is called.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adc.interop.arrays import asarray
    from adc.interop.jax_functions import to_jax
    from adc.interop.scipy_solvers import least_squares, minimize, root
    from adc.interop.torch_functions import to_torch

__all__ = ["asarray", "least_squares", "minimize", "root", "to_jax", "to_torch"]

_HOMES = {
    "asarray": "arrays",
    "least_squares": "scipy_solvers",
    "minimize": "scipy_solvers",
    "root": "scipy_solvers",
    "to_jax": "jax_functions",
    "to_torch": "torch_functions",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'adc.interop' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"adc.interop.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
