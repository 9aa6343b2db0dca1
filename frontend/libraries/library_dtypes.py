"""Functions of NumPy about dtypes: their results are known when a program is compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend import abstract
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Lazy, Scalar, Static, Tuple, is_numeric
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.rules import Rule, static_of
from adc.frontend.numeric.convert import as_scalar
from adc.ir import kinds
from adc.ir.builder import current_loc


def _example(v: AbstractValue) -> Any:
    """A value of the type of ``v``, or the dtype, class or name that it is."""
    if isinstance(v, Array | Lazy):
        return abstract.numpy_dtype(v.dtype)
    if isinstance(v, Tuple):
        return tuple(_example(item) for item in v.items)
    if is_numeric(v):
        s = as_scalar(v)
        number = {"f": 0.0, "i": 0, "b": False}.get(abstract.numpy_dtype(s.dtype).kind)
        return number if s.weak else abstract.numpy_dtype(s.dtype)
    if isinstance(v, Scalar | Static):
        return static_of(v, "the dtype")
    raise refuse(current_loc(), f"{describe_type(v)} has no dtype", kind=kinds.WRONG_TYPE)


def _known(function: Callable[..., Any], keep: bool = False) -> Rule:
    """A rule that calls ``function`` itself with example values. ``keep``: known numbers are passed as they are."""

    def rule(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
        def given(v: AbstractValue) -> Any:
            return v.value if keep and isinstance(v, Static) else _example(v)

        try:
            return Static(function(*map(given, args), **{name: given(v) for name, v in kwargs.items()}))
        except (TypeError, ValueError) as error:
            raise refuse(current_loc(), str(error), kind=kinds.UNSUPPORTED_DTYPE) from None

    return rule


def _common_type(*dtypes: Any) -> Any:
    return np.common_type(*(np.zeros(0, dtype) for dtype in dtypes))


TABLE: dict[Any, Rule] = {
    np.common_type: _known(_common_type),
    np.dtype: _known(np.dtype, keep=True),
    np.result_type: _known(np.result_type),
    np.promote_types: _known(np.promote_types, keep=True),
    np.can_cast: _known(np.can_cast, keep=True),
    np.min_scalar_type: _known(np.min_scalar_type, keep=True),
    np.issubdtype: _known(np.issubdtype, keep=True),
    np.finfo: _known(np.finfo, keep=True),
    np.iinfo: _known(np.iinfo, keep=True),
}
if hasattr(np, "isdtype"):
    TABLE[np.isdtype] = _known(np.isdtype, keep=True)
