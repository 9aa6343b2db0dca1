"""docs/numpy.md lists what is supported of NumPy."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "numpy_table.py"


def table() -> Any:
    spec = importlib.util.spec_from_file_location("numpy_table", SCRIPT)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_page_is_what_the_compiler_knows(pytestconfig: pytest.Config) -> None:
    made = table()
    if pytestconfig.getoption("--update-golden"):
        made.PAGE.write_text(made.page())
    assert made.PAGE.read_text() == made.page(), "run python docs/numpy_table.py"


def test_most_of_numpy_is_there() -> None:
    here, there = table().count()
    assert here >= 0.95 * there
