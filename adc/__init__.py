"""adc, a differentiation compiler for Python: exact native gradients of loops, in-place updates and time stepping.

    from adc import jit_grad

    @jit_grad
    def f(x, n):
        for i in range(n):
            x = x * x
        return x

    f(3.0, 2), f.grad(3.0, 2)        # 81.0, 108.0

Names are loaded when they are first used, so that a layer below (``adc.ir``) can be imported by itself.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adc import errors
    from adc.checkpoints import every, revolve
    from adc.decorator import JitFunction, find_culprit, grad, jit_grad, pullback, value_and_grad, vjp
    from adc.errors import AdcError
    from adc.frontend import prange
    from adc.pullbacks import Pullback

__all__ = [
    "AdcError",
    "JitFunction",
    "Pullback",
    "errors",
    "every",
    "find_culprit",
    "grad",
    "jit_grad",
    "prange",
    "pullback",
    "revolve",
    "value_and_grad",
    "vjp",
]

_HOMES = {
    "AdcError": "adc.errors",
    "JitFunction": "adc.decorator",
    "Pullback": "adc.pullbacks",
    "every": "adc.checkpoints",
    "find_culprit": "adc.decorator",
    "grad": "adc.decorator",
    "jit_grad": "adc.decorator",
    "prange": "adc.frontend",
    "pullback": "adc.decorator",
    "revolve": "adc.checkpoints",
    "value_and_grad": "adc.decorator",
    "vjp": "adc.decorator",
}


def __getattr__(name: str) -> Any:
    if name == "errors":
        return importlib.import_module("adc.errors")
    if name not in _HOMES:
        raise AttributeError(f"module 'adc' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
