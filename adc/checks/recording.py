"""Records the inputs of function calls, and of operations with derivatives, in a run of the interpreter.

Of similar inputs (by signs and rough sizes of the numbers) only a few are kept, so that the recording contains the
inputs for which a rule is wrong if they occur in the run at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from adc.checks.leaves import copied
from adc.ir import ops
from adc.ir.attached import attached
from adc.ir.core import Func, Module, Op
from adc.ir.interpret import interpreter
from adc.ir.lazy_dataclass import dataclass
from adc.passes.differentiation.rules import RULES

_ALIKE = 2  # similar inputs of one call
_MOST = 400  # inputs of one call


@dataclass
class Recording:
    """Inputs in the order of execution, by operation; calls are operations.

    ``owners`` maps each operation to its function. It has only operations that are differentiated, not those inside
    functions with rules.
    """

    owners: dict[Op, str]
    inputs: dict[Op, list[list[Any]]] = field(default_factory=dict)

    def callers(self) -> dict[str, list[Op]]:
        """The calls of each function that was called; functions are in the order of their first call."""
        found: dict[str, list[Op]] = {}
        for op in self.inputs:
            if op.opdef is ops.call:
                found.setdefault(op.attrs["callee"], []).append(op)
        return found


def record(module: Module, entry: str, args: Sequence[Any]) -> Recording:
    """Run ``entry`` on copies of ``args``."""
    owners = {op: func.name for func in _differentiated(module, entry) for op in func.walk()}
    found = Recording(owners)
    alike: dict[tuple[Op, tuple[Any, ...]], int] = {}

    def observe(op: Op, operands: list[Any]) -> None:
        if op not in owners or not (op.opdef is ops.call or op.opdef in RULES):
            return
        key = op, tuple(map(_look, operands))
        count = alike[key] = alike.get(key, 0) + 1
        kept = found.inputs.setdefault(op, [])
        if count <= _ALIKE and len(kept) < _MOST:
            kept.append(copied(operands))

    interpreter.run(module, entry, copied(args), observe=observe)
    return found


def _differentiated(module: Module, entry: str) -> list[Func]:
    """The functions that are reachable by calls, but not through functions with rules."""
    found: dict[str, Func] = {}
    work = [entry]
    while work:
        func = module.funcs[work.pop()]
        if func.name in found or attached(func) is not None:
            continue
        found[func.name] = func
        work += [op.attrs["callee"] for op in func.walk() if op.opdef is ops.call]
    return list(found.values())


def _look(value: Any, steps: int = 16) -> Any:
    """Sign and rough size of a number, or of the extremes of an array."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "fi" or not value.size:
            return value.shape
        return _look(float(value.min()), 1), _look(float(value.max()), 1)
    if isinstance(value, float | np.floating) and math.isfinite(value):
        mantissa, exponent = math.frexp(value)
        # Sizes from an eighth to sixteen are distinguished in steps of about an eighth of the number.
        return value == 0.0, min(max(exponent, -3), 5), int(mantissa * steps)
    return value
