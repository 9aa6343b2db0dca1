"""The crash test: 2,000 malformed calls in one process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_malformed_calls() -> None:
    program = str(Path(__file__).with_name("malformed.py"))
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-X", "faulthandler", program, "2000", "0"],
        capture_output=True, text=True, check=False, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "ADC_NUM_THREADS": "2"},
    )  # fmt: skip
    assert run.returncode == 0 and run.stdout.endswith("done\n"), run.stdout[-3000:] + run.stderr[-3000:]
