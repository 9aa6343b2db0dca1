"""Gradients of random IR functions against central differences, before and after simplification."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from adc.ir.core import Module
from adc.ir.diagnostics import AdcError
from adc.ir.interpret.interpreter import run, shuffled
from adc.ir.verifier import verify
from adc.passes import pipelines
from adc.passes.base import Verify, run_pipeline
from adc.passes.branches.if_convert import IfConvert
from adc.passes.differentiation.differentiate import gradient
from adc.passes.memory.dead_stores import DeadStores
from adc.passes.simplify.dce import DCE
from tests.passes.random_ir import generate

WRT = (0, 1, 3, 4)  # a, b, x, y of the generated functions
BLOCKS = range(0, 400, 20)


def _point(seed: int) -> tuple[list[Any], list[Any]]:
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(0.3, 1.2, 2)
    arguments = [rng.uniform(0.3, 1.2, 4), rng.uniform(0.3, 1.2, (3, 4)), int(rng.integers(0, 5)), float(x), float(y)]
    dx, dy = rng.standard_normal(2)
    return arguments, [rng.standard_normal(4), rng.standard_normal((3, 4)), 0, float(dx), float(dy)]


def _difference(module: Module, arguments: list[Any], direction: list[Any]) -> float | None:
    """The derivative in a direction, or None where differences cannot tell: errors, kinks, overflow."""

    def f(h: float) -> float:
        moved = [a if isinstance(a, int) else a + h * d for a, d in zip(arguments, direction, strict=True)]
        return float(run(module, "f", moved)[0])

    h = 1e-5
    try:
        here, right, left, far = f(0.0), f(h), f(-h), f(2 * h) - f(-2 * h)
    except (AdcError, ArithmeticError, IndexError):
        return None
    central = (right - left) / (2 * h)
    scale = max(1.0, abs(central))
    if not np.isfinite([here, right, left, far]).all() or max(abs(here), scale) > 1e8:
        return None
    smooth = abs(central - far / (4 * h)) < 1e-5 * scale and abs(right - 2 * here + left) < 1e-2 * h * scale
    return central if smooth else None


def _directional(module: Module, name: str, arguments: list[Any], direction: list[Any], seed: int) -> float:
    a, b, n, x, y = arguments
    shadows = [np.zeros_like(a), np.zeros_like(b)]
    dx, dy = run(module, name, [a.copy(), b.copy(), n, x, y, *shadows], order=shuffled(seed))
    return float(
        np.sum(shadows[0] * direction[0]) + np.sum(shadows[1] * direction[1]) + dx * direction[3] + dy * direction[4]
    )


@pytest.mark.parametrize("first", BLOCKS)
def test_random_functions(first: int) -> None:
    checked = 0
    for seed in range(first, first + 20):
        module = generate(random.Random(seed), 25, fresh=True)
        arguments, direction = _point(seed)
        with np.errstate(all="ignore"):
            expected = _difference(module, arguments, direction)
        if expected is None:
            continue
        name = gradient(module, "f", WRT).name
        verify(module)
        for stage in ("adjoint", "simplified"):
            with np.errstate(all="ignore"):
                got = _directional(module, name, arguments, direction, seed)
            assert abs(got - expected) <= 1e-5 * max(1.0, abs(expected)), (seed, stage, got, expected)
            module = run_pipeline(module, (*pipelines.SIMPLIFY, IfConvert(), DeadStores(), DCE()), verify=Verify.PASSES)
        checked += 1
    assert checked > 5
