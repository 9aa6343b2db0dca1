"""``adc.checkpoint(f)`` in compiled code: a function that is called as ``f``, and marked for differentiation.

The mark is on the IR function (``REMATERIALISED``), which is separate from that of plain calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from adc.frontend.callee import Callee
from adc.frontend.data.callables import partial
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Static
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.ir import kinds
from adc.ir.builder import current_loc

CallFunction = Callable[[Frame, Callee, Mapping[str, AbstractValue]], AbstractValue]


class _Call:
    """The effect of calling ``adc.checkpoint(f)``, with ``f`` as first argument."""

    __name__ = "checkpoint"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("is for compiled code")


CALL = _Call()


def checkpoint(frame: Frame, function: AbstractValue) -> AbstractValue:
    """``adc.checkpoint(function)``."""
    if isinstance(function, Static) and not callable(function.value):
        raise refuse(
            current_loc(), f"checkpoint() takes a function, not {describe_type(function)}", kind=kinds.WRONG_TYPE
        )
    return partial([Static(CALL), function], {})


def calling(call_function: CallFunction) -> CallFunction:
    """How to call Python functions that are run again in the reverse sweep."""
    return lambda frame, callee, bound: call_function(frame, callee.run_again(), bound)
