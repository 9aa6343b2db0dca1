"""Arrays of other frameworks as arrays of NumPy that share their memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.border.boundary import public
from adc.ir import kinds

NDArray = np.ndarray[Any, np.dtype[Any]]

_CPU = (1, 3)  # DLPack's device types that a CPU can read: its own memory, and memory pinned for CUDA


@public
def asarray(value: Any) -> NDArray:
    """An array of PyTorch, JAX, CuPy's host memory, Arrow or any other package as a NumPy array, without a copy.

    It is read through ``__array_interface__`` or DLPack, so both share memory: changes of one are visible in the other.
    An array that its owner declares read-only, as JAX does, is read-only. NumPy arrays are returned unchanged. Arrays
    on other devices, which would have to be copied, are refused, and so are tensors that PyTorch differentiates (their
    gradient would be lost; ``to_torch`` keeps it).
    """
    if isinstance(value, np.ndarray):
        return value
    if getattr(value, "requires_grad", False):
        raise kinds.UNSUPPORTED_ARRAY(
            "this tensor requires a gradient, which NumPy would lose",
            help="wrap the function by adc.interop.to_torch, or pass value.detach()",
        )
    if hasattr(value, "__array_interface__"):
        return np.asarray(_Interface(value))
    if not hasattr(value, "__dlpack__") or not hasattr(value, "__dlpack_device__"):
        raise kinds.UNSUPPORTED_ARRAY(
            f"{type(value).__name__} has neither __dlpack__ nor __array_interface__, so its memory cannot be shared",
            help="pass numpy.asarray(value), which copies",
        )
    device, _ = value.__dlpack_device__()
    if int(device) not in _CPU:
        raise kinds.UNSUPPORTED_ARRAY(
            f"the array is on another device ({getattr(value, 'device', device)}); adc computes on the CPU",
            help="copy it to the CPU first, as by value.cpu()",
        )
    try:
        return np.from_dlpack(value)
    except (BufferError, TypeError, ValueError, RuntimeError) as error:
        raise kinds.UNSUPPORTED_ARRAY(
            f"the memory of this {type(value).__name__} cannot be shared: {error}",
            help="pass numpy.asarray(value), which copies",
        ) from None


class _Interface:
    """An object with the array interface that NumPy reads; it keeps the owner alive as long as the view."""

    def __init__(self, owner: Any) -> None:
        self.__array_interface__ = owner.__array_interface__
        self._owner = owner
