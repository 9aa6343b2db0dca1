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
        out = cut(x.reshape(before, held, 1, after), count, 1).reshape(before, count, after)
    return out


def cut(x: Any, rows: Any, columns: Any) -> Any:
    """``x`` with these extents along the second and the third of four axes, zeros where it has no numbers."""
    out = np.zeros((x.shape[0], rows, columns, x.shape[3]))
    least, fewest = min(x.shape[1], rows), min(x.shape[2], columns)
    out[:, :least, :fewest] = x[:, :least, :fewest]
    return out


@reverse_rule(cut)
def _cut_reverse(x: Any, rows: Any, columns: Any) -> Any:
    def pullback(of_result: Any) -> Any:
        return cut(np.ascontiguousarray(of_result), x.shape[1], x.shape[2]), None, None

    return cut(x, rows, columns), pullback


@forward_rule(cut)
def _cut_forward(tangents: Any, x: Any, rows: Any, columns: Any) -> Any:
    return cut(x, rows, columns), cut(np.ascontiguousarray(tangents[0]), rows, columns)
