"""Options and fixtures of the whole test run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

os.environ.setdefault("ADC_VERIFY", "1")  # the verifier runs between passes
os.environ.setdefault("ADC_CACHE", "0")  # no code of an earlier run
os.environ.setdefault("ADC_FULL_TRACEBACK", "1")  # a defect of adc is shown with where it is


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files instead of comparing")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)` compares `text` with the file `golden/<name>` beside the test, or writes that file."""

    def check(name: str, text: str) -> None:
        path = Path(request.node.path).parent / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        assert path.exists(), f"no golden file {path}; run pytest with --update-golden"
        assert text == path.read_text(), f"differs from {path}; if it is meant to, run pytest with --update-golden"

    return check
