"""What a program in this folder is: a function in NumPy as people write it, and inputs for it in two sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.numpy.functions import function_of

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


def objective(p: Program, result: Any) -> Callable[..., Any]:
    """The function whose gradient is taken: the sum of the squares of all floats that the program returns, given what
    it returns for some arguments."""
    count = p.function.__code__.co_argcount
    names = ", ".join(p.function.__code__.co_varnames[:count])
    results = result if isinstance(result, tuple) else (result,)
    floats = [k for k, r in enumerate(results) if np.asarray(r).dtype.kind == "f"]
    terms = " + ".join(f"np.sum(r{k} * r{k})" if np.ndim(results[k]) else f"r{k} * r{k}" for k in floats)
    left = ", ".join(f"r{k}" for k in range(len(results)))
    made = function_of(f"{left} = g({names})\nreturn {terms}", *names.split(", "))
    made.__globals__["g"] = p.function
    return made
