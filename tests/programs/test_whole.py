"""Whole programs, written as by people who do not know adc: values as in plain Python, gradients compared with
differences along random directions."""

from __future__ import annotations

import copy
import dataclasses
import importlib
from pathlib import Path

import numpy as np
import pytest

import adc

NAMES = sorted(path.stem for path in (Path(__file__).parent / "whole").glob("[a-z]*.py"))


def mapped(value, function):
    """``value`` with ``function`` of each float and array of floats in it."""
    if isinstance(value, float | np.ndarray):
        return function(value) if np.asarray(value).dtype.kind == "f" else value
    if isinstance(value, dict):
        return {k: mapped(v, function) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(mapped(v, function) for v in value)
    if dataclasses.is_dataclass(value):
        return dataclasses.replace(value, **{k: mapped(v, function) for k, v in vars(value).items()})
    return value


@pytest.mark.parametrize("name", NAMES)
def test_as_in_python(name):
    program = importlib.import_module(f"tests.programs.whole.{name}")
    function, args, numbers = program.f, program.args(), program.ARGNUMS
    wanted = float(function(*copy.deepcopy(args)))
    value, gradient = adc.value_and_grad(function, argnums=numbers)(*copy.deepcopy(args))
    assert value == pytest.approx(wanted, rel=1e-10)
    rng = np.random.default_rng(1)
    directions, slopes = [], []
    for number in numbers:
        mapped(args[number], lambda x: directions.append((0.01 + np.abs(x)) * rng.standard_normal(np.shape(x))))
    along = iter(directions)
    mapped(gradient, lambda g: slopes.append(np.sum(g * next(along))))
    assert len(slopes) == len(directions)

    def moved(h):
        ways = iter(directions)

        def shifted(x):
            way = h * next(ways)
            return x + way if isinstance(x, np.ndarray) else float(x + way)

        given = copy.deepcopy(args)
        return float(function(*(mapped(a, shifted) if k in numbers else a for k, a in enumerate(given))))

    h = 1e-4
    coarse, fine = ((moved(k * h) - moved(-k * h)) / (2 * k * h) for k in (2, 1))
    assert sum(slopes) == pytest.approx((4 * fine - coarse) / 3, rel=2e-5, abs=1e-7)
