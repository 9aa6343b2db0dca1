"""Compares values and gradients of peers with adc's, before anything is timed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.suite.problem import Problem, Runner


@dataclass(frozen=True)
class Result:
    """The result of a runner: copies, because its buffers may be overwritten."""

    primal: Any = None
    value: Any = None
    gradients: tuple[Any, ...] | None = None

    @staticmethod
    def of(runner: Runner) -> Result:
        primal = None if runner.primal is None else _array(runner.primal())
        if runner.gradient is None:
            return Result(primal)
        value, gradients = runner.gradient()
        return Result(primal, _array(value), tuple(_array(g) for g in gradients))

    def bits(self) -> tuple[bytes, ...]:
        parts = (self.primal, self.value, *(self.gradients or ()))
        return tuple(part.tobytes() for part in parts if part is not None)


def _array(value: Any) -> Any:
    return np.array(value, dtype=np.float64)


def differences(problem: Problem, ours: Result, theirs: Result) -> Iterator[str]:
    """The differences that exceed the tolerance, as text."""
    reference = ours.primal
    pairs = [("value", theirs.primal, reference), ("value beside the gradient", theirs.value, reference)]
    if theirs.gradients is not None:
        assert ours.gradients is not None
        if len(theirs.gradients) != len(ours.gradients):
            yield f"{len(theirs.gradients)} gradients, not {len(ours.gradients)}"
            return
        for k, (mine, other) in enumerate(zip(ours.gradients, theirs.gradients, strict=True)):
            pairs.append((f"gradient by argument {problem.argnums[k]}", other, mine))
    for what, other, mine in pairs:
        if other is None:
            continue
        if other.shape != mine.shape:
            yield f"{what}: shape {other.shape}, not {mine.shape}"
            continue
        if not (np.all(np.isfinite(other)) and np.all(np.isfinite(mine))):
            yield f"{what}: not finite"
            continue
        error = float(np.max(np.abs(other - mine), initial=0.0))
        scale = float(np.max(np.abs(mine), initial=0.0))
        if error > problem.tolerance * scale:
            where = np.unravel_index(np.argmax(np.abs(other - mine)), mine.shape)
            at = f" at {[int(k) for k in where]}" if where else ""
            yield f"{what}: {other[where]!r}, adc has {mine[where]!r}{at} (largest {scale:.3g})"
