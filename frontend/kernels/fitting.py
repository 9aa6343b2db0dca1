"""Arrays that are cut, or filled up with zeros. The adjoint of that is the same, the other way round."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, reverse_rule


def fitted(x: Any, count: Any) -> Any:
    """``x`` with ``count`` numbers along the second of three axes, zeros where it has none."""
    before, held, after = x.shape
    out = x
    if held != count:
        out = cut(x.reshape(before, 1, held, after), 1, count).reshape(before, count, after)
    return out


def cut(x: Any, rows: Any, columns: Any) -> Any:
    """``x`` with these extents along the second and the third of four axes, zeros where it has no numbers."""
    before, held, across, after = x.shape
    out = np.zeros((before, rows, columns, after))
    lines_x, lines_out = x.reshape(before, held, across * after), out.reshape(before, rows, columns * after)
    for i in range(before):
        for r in range(min(held, rows)):
            for k in range(min(across, columns) * after):
                lines_out[i, r, k] = lines_x[i, r, k]
    return out


@reverse_rule(cut)
def _cut_reverse(x: Any, rows: Any, columns: Any) -> Any:
    def pullback(of_result: Any) -> Any:
        return cut(np.ascontiguousarray(of_result), x.shape[1], x.shape[2]), None, None

    return cut(x, rows, columns), pullback


@forward_rule(cut)
def _cut_forward(tangents: Any, x: Any, rows: Any, columns: Any) -> Any:
    return cut(x, rows, columns), cut(np.ascontiguousarray(tangents[0]), rows, columns)
