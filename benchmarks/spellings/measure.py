"""Times of functions and their gradients, in alternating runs."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adc import jit_grad
from adc.errors import AdcError

NAMES = "heat2d", "heat3d", "burgers", "wave", "sparse", "mixture", "kmeans", "lstm", "lorenz", "bundle"
SECONDS = 0.004  # of a timed run; shorter functions are repeated in it


@dataclass(frozen=True)
class Problem:
    """A problem: its spellings, the data, and the differentiated arguments."""

    name: str
    spellings: tuple[Callable[..., Any], ...]
    arguments: tuple[Any, ...]
    active: tuple[int, ...]


def problem(name: str) -> Problem:
    module = importlib.import_module(f"benchmarks.spellings.problems.{name}")
    return Problem(name, module.SPELLINGS, module.arguments(), module.ACTIVE)


@dataclass
class Times:
    """Seconds of one spelling: value, value and gradient; ``refused`` says why there are none."""

    value: float = float("inf")
    gradient: float = float("inf")
    compiling: float = 0.0
    refused: str = ""


def measure(
    given: Problem, spellings: Sequence[tuple[str, Callable[..., Any]]], threads: int, repeats: int
) -> dict[str, Times]:
    """Time each of ``spellings``. Raises ``AssertionError`` if two do not agree."""
    found: dict[str, Times] = {}
    runs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {}
    truth: Any = None
    for name, function in spellings:
        times = found[name] = Times()
        made = jit_grad(argnums=given.active, threads=threads)(function)
        begin = time.process_time()
        try:
            value, gradient = made.value_and_grad(*given.arguments)
            made(*given.arguments)
        except AdcError as error:
            times.refused = str(error).splitlines()[0]
            continue
        times.compiling = time.process_time() - begin
        truth = truth or (value, gradient)
        _agree(f"{given.name}, {name}", (value, gradient), truth)
        runs[name] = _run(made, given.arguments), _run(made.value_and_grad, given.arguments)
    clock = time.process_time if threads == 1 else time.perf_counter  # independent of other work
    for _ in range(repeats):
        for name, (value_run, gradient_run) in runs.items():
            found[name].value = min(found[name].value, _seconds(value_run, clock))
            found[name].gradient = min(found[name].gradient, _seconds(gradient_run, clock))
    return found


def _run(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[[], Any]:
    return lambda: function(*arguments)


def _seconds(run: Callable[[], Any], clock: Callable[[], float]) -> float:
    """Seconds of one run, averaged over several if it is short."""
    count, total = 0, 0.0
    begin = clock()
    while total < SECONDS:
        run()
        count += 1
        total = clock() - begin
    return total / count


def _agree(what: str, found: tuple[Any, Any], truth: tuple[Any, Any]) -> None:
    for one, other in zip((found[0], *found[1]), (truth[0], *truth[1]), strict=True):
        scale = np.max(np.abs(other))
        assert np.allclose(one, other, rtol=1e-7, atol=1e-9 * scale), f"{what} is another function"
