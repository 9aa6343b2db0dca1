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
    if stat_length is not None or reflect_type != "even":
        unsupported("np.pad() with stat_length or reflect_type is not supported", "fill the margins by slices")
    out = np.empty(shape, x.dtype)
    if mode in ("edge", "wrap", "reflect", "symmetric"):
        for k, (before, after) in enumerate(widths):
            if x.shape[k] == 0 and before + after > 0:
                raise ValueError(f"can't extend empty axis {k} using modes other than 'constant' or 'empty'")
        repeat_into(out, x, widths, mode)
        return out
    inside = out
    for k, (before, _) in enumerate(widths):
        inside = part(inside, k, before, before + x.shape[k])
    inside[...] = x
    for k, (before, after) in enumerate(widths):
        view = _with_margins(out, widths, x.shape, k)
        _fill(view, k, before, x.shape[k], after, mode, _pairs(constant_values, x.ndim), _pairs(end_values, x.ndim))
    return out


def repeat_into(out: Any, x: Any, widths: Any, mode: Any) -> None:
    """Fill ``out`` with ``x`` and margins in which its elements are repeated, each found from its subscripts."""
    out[...] = np.pad(x, widths, mode)


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
    if isinstance(v, np.ndarray):
        each = np.broadcast_to(v, (constant(rank), 2))
        return tuple((each[k, 0], each[k, 1]) for k in range(constant(rank)))
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
    else:
        known = "'constant', 'edge', 'empty', 'linear_ramp', 'maximum', 'mean', 'minimum', 'reflect', 'symmetric'"
        unsupported(f"np.pad() of mode {mode!r} is not supported", f"the modes are {known} and 'wrap'")


def _ramps(a: Any, k: Any, before: Any, n: Any, after: Any, ends: Any) -> None:
    first, last = part(a, k, before, before + 1), part(a, k, before + n - 1, before + n)
    for i in range(before):
        part(a, k, i, i + 1)[...] = ends[0] + i * ((first - ends[0]) / before)
    for i in range(after):
        part(a, k, before + n + i, before + n + i + 1)[...] = ends[1] + (after - 1 - i) * ((last - ends[1]) / after)
