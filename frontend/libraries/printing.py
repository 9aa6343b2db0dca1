"""``print`` in compiled code: an ordered effect, done by Python (``adc.ir.printing``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adc.frontend import abstract
from adc.frontend.arrays import arrays
from adc.frontend.containers.shown import converted
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import NONE, AbstractValue, Array, Scalar, Static
from adc.frontend.elements import to_element
from adc.frontend.errors import refuse
from adc.frontend.foreign_calls import call_foreign
from adc.frontend.frame import Frame
from adc.frontend.names import StandardStream
from adc.frontend.numeric.convert import convert
from adc.ir import kinds, ops, printing
from adc.ir.arith import const
from adc.ir.builder import build, current_loc
from adc.ir.core import Value
from adc.ir.raising import KEPT
from adc.ir.types import f64, i64


def print_(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    """``print(*args, sep=" ", end="\\n", file=None, flush=False)``."""
    options = _options(kwargs)
    items: list[tuple[str, int] | str] = []
    values: list[Value] = []
    for arg in args:
        v = arrays.settled(frame, arg)
        if isinstance(v, Array):
            items.append(str(abstract.numpy_dtype(v.dtype)))
            t = abstract.memref_type(abstract.Array(v.dtype, v.rank, v.layout))
            values.append(v.memref if v.memref.type == t else ops.cast(v.memref, type=t))
            continue
        numbers: list[Scalar] = []
        template = converted(frame, v, "s", numbers)
        items.append((template, len(numbers)))
        values += [_passed(s) for s in numbers]
    named = printing.named(printing.Printed(tuple(items), **options), [v.type for v in values])
    raised = call_foreign(frame, named, values, hint="print", written=(), ordered=True)
    assert raised is not None
    none = ops.cmpi(raised, const(0, i64), predicate="eq")
    build(ops.assert_, [none, raised], {"error": "Exception", "message": KEPT})
    return NONE


def _passed(s: Scalar) -> Value:
    """A number in C's type; its own type is in the template."""
    t = f64 if s.dtype.is_float else i64
    return to_element(convert(s, t), t)


def _options(kwargs: Mapping[str, AbstractValue]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, v in kwargs.items():
        value = v.value if isinstance(v, Static) else ...
        if name in ("sep", "end") and (value is None or isinstance(value, str)):
            found |= {} if value is None else {name: value}
        elif name == "file" and (value is None or isinstance(value, StandardStream)):
            found |= {} if value is None else {"stream": value.name}
        elif name == "flush" and isinstance(value, bool | int):
            found["flush"] = bool(value)
        elif name in ("sep", "end", "file", "flush"):
            help = "sep and end are texts that are known, file is sys.stdout or sys.stderr, flush a bool that is known"
            message = f"print() takes no {describe_type(v)} for {name} here"
            raise refuse(current_loc(), message, help, kind=kinds.UNSUPPORTED_OPTION)
        else:
            message = f"print() has no parameter '{name}'"
            raise refuse(current_loc(), message, "its parameters are sep, end, file and flush", kind=kinds.WRONG_CALL)
    return found
