"""Questions that the programs of the prelude ask the compiler."""

from __future__ import annotations

from typing import Any

from adc.frontend import prelude
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Static, Tuple
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.rules import Rule, positional, static_of
from adc.ir import kinds
from adc.ir.builder import current_loc


def _constant(frame: Frame, value: AbstractValue) -> AbstractValue:
    if isinstance(value, Tuple):
        return value.of(_constant(frame, item) for item in value.items)
    return Static(static_of(value, "this argument"))


def _unsupported(frame: Frame, message: AbstractValue, help: AbstractValue | None = None) -> AbstractValue:
    texts = [v.value for v in (message, help) if isinstance(v, Static)]
    assert len(texts) == 1 + (help is not None), describe_type(message)
    raise refuse(current_loc(), *texts, kind=kinds.UNSUPPORTED_OPTION)


TABLE: dict[Any, Rule] = {
    prelude.constant: positional("constant", 1, _constant),
    prelude.unsupported: positional("unsupported", range(1, 3), _unsupported),
}
