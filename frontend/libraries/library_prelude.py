"""Questions that the programs of the prelude ask the compiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adc.frontend import prelude
from adc.frontend.data.dims import is_one
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Lazy, Static, Tuple, array
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.library_shapes import in_memory
from adc.frontend.libraries.rules import Rule, positional, static_of
from adc.ir import kinds, ops
from adc.ir.builder import current_loc
from adc.ir.types import MemRefType


def _constant(frame: Frame, value: AbstractValue) -> AbstractValue:
    if isinstance(value, Tuple):
        return value.of(_constant(frame, item) for item in value.items)
    return Static(static_of(value, "this argument"))


def _is_one_row(frame: Frame, x: AbstractValue) -> AbstractValue:
    assert isinstance(x, Array | Lazy)
    return Static(is_one(x.dims[0]) is True)


def _computed(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    function, *numbers = args
    assert isinstance(function, Static)
    given = [static_of(v, "this argument") for v in numbers]
    try:
        vectors = function.value(*given)
    except (TypeError, ValueError) as error:
        raise refuse(current_loc(), f"{function.value.__name__}(): {error}", kind=kinds.INVALID_VALUE) from None
    return Tuple(tuple(Tuple(tuple(map(Static, v.tolist()))) for v in vectors))


def _unsupported(frame: Frame, message: AbstractValue, help: AbstractValue | None = None) -> AbstractValue:
    texts = [v.value for v in (message, help) if isinstance(v, Static)]
    assert len(texts) == 1 + (help is not None), describe_type(message)
    raise refuse(current_loc(), *texts, kind=kinds.UNSUPPORTED_OPTION)


def _parts(frame: Frame, z: AbstractValue) -> AbstractValue:
    held = in_memory(frame, "np.asarray", z)
    assert held.is_complex
    return array(held.memref, held.roots, held.dims)


def _of_parts(frame: Frame, x: AbstractValue) -> AbstractValue:
    assert isinstance(x, Array) and x.type.strides is None
    pairs = MemRefType((*(None for _ in x.dims[:-1]), 2), x.type.element)
    return Array(ops.cast(x.memref, type=pairs), x.dims[:-1], x.roots)


TABLE: dict[Any, Rule] = {
    prelude.constant: positional("constant", 1, _constant),
    prelude.is_one_row: positional("is_one_row", 1, _is_one_row),
    prelude.computed: _computed,
    prelude.parts: positional("parts", 1, _parts),
    prelude.of_parts: positional("of_parts", 1, _of_parts),
    prelude.unsupported: positional("unsupported", range(1, 3), _unsupported),
}
