"""Which value inside a function has a wrong derivative, although each operation alone has a right one?

A separate parameter is added to each float that the function computes. One gradient then gives the derivatives with
respect to all these parameters, and differences of the function check them. The result is the last operation whose
result has a right derivative and one of whose operands has a wrong one; else the operation that computes the last value
with a wrong derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adc.checks import differences
from adc.checks.leaves import moved
from adc.checks.suspects import FORWARD, Suspect
from adc.driver.intermediate import add_to
from adc.ir import ops
from adc.ir.core import Func, Loc, Module, Op, Value
from adc.ir.types import f32

_MOST = 500  # most values that are shifted


def last_wrong(
    module: Module, name: str, args: Sequence[Any], tolerance: float, mode: str
) -> tuple[Op | None, Loc, float, float] | None:
    """The operation, or None, with the place of the value; then the derivative by ``mode`` and the one by differences.

    None if no value is wrong, or there are too many values.
    """
    suspect = Suspect(module, name, inlined=True)
    func = suspect.weighted
    values = _computed(func)
    if not suspect.testable or len(values) > _MOST:
        return None
    given = [*args, *suspect.weights(args)]
    original: dict[Value, Value] = {}
    for value in values:
        shift = func.body.add_arg(value.type)
        func.arg_attrs.append({})
        original[add_to(value, shift)] = value
        given.append(np.float32(0.0) if value.type == f32 else 0.0)
    first = len(func.args) - len(values)
    positions = [k for k in suspect.wrt if func.args[k].type.is_float] + list(range(first, len(func.args)))
    suspect.wrt = tuple(positions)
    gradient = suspect.gradient(given)
    wrong: dict[Value, tuple[float, float]] = {}
    for k in positions:
        direction = [1.0 if n == k else None for n in range(len(given))]
        tangent = suspect.tangent(given, direction) if mode == FORWARD else None
        found = tangent[1] if tangent is not None else gradient[1][k] if gradient is not None else None
        if found is None:
            return None
        truth = differences.derivative(
            lambda h, d=direction: float(suspect.run(moved(given, d, h))),  # type: ignore[misc]
            single=suspect.single,
        ).value
        if not abs(found - truth) <= suspect.loose(tolerance) * max(1.0, abs(found), abs(truth)):
            value = func.args[k] if k < first else values[k - first]
            wrong[value] = (float(found), truth)
    return _blame(func, original, wrong)


def _blame(
    func: Func, original: dict[Value, Value], wrong: dict[Value, tuple[float, float]]
) -> tuple[Op | None, Loc, float, float] | None:
    for op in reversed(list(func.walk())):
        if not op.results or any(r in original for r in op.results):
            continue
        operands = [original.get(v, v) for v in op.operands]
        bad = [wrong[v] for v in operands if v in wrong]
        if bad and not any(r in wrong for r in op.results):
            return op, op.loc, *bad[0]
    for value, numbers in reversed(wrong.items()):
        return None, value.op.loc if value.op is not None else func.loc, *numbers
    return None


def _computed(func: Func) -> list[Value]:
    """The floats that operations return, except constants."""
    return [r for op in func.walk() if op.opdef is not ops.constant for r in op.results if r.type.is_float]
