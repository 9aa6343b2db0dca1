"""Calls of functions that communicate with other ranks (``adc.ir.messages``) in traced code."""

from __future__ import annotations

from typing import Any

from adc.frontend.arrays.arrays import check_writable, settled
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import NONE, AbstractValue, Array, Scalar
from adc.frontend.elements import from_element
from adc.frontend.errors import refuse
from adc.frontend.foreign_calls import call_foreign
from adc.frontend.frame import Frame
from adc.frontend.kernels import messages
from adc.frontend.kernels.messages import Routine
from adc.frontend.libraries.rules import Rule, positional
from adc.frontend.numeric.convert import as_scalar, convert
from adc.ir import kinds, ops
from adc.ir.arith import const
from adc.ir.builder import build, current_loc
from adc.ir.core import Value
from adc.ir.externals import Named
from adc.ir.messages import LIBRARY, SENT, place
from adc.ir.raising import KEPT
from adc.ir.types import MemRefType, i64


def _rule(routine: Routine) -> Rule:
    def call(frame: Frame, *args: AbstractValue) -> AbstractValue:
        given = [_operand(settled(frame, a), p) for a, p in zip(args, routine.passed, strict=True)]
        given += [const(place(current_loc()), i64)] if routine.has_place else []
        named = Named(LIBRARY, routine.name, tuple(v.type for v in given), i64)
        for k in routine.written:
            target = args[k]
            assert isinstance(target, Array)
            check_writable(frame, target)
        found = call_foreign(frame, named, given, hint=routine.name, written=routine.written, ordered=True)
        assert found is not None
        if routine.number:
            return Scalar(from_element(found), i64, weak=True)
        none = ops.cmpi(found, const(0, i64), predicate="eq")
        build(ops.assert_, [none, found], {"error": "Exception", "message": KEPT})
        return NONE

    return positional(routine.name, len(routine.passed), call)


def _operand(arg: AbstractValue, letter: str) -> Value:
    if letter == "i":
        return ops.index_cast(convert(as_scalar(arg), i64), type=i64)
    assert isinstance(arg, Array) and arg.rank == 1, describe_type(arg)
    if arg.is_complex or arg.type.element not in SENT or arg.type.strides is not None:
        raise refuse(
            current_loc(),
            f"{describe_type(arg)} cannot be sent to other ranks",
            "send floats or integers of 32 or 64 bits; of complex numbers the real and the imaginary part",
            kind=kinds.WRONG_TYPE,
        )
    plain = MemRefType((None,), arg.type.element)
    return arg.memref if arg.memref.type == plain else ops.cast(arg.memref, type=plain)


TABLE: dict[Any, Rule] = {routine: _rule(routine) for routine in messages.ROUTINES}
