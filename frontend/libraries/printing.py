"""``print`` in compiled code: an ordered effect, done by Python (``adc.ir.printing``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adc.frontend import abstract
from adc.frontend.arrays import arrays
from adc.frontend.containers.shown import converted
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import NONE, AbstractValue, Array, Error, Scalar, Static
from adc.frontend.elements import to_element
from adc.frontend.errors import refuse
from adc.frontend.foreign_calls import call_foreign
from adc.frontend.frame import Frame
from adc.frontend.libraries.rules import take
from adc.frontend.names import StandardStream
from adc.frontend.numeric.convert import convert
from adc.ir import kinds, ops, printing
from adc.ir.arith import const
from adc.ir.builder import build, current_loc
from adc.ir.core import Value
from adc.ir.raising import KEPT, class_name
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
    return _done(frame, printing.Printed(tuple(items), **options), values)


def _done(frame: Frame, printed: printing.Printed, values: Sequence[Value]) -> AbstractValue:
    named = printing.named(printed, [v.type for v in values])
    raised = call_foreign(frame, named, values, hint="print", written=(), ordered=True)
    assert raised is not None
    none = ops.cmpi(raised, const(0, i64), predicate="eq")
    build(ops.assert_, [none, raised], {"error": "Exception", "message": KEPT})
    return NONE


def warn(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    """``warnings.warn(message, category, stacklevel, source)``, which comes from the line of the call."""
    message, category, *_ = take("warnings.warn", ["message", "category", "stacklevel", "source"], args, kwargs)
    cls = UserWarning if category is None or category is NONE else getattr(category, "value", None)
    if isinstance(message, Error) and len(message.args) == 1 and not message.keywords:
        cls, message = message.cls, message.args[0]
    if not (isinstance(cls, type) and issubclass(cls, Warning)):
        shown = "this" if category is None else describe_type(category)
        text = f"the category of a warning is a class derived from Warning, not {shown}"
        raise refuse(current_loc(), text, kind=kinds.WRONG_TYPE)
    if frame.tracer.quiet:
        text = "warnings.warn() in a program with warnings.catch_warnings() is not supported"
        raise refuse(current_loc(), text, "leave one of them out", kind=kinds.UNSUPPORTED_CALL)
    assert message is not None
    frame.tracer.warns = True
    numbers: list[Scalar] = []
    template = converted(frame, arrays.settled(frame, message), "s", numbers)
    loc = current_loc()
    place = loc.file, loc.line, str(frame.module_globals.get("__name__", ""))
    warned = printing.Warned(((template, len(numbers)),), category=class_name(cls), place=place)
    return _done(frame, warned, [_passed(s) for s in numbers])


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
