"""Programs here are small: their parallel loops run on threads nevertheless, in small blocks."""

from __future__ import annotations

import pytest

from adc.backend.lowering import parallel


@pytest.fixture(autouse=True)
def threads_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "work", lambda e, loop: "1.0e9")
    monkeypatch.setattr(parallel, "block_iterations", lambda e, loop: 2)
