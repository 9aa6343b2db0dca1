"""The problems, in the order of the table."""

from __future__ import annotations

from benchmarks.suite.problem import Problem
from benchmarks.suite.problems import (
    adjoint1d,
    black_scholes,
    boltzmann,
    bundle,
    burgers,
    heat2d,
    heat3d,
    kmeans,
    lorenz,
    lstm,
    mixture,
    pointwise,
    shallow,
    spmv,
    wave,
)

_MODULES = (
    pointwise,
    adjoint1d,
    heat2d,
    burgers,
    heat3d,
    wave,
    lorenz,
    black_scholes,
    mixture,
    spmv,
    shallow,
    boltzmann,
    bundle,
    lstm,
    kmeans,
)
PROBLEMS: tuple[Problem, ...] = tuple(problem for module in _MODULES for problem in module.PROBLEMS)
