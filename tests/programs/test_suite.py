"""The problems of the benchmark suite at small sizes: adc against hand-written adjoints in C and NumPy.

The C adjoints are the reference if there is a C compiler, and NumPy's functions where they exist. Any number of threads
must give the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adc.backend.runtime import on_threads
from benchmarks.suite import checking, peers
from benchmarks.suite.problem import Problem
from benchmarks.suite.problems import PROBLEMS

TRUTHS = ("C", "NumPy")


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_small(problem: Problem) -> None:
    args = problem.arguments(problem.quick)
    given = [np.copy(a) for a in args]
    runner = peers.by_adc(problem, args, None)
    found = []
    for threads in (1, 2, 3):
        with on_threads(threads):
            found.append(checking.Result.of(runner))
    ours = found[0]
    for other in found[1:]:
        assert other.bits() == ours.bits(), "on several threads there are other bits"
    assert all(np.array_equal(a, b) for a, b in zip(args, given, strict=True)), "arguments were changed"
    np.testing.assert_allclose(ours.primal, plain(problem, args), rtol=1e-10, atol=1e-12)
    compared = 0
    for name, make in problem.peers.items():
        if name.split(",")[0] not in TRUTHS or not peers.available(name):
            continue
        for threads in (1, 3) if name.startswith("C") else (1,):
            theirs = checking.Result.of(make(args, threads))
            assert not list(checking.differences(problem, ours, theirs)), name
            compared += theirs.gradients is not None
    assert compared or not peers.available("C"), "every problem has an adjoint in C"


def plain(problem: Problem, args: Any) -> Any:
    """The function run by Python itself."""
    with np.errstate(all="ignore"):
        return problem.function(*(np.copy(a) if isinstance(a, np.ndarray) else a for a in args))
