"""Arrays that are cut, or filled up with zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import when_reached


def fitted(x: Any, count: Any) -> Any:
    """``x`` with ``count`` numbers along the second of three axes, zeros where it has none: a part of kernels, since it
    has no rules."""
    before, held, after = x.shape
    out = x
    if held != count:
        out = np.empty((before, count, after))
        _cut(x, out)
    return out


@when_reached("out")
def _cut(x: Any, out: Any) -> None:
    before, held, after = x.shape
    count = out.shape[1]
    lines_x, lines_out = x.reshape(before, held * after), out.reshape(before, count * after)
    for i in range(before):
        for k in range(min(held, count) * after):
            lines_out[i, k] = lines_x[i, k]
        for k in range(held * after, count * after):
            lines_out[i, k] = 0.0
