"""Every function of docs/numpy.md under ``adc.vmap``, and its second derivatives in two ways.

All three tests for each function would take minutes. A run does one of the three for each function, chosen by its
position; ``ADC_ROTATION=1`` and ``=2`` select the others. Transforms are one kernel with a rule, so ``twice`` is tested
for only one of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.numpy.every import CHECKS, Sample, sample
from tests.numpy.samples import SAMPLES, SMALL
from tests.numpy.test_page import table

ROTATION = int(os.environ.get("ADC_ROTATION", "0"))
MODES = list(CHECKS)


def calls(name: str) -> list[str]:
    found = SAMPLES[name]
    return [found] if isinstance(found, str) else found


def groups() -> list[list[str]]:
    """Functions that are tried in one program: some of those that are small, each of the others by itself."""
    size = 6
    small = [SMALL[k : k + size] for k in range(0, len(SMALL), size)]
    return small + [[name] for name in SAMPLES if name not in SMALL]


def test_every_function_has_a_sample() -> None:
    made = table()
    full = [f"{module}.{name}" for module, names in made.public().items() for name in names]
    assert set(SAMPLES) == {name for name in full if made.is_there(made.resolved(name))}


@pytest.mark.parametrize(("place", "names"), list(enumerate(groups())), ids=[g[0].partition(".")[2] for g in groups()])
def test_every_function(place: int, names: list[str]) -> None:
    transform = names[0].startswith("numpy.fft.") and names[0] != "numpy.fft.fft2"
    modes = MODES[:2] if transform else MODES
    mode = modes[(place + ROTATION) % len(modes)]
    one: Callable[[Sample], None] = CHECKS[mode]
    turn = (place + ROTATION) // len(MODES)
    chosen = []
    for name in names:
        every = calls(name)
        chosen.append(every[turn % len(every)])
    one(sample(chosen[0] if len(chosen) == 1 else f"({', '.join(chosen)})"))
