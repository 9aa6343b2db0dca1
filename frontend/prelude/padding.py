"""Arrays with a margin around them."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import constant, stands_for, unsupported
from adc.frontend.prelude.axes import part


@stands_for("numpy.pad")
def pad(
    array: Any,
    pad_width: Any,
    mode: Any = "constant",
    *,
    constant_values: Any = 0,
    end_values: Any = 0,
    stat_length: Any = None,
    reflect_type: Any = "even",
) -> Any:
    x = np.asarray(array)
    widths = _pairs(pad_width, x.ndim)
    shape: tuple[Any, ...] = ()
    for (before, after), n in zip(widths, x.shape):
        if before < 0 or after < 0:
            raise ValueError("index can't contain negative values")
        shape = (*shape, before + n + after)
    out = np.empty(shape, x.dtype)
    inside = out
    for k, (before, _) in enumerate(widths):
        inside = part(inside, k, before, before + x.shape[k])
    inside[...] = x
    if stat_length is not None or reflect_type != "even":
        unsupported("np.pad() with stat_length or reflect_type is not supported", "fill the margins by slices")
    for k, (before, after) in enumerate(widths):
        view = _with_margins(out, widths, x.shape, k)
        _fill(view, k, before, x.shape[k], after, mode, _pairs(constant_values, x.ndim), _pairs(end_values, x.ndim))
    return out


def _with_margins(out: Any, widths: Any, shape: Any, axis: Any) -> Any:
    """The view with all elements along an axis and those before it, whose margins are filled, and the interior along
    those after it."""
    view = out
    for k, (before, _) in enumerate(widths):
        if k > axis:
            view = part(view, k, before, before + shape[k])
    return view


def _pairs(v: Any, rank: Any) -> Any:
    """One pair for each axis."""
    if not isinstance(v, (list, tuple)):
        return ((v, v),) * constant(rank)
    if not isinstance(v[0], (list, tuple)):
        return (((v[0], v[0]) if len(v) == 1 else (v[0], v[1])),) * constant(rank)
    pairs = tuple((p[0], p[0]) if len(p) == 1 else (p[0], p[1]) for p in v)
    return pairs * constant(rank) if len(pairs) == 1 else pairs


def _fill(a: Any, k: Any, before: Any, n: Any, after: Any, mode: Any, values: Any, ends: Any) -> None:
    k = constant(k)
    if mode == "empty":
        return
    if mode == "constant":
        part(a, k, None, before)[...] = values[k][0]
        part(a, k, before + n, None)[...] = values[k][1]
    elif mode == "edge":
        if n == 0 and before + after > 0:
            raise ValueError(f"can't extend empty axis {k} using modes other than 'constant' or 'empty'")
        part(a, k, None, before)[...] = part(a, k, before, before + 1)
        part(a, k, before + n, None)[...] = part(a, k, before + n - 1, before + n)
    elif mode == "linear_ramp":
        _ramps(a, k, before, n, after, ends[k])
    elif mode in ("maximum", "minimum", "mean"):
        inside = part(a, k, before, before + n)
        if mode == "mean":
            level = np.mean(inside, axis=k, keepdims=True)
        else:
            level = np.max(inside, k, keepdims=True) if mode == "maximum" else np.min(inside, k, keepdims=True)
        part(a, k, None, before)[...] = level
        part(a, k, before + n, None)[...] = level
    elif mode in ("wrap", "reflect", "symmetric"):
        if n == 0 and before + after > 0:
            raise ValueError(f"can't extend empty axis {k} using modes other than 'constant' or 'empty'")
        if mode == "wrap":  # from the inside out, so that margins may be wider than what they repeat
            for m in range(before):
                _copy_one(a, k, before - 1 - m, before - 1 - m + n)
            for m in range(after):
                _copy_one(a, k, before + n + m, before + m)
        else:
            for m in range(before + after):  # one loop for both margins, which is less code
                i = m - before if m < before else m - before + n
                _copy_one(a, k, before + i, before + _source(i, n, mode))
    else:
        unsupported("np.pad() in this mode is not supported", "fill the margins by slices")


def _source(i: Any, n: Any, mode: Any) -> Any:
    """The position among ``n`` elements that the element at ``i``, outside of them, is a mirror image of."""
    period = 2 * n if mode == "symmetric" else max(2 * n - 2, 1)
    j = i % period
    return min(j, (period - 1 if mode == "symmetric" else period) - j)


def _copy_one(a: Any, k: Any, to: Any, source: Any) -> None:
    part(a, k, to, to + 1)[...] = part(a, k, source, source + 1)


def _ramps(a: Any, k: Any, before: Any, n: Any, after: Any, ends: Any) -> None:
    first, last = part(a, k, before, before + 1), part(a, k, before + n - 1, before + n)
    for i in range(before):
        part(a, k, i, i + 1)[...] = ends[0] + i * ((first - ends[0]) / before)
    for i in range(after):
        part(a, k, before + n + i, before + n + i + 1)[...] = ends[1] + (after - 1 - i) * ((last - ends[1]) / after)
