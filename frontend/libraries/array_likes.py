"""Lists and tuples of known length where NumPy's functions take arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend.arrays.nested import array_of
from adc.frontend.data.values import AbstractValue, Tuple
from adc.frontend.frame import Frame

# The first parameters of functions that otherwise take arrays and numbers only.
_PARAMETERS = {
    "a": "around copy expand_dims flatten full_like moveaxis ones_like ravel reshape resize roll rollaxis round "
    "squeeze swapaxes transpose zeros_like permute_dims",
    "m": "flip fliplr flipud rot90",
    "x": "i0 matrix_transpose nan_to_num sinc",
    "val": "imag real",
    "z": "angle",
    "a b": "allclose isclose vdot",
    "a a_min a_max min max": "clip",
    "ary": "array_split",
    "array": "broadcast_to",
    "indices": "unravel_index",
    "prototype": "empty_like",
}
_NAMES = {
    getattr(np, f): names.split() for names, group in _PARAMETERS.items() for f in group.split() if hasattr(np, f)
}


def with_arrays(
    frame: Frame, function: Any, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]
) -> tuple[list[AbstractValue], dict[str, AbstractValue]]:
    """The arguments of a function, with arrays made of lists and tuples where it takes arrays."""
    names = _names(function)
    if names is None:
        return list(args), dict(kwargs)
    return (
        [as_array_like(frame, a) if k < len(names) or not names else a for k, a in enumerate(args)],
        {name: as_array_like(frame, a) if name in names else a for name, a in kwargs.items()},
    )


def _names(function: Any) -> list[str] | None:
    """The parameters; no names if there are only positional ones, None if the function does not take lists so."""
    if function in (np.atleast_1d, np.atleast_2d, np.atleast_3d):
        return []
    return _NAMES.get(function)


def as_array_like(frame: Frame, v: AbstractValue) -> AbstractValue:
    """An array of what a list or tuple holds; other values as they are."""
    return array_of(frame, v, None) if type(v) is Tuple else v
