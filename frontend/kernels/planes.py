"""Discrete Fourier transforms along two axes, one behind the other; complex numbers are pairs, as in ``transforms``."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, reverse_rule
from adc.frontend.kernels.transforms import transformed


def transformed_twice(
    x: Any, rows: Any, columns: Any, out_rows: Any, out_columns: Any, sign: Any, scale: Any
) -> Any:  # fmt: skip
    """The transforms along the second and the third of four axes: as ``transformed`` along one after the other."""
    before, held, across, after = x.shape
    along = transformed(x.reshape(before * held, across, after), columns, out_columns, sign, 1.0)
    both = transformed(along.reshape(before, held, out_columns * after), rows, out_rows, sign, scale)
    return both.reshape(before, out_rows, out_columns, after)


@reverse_rule(transformed_twice)
def _transformed_twice_reverse(
    x: Any, rows: Any, columns: Any, out_rows: Any, out_columns: Any, sign: Any, scale: Any
) -> Any:  # fmt: skip
    def pullback(of_result: Any) -> Any:
        given = np.ascontiguousarray(of_result)
        back = transformed_twice(given, rows, columns, x.shape[1], x.shape[2], -sign, scale)
        return back, None, None, None, None, None, None

    return transformed_twice(x, rows, columns, out_rows, out_columns, sign, scale), pullback


@forward_rule(transformed_twice)
def _transformed_twice_forward(
    tangents: Any, x: Any, rows: Any, columns: Any, out_rows: Any, out_columns: Any, sign: Any, scale: Any
) -> Any:
    change = np.ascontiguousarray(tangents[0])
    tangent = transformed_twice(change, rows, columns, out_rows, out_columns, sign, scale)
    return transformed_twice(x, rows, columns, out_rows, out_columns, sign, scale), tangent
