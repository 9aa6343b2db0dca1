"""The reference for a random program: plain Python, and its differences in extended precision.

The program's text is run unchanged for values. For derivatives it is run on 80-bit floats (``instrument.py``): a
difference counts only if all decisions on both sides went the same way as at the point between them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz.instrument import LONG, Instrument, Trail, namespace
from tests.fuzz.params import Spec, Values, build, read

STEP = 3e-5
SHORT_STEP = 1e-6  # for programs with many points, each with its decisions, or long chains of operations


@dataclass
class Run:
    """What a run of the program returned, or raised; its arguments afterwards, leaf by leaf."""

    result: Any
    after: Values
    error: Exception | None
    trail: Trail


class Oracle:
    """A program by plain Python, and on 80-bit floats with a trail of its decisions."""

    def __init__(self, text: str, params: Sequence[Spec]) -> None:
        self.params = params
        self.plain = compile(text, "<python>", "exec", dont_inherit=True)
        tree = ast.fix_missing_locations(Instrument().visit(ast.parse(text)))
        self.long = compile(tree, "<oracle>", "exec", dont_inherit=True)

    def run_plain(self, leaves: Values) -> Run:
        """By plain Python."""
        return self._run(self.plain, {"__name__": "fuzz"}, copies(leaves), Trail())

    def run(self, leaves: Values) -> Run:
        """On 80-bit floats, which ``leaves`` holds."""
        trail = Trail()
        return self._run(self.long, namespace(trail), copies(leaves), trail)

    def _run(self, code: Any, names: dict[str, Any], leaves: Values, trail: Trail) -> Run:
        exec(code, names)
        arguments = build(self.params, leaves, names)
        trail.decisions.clear()
        result, error = None, None
        with np.errstate(all="ignore"):
            try:
                result = names["main"](*arguments)
            except Exception as raised:
                error = raised
        return Run(result, read(self.params, arguments, arguments), error, trail)


def copies(leaves: Values) -> Values:
    """Arrays anew; windows on one base array are windows on one copy of it."""
    return rejoin(leaves, [a.copy(order="K") if isinstance(a, np.ndarray) else a for a in leaves])


def rejoin(originals: Values, copies: Values) -> Values:
    """Copies of arguments that are windows on one base array become the same windows on one copy of it."""
    bases: dict[int, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = {}
    for k, value in enumerate(originals):
        if isinstance(value, np.ndarray) and isinstance(value.base, np.ndarray):
            base = value.base
            _, copy = bases.setdefault(id(base), (base, base.copy()))
            offset = value.__array_interface__["data"][0] - base.__array_interface__["data"][0]
            copies[k] = np.ndarray(value.shape, value.dtype, copy.data, offset, value.strides)
    return copies


def lengthen(args: Values) -> Values:
    """Float arguments as 80-bit floats; windows on one base array stay windows on one."""
    bases: dict[int, np.ndarray[Any, Any]] = {}
    longer: Values = []
    for value in args:
        if isinstance(value, float):
            longer.append(LONG(value))
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
            base = value.base if isinstance(value.base, np.ndarray) else value
            copy = bases.setdefault(id(base), np.array(base, LONG))
            scale = copy.itemsize // base.itemsize
            offset = (value.__array_interface__["data"][0] - base.__array_interface__["data"][0]) * scale
            strides = tuple(s * scale for s in value.strides)
            longer.append(copy if value is base else np.ndarray(value.shape, LONG, copy.data, offset, strides))
        else:
            longer.append(value)
    return longer


def moved(args: Values, direction: Values, h: float) -> Values:
    """``args + h * direction``. For windows on one base the direction is that of the base, given at each of them."""
    result = lengthen([a.copy() if isinstance(a, np.ndarray) and a.base is None else a for a in args])
    done: set[int] = set()
    for k, (value, step) in enumerate(zip(args, direction, strict=True)):
        if step is None:
            continue
        if isinstance(value, np.ndarray):
            target = result[k].base if isinstance(value.base, np.ndarray) else result[k]
            if id(target) not in done:
                done.add(id(target))
                target += LONG(h) * step
        else:
            result[k] = result[k] + LONG(h) * LONG(step)
    return result


def samples(
    oracle: Oracle, leaves: Values, direction: Values, trail: Trail, step: float = STEP
) -> dict[int, Run] | None:
    """Runs at some steps along a direction; None if it is not smooth there: ``trail`` is that of the point itself."""
    found = {}
    for k in (-2, -1, 1, 2):
        found[k] = oracle.run(moved(leaves, direction, k * step))
        if found[k].trail.decisions != trail.decisions:
            return None
    return found


def difference(runs: dict[int, Run], value: Callable[[Any, Values], Any], step: float = STEP) -> float:
    """The derivative of ``value(result, arguments afterwards)`` along the direction of these runs.

    Fourth-order central differences: with the usual step the truncation error is some 1e-18 times the fifth
    derivative, rounding 1e-14.
    """
    at = {k: LONG(value(run.result, run.after)) for k, run in runs.items()}
    return float((8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * LONG(step)))


def second_difference(runs: dict[int, Run], here: Run, step: float = STEP) -> float:
    """The second derivative of the result along the direction of these runs, of fourth order too; ``here``: the run at
    the point itself. Rounding is some 1e-10 with the usual step."""
    at = {k: LONG(run.result) for k, run in runs.items()}
    return float((16 * (at[1] + at[-1]) - (at[2] + at[-2]) - 30 * LONG(here.result)) / (12 * LONG(step) ** 2))
