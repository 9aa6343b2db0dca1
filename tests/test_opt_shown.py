"""The loop nest in docs/passes.md: its commands run, and its tables name the passes that change it."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest

from adc.cli import main
from tests.fuzz.check import loaded

PAGE = Path(__file__).resolve().parent.parent / "docs" / "passes.md"
CLEANING = {"canonicalize", "cse", "licm", "dce"}


def section() -> str:
    return PAGE.read_text().split("## The passes that change one loop nest")[1].split("\n## ")[0]


def test_commands_change_what_the_tables_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = section()
    program = re.search(r"```python\n# (\w+\.py)\n(.*?)```", text, re.DOTALL)
    assert program is not None
    Path(program[1]).write_text(program[2])
    commands = re.findall(r"^adc (compile .*) \| adc (opt .*)$", text, re.MULTILINE)
    tables = [re.findall(r"^\| ([a-z-]+) \|", table, re.MULTILINE)[1:] for table in text.split("\nThe second shows")]
    assert len(commands) == len(tables) == 2
    for (compiled, changed), names in zip(commands, tables, strict=True):
        with contextlib.redirect_stdout(io.StringIO()) as ir:
            assert main(compiled.split()) == 0
        monkeypatch.setattr("sys.stdin", io.StringIO(ir.getvalue()))
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            assert main(changed.split()) == 0
        found = [name for name in re.findall(r"^// ([a-z-]+)$", shown.getvalue(), re.MULTILINE) if name not in CLEANING]
        assert found == names


def test_the_nest_is_right() -> None:
    program = re.search(r"```python\n(.*?)```", section(), re.DOTALL)
    assert program is not None
    rng = np.random.default_rng(0)
    u, w = rng.standard_normal((2, 5, 3))
    with loaded(program[1]) as names:
        value, gradient = names["ring"].value_and_grad(u, w)
    slope = np.roll(u, -1, axis=0) - u
    exact = w * np.cos(slope)
    assert np.isclose(value, np.sum(w * np.sin(slope)), rtol=1e-13)
    assert np.allclose(gradient, np.roll(exact, 1, axis=0) - exact, rtol=1e-13)
