"""GradBench's programs in plain Python, with hand-written adjoints and in JAX."""

from __future__ import annotations

import importlib

from benchmarks.gradbench.program import Program

NAMES = "gmm", "lstm", "ba", "ht", "kmeans", "llsq", "lse", "ode", "det", "particle", "saddle"


def program(name: str) -> Program:
    found: Program = importlib.import_module(f"benchmarks.gradbench.programs.{name}").PROGRAM
    return found
