"""``adc compile`` again: output is found if the result of tracing and the options are the same, and only then."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from adc.cli import main
from adc.commands import ahead
from adc.persistent import records

HELPER = "def scaled(x):\n    return FACTOR * x\n"
PROGRAM = """
import os
from kept_helper import {kind} as factor

def energy(x: float, n: int) -> float:
    total = 0.0
    for k in range(n):
        total += factor(x) * x
    return total

if os.environ.get("ANOTHER"):
    def energy(x: float, n: int) -> float:
        return 3.0 * x * n
"""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The functions whose derivatives were made; the working directory is an empty one with the program."""
    monkeypatch.setattr(records, "enabled", True)
    monkeypatch.setenv("ADC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    # Bytecode is found again by second and length of the file, which "2.0" and "7.0" share.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names: list[str] = []
    parts = ahead._parts

    def counted(unit: Any, *others: Any) -> Any:
        names.append(unit.c_name)
        return parts(unit, *others)

    monkeypatch.setattr(ahead, "_parts", counted)
    return names


def written(*options: str, factor: str = "2.0", kind: str = "scaled") -> tuple[bytes, str]:
    """The object and the header that the command writes, and that it says so."""
    sys.modules.pop("kept_helper", None)
    Path("kept_helper.py").write_text(HELPER.replace("FACTOR", factor) + "\n\ndef other(x):\n    return x\n")
    Path("program.py").write_text(PROGRAM.format(kind=kind))
    for name in ("energy.o", "energy.h"):
        Path(name).unlink(missing_ok=True)
    assert main(["compile", "program.py:energy", "-o", "energy.o", *options]) == 0
    return Path("energy.o").read_bytes(), Path("energy.h").read_text()


def test_the_second_time_nothing_is_made(made: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    first = written()
    said = capsys.readouterr().out
    assert made == ["energy"]
    assert written() == first
    assert made == ["energy"]
    assert capsys.readouterr().out == said


def test_what_changes_is_made_anew(
    made: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = written()
    assert written(factor="7.0")[0] != first[0]  # in a file that the program imports
    assert written(kind="other")[0] != first[0]
    assert written("--argnums", "0", "--no-threads") is not None
    monkeypatch.setenv("ANOTHER", "1")  # the file is run each time
    assert written()[0] != first[0]
    assert len(made) == 5
    monkeypatch.delenv("ANOTHER")
    assert written() == first
    assert len(made) == 5
    Path("kept_helper.py").unlink()
