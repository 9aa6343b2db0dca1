"""What every program of this folder is: a function in NumPy as people write it, and inputs for it in two sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

PROGRAMS: dict[str, Program] = {}


@dataclass(frozen=True, eq=False)
class Program:
    """``inputs(rng, n)`` makes the arguments for a size; the ``small`` one is for tests, the ``large`` one for
    benchmarks. ``by``: positions of the arguments that derivatives are taken of."""

    name: str
    function: Callable[..., Any]
    inputs: Callable[[np.random.Generator, int], tuple[Any, ...]]
    small: int
    large: int
    by: tuple[int, ...]
    smooth: bool


def program(
    inputs: Callable[[np.random.Generator, int], tuple[Any, ...]],
    small: int,
    large: int,
    by: tuple[int, ...] = (0,),
    smooth: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put a function on the list. ``smooth``: whether differences can be held against its gradient."""

    def put(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__
        assert name not in PROGRAMS, name
        PROGRAMS[name] = Program(name, function, inputs, small, large, by, smooth)
        return function

    return put
