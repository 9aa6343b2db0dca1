"""A program has the same text in every process, at every stage, so the next process finds its machine code."""

from __future__ import annotations

import difflib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent


def compiled(folder: Path, seed: int) -> dict[str, Any]:
    """What ``one_text`` tells in a process whose sets are in an order of their own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": str(seed), "ADC_LEVEL": "0"}
    environment |= {"ADC_CACHE": "1", "ADC_CACHE_DIR": str(folder / "kept")}
    environment.pop("ADC_VERIFY", None)  # of that are the tests of what it compiles
    command = [sys.executable, "-m", "tests.backend.one_text", str(folder), str(seed)]
    ended = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return json.loads((folder / f"{seed}.json").read_text())


def test_two_processes_make_the_same_of_forty_programs(tmp_path: Path) -> None:
    first, second = compiled(tmp_path, 1), compiled(tmp_path, 2)
    assert first["texts"].keys() == second["texts"].keys()
    for what, text in first["texts"].items():
        differences = list(difflib.unified_diff(text.splitlines(), second["texts"][what].splitlines(), lineterm=""))
        assert not differences, "\n".join([what, *differences[:30]])
    programs = {what.split(":")[0] for what in first["texts"]}
    assert len(programs) >= 40 and len(first["runs"]) >= 40
    assert second["runs"] == [], "machine code that the first process made was not found"
    assert not any(what.endswith("refused") for what in first["texts"])
