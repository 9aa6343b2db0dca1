"""Programs here are small: their parallel loops run on threads nevertheless, in small blocks.

LLVM optimises little, as most of the time would be its own; with ADC_THOROUGH set it does what it does for users.
"""

from __future__ import annotations

import pytest

from adc.backend import optimize
from adc.backend.lowering import parallel
from tests.programs.harness import THOROUGH


@pytest.fixture(autouse=True)
def threads_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "THRESHOLD", -1.0)
    monkeypatch.setattr(parallel, "block_iterations", lambda e, loop: 2)


@pytest.fixture(autouse=True)
def optimised_little(monkeypatch: pytest.MonkeyPatch) -> None:
    if not THOROUGH:
        init = optimize.Optimized.__init__
        little = lambda self, text, target, level, *kept: init(self, text, target, 1, *kept)
        monkeypatch.setattr(optimize.Optimized, "__init__", little)
