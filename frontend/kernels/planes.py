"""Discrete Fourier transforms along two axes, one behind the other; complex numbers are pairs, as in ``transforms``."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, reverse_rule
from adc.frontend.kernels.fitting import cut
from adc.frontend.kernels.transforms import transformed


def transformed_twice(x: Any, rows: Any, columns: Any, sign: Any, scale: Any) -> Any:
    """The transforms along the second and the third of four axes: as ``transformed`` along one after the other."""
    before, held, across, after = x.shape
    along = transformed(x.reshape(before * held, across, after), columns, sign, 1.0)
    both = transformed(along.reshape(before, held, columns * after), rows, sign, scale)
    return both.reshape(before, rows, columns, after)


@reverse_rule(transformed_twice)
def _transformed_twice_reverse(x: Any, rows: Any, columns: Any, sign: Any, scale: Any) -> Any:
    def pullback(of_result: Any) -> Any:
        back = transformed_twice(np.ascontiguousarray(of_result), rows, columns, -sign, scale)
        if x.shape[1] != rows or x.shape[2] != columns:
            back = cut(back, x.shape[1], x.shape[2])
        return back, None, None, None, None

    return transformed_twice(x, rows, columns, sign, scale), pullback


@forward_rule(transformed_twice)
def _transformed_twice_forward(tangents: Any, x: Any, rows: Any, columns: Any, sign: Any, scale: Any) -> Any:
    tangent = transformed_twice(np.ascontiguousarray(tangents[0]), rows, columns, sign, scale)
    return transformed_twice(x, rows, columns, sign, scale), tangent
