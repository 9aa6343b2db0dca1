"""Arguments and results of functions that several ranks run together (``adc.mpi``).

Derivatives are those of one function of the data of all ranks. A value that is the same on all ranks is a single number
of that function: each rank has a copy, and cotangents of copies are added up. So parameters annotated ``mpi.Same`` are
spread at the entrance, and results that are the same count as those of the first rank.
"""

from __future__ import annotations

from dataclasses import replace

from adc.frontend.callee import Callee
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Complex, Compound, Ref, Scalar, Static, Tuple
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.marker import same_parameters
from adc.frontend.prelude import messages
from adc.ir import kinds, ops
from adc.ir.arith import const
from adc.ir.messages import LIBRARY
from adc.ir.types import ComplexType, i1

SAME = "adc.same"  # of an argument: see adc.passes.differentiation.locality
LEFT = "adc.left"  # of the call for a result: its second operand tells whether it is the same on all ranks

_READ_ONLY = "it is annotated mpi.Same: what is the same on all ranks is only read"


def parameters(callee: Callee) -> frozenset[str]:
    """The parameters that are annotated ``mpi.Same``."""
    return frozenset(same_parameters(callee.function))


def receive(frame: Frame, same: frozenset[str]) -> None:
    """Spread the parameters that are the same on all ranks."""
    for name in sorted(same):
        v = frame.env[name]
        if isinstance(v, Ref | Compound | Complex) or (isinstance(v, Array) and v.is_complex):
            raise refuse(
                frame.func.loc,
                f"'{name}' is annotated mpi.Same and is {describe_type(v)}",
                "annotate numbers and arrays of real numbers, each a parameter of its own",
                kind=kinds.WRONG_TYPE,
            )
        if isinstance(v, Scalar | Array) and v.dtype.is_float:
            v = frame.tracer.call(frame, Static(messages.given_to_all), [v], {})
        if isinstance(v, Array):
            v = replace(v, roots=v.roots | {frame.new_root(name, _READ_ONLY)})
        frame.env[name] = v


def left(frame: Frame, result: AbstractValue, speaks: bool) -> AbstractValue:
    """A result to be returned; ``speaks``: derivatives need messages even if the function does not."""
    return _left(frame, result) if speaks or _sends(frame) else result


def _sends(frame: Frame) -> bool:
    funcs = frame.tracer.module.funcs.values()
    return any(op.opdef is ops.foreign and op.attrs["library"] == LIBRARY for f in funcs for op in f.body.ops)


def _left(frame: Frame, v: AbstractValue) -> AbstractValue:
    if isinstance(v, Tuple):
        return v.of(_left(frame, item) for item in v.items)
    if not isinstance(v, Scalar) or not v.dtype.is_float or isinstance(v.dtype, ComplexType):
        return v
    # Whether it is the same is determined when the whole program has been traced.
    found = frame.tracer.call(frame, Static(messages.left_by_all), [v, Scalar(const(True, i1), i1)], {})
    called = frame.tracer.called
    assert called is not None
    called[0].set_attr(LEFT, True)
    assert isinstance(found, Scalar)
    return replace(found, weak=v.weak)
