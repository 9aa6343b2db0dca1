"""Built-in functions that call a special method of an object: ``abs(x)`` is ``x.__abs__()``, ``float(x)`` is
``x.__float__()``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from adc.frontend.containers import records
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Scalar, Static, is_numeric
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.numeric.convert import as_scalar, kind
from adc.frontend.truth import as_condition
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.types import i1

_METHODS: dict[Any, str] = {
    abs: "__abs__",
    round: "__round__",
    divmod: "__divmod__",
    math.floor: "__floor__",
    math.ceil: "__ceil__",
    math.trunc: "__trunc__",
}


def call(
    frame: Frame, function: Any, args: Sequence[AbstractValue], convert: Callable[[AbstractValue], AbstractValue]
) -> AbstractValue | None:
    """The result of a built-in function on an object whose class defines it; None if there is no such object.

    ``convert`` is the function itself, for the number that a method returned.
    """
    if not any(map(records.is_instance, args)):
        return None
    if function is bool and len(args) == 1:
        known = as_condition(frame, args[0])
        return Static(known) if isinstance(known, bool) else Scalar(known, i1)
    if function in (float, int) and len(args) == 1:
        number = _number(frame, args[0], function)
        return None if number is None else convert(number)
    own = records.method(frame, args[0], _METHODS[function]) if function in _METHODS else None
    if own is not None:
        return frame.tracer.call(frame, own, args[1:], {})
    if function is divmod and len(args) == 2:
        other = records.method(frame, args[1], "__rdivmod__")
        return None if other is None else frame.tracer.call(frame, other, args[:1], {})
    return None


def as_numbers(frame: Frame, args: Sequence[AbstractValue]) -> list[AbstractValue]:
    """Arguments of a function of ``math``, in which objects may stand for floats."""
    found = [_number(frame, v, float) for v in args]
    return [v if number is None else number for v, number in zip(args, found, strict=True)]


def _number(frame: Frame, v: AbstractValue, to: type) -> AbstractValue | None:
    """The number that an object converts itself to; None if it does not."""
    for name in (f"__{to.__name__}__", "__index__"):
        own = records.method(frame, v, name)
        if own is None:
            continue
        number = frame.tracer.call(frame, own, [], {})
        wanted = 2 if name == "__float__" else 1
        if not is_numeric(number) or kind(as_scalar(number).dtype) != wanted:
            what = "a float" if wanted == 2 else "an int"
            message = f"{describe_type(v)}.{name}() must return {what}, not {describe_type(number)}"
            raise refuse(current_loc(), message, kind=kinds.WRONG_TYPE)
        return number
    return None
