"""``adc.vmap(f)`` in compiled code: ``f`` called for each item along an axis, as one parallel loop.

The loop is built in place of the call. If a function is needed instead, as for ``adc.jvp``, one is made around the
loop.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from adc.frontend.arrays.arrays import settled
from adc.frontend.callee import Callee, python_function
from adc.frontend.closures import released
from adc.frontend.data.callables import Partial, partial
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Compound, Static, Tuple, needed_int
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.functions.mapped_arguments import Axes
from adc.frontend.functions.mapped_loop import loop
from adc.frontend.syntax.source import function_source
from adc.frontend.syntax.texts import NoSource
from adc.ir import kinds
from adc.ir.builder import at_loc, current_loc
from adc.ir.core import UNKNOWN, Loc
from adc.ir.lazy_dataclass import dataclass

CallFunction = Callable[[Frame, Callee, Mapping[str, AbstractValue]], AbstractValue]
MAPPED = "__adc_mapped__"  # attribute of a function that ``adc.vmap`` made outside of compiled code


class Absent(enum.Enum):
    """Stands for an argument that is not given: the function has a default for it."""

    ABSENT = enum.auto()


@dataclass(frozen=True)
class Vmap:
    """The effect of calling ``adc.vmap(f, axes)``, with ``f`` first. ``apart``: in a function of its own.

    ``loc`` is the location of the loop, if not that of the call.
    """

    axes: Axes
    apart: bool = False
    loc: Loc | None = None
    __name__ = "vmap"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("is for compiled code")


def marked(wrapper: Callable[..., Any], loop: Callable[..., Any], of: Callable[..., Any], axes: Axes) -> None:
    """Mark two functions as ``adc.vmap(of, axes)``: one for users to call, and one that it calls."""
    setattr(wrapper, MAPPED, (wrapper, Vmap(axes), of))
    setattr(loop, MAPPED, (loop, Vmap(axes, loc=_place(of)), of))


def _place(of: Callable[..., Any]) -> Loc:
    """The location where a function begins, if known."""
    function = python_function(of)
    if not isinstance(function, types.FunctionType):
        return UNKNOWN
    try:
        return function_source(function).header
    except NoSource:
        return UNKNOWN


def _made_outside(v: AbstractValue) -> Partial | None:
    """The partial that stands for a function that was ``marked``; None for anything else."""
    known = getattr(v.value, MAPPED, None) if isinstance(v, Static) else None
    if known is None or known[0] is not python_function(v.value):  # type: ignore[attr-defined]
        return None
    return partial([Static(known[1]), Static(known[2])], {})


def as_vmap(v: AbstractValue) -> tuple[Vmap, AbstractValue] | None:
    """What a function made by ``adc.vmap`` does, and the function that it maps; None for any other."""
    made = v if isinstance(v, Partial) else _made_outside(v)
    if made is None or not isinstance(made.items[0], Static) or not isinstance(made.items[0].value, Vmap):
        return None
    return made.items[0].value, made.items[1]


def apart(v: AbstractValue) -> AbstractValue:
    """A value that, if made by ``adc.vmap``, is called as a Python function; any other unchanged."""
    found = as_vmap(v)
    return v if found is None else partial([Static(replace(found[0], apart=True)), found[1]], {})


def rule(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    """``adc.vmap(function, in_axes, out_axes)``."""
    names = ("fn", "in_axes", "out_axes")
    given = dict(zip(names, args, strict=False)) | dict(kwargs)
    if len(args) > len(names) or "fn" not in given or not set(given) <= set(names):
        raise refuse(
            current_loc(), "adc.vmap() takes a function, in_axes and out_axes", kind=kinds.WRONG_CALL
        )
    function = given["fn"]
    if not isinstance(function, Compound) and not (isinstance(function, Static) and callable(function.value)):
        raise refuse(
            current_loc(), f"adc.vmap() takes a function, not {describe_type(function)}", kind=kinds.WRONG_TYPE
        )
    out = given.get("out_axes")
    if out is not None and needed_int(out) != 0:
        raise refuse(
            current_loc(),
            "adc.vmap() puts the mapped axis first in its results",
            "leave out out_axes, and transpose what it returns",
            kind=kinds.UNSUPPORTED_OPTION,
        )
    return partial([Static(Vmap(_axes(given.get("in_axes", Static(0))))), function], {})


def _axes(v: AbstractValue) -> Axes:
    return tuple(map(_axis, v.items)) if isinstance(v, Tuple) else _axis(v)


def _axis(v: AbstractValue) -> int | None:
    if isinstance(v, Static) and v.value is None:
        return None
    axis = None if isinstance(v, Static) and isinstance(v.value, bool) else needed_int(v)
    if axis is None:
        raise refuse(
            current_loc(),
            f"in_axes of adc.vmap() cannot be {describe_type(v)}",
            "an int, None, or a tuple with one of these for each argument",
            kind=kinds.UNSUPPORTED_OPTION,
        )
    return axis


def vmap(function, *args):  # type: ignore[no-untyped-def]
    """The function that is traced for a call in a function of its own."""
    return function(*args)


_VMAP: Any = vmap


def call(
    frame: Frame,
    made: Vmap,
    args: Sequence[AbstractValue],
    kwargs: Mapping[str, AbstractValue],
    call_function: CallFunction,
) -> AbstractValue:
    """A call of a function made by ``adc.vmap``: ``args`` are the mapped function and the arguments."""
    if kwargs:
        raise refuse(
            current_loc(),
            f"what adc.vmap() makes takes positional arguments here, not '{next(iter(kwargs))}='",
            "pass it by position, or write a lambda around the function",
            kind=kinds.WRONG_CALL,
        )
    function, *given = args
    if made.apart:
        here = partial([Static(replace(made, apart=False)), function], {})
        return call_function(frame, Callee.of(_VMAP, current_loc()), {"function": here, "args": Tuple(tuple(given))})
    given = [settled(frame, v) for v in given]
    while given and _is_absent(given[-1]):
        given.pop()
    if any(map(_is_absent, given)):
        raise refuse(
            current_loc(),
            "an argument of what adc.vmap() made is left out, and one after it is given",
            "give all up to the last",
            kind=kinds.WRONG_CALL,
        )
    before = set(frame.written)
    frame.written.clear()  # the writes of the calls
    try:
        with at_loc(current_loc() if made.loc is None else made.loc):
            return loop(frame, made.axes, released(function), given)
    finally:
        frame.written |= before


def _is_absent(v: AbstractValue) -> bool:
    return isinstance(v, Static) and v.value is Absent.ABSENT
