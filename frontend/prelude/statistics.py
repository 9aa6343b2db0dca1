"""Statistics of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import stands_for, unsupported


@stands_for("numpy.ptp")
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    if out is not None or keepdims:
        unsupported("np.ptp() takes an axis only", "write out[...] = np.ptp(a, axis)")
    return np.max(a, axis=axis) - np.min(a, axis=axis)
