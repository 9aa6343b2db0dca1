"""Schedules: the split is optimal, and the number of repeated steps is the predicted one."""

from __future__ import annotations

import functools
from typing import Any

import checkpoint_schedules
import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import AdcError
from adc.ir import ops
from adc.ir.core import Module
from adc.ir.interpret import interpreter
from adc.ir.text.parser import parse_module
from adc.passes.checkpointing.schedule import split_function

MOST, SNAPSHOTS = 300, 20


@functools.cache
def fewest() -> list[list[int]]:
    """``[s][n]``: the fewest steps that are run without a tape to reverse n steps with s snapshots, by dynamic
    programming: m steps to the next snapshot, what follows with one snapshot less, then the first m."""
    table = [[0] * (MOST + 1) for _ in range(SNAPSHOTS + 1)]
    for s in range(1, SNAPSHOTS + 1):
        for n in range(2, MOST + 1):
            table[s][n] = n * (n - 1) // 2 if s == 1 else min(
                m + table[s - 1][n - m] + table[s][m] for m in range(1, n)
            )  # fmt: skip
    return table


def repeated(n: int, s: int, split: Any) -> tuple[int, int]:
    """Steps without a tape, and the most snapshots at a time, where ``split`` decides."""
    places, end, steps, most = [0], n, 0, 1
    while end > 0:
        left = s - len(places) + 1
        if end - places[-1] == 1:
            end = places.pop()
        elif left > 1:
            steps += split(end - places[-1], left)
            places.append(places[-1] + split(end - places[-1], left))
            most = max(most, len(places))
        else:
            end -= 1
            steps += end - places[-1]
    return steps, most


def test_the_binomial_optimum() -> None:
    module = Module()
    name = split_function(module)

    @functools.cache
    def split(n: int, s: int) -> int:
        (found,) = interpreter.run(module, name, [n, s])
        return int(found)

    for s in range(1, SNAPSHOTS + 1):
        for n in range(1, MOST + 1):
            steps, most = repeated(n, s, split)
            assert steps == fewest()[s][n], (n, s)
            assert most <= s


def test_as_the_library_has_it() -> None:
    for n, s in ((1, 1), (2, 1), (5, 2), (17, 3), (100, 4), (100, 9), (300, 20)):
        forward = 0
        for action in checkpoint_schedules.Revolve(n, s):
            if isinstance(action, checkpoint_schedules.Forward):
                forward += min(action.n1, n) - action.n0
            if isinstance(action, checkpoint_schedules.EndReverse):
                break
        assert forward == fewest()[s][n] + n


def walk(x, n):
    """A sine for each element and step."""
    v = x.copy()
    for _ in range(n):
        for i in range(v.shape[0]):
            v[i] = np.sin(v[i]) + v[i]
    return np.sum(v)


@pytest.mark.parametrize("n", [1, 2, 9, 40])
@pytest.mark.parametrize("snapshots", [1, 2, 5, 50])
def test_so_many_steps_are_run(n: int, snapshots: int) -> None:
    """Forward, to the places where pieces begin, and once with a tape: each has one sine."""
    compiled, x, shadow = jit_grad(walk, checkpoint=adc.revolve(snapshots)), np.array([0.3]), np.zeros(1)
    expected = compiled.grad(x, n)
    np.testing.assert_allclose(expected, jit_grad(walk).grad(x, n), rtol=1e-14)
    module = parse_module(compiled.dump_ir("adjoint"))
    statistics = interpreter.Statistics()
    interpreter.run(module, "walk.grad", [x, n, shadow], statistics=statistics)
    np.testing.assert_allclose(shadow, expected, rtol=1e-14)
    # The first sweep goes to the end; the optimum has it stop one step before.
    before = n - 1 if snapshots >= n else fewest()[snapshots][n]
    assert statistics.executed[ops.sin] == before + 1 + n


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: adc.revolve(0), "snapshots must be at least 1, not 0"),
        (lambda: adc.every(-3), "steps must be at least 1, not -3"),
        (lambda: adc.every(2.5), "steps must be an int, not 2.5"),  # type: ignore[arg-type]
        (lambda: jit_grad(walk, checkpoint="often"), "checkpoint cannot be 'often'"),
        (lambda: jit_grad(walk, checkpoint="revolve:0"), "snapshots must be at least 1"),
        (lambda: jit_grad(walk, checkpoint=7), "checkpoint cannot be 7"),  # type: ignore[call-overload]
    ],
)
def test_what_is_no_schedule(given: Any, message: str) -> None:
    with pytest.raises(AdcError, match=message):
        given()
