"""Checks of functions that several ranks run together (``adc.mpi``) and whose value is one number.

The value has the same bits on all ranks, and so have its differences along a direction in the arguments of all ranks;
only the inner product of cotangents and direction is a sum over the ranks. Arguments that are the same on all ranks
move in the same way on all, and count once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from adc.checks.leaves import direction_of, flat
from adc.checks.tracing import of_several_ranks, traced_call
from adc.checks.verdict import Check
from adc.frontend.marker import same_parameters
from adc.ir import kinds
from adc.ir.messages import communicator
from adc.passes.differentiation.activity import ranks


class RankCheck(Check):
    """One rank's part of the check; all ranks check at once. The contents of arrays after the call are not checked."""

    has_finals = False

    def _directions(self, seed: int) -> list[Any]:
        self.rng = np.random.default_rng((seed, communicator().rank))
        found = direction_of(self.free, self._random)
        self.rng = np.random.default_rng(seed)
        for k in self._same_leaves():
            found[k] = self._random(self.free[k])
        return found

    def _counted(self) -> list[Any]:
        once = self._same_leaves() if communicator().rank else []
        return [None if k in once else d for k, d in enumerate(self.direction)]

    def _over_all(self, x: float) -> float:
        found = np.empty(1)
        communicator().allreduce(np.array([x], float), found)
        return float(found[0])

    def _counted_weights(self, found: Sequence[Any]) -> Any:
        """Random weights of a gradient, which count once in the sum over the ranks."""
        once = self._same_args() if communicator().rank else []
        weights = super()._counted_weights(found)
        return tuple(None if k in once else w for k, w in zip(self._numbers, weights, strict=True))

    def _same_args(self) -> list[int]:
        function = self.python.func
        names = same_parameters(function) if isinstance(function, FunctionType) else ()
        return [k for k, name in enumerate(self.names[: len(self.args)]) if name in names]

    def _same_leaves(self) -> list[int]:
        """The leaves that are the same on all ranks. Each is an argument by itself: ``mpi.Same`` is for numbers and
        arrays."""
        counts = [len(flat(a)[0]) for a in self.args]
        return [sum(counts[:k]) for k in self._same_args()]


def check_of(fn: Callable[..., Any], args: Sequence[Any], rtol: float, seed: int) -> Check:
    """The check for a function at some arguments. Raises if several ranks run it and its value is not one number."""
    if communicator().size > 1:
        _, traced, _ = traced_call(fn, tuple(args), {})
        if of_several_ranks(traced):
            ranks.check_loss(traced.module, traced.entry)
            check = RankCheck(fn, args, rtol, seed)
            if not isinstance(check.expected, float | np.floating):
                raise kinds.NO_DERIVATIVE(
                    f"over several ranks derivatives of one number are checked; {check.name} returns something else",
                    help="let it return one float that is the same on all ranks, or check it on one rank",
                )
            return check
    return Check(fn, args, rtol, seed)
