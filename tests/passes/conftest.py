"""The verifier runs after each pass in the tests of passes."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADC_VERIFY", "1")
