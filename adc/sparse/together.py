"""All sweeps of a sparse Jacobian in one run, if all rows of the arguments are short and coloured alike.

In arrays with one row per camera or per point, for instance, the columns have the same colours in each row. Then code
knows where a direction is one, and computes the derivatives along all directions together with the values, which are
computed only once: see ``adc.passes.differentiation.forward.several``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adc.backend.calls.abi import Out, TupleOut
from adc.border import containers
from adc.border.options import NONE
from adc.driver.compiler import compile_functions
from adc.driver.subject import Builtin
from adc.functions.jvps import JvpCode, keep_results, refuse_arguments
from adc.functions.tangent_calls import signature_of

if TYPE_CHECKING:
    from adc.passes.differentiation.forward.several import Tangents

NDArray = np.ndarray[Any, Any]
Units = tuple[tuple[int, int | None], ...]  # arguments, and the last subscript where the direction is one (None: all)

_MOST = 32  # limit for directions, and for elements of a row


def has_rows(shapes: Iterable[tuple[int, ...]]) -> bool:
    """Whether there is an array with short rows."""
    return any(len(shape) > 1 and 1 < shape[-1] <= _MOST for shape in shapes)


def unit_directions(
    colours: NDArray, count: int, columns: Sequence[int], shapes: Sequence[tuple[int, ...]]
) -> tuple[Units, ...] | None:
    """The directions for ``count`` colours of the elements of the arguments ``columns``; None if colours differ between
    rows."""
    if not 0 < count <= _MOST:
        return None
    found: list[list[tuple[int, int | None]]] = [[] for _ in range(count)]
    at = 0
    for k, shape in zip(columns, shapes, strict=True):
        size = int(np.prod(shape))
        part = colours[at : at + size]
        at += size
        if size == 0:
            continue
        length = shape[-1] if shape else 1
        rows = part.reshape(-1, length)
        row = rows[0]
        if np.any(rows != row):
            return None
        if np.all(row == row[0]):
            found[row[0]].append((k, None))
        elif length <= _MOST and len(set(row.tolist())) == length:
            for j, colour in enumerate(row.tolist()):
                found[colour].append((k, j))
        else:
            return None
    return tuple(map(tuple, found))


class Together:
    """Code for several directions: ``run`` returns, for each direction, the tangents of results by their positions."""

    def __init__(self, kernel: Builtin, made: Tangents) -> None:
        self._kernel = kernel
        self._arguments, self._results = made.arguments, made.results

    def run(self, values: tuple[Any, ...], given: dict[int, Any]) -> list[dict[int, Any]]:
        """Run the code. ``given``: the tangents of arguments along the direction that is not known at compile time."""
        taken = (given[k] for places in self._arguments for k in places)
        _, found = self._kernel(*values, *taken)
        rest = iter(found)
        return [{k: next(rest) for k in places} for places in self._results]


def compiled(spec: JvpCode, units: Sequence[Units], given: frozenset[int]) -> Together | None:
    """Code for a function of numbers and arrays; None if directions must be run one by one. If there are arguments
    ``given``, an additional last direction is along these."""
    from adc.passes.differentiation.forward.several import Direction

    staged, traced = spec.staged, spec.staged.function(NONE)
    directions = [Direction(units=along) for along in units]
    if given:
        directions.append(Direction(given))
    module, made = staged.tangents(traced, directions)
    if made is None or not set(containers.positions(traced.result)) <= set[int]().union(*made.results):
        return None
    func = module.funcs[made.name]
    count = sum(map(len, made.results))
    keep_results(func, len(func.result_types) - count)
    module = staged.prepared(module, [made.name])
    outs = TupleOut(tuple(Out(n) for n in range(count)))
    signature = signature_of(spec, traced, module, made.name, sum(map(len, made.arguments)), outs, value=False)
    (kernel,) = compile_functions(staged, module, [signature], refuse_arguments(spec.subject.name))
    return Together(kernel, made)
