"""Calls of the sorting functions of the run-time support."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adc.frontend import abstract
from adc.frontend.data.values import NONE, AbstractValue, Array, Static
from adc.frontend.errors import refuse
from adc.frontend.foreign_calls import call_foreign
from adc.frontend.frame import Frame
from adc.frontend.kernels import sorting
from adc.frontend.libraries.rules import Rule, positional
from adc.ir import kinds, ops
from adc.ir.builder import current_loc
from adc.ir.externals import RUNTIME, Named, Provided, provide
from adc.ir.types import memref


def _rule(name: str, function: Callable[..., Any], count: int) -> Rule:
    def call(frame: Frame, *vectors: AbstractValue) -> AbstractValue:
        given, types = [], []
        for v in vectors:
            assert isinstance(v, Array) and v.rank == 1 and v.type.strides is None
            types.append(memref(v.type.element, 1))
            given.append(v.memref if v.type == types[-1] else ops.cast(v.memref, type=types[-1]))
        named = Named(RUNTIME, f"adc_{name}_{types[0].element}", tuple(types), None)
        provide(named, Provided(0, function))
        call_foreign(frame, named, given, hint=name, written=range(count), ordered=False)
        return NONE

    return positional(name, count, call)


def _sort(keys: Any, scratch: Any) -> None:
    keys[...] = np.sort(keys, stable=True)


def _order(keys: Any, places: Any, scratch: Any, scratch_of_places: Any) -> None:
    places[...] = np.argsort(keys, stable=True)
    keys[...] = keys[places]


def _key_dtype(frame: Frame, x: AbstractValue, bits: AbstractValue) -> AbstractValue:
    assert isinstance(x, Array) and isinstance(bits, Static)
    own = abstract.numpy_dtype(x.dtype)
    if own.kind == "c":
        message, help = "complex numbers have no order here", "sort them with np.sort_complex(z), or by np.abs(z)"
        raise refuse(current_loc(), message, help, kind=kinds.UNSUPPORTED_DTYPE)
    if own.kind != "f" and own.itemsize < 4:
        own = np.dtype(np.int32)
    if 8 * own.itemsize < bits.value or own == np.uint32:
        own = np.dtype(np.float64 if own.kind == "f" else np.int64)
    return Static(own)


TABLE: dict[Any, Rule] = {
    sorting.key_dtype: positional("key_dtype", 2, _key_dtype),
    sorting.sort_keys: _rule("sort", _sort, 2),
    sorting.order_keys: _rule("order", _order, 4),
}
