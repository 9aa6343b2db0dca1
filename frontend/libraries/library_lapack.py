"""Calls of LAPACK in traced code."""

from __future__ import annotations

from typing import Any

from adc.frontend.arrays.arrays import check_writable, settled
from adc.frontend.data.values import NONE, AbstractValue, Array, Static
from adc.frontend.foreign_calls import call_foreign
from adc.frontend.frame import Frame
from adc.frontend.kernels import lapack
from adc.frontend.kernels.lapack import Routine
from adc.frontend.libraries.rules import Rule, positional
from adc.frontend.numeric.convert import as_scalar, convert
from adc.ir import ops
from adc.ir.arith import const
from adc.ir.core import Value
from adc.ir.externals import Named
from adc.ir.types import Type, f64, i8, i32, i64, index

LARGEST = 2**31 - 1
REFUSED = -2  # stands for what LAPACK's integers cannot represent: LAPACK then reports an invalid extent


def _at_hand(frame: Frame) -> AbstractValue:
    return Static(frame.tracer.lapack and lapack.at_hand())


def _rule(routine: Routine) -> Rule:
    def call(frame: Frame, *args: AbstractValue) -> AbstractValue:
        precision = next(a.type.element for a in args if isinstance(a, Array) and a.type.element.is_float)
        given = [_operand(settled(frame, a), p, precision) for a, p in zip(args, routine.parameters, strict=True)]
        symbol = routine.symbol(precision == f64)
        named = Named(routine.library, symbol, tuple(v.type for v in given), None)
        for k in routine.written:
            target = args[k]
            assert isinstance(target, Array)
            check_writable(frame, target)
        alone = frame.tracer.deterministic
        call_foreign(frame, named, given, hint=symbol, written=routine.written, by_address=True, alone=alone)
        return NONE

    return positional(routine.name, len(routine.parameters), call)


def _operand(arg: AbstractValue, letter: str, precision: Type) -> Value:
    if letter == "c":
        assert isinstance(arg, Static)
        return const(ord(arg.value), i8)
    if letter == "i":
        number = convert(as_scalar(arg), i64)
        fits = ops.cmpi(number, const(LARGEST, index), predicate="sle")
        return ops.index_cast(ops.select(fits, number, const(REFUSED, index)), type=i32)
    if letter == "f":
        return convert(as_scalar(arg), precision)
    assert isinstance(arg, Array), letter
    return arg.memref


TABLE: dict[Any, Rule] = {
    lapack.at_hand: positional("lapack.at_hand", 0, _at_hand),
    **{routine: _rule(routine) for routine in lapack.ROUTINES.values()},
}
