"""adc, a differentiation compiler for Python: exact native gradients of loops, in-place updates and time stepping.

    from adc import jit_grad

    @jit_grad
    def f(x, n):
        for i in range(n):
            x = x * x
        return x

    f(3.0, 2), f.grad(3.0, 2)        # 81.0, 108.0
"""

from adc import errors
from adc.decorator import JitFunction, grad, jit_grad, pullback, value_and_grad, vjp
from adc.errors import AdcError
from adc.frontend import prange
from adc.pullback import Pullback

__all__ = [
    "AdcError",
    "JitFunction",
    "Pullback",
    "errors",
    "grad",
    "jit_grad",
    "prange",
    "pullback",
    "value_and_grad",
    "vjp",
]
