"""Which operation has a wrong derivative? Every value of a function against finite differences, in one call.

Each float that the function computes is shifted by a parameter of its own. One gradient then gives the derivative by
every one of them, and differences of the function give the same again. Where both agree for what an operation
returns but not for something that it was given, its derivative is wrong. A called function counts as one operation.
Everything runs in the reference interpreter, so this is for small inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adc.compiler import Staged, with_float_result
from adc.intermediate import add_to
from adc.ir import interpreter, ops
from adc.ir.core import Func, Loc, Op, Value
from adc.ir.diagnostics import render
from adc.ir.types import f32
from adc.passes.differentiation import differentiate


@dataclass(frozen=True)
class Culprit:
    """An operation, or a call, whose derivative disagrees with finite differences.

    ``derivative`` is the derivative of the function's result by a value that the operation is given, as adc has it;
    ``difference`` is the same by finite differences.
    """

    what: str
    loc: Loc
    derivative: float
    difference: float

    def __str__(self) -> str:
        message = (
            f"the derivative of {self.what}: by what it is given the result changes by {self.difference:.9g} "
            f"(finite differences), not by {self.derivative:.9g}"
        )
        return render("wrong", message, self.loc)


def find(staged: Staged, args: Sequence[Any], tolerance: float, step: float) -> Culprit | None:
    """The last operation of the function whose derivative is wrong for these arguments; None if all are right.

    ``args`` are the values of the IR arguments. Derivatives agree if they differ by at most ``tolerance`` of the
    larger, or of one; ``step`` is that of the central differences.
    """
    traced = with_float_result(staged.subject, staged.traced())
    module, func = traced.module, traced.module.funcs[traced.entry]
    given = [a for a in func.args if a.type.is_float]
    computed = _computed(func)
    original: dict[Value, Value] = {}
    wrt = [a.index for a in given]
    inputs = list(args)
    for value in computed:
        shift = func.body.add_arg(value.type)
        func.arg_attrs.append({})
        original[add_to(value, shift)] = value
        wrt.append(shift.index)
        inputs.append(np.float32(0.0) if value.type == f32 else 0.0)
    adjoint = differentiate.gradient(module, traced.entry, tuple(wrt), with_value=True)
    shadows = [
        np.zeros(inputs[attrs["adc.shadow"]].shape, inputs[attrs["adc.shadow"]].dtype)
        for attrs in module.funcs[adjoint.name].arg_attrs
        if "adc.shadow" in attrs
    ]
    derivatives = interpreter.run(module, adjoint.name, [*_copies(inputs), *shadows])[1:]
    wrong: dict[Value, tuple[float, float]] = {}
    for value, position, derivative in zip([*given, *computed], wrt, derivatives, strict=True):
        h = step * 300 if value.type == f32 else step
        samples = []
        for sign in (1.0, -1.0):
            moved = _copies(inputs)
            moved[position] = type(moved[position])(moved[position] + sign * h)
            samples.append(float(interpreter.run(module, traced.entry, moved)[0]))
        difference = (samples[0] - samples[1]) / (2 * h)
        if not abs(derivative - difference) <= tolerance * max(1.0, abs(derivative), abs(difference)):
            wrong[value] = (float(derivative), difference)
    return _blame(func, original, wrong)


def _blame(func: Func, original: dict[Value, Value], wrong: dict[Value, tuple[float, float]]) -> Culprit | None:
    """The last operation that is right by its results and wrong by an operand; else what makes the last wrong value."""
    for op in reversed(list(func.walk())):
        if not op.results or any(r in original for r in op.results):
            continue
        operands = [original.get(v, v) for v in op.operands]
        bad = [wrong[v] for v in operands if v in wrong]
        if bad and not any(r in wrong for r in op.results):
            return Culprit(_describe(op), op.loc, *bad[0])
    for value, (derivative, difference) in reversed(wrong.items()):
        what = f"what uses {value.hint or 'this value'}"
        return Culprit(what, value.op.loc if value.op is not None else func.loc, derivative, difference)
    return None


def _computed(func: Func) -> list[Value]:
    """The floats that operations return, constants left out."""
    return [r for op in func.walk() if op.opdef is not ops.constant for r in op.results if r.type.is_float]


def _describe(op: Op) -> str:
    return f"{op.attrs['callee'].replace('.ruled', '')}()" if op.opdef is ops.call else op.opdef.name


def _copies(args: Sequence[Any]) -> list[Any]:
    return [a.copy(order="K") if isinstance(a, np.ndarray) else a for a in args]
