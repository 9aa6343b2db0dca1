"""Some random programs on long arrays; and a check that a wrong gradient would be noticed."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.arrays.arguments import copies, values
from tests.arrays.check import Gradients, check, digest
from tests.arrays.generator import generate

PROGRAMS, BATCH = 40, 4
MUTATED = range(7_000_000, 7_000_020)


@pytest.mark.parametrize("first", range(0, PROGRAMS, BATCH))
def test_compiled(first: int) -> None:
    for seed in range(first, first + BATCH):
        check(seed)


def test_a_wrong_gradient_is_noticed() -> None:
    """One element of a hundred is made wrong by a millionth: at least 19 of 20 programs must fail."""

    def noticed(seed: int) -> bool:
        def mutate(found: Gradients) -> None:
            numbers = np.random.default_rng(seed)
            arrays = [g for g in found.values() if isinstance(g, np.ndarray)]
            g = arrays[numbers.integers(len(arrays))].reshape(-1)
            for k in numbers.integers(g.size, size=max(1, g.size // 100)):
                g[k] += 1e-6 * (abs(g[k]) or 1.0)

        try:
            check(seed, mutate=mutate, level=0)
        except AssertionError:
            return True
        return False

    missed = [seed for seed in MUTATED if not noticed(seed)]
    assert len(missed) <= len(MUTATED) // 20, f"not noticed: {missed}"


def test_programs_depend_on_the_seed_alone() -> None:
    for seed in range(20):
        first, second = random.Random(seed), random.Random(seed)
        program = generate(first)
        assert program == generate(second)
        given, again = values(program.params, first), values(program.params, second)
        for name, twin in copies(given).items():
            for other in (again[name], twin):
                assert np.array_equal(given[name], other, equal_nan=True) and given[name].strides == other.strides


def test_digests_tell_programs_apart() -> None:
    assert digest(3) == digest(3) != digest(4)
