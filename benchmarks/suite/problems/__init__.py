"""The problems, in the order of the table."""

from __future__ import annotations

from benchmarks.suite.problem import Problem
from benchmarks.suite.problems import adjoint1d, heat2d, pointwise

PROBLEMS: tuple[Problem, ...] = tuple(
    problem for module in (pointwise, adjoint1d, heat2d) for problem in module.PROBLEMS
)
