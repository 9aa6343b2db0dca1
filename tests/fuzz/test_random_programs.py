"""300 random programs: values against plain Python, derivatives against differences, passes against the interpreter.

Reverse over reverse takes two thirds of the time if it is by each parameter. `make test-all` and `make fuzz` do that;
here it is by one of each program's parameters in turn.
"""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.check import check
from tests.fuzz.exact import check as check_bits
from tests.fuzz.passes import check_passes

NATIVE, OPTIMISED, INTERPRETED, PASSES, BITS, IDIOMS = 160, 6, 80, 40, 40, 20
BATCH = 10


def turn(number: int) -> int | None:
    return None if os.environ.get("ADC_THOROUGH") else number


@pytest.mark.parametrize("first", range(0, NATIVE, BATCH))
def test_compiled(first: int) -> None:
    for seed in range(first, first + BATCH):
        check(seed, turn=turn(seed // 5))


@pytest.mark.parametrize("first", range(0, IDIOMS, BATCH))
def test_idioms(first: int) -> None:
    for seed in range(first, first + BATCH):
        check(seed, size=6, twice=seed % 10 == 0, turn=turn(seed // 10), idioms=True)


@pytest.mark.parametrize("seed", range(4, 4 + 8 * OPTIMISED, 8))
def test_compiled_as_for_users(seed: int) -> None:
    """Long arrays, by LLVM's optimiser, which would take half a minute for the gradient of a gradient."""
    check(seed, level=3, twice=False)


@pytest.mark.parametrize("first", range(0, BITS, BATCH))
def test_values_to_the_bit(first: int) -> None:
    for seed in range(first, first + BATCH):
        check_bits(seed, level=0)


@pytest.mark.parametrize("first", range(100_000, 100_000 + PASSES, BATCH))
def test_each_pass(first: int) -> None:
    for seed in range(first, first + BATCH):
        check_passes(seed)


@settings(max_examples=INTERPRETED, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.integers(3, 12))
def test_shrinkable(rng: random.Random, size: int) -> None:
    """The same by hypothesis, in the interpreter: a failure comes with a small program."""
    check(0, rng=rng, engine="interpreter", size=size, twice=size % 5 == 0, turn=turn(size // 5))
