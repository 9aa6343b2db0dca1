"""Classes that a function defines: made when it is compiled (``syntax.classes``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adc.frontend.data.values import AbstractValue, Static, is_static_number
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.rules import Rule
from adc.frontend.syntax import classes
from adc.ir import kinds
from adc.ir.builder import current_loc

HELP = "define the class at module level"


def _made(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    definition = args[0].value  # type: ignore[attr-defined]
    assert isinstance(definition, classes.Definition)
    if definition.odd is not None:
        loc = frame.loc(definition.odd) if hasattr(definition.odd, "lineno") else current_loc()
        message = "this part of a class that a function defines is not supported"
        raise refuse(loc, message, HELP, kind=kinds.UNSUPPORTED_STATEMENT)
    values: list[Any] = []
    for name, v in zip(definition.names, args[1:], strict=False):
        if not isinstance(v, Static) or is_static_number(v):
            message = f"a class that a function defines cannot read the variable '{name}' of the function"
            raise refuse(current_loc(), message, f"{HELP}, and pass the value", kind=kinds.UNSUPPORTED_STATEMENT)
        values.append(v.value)
    return Static(definition.make(frame.source.file.name, values, frame.module_globals))


RULES: dict[Any, Rule] = {classes.made: _made}
