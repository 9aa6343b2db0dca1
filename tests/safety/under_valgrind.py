"""A sample of malformed calls under valgrind: does compiled code access memory that is not its own?

``make valgrind``. Counts the invalid accesses in the log that come from outside all known object files, where compiled
code is. Without valgrind it says so and does nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
OPTIONS = ("--tool=memcheck", "--leak-check=no", "--undef-value-errors=no", "--num-callers=8")
_REPORT = re.compile(r"^==\d+== (Invalid (?:read|write|free).*?)(?=^==\d+== \n)", re.MULTILINE | re.DOTALL)
_FRAME = re.compile(r"(?:at|by) 0x[0-9A-F]+: (.*)")


def invalid_accesses(log: str) -> list[str]:
    """The reports of memcheck whose first frame has no object file: those from compiled code."""
    found = []
    for report in _REPORT.findall(log):
        frames = _FRAME.findall(report)
        if frames and frames[0].startswith("???"):
            found.append(report)
    return found


def main(count: int, seed: int) -> int:
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        print("no valgrind here: skipped (apt-get install valgrind)")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        program = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("malformed.py")), str(count), str(seed)]
        run = subprocess.run(
            [valgrind, *OPTIONS, f"--log-file={log}", *program], check=False, cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONMALLOC": "malloc", "ADC_NUM_THREADS": "1"},
        )  # fmt: skip
        text = log.read_text()
    reports = invalid_accesses(text)
    for report in reports:
        print(report)
    print(f"{len(reports)} invalid accesses from compiled code, {len(_REPORT.findall(text))} in all")
    return 1 if reports or run.returncode else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 60, int(sys.argv[2]) if len(sys.argv) > 2 else 3))
