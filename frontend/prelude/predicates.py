"""Questions about values and types that are answered when the program is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import stands_for


@stands_for("numpy.iscomplex")
def iscomplex(x: Any) -> Any:
    return np.imag(x) != 0 if np.iscomplexobj(x) else np.zeros_like(x, dtype=np.bool_) if np.ndim(x) else False


@stands_for("numpy.isreal")
def isreal(x: Any) -> Any:
    return np.imag(x) == 0 if np.iscomplexobj(x) else np.ones_like(x, dtype=np.bool_) if np.ndim(x) else True


@stands_for("numpy.isscalar")
def isscalar(element: Any) -> Any:
    return not isinstance(element, np.ndarray) and not isinstance(element, tuple)


@stands_for("numpy.iterable")
def iterable(y: Any) -> Any:
    return isinstance(y, tuple) or np.ndim(y) > 0


@stands_for("numpy.astype")
def astype(x: Any, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Any:
    return x.astype(dtype, copy=copy)
