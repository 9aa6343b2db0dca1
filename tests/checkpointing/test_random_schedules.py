"""Random stencil programs with random schedules; ``python -m tests.checkpointing.run`` checks others, larger ones."""

from __future__ import annotations

import pytest

from tests.checkpointing.check import check


@pytest.mark.parametrize("seed", range(6))
def test_the_bits_of_storing_all(seed: int) -> None:
    check(seed, small=True)


def test_most_have_a_schedule() -> None:
    verdicts = [check(seed, small=True) for seed in range(100, 104)]
    assert sum(v.checked for v in verdicts) >= 2
